/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asynchronous I/O contexts (io_setup(2)): what both sides need of them.
 */
#ifndef _CKPT_AIO_H
#define _CKPT_AIO_H

#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#include "compat/aio.h"

struct ckpt_collect;
struct ckpt_object;

/* The place of the event @pos in the ring's file and mapping. */
static inline u64 ckpt_aio_event_at(unsigned int pos)
{
	return sizeof(struct ckpt_aio_ring) + (u64)pos * sizeof(struct io_event);
}

/* Number of events in a ring with room for @nr. */
static inline unsigned int ckpt_aio_unread(unsigned int head, unsigned int tail, unsigned int nr)
{
	return head <= tail ? tail - head : nr - (head - tail);
}

static inline bool ckpt_file_is_aio(const struct file *file)
{
	return file_inode(file)->i_sb->s_magic == CKPT_AIO_RING_MAGIC;
}

/* False: this kernel's structures are not known, or it has no such contexts. */
bool ckpt_aio_is_known(void);

/*
 * Visit the contexts of a map, from the place *@index on, which begins as 0: the next one, with a
 * reference for ckpt_aio_put(), or NULL.
 */
struct ckpt_kioctx *ckpt_aio_next(struct mm_struct *mm, unsigned int *index);
void ckpt_aio_put(struct ckpt_kioctx *kioctx);
/* The context whose ring is @file, with a reference, or NULL. */
struct ckpt_kioctx *ckpt_aio_of(struct mm_struct *mm, const struct file *file);

/*
 * Capture: wait a moment until no request is in flight, or refuse.  Called without locks; for
 * contexts in ranges left out nothing is done.
 */
int ckpt_collect_aio_wait(struct ckpt_collect *c, struct ckpt_object *obj);
/* Refuse a context whose ring is not mapped where its number says; with mmap_lock held. */
void ckpt_collect_aio_check(struct ckpt_collect *c, struct ckpt_object *obj);
/* AIO of a mapping of the kind CKPT_VMA_AIO, whose VMA record has been written. */
int ckpt_collect_aio(struct ckpt_collect *c, struct ckpt_object *obj, struct vm_area_struct *vma);
/* After all maps: refuse rings of contexts that only processes outside have. */
void ckpt_collect_aio_rings(struct ckpt_collect *c);

#endif /* _CKPT_AIO_H */
