/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of operations: words to enums, and the node's key.
 */
#ifndef STILLPOINT_OP_ARGS_H
#define STILLPOINT_OP_ARGS_H

#include "supervisor/op.h"
#include "supervisor/restore.h"

#define OP_CHAIN_MAX	8	/* earlier images that one may need, if the caller does not say how many */

/* 0, or -EINVAL when the word is none of them; NULL is the default. */
int op_files_parse(const char *word, enum engine_files *ret_files);
int op_pidns_parse(const char *word, enum restore_pidns *ret_pidns);

/* Bytes: digits, and K, M, G or T (of 1024) behind them or not; -EINVAL. */
int op_size_parse(const char *word, uint64_t *ret_bytes);

/*
 * The node's key, with the secret of @env.  @create, for who writes: root makes the key when it
 * is not there, and a secret that is not there is an error; else it is one only to who needs it.
 */
int op_key_load(const struct op_env *env, bool create,
		struct image_key **ret_key, json_t **ret_outcome);

/* op_image.c: NULL if @dir is the image of that job and generation (NULL, 0: any). */
json_t *op_image_expect(const char *dir, const struct image_key *key,
			const char *job, uint64_t generation);

#endif /* STILLPOINT_OP_ARGS_H */
