// SPDX-License-Identifier: GPL-2.0-only
/*
 * The secret fields of a job's record; see private.h.
 *
 * Owns the list of these fields. The sealed field stays in the record beside the fields
 * that were revealed from it, and is written back unchanged while the secret is not there.
 * So a running job's record can always be written, and a ckptd that starts before its
 * secret is there loses nothing.
 */
#include "supervisor/catalog/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/job_key.h"

#define FIELD	"private"

static const char *const secret_fields[] = { "argv", "env", "cwd" };

#define PURPOSE_SIZE	80

/*
 * The key whose secret hides the fields of @job: the job's own one, if it has one here; and the
 * purpose, which then names the owner: with another owner in @record the fields stay hidden.
 * -ENODATA: there is no secret, as none is configured.
 */
static int private_key(const json_t *record, int64_t job, const char *source,
		       char ret_purpose[PURPOSE_SIZE], struct image_key **ret_key,
		       struct ckpt_error *error)
{
	const json_int_t uid = json_integer_value(json_object_get(record, "uid"));
	struct image_key *key, *own = NULL;
	char label[24];
	int err = image_key_secret_only(source, &key, error);

	if (err)
		return err;
	snprintf(label, sizeof(label), "%lld", (long long)job);
	err = image_key_of_job(key, label, &own, error);
	if (!err && !own && !image_key_has_secret(key))
		err = -ENODATA;
	snprintf(ret_purpose, PURPOSE_SIZE, "job %lld", (long long)job);
	if (own)
		snprintf(ret_purpose, PURPOSE_SIZE, "job %lld of uid %lld", (long long)job,
			 (long long)uid);
	if (err || own)
		image_key_destroy(key);
	if (!err)
		*ret_key = own ? own : key;
	return err;
}

int private_hide(const json_t *record, int64_t job, const char *source, json_t **ret_record,
		 struct ckpt_error *error)
{
	json_t *hidden = json_object(), *copy = json_copy((json_t *)record);
	_cleanup_free_ char *text = NULL, *sealed = NULL;
	struct image_key *key = NULL;
	char purpose[PURPOSE_SIZE];
	int err = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(secret_fields); i++) {
		json_t *value = json_object_get(copy, secret_fields[i]);

		if (value)
			json_object_set(hidden, secret_fields[i], value);
		json_object_del(copy, secret_fields[i]);
	}
	if (json_object_size(hidden)) {
		text = json_dumps(hidden, JSON_COMPACT);
		err = private_key(record, job, source, purpose, &key, error);
		if (!err)
			err = text ? image_key_seal(key, purpose, text, &sealed) : -ENOMEM;
		if (!err)
			json_object_set_new(copy, FIELD, json_string(sealed));
		else if (json_object_get(copy, FIELD))
			/* keep the old one: these fields do not change while a job lives */
			err = 0;
	}
	if (text)
		explicit_bzero(text, strlen(text));
	image_key_destroy(key);
	if (err == -ENODATA) {
		json_object_update(copy, hidden);
		err = 0;
	}
	json_decref(hidden);
	if (err)
		json_decref(copy);
	else
		*ret_record = copy;
	return err;
}

void private_show(json_t *record, int64_t job, const char *source)
{
	const char *sealed = json_string_value(json_object_get(record, FIELD));
	_cleanup_free_ char *text = NULL;
	struct ckpt_error error;
	struct image_key *key;
	char purpose[PURPOSE_SIZE];
	json_t *hidden;
	int err;

	if (!sealed || !source || private_key(record, job, source, purpose, &key, &error))
		return;
	err = image_key_unseal(key, purpose, sealed, &text);
	image_key_destroy(key);
	hidden = err ? NULL : json_loads(text, 0, NULL);
	if (text)
		explicit_bzero(text, strlen(text));
	if (hidden)
		json_object_update(record, hidden);
	json_decref(hidden);
}

bool private_is_shown(const json_t *record)
{
	return !json_object_get(record, FIELD) || json_object_get(record, secret_fields[0]);
}
