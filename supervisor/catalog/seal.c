// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small records that the node's key authenticates; see seal.h.
 *
 * The MAC's key is derived from the node's key like a manifest's, with an identifier that
 * no image has, so that no image can pass for a record.
 */
#include "supervisor/catalog/seal.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/key.h"
#include "base/error.h"
#include "base/atomic_json.h"
#include "engine/op/op_args.h"
#include "base/outcome.h"

#define MAC_BYTES	32
#define ID_BYTES	16
#define CONTEXT		"stillpoint sealed record v1    "	/* 31 characters and NUL */

static int seal_compute(const struct image_key *key, const char *purpose,
			const json_t *record, char *ret_hex)
{
	uint8_t derived[IMAGE_SUBKEY_BYTES], mac[MAC_BYTES];
	crypto_generichash_state state;
	_cleanup_free_ char *text = json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		return -ENOMEM;
	image_key_manifest(key, (const uint8_t *)CONTEXT, derived);
	crypto_generichash_init(&state, derived, sizeof(derived), sizeof(mac));
	crypto_generichash_update(&state, (const uint8_t *)purpose, strlen(purpose) + 1);
	crypto_generichash_update(&state, (const uint8_t *)text, strlen(text));
	crypto_generichash_final(&state, mac, sizeof(mac));
	sodium_bin2hex(ret_hex, 2 * MAC_BYTES + 1, mac, sizeof(mac));
	sodium_memzero(derived, sizeof(derived));
	return 0;
}

static void seal_key_id(const struct image_key *key, char ret_hex[2 * ID_BYTES + 1])
{
	uint8_t id[ID_BYTES];

	image_key_id(key, id);
	sodium_bin2hex(ret_hex, 2 * ID_BYTES + 1, id, sizeof(id));
}

static int load_key(const char *path, bool writes, struct image_key **ret_key,
		    struct ckpt_error *error)
{
	struct op_env env = { .key = path };
	json_t *outcome = NULL;
	int err = op_key_load(&env, writes, ret_key, &outcome);

	if (err)
		error_set(error, err, "%s",
			  json_string_value(json_object_get(json_object_get(outcome, "error"),
							   "text")));
	json_decref(outcome);
	return err;
}

int seal_write(const char *dir, const char *name, const char *purpose,
	       const char *key_path, const json_t *record, struct ckpt_error *error)
{
	char hex[2 * MAC_BYTES + 1], id[2 * ID_BYTES + 1];
	struct image_key *key;
	json_t *sealed;
	int err;

	err = load_key(key_path, true, &key, error);
	if (err)
		return err;
	err = seal_compute(key, purpose, record, hex);
	seal_key_id(key, id);
	image_key_destroy(key);
	if (err)
		return err;
	sealed = json_pack("{s:O, s:s, s:s}", "sealed", (json_t *)record, "mac", hex,
			   "key", id);
	err = sealed ? atomic_json_write(dir, name, sealed) : -ENOMEM;
	json_decref(sealed);
	if (err)
		error_set(error, err, "%s/%s cannot be written: %s", dir, name,
			  strerror(-err));
	return err;
}

/* Does the file say that another key has sealed it? */
static bool seal_is_others(const struct image_key *key, const json_t *sealed)
{
	const char *says = json_string_value(json_object_get(sealed, "key"));
	char id[2 * ID_BYTES + 1];

	seal_key_id(key, id);
	return says && strcmp(says, id);
}

static int seal_check(const struct image_key *key, const char *purpose, json_t *sealed,
		      json_t **ret_record)
{
	char hex[2 * MAC_BYTES + 1];
	const char *mac = json_string_value(json_object_get(sealed, "mac"));
	json_t *record = json_object_get(sealed, "sealed");
	int err;

	if (!mac || strlen(mac) != 2 * MAC_BYTES || !json_is_object(record))
		return -EBADMSG;
	err = seal_compute(key, purpose, record, hex);
	if (err)
		return err;
	if (sodium_memcmp(hex, mac, 2 * MAC_BYTES))
		return seal_is_others(key, sealed) ? -EKEYREJECTED : -EBADMSG;
	*ret_record = json_incref(record);
	return 0;
}

int seal_read(const char *dir, const char *name, const char *purpose,
	      const char *key_path, json_t **ret_record, struct ckpt_error *error)
{
	struct image_key *key = NULL;
	json_t *sealed = NULL;
	int err;

	err = atomic_json_read(dir, name, &sealed);
	if (err) {
		error_set(error, err, "%s/%s: %s", dir, name, err == -EBADMSG ?
			  "damaged" : strerror(-err));
		return err;
	}
	err = load_key(key_path, false, &key, error);
	if (!err) {
		err = seal_check(key, purpose, sealed, ret_record);
		if (err)
			error_set(error, err, err == -EKEYREJECTED ?
				  "%s/%s is of another key than %s" :
				  "%s/%s is damaged, forged, or of another key than %s",
				  dir, name, key_path);
	}
	image_key_destroy(key);
	json_decref(sealed);
	return err;
}
