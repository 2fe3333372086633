// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job's own key; see key_of_job.h.
 *
 * Owns the field "job_key" of a record, the name of the field "wrap" of questions, and the purpose
 * of wraps.  Must not log a wrap, and keeps no key in memory.
 */
#include "supervisor/job/key_of_job.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/outcome.h"
#include "hosts/hosts.h"
#include "image/job_key.h"
#include "supervisor/net/nodes.h"

#define FIELD		"job_key"
#define WRAP		"wrap"
#define ID_TEXT		(2 * IMAGE_KEY_ID_BYTES + 1)
#define PURPOSE_SIZE	64

static void key_of_job_purpose(int64_t id, char ret_purpose[PURPOSE_SIZE])
{
	snprintf(ret_purpose, PURPOSE_SIZE, "stillpoint job key %lld", (long long)id);
}

static const char *key_of_job_named(const json_t *record)
{
	return json_string_value(json_object_get(record, FIELD));
}

static int key_of_job_text(const uint8_t key[IMAGE_KEY_BYTES], char ret_text[ID_TEXT])
{
	uint8_t bytes[IMAGE_KEY_ID_BYTES];
	int err = job_key_id(key, bytes);

	if (!err)
		sodium_bin2hex(ret_text, ID_TEXT, bytes, sizeof(bytes));
	return err;
}

/* The id of the key that is here, as text. */
static int key_of_job_id(const struct common *common, int64_t id, char ret_text[ID_TEXT],
			 struct ckpt_error *error)
{
	uint8_t key[IMAGE_KEY_BYTES];
	int err = job_key_read(common->config.job_keys_dir, id, key, error);

	if (!err)
		err = key_of_job_text(key, ret_text);
	explicit_bzero(key, sizeof(key));
	return err;
}

int key_of_job_make(const struct common *common, int64_t id, json_t *record,
		    struct ckpt_error *error)
{
	char text[ID_TEXT];
	int err;

	if (!strcmp(common->config.job_keys, "off"))
		return 0;
	err = job_key_make(common->config.job_keys_dir, id, error);
	if (err)
		return err;
	err = key_of_job_id(common, id, text, error);
	if (!err && json_object_set_new(record, FIELD, json_string(text)))
		err = -ENOMEM;
	if (err)
		key_of_job_remove(common, id);
	return err;
}

void key_of_job_remove(const struct common *common, int64_t id)
{
	int err = job_key_remove(common->config.job_keys_dir, id);

	if (err && err != -ENOENT)
		log_error(&common->log, "the key of job %lld cannot be removed: %s/%lld: %s",
			  (long long)id, common->config.job_keys_dir, (long long)id,
			  strerror(-err));
}

json_t *key_of_job_check(const struct common *common, int64_t id, const json_t *record)
{
	const char *named = key_of_job_named(record), *node = common->config.node;
	struct ckpt_error error = {};
	char text[ID_TEXT];
	int err;

	if (!named)
		return NULL;
	err = key_of_job_id(common, id, text, &error);
	if (err == -ENOENT)
		return outcome_error(-ENOKEY,
				     "the key of job %lld is not on node %s: ckptctl keys wrap "
				     "%lld --node %s on a node of the job, then ckptctl keys take "
				     "on %s",
				     (long long)id, node, (long long)id, node, node);
	if (err)
		return outcome_error(err, "the key of job %lld: %s", (long long)id, error.text);
	return strcmp(text, named) ?
	       outcome_error(-EKEYREJECTED,
			     "the key of job %lld on node %s is %s, and its record names %s",
			     (long long)id, node, text, named) : NULL;
}

/* This node's key pair, and the public key of node @name. Return: NULL, or an outcome. */
static json_t *key_of_job_nodes(const struct common *common, const char *name,
				struct node_key *ret_own, const uint8_t **ret_public)
{
	const struct hosts *hosts = nodes_hosts(common->nodes);
	struct ckpt_error error = {};
	int host = hosts ? hosts_find(hosts, name) : -ENOENT;
	int err;

	if (host < 0)
		return outcome_error(host, "there is no node %.63s in %s", name,
				     common->config.hosts);
	err = node_key_load(common->config.node_key, ret_own, &error);
	if (err)
		return outcome_error(err, "%s", error.text);
	*ret_public = hosts->host[host].key;
	return NULL;
}

json_t *key_of_job_wrap(const struct common *common, int64_t id, const char *name,
			char ret_wrap[WRAP_TEXT])
{
	char purpose[PURPOSE_SIZE];
	uint8_t key[IMAGE_KEY_BYTES];
	struct ckpt_error error = {};
	const uint8_t *public = NULL;
	struct node_key own;
	json_t *outcome = key_of_job_nodes(common, name, &own, &public);
	int err;

	if (outcome)
		return outcome;
	key_of_job_purpose(id, purpose);
	err = job_key_read(common->config.job_keys_dir, id, key, &error);
	if (err == -ENOENT)
		outcome = outcome_error(-ENOKEY, "node %s has no key of job %lld",
					common->config.node, (long long)id);
	else if (err)
		outcome = outcome_error(err, "%s", error.text);
	if (!err)
		err = wrap_make(key, purpose, &own, public, ret_wrap);
	explicit_bzero(key, sizeof(key));
	node_key_wipe(&own);
	return err && !outcome ? outcome_error(err, "%.63s: %s", name, strerror(-err)) : outcome;
}

/* Keep a key that came to this node. */
static json_t *key_of_job_keep(const struct common *common, int64_t id,
			       const uint8_t key[IMAGE_KEY_BYTES])
{
	struct ckpt_error error = {};
	int err;

	if (!config_has_job_keys(&common->config))
		return outcome_error(-EPERM,
				     "node %s keeps no keys of jobs: set job_keys = on in its "
				     "ckptd.conf and restart ckptd there",
				     common->config.node);
	err = job_key_put(common->config.job_keys_dir, id, key, &error);
	return err ? outcome_error(err, "%s", error.text) : NULL;
}

/* As key_of_job_unwrap(); @named: the only key that is taken, or NULL. */
static json_t *key_of_job_open(const struct common *common, int64_t id, const char *name,
			       const char *wrap, const char *named)
{
	char purpose[PURPOSE_SIZE], text[ID_TEXT] = "";
	uint8_t key[IMAGE_KEY_BYTES];
	const uint8_t *public = NULL;
	struct node_key own;
	json_t *outcome = key_of_job_nodes(common, name, &own, &public);
	int err;

	if (outcome)
		return outcome;
	key_of_job_purpose(id, purpose);
	err = wrap_open(wrap, purpose, public, &own, key);
	node_key_wipe(&own);
	if (err)
		outcome = outcome_error(err,
					"this is no wrap that node %.63s made of the key of job "
					"%lld for node %s",
					name, (long long)id, common->config.node);
	else if (named && (key_of_job_text(key, text) || strcmp(text, named)))
		outcome = outcome_error(-EKEYREJECTED,
					"node %.63s sends another key of job %lld than its record "
					"names", name, (long long)id);
	else
		outcome = key_of_job_keep(common, id, key);
	explicit_bzero(key, sizeof(key));
	return outcome;
}

json_t *key_of_job_unwrap(const struct common *common, int64_t id, const char *name,
			  const char *wrap)
{
	return key_of_job_open(common, id, name, wrap, NULL);
}

json_t *key_of_job_add(const struct common *common, int64_t id, const json_t *record,
		       unsigned int host, json_t *args)
{
	const struct hosts *hosts = nodes_hosts(common->nodes);
	char wrap[WRAP_TEXT];
	json_t *outcome;

	if (!key_of_job_named(record) || !hosts || host >= hosts->nr)
		return NULL;
	outcome = key_of_job_wrap(common, id, hosts->host[host].name, wrap);
	if (!outcome && json_object_set_new(args, WRAP, json_string(wrap)))
		outcome = outcome_error(-ENOMEM, "out of memory");
	sodium_memzero(wrap, sizeof(wrap));
	return outcome;
}

json_t *key_of_job_take(const struct common *common, int64_t id, const json_t *record,
			unsigned int host, const json_t *args)
{
	const struct hosts *hosts = nodes_hosts(common->nodes);
	const char *wrap = json_string_value(json_object_get(args, WRAP));
	const char *named = key_of_job_named(record);
	json_t *outcome = NULL;

	if (!named)
		return NULL;
	if (wrap && hosts && host < hosts->nr)
		outcome = key_of_job_open(common, id, hosts->host[host].name, wrap, named);
	return outcome ?: key_of_job_check(common, id, record);
}
