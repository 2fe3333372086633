/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One memory map being built; shared by restore_mm.c, restore_vma.c and restore_mempolicy.c.
 */
#ifndef _CKPT_RESTORE_MM_H
#define _CKPT_RESTORE_MM_H

#include <linux/types.h>

struct ckpt_rec_mempolicy;
struct ckpt_rec_mm;
struct ckpt_rec_stream;
struct ckpt_rec_vma;
struct file;

struct ckpt_vma_item {
	const struct ckpt_rec_vma *rec;
	struct file *file;		/* reference, or NULL */
	u32 pos;			/* position of the record in the stream */
	const struct ckpt_rec_mempolicy *policy;	/* NULL: none */
};

struct ckpt_mm_job {
	const struct ckpt_rec_mm *rec;
	struct file *exe;
	struct ckpt_vma_item *items;
	unsigned int nr;
	unsigned int nr_policies;
	unsigned int key;		/* of mappings that may only be executed; 0: none has one */
	u32 pkeys;			/* that the program has allocated, as bits */
	unsigned int bad;		/* item that failed; nr: the MM record */
};

/* Check the VMA records that follow, take their files; on error stream->bad is the bad record. */
int ckpt_vmas_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream);
/* True if the mapping stays writable until commit. */
bool ckpt_vma_is_late(const struct ckpt_rec_vma *rec);
unsigned long ckpt_vma_prot(const struct ckpt_rec_vma *rec);
/* The protection key that the kernel chose for it, and not the program; 0: none. */
unsigned int ckpt_vma_exec_key_of(const struct ckpt_mm_job *job, const struct ckpt_rec_vma *rec);
/* Make all mappings in current's empty address space. */
int ckpt_vmas_map(struct ckpt_mm_job *job);

/*
 * Map a page of user memory in current, for arguments of system calls. Unmapping the page leaves a
 * process that has been built as it was.
 */
unsigned long ckpt_scratch_map(void);
int ckpt_scratch_unmap(unsigned long page);

/* restore_mempolicy.c: check the records behind the VMA records; set the policies in current. */
int ckpt_mempolicies_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream);
int ckpt_mempolicies_set(struct ckpt_mm_job *job);

#endif /* _CKPT_RESTORE_MM_H */
