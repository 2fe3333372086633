// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys and values of a PMI-1 server; see pmi1_kvs.h.
 *
 * An open-addressed table of pointers, never more than half full.  Entries are
 * never removed.  The caller bounds the sum of all entries; lengths are checked
 * here, because blocks come from other nodes.
 */
#include "shim/pmi1_kvs.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint16_t klen;
	uint16_t vlen;
	char *value;
	char key[];
};

struct kvs {
	size_t key_max, value_max;
	struct entry **slot;
	size_t nr_slots;	/* a power of two */
	size_t nr;
	size_t bytes;
	char *new;
	size_t new_len, new_size;
};

struct kvs *kvs_create(size_t key_max, size_t value_max)
{
	struct kvs *kvs = calloc(1, sizeof(*kvs));

	if (!kvs)
		return NULL;
	kvs->key_max = key_max;
	kvs->value_max = value_max;
	kvs->nr_slots = 256;
	kvs->slot = calloc(kvs->nr_slots, sizeof(*kvs->slot));
	if (!kvs->slot) {
		free(kvs);
		return NULL;
	}
	return kvs;
}

void kvs_destroy(struct kvs *kvs)
{
	size_t i;

	if (!kvs)
		return;
	for (i = 0; i < kvs->nr_slots; i++) {
		if (kvs->slot[i])
			free(kvs->slot[i]->value);
		free(kvs->slot[i]);
	}
	free(kvs->slot);
	free(kvs->new);
	free(kvs);
}

static size_t pmi1_kvs_hash(const char *key, size_t klen)
{
	uint64_t h = 14695981039346656037ULL;
	size_t i;

	for (i = 0; i < klen; i++)
		h = (h ^ (uint8_t)key[i]) * 1099511628211ULL;
	return (size_t)(h ^ h >> 32);
}

/* The key's slot, or the empty slot where the key belongs. */
static struct entry **pmi1_kvs_find(const struct kvs *kvs, const char *key, size_t klen)
{
	size_t i = pmi1_kvs_hash(key, klen);

	for (;; i++) {
		struct entry **slot = kvs->slot + (i & (kvs->nr_slots - 1));

		if (!*slot || ((*slot)->klen == klen && !memcmp((*slot)->key, key, klen)))
			return slot;
	}
}

static int pmi1_kvs_grow(struct kvs *kvs)
{
	struct kvs bigger = *kvs;
	size_t i;

	if (2 * (kvs->nr + 1) <= kvs->nr_slots)
		return 0;
	bigger.nr_slots *= 2;
	bigger.slot = calloc(bigger.nr_slots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (i = 0; i < kvs->nr_slots; i++) {
		struct entry *e = kvs->slot[i];

		if (e)
			*pmi1_kvs_find(&bigger, e->key, e->klen) = e;
	}
	free(kvs->slot);
	*kvs = bigger;
	return 0;
}

static struct entry *entry_new(const char *key, size_t klen)
{
	struct entry *e = malloc(sizeof(*e) + klen);

	if (!e)
		return NULL;
	e->klen = (uint16_t)klen;
	e->vlen = 0;
	e->value = NULL;
	memcpy(e->key, key, klen);
	return e;
}

int kvs_put(struct kvs *kvs, const char *key, size_t klen, const char *value, size_t vlen)
{
	struct entry **slot;
	char *copy;

	if (!klen || klen > kvs->key_max || vlen > kvs->value_max)
		return -EBADMSG;
	if (pmi1_kvs_grow(kvs))
		return -ENOMEM;
	copy = malloc(vlen + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, value, vlen);
	slot = pmi1_kvs_find(kvs, key, klen);
	if (!*slot) {
		*slot = entry_new(key, klen);
		kvs->nr += !!*slot;
		kvs->bytes += *slot ? klen : 0;
	}
	if (!*slot) {
		free(copy);
		return -ENOMEM;
	}
	free((*slot)->value);
	kvs->bytes += vlen - (*slot)->vlen;
	(*slot)->value = copy;
	(*slot)->vlen = (uint16_t)vlen;
	return 0;
}

const char *kvs_get(const struct kvs *kvs, const char *key, size_t klen, size_t *ret_vlen)
{
	const struct entry *e = klen ? *pmi1_kvs_find(kvs, key, klen) : NULL;

	if (!e)
		return NULL;
	*ret_vlen = e->vlen;
	return e->value;
}

size_t kvs_bytes(const struct kvs *kvs)
{
	return kvs->bytes;
}

/* ---------------------------------------------------------------- blocks */

static void put_u16(char *at, size_t value)
{
	at[0] = (char)(value & 0xff);
	at[1] = (char)(value >> 8 & 0xff);
}

static size_t get_u16(const uint8_t *at)
{
	return at[0] | (size_t)at[1] << 8;
}

static int make_room(struct kvs *kvs, size_t len)
{
	size_t size = kvs->new_size ? kvs->new_size : 1024;
	char *new;

	if (kvs->new_len + len <= kvs->new_size)
		return 0;
	while (size < kvs->new_len + len)
		size *= 2;
	new = realloc(kvs->new, size);
	if (!new)
		return -ENOMEM;
	kvs->new = new;
	kvs->new_size = size;
	return 0;
}

int kvs_put_new(struct kvs *kvs, const char *key, size_t klen, const char *value,
		size_t vlen)
{
	size_t len = 4 + klen + vlen;
	char *at;
	int err;

	err = make_room(kvs, len);
	if (!err)
		err = kvs_put(kvs, key, klen, value, vlen);
	if (err)
		return err;
	at = kvs->new + kvs->new_len;
	put_u16(at, klen);
	put_u16(at + 2, vlen);
	memcpy(at + 4, key, klen);
	memcpy(at + 4 + klen, value, vlen);
	kvs->new_len += len;
	return 0;
}

const void *kvs_new(const struct kvs *kvs, size_t *ret_len)
{
	*ret_len = kvs->new_len;
	return kvs->new;
}

void kvs_new_clear(struct kvs *kvs)
{
	kvs->new_len = 0;
}

/* Put each entry of a block; with @kvs NULL only check the block. */
static int walk_block(struct kvs *kvs, const struct kvs *limits, const uint8_t *at,
		      size_t left)
{
	while (left) {
		size_t klen, vlen;
		int err;

		if (left < 4)
			return -EBADMSG;
		klen = get_u16(at);
		vlen = get_u16(at + 2);
		if (!klen || klen > limits->key_max || vlen > limits->value_max ||
		    left - 4 < klen + vlen)
			return -EBADMSG;
		err = kvs ? kvs_put(kvs, (const char *)at + 4, klen,
				    (const char *)at + 4 + klen, vlen) : 0;
		if (err)
			return err;
		at += 4 + klen + vlen;
		left -= 4 + klen + vlen;
	}
	return 0;
}

int kvs_put_block(struct kvs *kvs, const void *data, size_t len)
{
	int err = walk_block(NULL, kvs, data, len);

	return err ? err : walk_block(kvs, kvs, data, len);
}
