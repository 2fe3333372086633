/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of operations: words to enums, and the node's key.
 *
 * For the operations, and for ckptctl and ckptd, which take the same words and key.
 * A word that is not known is an error, never a default.
 */
#ifndef STILLPOINT_OP_ARGS_H
#define STILLPOINT_OP_ARGS_H

#include "base/error.h"
#include "engine/op/op.h"
#include "engine/restore/restore.h"

struct ckpt_error;

#define OP_CHAIN_MAX	8	/* default for the most earlier images that an image may need */

/* 0, or -EINVAL for an unknown word; NULL is the default. */
int op_files_parse(const char *word, enum engine_files *ret_files);
int op_pidns_parse(const char *word, enum restore_pidns *ret_pidns);

/* Parse a size: digits, then nothing or K, M, G or T (powers of 1024); -EINVAL. */
int op_size_parse(const char *word, uint64_t *ret_bytes);

/*
 * Load the node's key, with the secret of @env. 0; else an error, and *ret_outcome.
 * @writes: for a dump. Then a missing secret is an error (a reader fails only when it needs the
 * secret), and with env->first_use root makes a missing key.
 */
int op_key_load(const struct op_env *env, bool writes,
		struct image_key **ret_key, json_t **ret_outcome);

/*
 * op_key_make() - make a key; only where nothing was written with an earlier key
 *
 * Return: 0; -EEXIST: there is a key already; -EPERM: only root may make one
 */
int op_key_make(const char *path, struct ckpt_error *error);

/* op_image.c: NULL if @dir is the image of @job and @generation (NULL, 0: any), else an error. */
json_t *op_image_expect(const char *dir, const struct image_key *key,
			const char *job, uint64_t generation);

#endif /* STILLPOINT_OP_ARGS_H */
