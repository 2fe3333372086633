// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of an image that does not count in a vote; see excluded.h.
 *
 * Owns which bytes these are. The table of an MPI rank is found by the shape of its mapping and
 * its magic bytes. The process may have written anything into it, which makes its own vote worth
 * less, and nobody else's.
 */
#include "supervisor/vote/excluded.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "image/describe.h"
#include "mpi-glue/lower/lower.h"
#include "mpi-glue/own_table.h"

#define PAGE		4096ULL
#define RANGES_MAX	16384U
#define PLACES_MAX	4096U	/* processes, stacks, tables */
#define RSEQ_MIN	32U	/* bytes that the kernel may write */
#define RED_ZONE	128U	/* bytes below the stack pointer that a function may use */
#define REG_SP		19U	/* of ckpt_rec_thread.regs */

struct excluded_range {
	int32_t pid;
	uint64_t start, end;
};

/* A memory map (@start is 0), or a mapping of one. */
struct excluded_place {
	uint64_t mm_id, start, end;
	int32_t pid;
	bool stack;		/* else it may hold the table */
};

struct excluded {
	unsigned int nr, nr_places, nr_ranks;
	uint32_t choices;
	struct excluded_range ranges[RANGES_MAX];
	struct excluded_place places[PLACES_MAX];
	int32_t ranks[PLACES_MAX];	/* with a lower half */
};

static const uint8_t magic[OWN_MAGIC_BYTES] = OWN_MAGIC;

static int excluded_add(struct excluded *e, int32_t pid, uint64_t start, uint64_t end)
{
	if (end <= start)
		return 0;
	if (e->nr == RANGES_MAX)
		return -E2BIG;
	e->ranges[e->nr++] = (struct excluded_range) { pid, start, end };
	return 0;
}

static int excluded_place(struct excluded *e, const struct ckpt_rec_vma *vma,
			  const struct ckpt_rec_mm *mm)
{
	bool stack = vma && vma->kind == CKPT_VMA_ANON && vma->flags & CKPT_VM_GROWSDOWN;
	bool table = vma && vma->kind == CKPT_VMA_ANON &&
		     vma->end - vma->start == OWN_TABLE_SIZE;

	if (!mm && !stack && !table)
		return 0;
	if (e->nr_places == PLACES_MAX)
		return -E2BIG;
	e->places[e->nr_places++] = (struct excluded_place) {
		.mm_id = mm ? mm->mm_id : vma->mm_id, .start = mm ? 0 : vma->start,
		.end = mm ? 0 : vma->end, .pid = mm ? mm->pid : 0, .stack = stack,
	};
	return 0;
}

/* The process whose memory map it is; 0: none. */
static int32_t excluded_pid(const struct excluded *e, uint64_t mm_id)
{
	for (unsigned int i = 0; i < e->nr_places; i++)
		if (!e->places[i].start && e->places[i].mm_id == mm_id)
			return e->places[i].pid;
	return 0;
}

static int excluded_thread(struct excluded *e, const struct ckpt_rec_thread *t)
{
	uint64_t rseq_len = t->rseq_len > RSEQ_MIN ? t->rseq_len : RSEQ_MIN;
	uint64_t sp = t->regs[REG_SP];
	int err = 0;

	if (t->rseq)
		err = excluded_add(e, t->pid, t->rseq, t->rseq + rseq_len);
	for (unsigned int i = 0; i < e->nr_places && !err; i++) {
		const struct excluded_place *p = &e->places[i];

		if (p->stack && sp > p->start + RED_ZONE && sp <= p->end &&
		    excluded_pid(e, p->mm_id) == t->pid)
			err = excluded_add(e, t->pid, p->start, sp - RED_ZONE);
	}
	return err;
}

/* Add what the table there lists, if it is one. */
static int excluded_table(struct excluded *e, struct image_reader *r,
			  const struct excluded_place *p)
{
	uint64_t words[OWN_TABLE_SIZE / sizeof(uint64_t)];
	const struct own_table *table = (const void *)words;
	int32_t pid = excluded_pid(e, p->mm_id);
	int err = 0;

	/* a mapping that was not written has no pages */
	if (image_pages_read(r, p->mm_id, p->start, 1, words) ||
	    memcmp(table->magic, magic, sizeof(magic)) || table->version != OWN_VERSION)
		return 0;
	for (uint64_t at = PAGE; at < OWN_TABLE_SIZE; at += PAGE)
		if (image_pages_read(r, p->mm_id, p->start + at, 1, (uint8_t *)words + at))
			memset((uint8_t *)words + at, 0, PAGE);
	for (uint64_t i = 0; i < table->nr && i < OWN_MAX && !err; i++)
		if (table->range[i].len <= UINT64_MAX - table->range[i].start)
			err = excluded_add(e, pid, table->range[i].start,
					   table->range[i].start + table->range[i].len);
	err = err ? err : excluded_add(e, pid, p->start, p->end);
	e->choices |= table->choices;
	e->ranks[e->nr_ranks++] = pid;
	return err;
}

static int excluded_walk(struct excluded *e, struct image_reader *r, bool threads)
{
	struct image_record rec;
	int ret, err = 0;

	image_state_rewind(r);
	while (!err && (ret = image_state_next(r, &rec)) == 1) {
		const struct ckpt_rec_mm *mm = describe_as(&rec, CKPT_REC_MM, struct ckpt_rec_mm);
		const struct ckpt_rec_vma *vma = describe_as(&rec, CKPT_REC_VMA,
							     struct ckpt_rec_vma);
		const struct ckpt_rec_thread *t = describe_as(&rec, CKPT_REC_THREAD,
							      struct ckpt_rec_thread);

		if (threads && t)
			err = excluded_thread(e, t);
		else if (!threads && (mm || vma))
			err = excluded_place(e, vma, mm);
	}
	return err ? err : ret;
}

int excluded_collect(struct image_reader *r, struct excluded **ret_excluded)
{
	struct excluded *e = calloc(1, sizeof(*e));
	int err = e ? excluded_walk(e, r, false) : -ENOMEM;

	if (!err)
		err = excluded_walk(e, r, true);
	for (unsigned int i = 0; !err && i < e->nr_places; i++)
		if (e->places[i].start && !e->places[i].stack)
			err = excluded_table(e, r, &e->places[i]);
	if (err)
		free(e);
	else
		*ret_excluded = e;
	return err;
}

uint32_t excluded_choices(const struct excluded *excluded)
{
	return excluded->choices;
}

void excluded_free(struct excluded *excluded)
{
	free(excluded);
}

static void excluded_addresses(uint8_t *buf, size_t len)
{
	uint64_t word;

	for (size_t at = 0; at + sizeof(word) <= len; at += sizeof(word)) {
		memcpy(&word, buf + at, sizeof(word));
		if (word < LOWER_BASE || word >= LOWER_END)
			continue;
		word = LOWER_BASE;
		memcpy(buf + at, &word, sizeof(word));
	}
}

void excluded_mask(const struct excluded *excluded, int32_t pid, uint64_t base, uint8_t *buf,
		   size_t len)
{
	for (unsigned int i = 0; i < excluded->nr; i++) {
		const struct excluded_range *range = &excluded->ranges[i];
		uint64_t from = range->start < base ? base : range->start;
		uint64_t to = range->end > base + len ? base + len : range->end;

		if (range->pid == pid && from < to)
			memset(buf + (from - base), 0, to - from);
	}
	for (unsigned int i = 0; i < excluded->nr_ranks; i++)
		if (excluded->ranks[i] == pid)
			excluded_addresses(buf, len);
}
