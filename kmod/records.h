/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A growing buffer of records: written by the capture, read by read(2).
 *
 * Not locked: the owner's cmd_lock protects it.  Records never move once added,
 * so a pointer to one stays valid until the buffer is reset or destroyed.
 */
#ifndef _CKPT_RECORDS_H
#define _CKPT_RECORDS_H

#include <linux/types.h>

struct ckpt_records;

struct ckpt_records *ckpt_records_create(void);
void ckpt_records_destroy(struct ckpt_records *recs);
/* Forget the records but keep the memory. */
void ckpt_records_reset(struct ckpt_records *recs);
/* Allocate room for @bytes more, so that adding them allocates nothing. */
int ckpt_records_reserve(struct ckpt_records *recs, size_t bytes);

/*
 * Append a zeroed record of @size bytes, header included, rounded up to 8, its
 * header filled in.  NULL without memory; the failure is remembered.
 */
void *ckpt_records_add(struct ckpt_records *recs, u16 type, size_t size);
/* Cut the record that was added last to @size bytes, rounded up to 8. */
void ckpt_records_trim(struct ckpt_records *recs, void *rec, size_t size);

/* Copy all records of @from to the end of @recs. */
void ckpt_records_append(struct ckpt_records *recs, const struct ckpt_records *from);

u64 ckpt_records_len(const struct ckpt_records *recs);
/* 0, or the first error since the last reset. */
int ckpt_records_error(const struct ckpt_records *recs);
/* Copy records to user space from *@pos on, as read(2) does. */
ssize_t ckpt_records_read(const struct ckpt_records *recs, char __user *buf,
			  size_t len, loff_t *pos);

#endif /* _CKPT_RECORDS_H */
