// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two sinks of contents: the image, and a hold in memory until the thaw.
 *
 * The hold owns anonymous mappings ("slabs") that are filled front to back, and
 * a list of what lies where; nothing is copied on the way in.  It takes all that it
 * is given: its users (dump_content.c, dump_pages.c) decide how much may be held, as
 * they know the alternative.
 */
#include "engine/dump/content.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "image/writer.h"

#define PAGE		4096UL
#define SLAB		(32UL << 20)
#define SMALL_SLAB	(1UL << 20)
#define CONTENT_LITTLE	(256UL << 10)	/* first buffer: often enough for a small tree */

int content_room(struct content *c, size_t want, void **ret_buf, size_t *ret_len)
{
	return c->ops->room(c, want, ret_buf, ret_len);
}

int content_pages(struct content *c, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		  const void *data)
{
	c->bytes += nr_pages * PAGE;
	return c->ops->pages(c, mm_id, addr, nr_pages, data);
}

int content_begin(struct content *c, uint64_t blob, bool in_pages)
{
	return c->ops->begin(c, blob, in_pages);
}

int content_data(struct content *c, uint64_t offset, const void *data, size_t len)
{
	c->bytes += len;
	return c->ops->data(c, offset, data, len);
}

int content_end(struct content *c, uint64_t size)
{
	return c->ops->end(c, size);
}

/*
 * Map memory for contents; munmap(2) frees it.  NULL without memory.  A mapping of
 * CONTENT_ROOM bytes or more gets huge pages, a smaller one small pages, of which those
 * that are not filled cost nothing.
 */
static void *content_map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* huge pages: fewer faults; the call fails on a kernel without them, and may */
	madvise(p, len, len < CONTENT_ROOM ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	return p;
}

/* ---------------------------------------------------------------- image */

struct content_image {
	struct content content;
	struct image *img;
	void *buf;		/* size bytes */
	size_t size;
};

static void image_unmap(struct content_image *ci)
{
	if (ci->buf)
		munmap(ci->buf, ci->size);
}

static int image_room(struct content *c, size_t want, void **ret_buf, size_t *ret_len)
{
	struct content_image *ci = (struct content_image *)c;

	if (want > ci->size && ci->size < CONTENT_ROOM) {
		size_t size = want <= CONTENT_LITTLE ? CONTENT_LITTLE : CONTENT_ROOM;
		void *buf = content_map(size);

		if (!buf)
			return -ENOMEM;
		image_unmap(ci);
		ci->buf = buf;
		ci->size = size;
	}
	*ret_buf = ci->buf;
	*ret_len = want < ci->size ? want : ci->size;
	return 0;
}

static int image_pages(struct content *c, uint64_t mm_id, uint64_t addr,
		       uint64_t nr_pages, const void *data)
{
	return image_pages_add(((struct content_image *)c)->img, mm_id, addr, nr_pages, data);
}

static int image_begin(struct content *c, uint64_t blob, bool in_pages)
{
	struct image *img = ((struct content_image *)c)->img;
	int ret = image_blob_begin(img, blob);

	return ret || !in_pages ? ret : image_blob_in_pages(img);
}

static int image_data(struct content *c, uint64_t offset, const void *data, size_t len)
{
	return image_blob_append(((struct content_image *)c)->img, offset, data, len);
}

static int image_end(struct content *c, uint64_t size)
{
	return image_blob_end(((struct content_image *)c)->img, size);
}

static const struct content_ops image_ops = {
	.room = image_room,
	.pages = image_pages,
	.begin = image_begin,
	.data = image_data,
	.end = image_end,
};

int content_image_create(struct image *img, struct content **ret_content)
{
	struct content_image *ci = calloc(1, sizeof(*ci));

	if (!ci)
		return -ENOMEM;
	ci->content.ops = &image_ops;
	ci->img = img;
	*ret_content = &ci->content;
	return 0;
}

/* ---------------------------------------------------------------- hold */

enum held_kind { HELD_PAGES, HELD_BEGIN, HELD_DATA, HELD_END };

struct held {
	enum held_kind kind;
	uint64_t owner;		/* mm_id or blob */
	uint64_t start;		/* address, offset or size */
	size_t len;
	const char *data;
};

struct slab {
	char *base;
	size_t size;
	size_t used;
};

struct content_hold {
	struct content content;
	struct held *held;
	unsigned int nr_held;
	unsigned int held_room;
	struct slab *slabs;
	unsigned int nr_slabs;
};

static int hold_room(struct content *c, size_t want, void **ret_buf, size_t *ret_len)
{
	struct content_hold *hold = (struct content_hold *)c;
	struct slab *slab = hold->nr_slabs ? &hold->slabs[hold->nr_slabs - 1] : NULL;

	if (!slab || slab->size - slab->used < PAGE) {
		slab = reallocarray(hold->slabs, hold->nr_slabs + 1, sizeof(*slab));
		if (!slab)
			return -ENOMEM;
		hold->slabs = slab;
		slab += hold->nr_slabs;
		/* a small first slab suffices for a small tree; the next ones are large */
		slab->size = hold->nr_slabs ? SLAB : SMALL_SLAB;
		slab->base = content_map(slab->size);
		if (!slab->base)
			return -ENOMEM;
		slab->used = 0;
		hold->nr_slabs++;
	}
	*ret_buf = slab->base + slab->used;
	*ret_len = slab->size - slab->used < want ? slab->size - slab->used : want;
	return 0;
}

static int hold_add(struct content *c, const struct held *entry)
{
	struct content_hold *hold = (struct content_hold *)c;
	struct slab *slab;

	if (hold->nr_held == hold->held_room) {
		unsigned int room = hold->held_room ? hold->held_room * 2 : 256;
		struct held *more = reallocarray(hold->held, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		hold->held = more;
		hold->held_room = room;
	}
	hold->held[hold->nr_held++] = *entry;
	if (entry->data) {
		slab = &hold->slabs[hold->nr_slabs - 1];
		slab->used = (size_t)(entry->data + entry->len - slab->base);
		slab->used = (slab->used + PAGE - 1) & ~(PAGE - 1);
	}
	return 0;
}

static int hold_pages(struct content *c, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		      const void *data)
{
	struct held entry = { HELD_PAGES, mm_id, addr, nr_pages * PAGE, data };

	return hold_add(c, &entry);
}

static int hold_begin(struct content *c, uint64_t blob, bool in_pages)
{
	struct held entry = { .kind = HELD_BEGIN, .owner = blob, .len = in_pages };

	return hold_add(c, &entry);
}

static int hold_data(struct content *c, uint64_t offset, const void *data, size_t len)
{
	struct held entry = { HELD_DATA, 0, offset, len, data };

	return hold_add(c, &entry);
}

static int hold_end(struct content *c, uint64_t size)
{
	struct held entry = { .kind = HELD_END, .start = size };

	return hold_add(c, &entry);
}

static const struct content_ops hold_ops = {
	.room = hold_room,
	.pages = hold_pages,
	.begin = hold_begin,
	.data = hold_data,
	.end = hold_end,
};

int content_hold_create(struct content **ret_content)
{
	struct content_hold *hold = calloc(1, sizeof(*hold));

	if (!hold)
		return -ENOMEM;
	hold->content.ops = &hold_ops;
	*ret_content = &hold->content;
	return 0;
}

/* Entries lie in the slabs in order: free all slabs before the one that @data lies in. */
static unsigned int release_slabs(struct content_hold *hold, unsigned int slab,
				  const char *data)
{
	while (slab < hold->nr_slabs &&
	       (data < hold->slabs[slab].base ||
		data >= hold->slabs[slab].base + hold->slabs[slab].size)) {
		munmap(hold->slabs[slab].base, hold->slabs[slab].size);
		hold->slabs[slab].base = NULL;
		slab++;
	}
	return slab;
}

int content_hold_replay(struct content *c, struct content *to)
{
	struct content_hold *hold = (struct content_hold *)c;
	unsigned int slab = 0;
	int ret = 0;

	for (unsigned int i = 0; i < hold->nr_held && !ret; i++) {
		const struct held *entry = &hold->held[i];

		if (entry->data)
			slab = release_slabs(hold, slab, entry->data);
		switch (entry->kind) {
		case HELD_PAGES:
			ret = content_pages(to, entry->owner, entry->start,
					    entry->len / PAGE, entry->data);
			break;
		case HELD_BEGIN:
			ret = content_begin(to, entry->owner, entry->len);
			break;
		case HELD_DATA:
			ret = content_data(to, entry->start, entry->data, entry->len);
			break;
		case HELD_END:
			ret = content_end(to, entry->start);
			break;
		}
	}
	hold->nr_held = 0;
	for (; slab < hold->nr_slabs; slab++)
		munmap(hold->slabs[slab].base, hold->slabs[slab].size);
	hold->nr_slabs = 0;
	c->bytes = 0;
	return ret;
}

void content_destroy(struct content *c)
{
	struct content_hold *hold = (struct content_hold *)c;

	if (!c)
		return;
	if (c->ops == &image_ops) {
		image_unmap((struct content_image *)c);
		free(c);
		return;
	}
	for (unsigned int i = 0; i < hold->nr_slabs; i++)
		if (hold->slabs[i].base)
			munmap(hold->slabs[i].base, hold->slabs[i].size);
	free(hold->slabs);
	free(hold->held);
	free(hold);
}
