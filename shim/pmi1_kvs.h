/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The keys and values that the ranks of a job have put, and the part of them that
 * other nodes do not know yet, as the block that a fence exchanges:
 *
 *	block	:= { klen:u16 vlen:u16 key value }	(little-endian)
 */
#ifndef STILLPOINT_SHIM_PMI1_KVS_H
#define STILLPOINT_SHIM_PMI1_KVS_H

#include <stddef.h>

struct kvs;

/* @key_max, @value_max: bytes, longer ones are -EBADMSG */
struct kvs *kvs_create(size_t key_max, size_t value_max);
void kvs_destroy(struct kvs *kvs);	/* NULL is fine */

/* Put a value; an existing key gets the new value. -EBADMSG, -ENOMEM. */
int kvs_put(struct kvs *kvs, const char *key, size_t klen, const char *value, size_t vlen);
/* The key's value, or NULL.  Not NUL-terminated; valid until the next put. */
const char *kvs_get(const struct kvs *kvs, const char *key, size_t klen, size_t *ret_vlen);

/* Bytes of all keys and values in the table. */
size_t kvs_bytes(const struct kvs *kvs);

/* As kvs_put(), and also add the entry to the block for the next fence. */
int kvs_put_new(struct kvs *kvs, const char *key, size_t klen, const char *value,
		size_t vlen);
const void *kvs_new(const struct kvs *kvs, size_t *ret_len);
void kvs_new_clear(struct kvs *kvs);
/* Put all entries of a block. -EBADMSG: none was put; -ENOMEM: some may have been. */
int kvs_put_block(struct kvs *kvs, const void *data, size_t len);

#endif /* STILLPOINT_SHIM_PMI1_KVS_H */
