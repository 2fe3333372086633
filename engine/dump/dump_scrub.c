// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparing unwritten memory with the base; see dump_scrub.h.
 *
 * Owns the choice of the stretches and the list of findings. The pages come from the snapshot, so
 * all of this happens after the thaw. A finding changes nothing in the image: the page becomes a
 * reference to the base, as every clean page does, so the image has it as it was last written.
 */
#include "engine/dump/dump_scrub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "image/base.h"
#include "image/reader.h"

#define PAGE		4096ULL
#define NR_AT_ONCE	16U		/* pages of the base that are read at once */

static bool dump_scrub_whole(const struct dump_options *o)
{
	return o->verify_base || o->scrub_every == 1;
}

bool dump_scrub_wants(const struct dump *d, uint64_t addr, uint64_t end, uint64_t *ret_stop)
{
	const struct dump_options *o = d->options;
	uint64_t every = o->scrub_every, stretch = addr / DUMP_SCRUB_STRETCH, wait;

	*ret_stop = end;
	if (dump_scrub_whole(o) || !every)
		return dump_scrub_whole(o);
	wait = (o->generation % every + every - stretch % every) % every;
	stretch += wait ? wait : 1;
	if (stretch * DUMP_SCRUB_STRETCH < end)
		*ret_stop = stretch * DUMP_SCRUB_STRETCH;
	return !wait;
}

static const struct state_mm *dump_scrub_map(const struct dump *d, uint32_t mm_id)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_mms; i++)
		if (state->mms[i].rec->mm_id == mm_id)
			return &state->mms[i];
	return NULL;
}

/* The mapping that holds @addr; NULL: none. */
static const struct state_vma *dump_scrub_mapping(const struct state_mm *mm, uint64_t addr)
{
	for (unsigned int i = 0; i < mm->nr_vmas; i++)
		if (addr >= mm->vmas[i].rec->start && addr < mm->vmas[i].rec->end)
			return &mm->vmas[i];
	return NULL;
}

static const char *dump_scrub_name(const struct state_mm *mm, const struct state_vma *vma)
{
	const struct ckpt_rec_vma *rec = vma->rec;

	if (rec->name[0])
		return rec->name;
	if (vma->file)
		return vma->file->path;
	if (rec->start < mm->rec->brk && rec->end > mm->rec->start_brk)
		return "heap";
	if (mm->rec->start_stack >= rec->start && mm->rec->start_stack < rec->end)
		return "stack";
	return "anonymous";
}

/* Note that the page differs from the base. */
static void dump_scrub_found(struct dump *d, uint32_t mm_id, uint64_t addr)
{
	const struct state_mm *mm = dump_scrub_map(d, mm_id);
	const struct state_vma *vma = mm ? dump_scrub_mapping(mm, addr) : NULL;
	struct dump_scrub_told *told = &d->stats.scrub;
	struct dump_scrub_page *page;

	told->wrong++;
	if (told->nr_told == DUMP_SCRUB_TOLD)
		return;
	page = &told->told[told->nr_told++];
	page->addr = addr;
	if (mm)
		page->pid = mm->rec->pid;
	if (mm && mm->owner)
		snprintf(page->command, sizeof(page->command), "%s", mm->owner->rec->comm);
	if (!vma)
		return;
	page->start = vma->rec->start;
	page->end = vma->rec->end;
	snprintf(page->mapping, sizeof(page->mapping), "%.*s", (int)sizeof(page->mapping) - 1,
		 dump_scrub_name(mm, vma));
}

static int dump_scrub_page(struct dump *d, uint32_t mm_id, uint64_t addr, const char *was,
			   const char *is)
{
	d->stats.scrub.pages++;
	if (!memcmp(was, is, PAGE))
		return 0;
	if (d->options->verify_base)
		return error_fail(d->error, -EUCLEAN,
				  "page 0x%llx of memory map %u differs from the image before, "
				  "although the kernel says that it was not written",
				  (unsigned long long)addr, mm_id);
	dump_scrub_found(d, mm_id, addr);
	return 0;
}

/* Compare up to @nr pages; *@ret_nr: how many were dealt with, compared or not in the base. */
static int dump_scrub_some(struct dump *d, uint32_t mm_id, uint64_t base_mm, uint64_t addr,
			   uint64_t nr, const char *data, uint64_t *ret_nr)
{
	struct image_reader *base = image_base_reader(d->img);
	char was[NR_AT_ONCE * PAGE];
	int ret;

	*ret_nr = nr < NR_AT_ONCE ? nr : NR_AT_ONCE;
	ret = image_pages_read(base, base_mm, addr, *ret_nr, was);
	if (ret == -ENOENT && *ret_nr > 1) {	/* one of them is not in the base */
		*ret_nr = 1;
		ret = image_pages_read(base, base_mm, addr, 1, was);
	}
	if (ret == -ENOENT)
		return 0;
	if (ret)
		return error_fail(d->error, ret, "the image before cannot be read: %s",
				  image_reader_error(base));
	for (uint64_t i = 0; i < *ret_nr && !ret; i++)
		ret = dump_scrub_page(d, mm_id, addr + i * PAGE, was + i * PAGE, data + i * PAGE);
	return ret;
}

int dump_scrub(struct dump *d, uint32_t mm_id, uint64_t base_mm, uint64_t addr, uint64_t len,
	       const char *data)
{
	uint64_t began = clock_monotonic_ns(), end = addr + len, stop, nr;
	int ret = 0;

	if (!dump_scrub_whole(d->options) && !d->options->scrub_every)
		return 0;
	while (addr < end && !ret) {
		bool wanted = dump_scrub_wants(d, addr, end, &stop);

		nr = (stop - addr) / PAGE;
		if (wanted)
			ret = dump_scrub_some(d, mm_id, base_mm, addr, nr, data, &nr);
		addr += nr * PAGE;
		data += nr * PAGE;
	}
	d->stats.scrub.ns += clock_monotonic_ns() - began;
	return ret;
}

void dump_scrub_describe(const struct dump *d)
{
	const struct dump_scrub_told *told = &d->stats.scrub;
	char text[128 + DUMP_SCRUB_TOLD * 128];
	int len;

	if (!d->options->scrub_every || !d->stats.incremental)
		return;
	len = snprintf(text, sizeof(text), "{\"pages\": %llu, \"wrong\": %llu, \"at\": [",
		       (unsigned long long)told->pages, (unsigned long long)told->wrong);
	for (unsigned int i = 0; i < told->nr_told; i++) {
		const struct dump_scrub_page *page = &told->told[i];

		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"%s{\"pid\": %d, \"address\": \"%llx\", \"start\": \"%llx\", "
				"\"end\": \"%llx\"}", i ? ", " : "", (int)page->pid,
				(unsigned long long)page->addr, (unsigned long long)page->start,
				(unsigned long long)page->end);
	}
	snprintf(text + len, sizeof(text) - (size_t)len, "]}");
	image_set(d->img, IMAGE_KEY_SCRUB, text);
}
