/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of operations: words to enums, and the node's key.
 */
#ifndef STILLPOINT_OP_ARGS_H
#define STILLPOINT_OP_ARGS_H

#include "base/error.h"
#include "engine/op/op.h"
#include "engine/restore/restore.h"

struct ckpt_error;

#define OP_CHAIN_MAX	8	/* earlier images that one may need, if the caller does not say how many */

/* 0, or -EINVAL when the word is none of them; NULL is the default. */
int op_files_parse(const char *word, enum engine_files *ret_files);
int op_pidns_parse(const char *word, enum restore_pidns *ret_pidns);

/* Bytes: digits, and K, M, G or T (of 1024) behind them or not; -EINVAL. */
int op_size_parse(const char *word, uint64_t *ret_bytes);

/*
 * The node's key, with the secret of @env.  @writes: a secret that is not there is an error, which
 * else it is only to who needs it; and with env->first_use root makes a key that is not there.
 */
int op_key_load(const struct op_env *env, bool writes,
		struct image_key **ret_key, json_t **ret_outcome);

/*
 * op_key_make() - a new key, for what nothing was written with another one yet
 *
 * -EEXIST: there is one; -EPERM: only root can.
 */
int op_key_make(const char *path, struct ckpt_error *error);

/* op_image.c: NULL if @dir is the image of that job and generation (NULL, 0: any). */
json_t *op_image_expect(const char *dir, const struct image_key *key,
			const char *job, uint64_t generation);

#endif /* STILLPOINT_OP_ARGS_H */
