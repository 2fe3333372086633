/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collectives by communicator: the last one that ranks here have begun, the target up to
 * which they go on, and the number reported to ckptd. A hash table of fixed size, because
 * ranks decide how many entries they cause.
 */
#ifndef STILLPOINT_SHIM_PAGES_SEQS_H
#define STILLPOINT_SHIM_PAGES_SEQS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SEQS_MAX 8192	/* a power of two */

struct seqs_entry {
	uint64_t id;		/* 0: free */
	uint64_t begun, target, told;
	uint64_t members;
	uint64_t here;		/* members on this node, as last counted */
};

struct seqs {
	struct seqs_entry entry[SEQS_MAX];
	uint16_t at[SEQS_MAX];	/* places of the entries in use, in order of arrival */
	size_t used;
	bool full;		/* an entry has found no place since seqs_clear() */
};

/* The @n-th entry in use. */
static inline struct seqs_entry *seqs_nth(struct seqs *seqs, size_t n)
{
	return &seqs->entry[seqs->at[n]];
}

static inline void seqs_clear(struct seqs *seqs)
{
	seqs->full = false;
	while (seqs->used)
		memset(seqs_nth(seqs, --seqs->used), 0, sizeof(struct seqs_entry));
}

/* The entry of @id, found or made; NULL: the table is full. */
static inline struct seqs_entry *seqs_at(struct seqs *seqs, uint64_t id)
{
	size_t at = (size_t)((id * 0x9e3779b97f4a7c15ull) >> 51) % SEQS_MAX;

	while (seqs->entry[at].id && seqs->entry[at].id != id)
		at = (at + 1) % SEQS_MAX;
	if (!seqs->entry[at].id) {
		if (seqs->used >= SEQS_MAX - 1) {
			seqs->full = true;
			return NULL;
		}
		seqs->entry[at].id = id;
		seqs->at[seqs->used++] = (uint16_t)at;
	}
	return &seqs->entry[at];
}

/* A rank here has begun collective @seq. True: it is a new target. */
static inline bool seqs_begin(struct seqs_entry *entry, uint64_t seq)
{
	if (seq > entry->begun)
		entry->begun = seq;
	if (entry->begun <= entry->target)
		return false;
	entry->target = entry->begun;
	return true;
}

static inline void seqs_recount(struct seqs *seqs)
{
	size_t i;

	for (i = 0; i < seqs->used; i++)
		seqs_nth(seqs, i)->here = 0;
}

#endif /* STILLPOINT_SHIM_PAGES_SEQS_H */
