/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collectives by communicator: what ranks here have begun, what they may go on to, and
 * what ckptd was told. A hash table of fixed size, as ranks decide what is in it.
 */
#ifndef STILLPOINT_SHIM_PAGES_SEQS_H
#define STILLPOINT_SHIM_PAGES_SEQS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SEQS_MAX 8192	/* a power of two */

struct seqs_entry {
	uint64_t id;		/* 0: free */
	uint64_t begun, target, told;
	uint64_t members;
	uint64_t here;		/* of them, as last counted */
};

struct seqs {
	struct seqs_entry entry[SEQS_MAX];
	size_t used;
};

static inline void seqs_clear(struct seqs *seqs)
{
	memset(seqs, 0, sizeof(*seqs));
}

/* Found or made; NULL: the table is full. */
static inline struct seqs_entry *seqs_at(struct seqs *seqs, uint64_t id)
{
	size_t at = (size_t)((id * 0x9e3779b97f4a7c15ull) >> 51) % SEQS_MAX;

	while (seqs->entry[at].id && seqs->entry[at].id != id)
		at = (at + 1) % SEQS_MAX;
	if (!seqs->entry[at].id) {
		if (seqs->used >= SEQS_MAX - 1)
			return NULL;
		seqs->entry[at].id = id;
		seqs->used++;
	}
	return &seqs->entry[at];
}

static inline void seqs_recount(struct seqs *seqs)
{
	size_t i;

	for (i = 0; i < SEQS_MAX && seqs->used; i++)
		seqs->entry[i].here = 0;
}

#endif /* STILLPOINT_SHIM_PAGES_SEQS_H */
