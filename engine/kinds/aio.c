// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts of asynchronous I/O (libaio), which the kernel module reads and makes.
 *
 * A context belongs to a memory map, and its record to the mapping of its ring.  The module waits
 * for requests in flight, so a context has only events that nobody has read.  A child has the
 * mapping from a fork, and no context: the map with the context is made before it.
 */
#include "base/error.h"
#include "engine/core/state_parse.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <string.h>

#define AIO_PAGE	4096ULL
#define AIO_RING_HEAD	32		/* bytes before the first event */
#define AIO_POSSIBLE	"/sys/devices/system/cpu/possible"

static uint64_t aio_pages(uint64_t nr_events)
{
	return (AIO_RING_HEAD + nr_events * sizeof(struct io_event) + AIO_PAGE - 1) / AIO_PAGE;
}

static bool aio_fits(const struct ckpt_rec_aio *rec, const struct ckpt_rec_vma *vma)
{
	uint32_t unread = rec->tail - rec->head + (rec->head <= rec->tail ? 0 : rec->nr_events);

	if (rec->flags)
		return rec->flags == CKPT_AIO_INHERITED ||
		       rec->flags == (CKPT_AIO_INHERITED | CKPT_AIO_GONE);
	return rec->nr_reqs && rec->nr_events >= 2 && rec->nr_events <= INT32_MAX / 64 &&
	       rec->head < rec->nr_events && rec->tail < rec->nr_events && rec->nr == unread &&
	       rec->nr <= (rec->hdr.len - sizeof(*rec)) / sizeof(struct io_event) &&
	       !vma->pgoff && (vma->end - vma->start) / AIO_PAGE == aio_pages(rec->nr_events);
}

static int aio_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_aio *rec = (const void *)hdr;
	struct state_vma *vma = p->mm && p->mm->nr_vmas ? &p->mm->vmas[p->mm->nr_vmas - 1] : NULL;

	if (!vma || vma->aio || vma->rec->kind != CKPT_VMA_AIO ||
	    vma->rec->mm_id != rec->mm_id || vma->rec->start != rec->start)
		return state_fail(p, -EBADMSG, "AIO away from mapping %#llx",
				  (unsigned long long)rec->start);
	if (!aio_fits(rec, vma->rec))
		return state_fail(p, -EBADMSG, "impossible asynchronous I/O context %#llx",
				  (unsigned long long)rec->start);
	vma->aio = rec;
	p->mm->nr_aios++;
	return 0;
}

static uint64_t aio_marks(const struct state *state, const struct ckpt_rec_hdr *hdr)
{
	return state_mm_find(state, ((const struct ckpt_rec_aio *)(const void *)hdr)->mm_id)->user;
}

/* CPUs that this node may ever have: lists such as 0-3,8; 0: not known. */
static unsigned int aio_possible_cpus(void)
{
	FILE *file = fopen(AIO_POSSIBLE, "re");
	unsigned int first, last, nr = 0;
	int c = ',';

	while (file && c == ',' && fscanf(file, "%u", &first) == 1) {
		last = first;
		c = fgetc(file);
		if (c == '-') {
			if (fscanf(file, "%u", &last) != 1)
				break;
			c = fgetc(file);
		}
		nr += last - first + 1;
	}
	if (file)
		fclose(file);
	return nr;
}

static void aio_check(struct reopen *r, const struct state_vma *vma, unsigned int cpus)
{
	struct error_refusal refusal = {
		.reason = CKPT_R_AIO, .pid = vma->mm->owner->rec->pid, .object = vma->rec->start,
	};
	uint64_t pages = aio_pages(vma->aio->nr_events);

	/* the kernel makes no ring for fewer than four requests of each CPU, twice */
	if (vma->aio->flags || aio_pages(8ULL * cpus + 2) <= pages)
		return;
	memcpy(refusal.comm, vma->mm->owner->rec->comm, sizeof(refusal.comm));
	error_refuse(r->error, &refusal, "the ring at %#llx is too small for the %u CPUs that this "
		     "node may have", (unsigned long long)vma->rec->start, cpus);
}

static int aio_prepare(struct reopen *r)
{
	unsigned int cpus = 0;

	for (unsigned int i = 0; i < r->state->nr_vmas; i++) {
		if (!r->state->vmas[i].aio)
			continue;
		if (!cpus)
			cpus = aio_possible_cpus();
		aio_check(r, &r->state->vmas[i], cpus);
	}
	return error_refused(r->error, "restore");
}

const struct state_kind state_kind_aio = {
	.name = "asynchronous I/O context",
	.records = {
		{ CKPT_REC_AIO, sizeof(struct ckpt_rec_aio), STATE_OWNER_OBJECT, aio_parse },
	},
	.marks = aio_marks,
	.prepare = aio_prepare,
};
