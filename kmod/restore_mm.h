/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One memory map being built; shared by restore_mm.c, restore_vma.c,
 * restore_aio.c and restore_mempolicy.c.
 */
#ifndef _CKPT_RESTORE_MM_H
#define _CKPT_RESTORE_MM_H

#include <linux/types.h>

#include <linux/ckpt.h>

struct ckpt_rec_aio;
struct ckpt_rec_mempolicy;
struct ckpt_rec_mm;
struct ckpt_rec_stream;
struct ckpt_rec_vma;
struct ckpt_restore;
struct file;

struct ckpt_vma_item {
	const struct ckpt_rec_vma *rec;
	struct file *file;		/* reference, or NULL */
	u32 pos;			/* position of the record in the stream */
	const struct ckpt_rec_mempolicy *policy;	/* NULL: none */
	const struct ckpt_rec_aio *aio;	/* of a ring; then @pos is that of this record */
};

struct ckpt_mm_job {
	const struct ckpt_rec_mm *rec;
	struct file *exe;
	struct ckpt_vma_item *items;
	unsigned int nr;
	unsigned int nr_policies;
	unsigned int nr_aios;
	const struct list_head *rings;	/* ckpt_restore.rings, for the caller alone */
	unsigned int key;		/* of mappings that may only be executed; 0: none has one */
	u32 pkeys;			/* that the program has allocated, as bits */
	unsigned int bad;		/* item that failed; nr: the MM record */
	bool kept;			/* the mappings are there, and stay: of a rollback */
};

static inline bool ckpt_vma_is_shared(const struct ckpt_rec_vma *rec)
{
	return rec->kind == CKPT_VMA_FILE_SHARED || rec->kind == CKPT_VMA_SHM ||
	       rec->kind == CKPT_VMA_HUGETLB_SHARED || rec->kind == CKPT_VMA_SYSV ||
	       rec->kind == CKPT_VMA_AIO || rec->kind == CKPT_VMA_URING;
}

static inline bool ckpt_vma_is_vdso(const struct ckpt_rec_vma *rec)
{
	return rec->kind == CKPT_VMA_VDSO || rec->kind == CKPT_VMA_VVAR;
}

static inline unsigned int ckpt_vma_key(const struct ckpt_rec_vma *rec)
{
	return (rec->flags & CKPT_VM_KEY_MASK) >> CKPT_VM_KEY_SHIFT;
}

/* Check the VMA records that follow, take their files; on error stream->bad is the bad record. */
int ckpt_vmas_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream);
/* True if the mapping stays writable until commit. */
bool ckpt_vma_is_late(const struct ckpt_rec_vma *rec);
unsigned long ckpt_vma_prot(const struct ckpt_rec_vma *rec);
/* The protection key that the kernel chose for it, and not the program; 0: none. */
unsigned int ckpt_vma_exec_key_of(const struct ckpt_mm_job *job, const struct ckpt_rec_vma *rec);
/* VM_* flags of the new mapping that no PROT_* or MAP_* flag gives, for mm->def_flags. */
unsigned long ckpt_vma_def_flags(const struct ckpt_rec_vma *rec);
/* Make all mappings in current's empty address space. */
int ckpt_vmas_map(struct ckpt_mm_job *job);
/*
 * restore_rollback.c: unmap in current what lies between the items, whose mappings stay; -ENOTUNIQ
 * if one is not there.
 */
int ckpt_vmas_keep(struct ckpt_mm_job *job);

/*
 * Map a page of user memory in current, for arguments of system calls. Unmapping the page leaves a
 * process that has been built as it was.
 */
unsigned long ckpt_scratch_map(void);
int ckpt_scratch_unmap(unsigned long page);

/*
 * restore_aio.c: check the AIO records behind the VMA records; make the contexts in current; note
 * their rings, in the caller; end all contexts of current, which has none in flight.
 */
int ckpt_aios_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream);
int ckpt_aios_make(struct ckpt_mm_job *job);
int ckpt_restore_rings_note(struct ckpt_restore *restore, const struct ckpt_mm_job *job);
int ckpt_aios_destroy(void);

/* restore_mempolicy.c: check the records behind the VMA records; set the policies in current. */
int ckpt_mempolicies_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream);
int ckpt_mempolicies_set(struct ckpt_mm_job *job);

#endif /* _CKPT_RESTORE_MM_H */
