// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arguments of operations: words to enums, and the node's key.
 *
 * Only root makes a key, and only where nothing was written with an earlier one.  A new key
 * in the place of a lost one would make all existing images look forged, and those who
 * remove images that cannot be restarted would remove them.
 */
#include "engine/op/op_args.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "image/key.h"
#include "base/outcome.h"

int op_files_parse(const char *word, enum engine_files *ret_files)
{
	static const char *const words[] = {
		[ENGINE_FILES_TRACK] = "track",
		[ENGINE_FILES_CARRY] = "carry",
		[ENGINE_FILES_IGNORE] = "ignore",
		[ENGINE_FILES_KEEP] = "keep",
	};
	unsigned int i;

	if (!word)
		word = words[ENGINE_FILES_KEEP];
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(word, words[i])) {
			*ret_files = (enum engine_files)i;
			return 0;
		}
	}
	return -EINVAL;
}

int op_pidns_parse(const char *word, enum restore_pidns *ret_pidns)
{
	static const char *const words[] = {
		[RESTORE_PIDNS_AUTO] = "auto",
		[RESTORE_PIDNS_CALLER] = "caller",
		[RESTORE_PIDNS_NEW] = "new",
	};
	unsigned int i;

	if (!word)
		word = words[RESTORE_PIDNS_AUTO];
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(word, words[i])) {
			*ret_pidns = (enum restore_pidns)i;
			return 0;
		}
	}
	return -EINVAL;
}

int op_size_parse(const char *word, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	unsigned long long number;
	const char *unit;
	int shift = 0;
	char *end;

	errno = 0;
	number = strtoull(word, &end, 10);
	if (errno || *word < '0' || *word > '9')
		return -EINVAL;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return -EINVAL;
		shift = 10 * (int)(unit - units + 1);
	}
	if (number > UINT64_MAX >> shift)
		return -EINVAL;
	*ret_bytes = (uint64_t)number << shift;
	return 0;
}

int op_key_make(const char *path, struct ckpt_error *error)
{
	char copy[PATH_MAX];
	const char *dir;

	if (geteuid() != 0)
		return error_set(error, -EPERM, "%s does not exist, and only root can make it",
				       path);
	if (strlen(path) >= sizeof(copy))
		return error_set(error, -ENAMETOOLONG, "the name of the key file is too long");
	strcpy(copy, path);
	dir = dirname(copy);
	if (mkdir(dir, 0755) && errno != EEXIST)
		return error_set(error, -errno, "%s: cannot be created", dir);
	return image_key_create(path, error);
}

/* Add the secret of @env to the key. On failure destroy the key, unless the secret is optional. */
static int add_secret(const struct op_env *env, bool must, struct image_key **key,
		      json_t **ret_outcome)
{
	struct ckpt_error error = {};
	int err = env->secret ? image_key_secret(*key, env->secret, &error) : 0;

	if (!err || !must)
		return 0;
	image_key_destroy(take_ptr(*key));
	*ret_outcome = outcome_error(err, "%s (the key that images are to be encrypted with; "
				     "nothing was written)", error.text);
	return err;
}

int op_key_load(const struct op_env *env, bool writes,
		struct image_key **ret_key, json_t **ret_outcome)
{
	const char *path = env->key ? env->key : OP_KEY_DEFAULT;
	struct ckpt_error error = {};
	int err = 0;

	if (writes && env->first_use && access(path, F_OK) && errno == ENOENT)
		err = op_key_make(path, &error);
	if (!err || err == -EEXIST)
		err = image_key_load(path, ret_key, &error);
	if (!err)
		return add_secret(env, writes, ret_key, ret_outcome);
	if (err == -ENOENT && writes)
		*ret_outcome = outcome_error(err, "there is no key %s: if it was lost, put it "
					     "back, or copy it from another node; ckptd makes one "
					     "when it starts, if no job is in image_dir yet", path);
	else if (err == -ENOENT)
		*ret_outcome = outcome_error(err, "there is no key %s: put it back, or copy it "
					     "from the node that wrote the images%s", path,
					     env->first_use ?
					     "; another one is named with --key" : "");
	else
		*ret_outcome = outcome_error(err, "%s", error.text[0] ? error.text :
							strerror(-err));
	return err;
}
