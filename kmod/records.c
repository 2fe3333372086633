// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffer of records: a list of chunks, filled one after another.
 *
 * A record lies in one chunk; a record that does not fit opens the next chunk, or a chunk of its
 * own size if it is larger.  Chunks behind the current one are a reserve.  Adding a record costs
 * the same, however many records there are.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <linux/ckpt.h>

#include "records.h"

#define CKPT_RECORDS_CHUNK	(256UL << 10)
#define CKPT_RECORDS_MAX	(2UL << 30)	/* of all chunks; hdr.len is 32 bits */

struct ckpt_chunk {
	struct list_head link;
	size_t used;
	size_t size;
	u8 data[] __aligned(8);
};

struct ckpt_records {
	struct list_head chunks;
	struct ckpt_chunk *cur;		/* the chunk being filled; NULL: none yet */
	u64 len;
	u64 allocated;
	int error;
};

struct ckpt_records *ckpt_records_create(void)
{
	struct ckpt_records *recs = kzalloc(sizeof(*recs), GFP_KERNEL_ACCOUNT);

	if (recs)
		INIT_LIST_HEAD(&recs->chunks);
	return recs;
}

void ckpt_records_destroy(struct ckpt_records *recs)
{
	struct ckpt_chunk *chunk, *next;

	if (!recs)
		return;
	list_for_each_entry_safe(chunk, next, &recs->chunks, link)
		kvfree(chunk);
	kfree(recs);
}

void ckpt_records_reset(struct ckpt_records *recs)
{
	struct ckpt_chunk *chunk;

	list_for_each_entry(chunk, &recs->chunks, link)
		chunk->used = 0;
	recs->cur = NULL;
	recs->len = 0;
	recs->error = 0;
}

static struct ckpt_chunk *ckpt_records_alloc(struct ckpt_records *recs, size_t size)
{
	struct ckpt_chunk *chunk;

	size = max(size, CKPT_RECORDS_CHUNK - sizeof(*chunk));
	if (recs->allocated + size > CKPT_RECORDS_MAX)
		return NULL;
	chunk = kvmalloc(sizeof(*chunk) + size, GFP_KERNEL_ACCOUNT);
	if (!chunk)
		return NULL;
	chunk->used = 0;
	chunk->size = size;
	recs->allocated += size;
	return chunk;
}

/* Return the chunk behind the current one if it is large enough; else NULL. */
static struct ckpt_chunk *ckpt_records_spare(struct ckpt_records *recs, size_t size)
{
	struct list_head *next = recs->cur ? recs->cur->link.next : recs->chunks.next;
	struct ckpt_chunk *chunk = list_entry(next, struct ckpt_chunk, link);

	if (next == &recs->chunks || chunk->size < size)
		return NULL;
	return chunk;
}

int ckpt_records_reserve(struct ckpt_records *recs, size_t bytes)
{
	size_t spare = 0;
	struct ckpt_chunk *chunk;

	list_for_each_entry_reverse(chunk, &recs->chunks, link) {
		spare += chunk->size - chunk->used;
		if (chunk == recs->cur)
			break;
	}
	while (spare < bytes) {
		chunk = ckpt_records_alloc(recs, 0);
		if (!chunk)
			return -ENOMEM;
		spare += chunk->size;
		list_add_tail(&chunk->link, &recs->chunks);
	}
	return 0;
}

static struct ckpt_chunk *ckpt_records_room(struct ckpt_records *recs, size_t size)
{
	struct ckpt_chunk *chunk = recs->cur;

	if (chunk && chunk->size - chunk->used >= size)
		return chunk;
	chunk = ckpt_records_spare(recs, size);
	if (!chunk) {
		chunk = ckpt_records_alloc(recs, size);
		if (!chunk)
			return NULL;
		list_add(&chunk->link, recs->cur ? &recs->cur->link : &recs->chunks);
	}
	recs->cur = chunk;
	return chunk;
}

void *ckpt_records_add(struct ckpt_records *recs, u16 type, size_t size)
{
	size_t len = ALIGN(size, 8);
	struct ckpt_rec_hdr *hdr;
	struct ckpt_chunk *chunk;

	chunk = ckpt_records_room(recs, len);
	if (!chunk) {
		if (!recs->error)
			recs->error = -ENOMEM;
		return NULL;
	}
	hdr = (void *)(chunk->data + chunk->used);
	memset(hdr, 0, len);
	hdr->type = type;
	hdr->version = 1;
	hdr->len = len;
	chunk->used += len;
	recs->len += len;
	return hdr;
}

void ckpt_records_trim(struct ckpt_records *recs, void *rec, size_t size)
{
	struct ckpt_rec_hdr *hdr = rec;
	size_t cut = hdr->len - ALIGN(size, 8);

	hdr->len -= cut;
	recs->cur->used -= cut;
	recs->len -= cut;
}

void ckpt_records_append(struct ckpt_records *recs, const struct ckpt_records *from)
{
	const struct ckpt_chunk *chunk;
	const struct ckpt_rec_hdr *hdr;
	size_t pos;
	void *rec;

	list_for_each_entry(chunk, &from->chunks, link)
		for (pos = 0; pos < chunk->used; pos += hdr->len) {
			hdr = (const void *)(chunk->data + pos);
			rec = ckpt_records_add(recs, hdr->type, hdr->len);
			if (rec)
				memcpy(rec, hdr, hdr->len);
		}
}

u64 ckpt_records_len(const struct ckpt_records *recs)
{
	return recs->len;
}

int ckpt_records_error(const struct ckpt_records *recs)
{
	return recs->error;
}

ssize_t ckpt_records_read(const struct ckpt_records *recs, char __user *buf,
			  size_t len, loff_t *pos)
{
	const struct ckpt_chunk *chunk;
	loff_t start = 0;
	ssize_t done = 0;

	list_for_each_entry(chunk, &recs->chunks, link) {
		loff_t end = start + chunk->used;
		size_t n;

		if (!len)
			break;
		if (*pos < end) {
			n = min_t(u64, len, end - *pos);
			if (copy_to_user(buf + done, chunk->data + (*pos - start), n))
				return done ? done : -EFAULT;
			done += n;
			len -= n;
			*pos += n;
		}
		start = end;
	}
	return done;
}
