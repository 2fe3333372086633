// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mappings of a memory map: checking their records, making them, comparing the result.
 *
 * The kernel's own mmap makes each mapping, so limits, permissions, accounting and security hooks
 * are those of any mmap.  Flags that mmap cannot give are put into mm->def_flags while it runs.
 * Two mappings that touch differ in one marker flag (VM_DONTDUMP) until all are made, so that
 * separate mappings do not merge; ckpt_vmas_settle() sets that flag right and compares the layout
 * with the records.
 *
 * Private mappings that lost PROT_WRITE after they were accounted, and hugetlb
 * mappings, which cannot be written by force, stay writable until commit.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <uapi/linux/shm.h>
#include <linux/syscalls.h>

#include <asm/prctl.h>
#include <asm/vdso.h>

#include "collect.h"
#include "compat/ksyms.h"
#include "compat/mm.h"
#include "compat/optional.h"
#include "compat/pkeys.h"
#include "restore.h"
#include "restore_mm.h"
#include "uring.h"

#define CKPT_VM_KNOWN		((((CKPT_VM_DROPPABLE << 1) - 1) & ~(1ULL << 22)) |	\
				 CKPT_VM_KEY_MASK)
#define CKPT_VM_MARKER		VM_DONTDUMP

/* ------------------------------------------------------------ checking */

static bool ckpt_vma_is_hugetlb(const struct ckpt_rec_vma *rec)
{
	return rec->kind == CKPT_VMA_HUGETLB_PRIVATE ||
	       rec->kind == CKPT_VMA_HUGETLB_SHARED;
}

bool ckpt_vma_is_late(const struct ckpt_rec_vma *rec)
{
	if (rec->flags & CKPT_VM_WRITE)
		return false;
	switch (rec->kind) {
	case CKPT_VMA_ANON:
	case CKPT_VMA_FILE_PRIVATE:
		return rec->flags & CKPT_VM_ACCOUNT;
	case CKPT_VMA_HUGETLB_PRIVATE:
		return true;
	default:
		return false;
	}
}

unsigned int ckpt_vma_exec_key_of(const struct ckpt_mm_job *job, const struct ckpt_rec_vma *rec)
{
	unsigned int key = ckpt_vma_key(rec);

	return job->pkeys & 1U << key ? 0 : key;
}

/* True if prctl(2) allows the name. */
static bool ckpt_vma_name_ok(const struct ckpt_rec_vma *rec)
{
	size_t i, len = strnlen(rec->name, sizeof(rec->name));

	if (len == sizeof(rec->name))
		return false;
	for (i = 0; i < len; i++)
		if (!isascii(rec->name[i]) || !isprint(rec->name[i]) ||
		    strchr("\\`$[]", rec->name[i]))
			return false;
	return true;
}

static int ckpt_vma_check_flags(const struct ckpt_rec_vma *rec)
{
	u64 flags = rec->flags;

	if (flags & ~CKPT_VM_KNOWN)
		return -EINVAL;
	if (!ckpt_vma_name_ok(rec))
		return -EINVAL;
	if ((flags & CKPT_VM_HUGEPAGE) && (flags & CKPT_VM_NOHUGEPAGE))
		return -EINVAL;
	if ((flags & CKPT_VM_LOCKONFAULT) && !(flags & CKPT_VM_LOCKED))
		return -EINVAL;
	if ((flags & (CKPT_VM_GROWSDOWN | CKPT_VM_WIPEONFORK | CKPT_VM_DROPPABLE)) &&
	    rec->kind != CKPT_VMA_ANON)
		return -EINVAL;
	if ((flags & CKPT_VM_SYNC) && rec->kind != CKPT_VMA_FILE_SHARED)
		return -EINVAL;
	if ((flags & CKPT_VM_KEY_MASK) && ckpt_vma_is_vdso(rec))
		return -EINVAL;
	if ((flags & CKPT_VM_MERGEABLE) && rec->kind != CKPT_VMA_ANON &&
	    rec->kind != CKPT_VMA_FILE_PRIVATE)
		return -EINVAL;
	return 0;
}

static int ckpt_vma_check(const struct ckpt_rec_vma *rec, u64 floor)
{
	bool file = rec->file >= 0;

	if (!ckpt_range_ok(rec->start, rec->end) || rec->start < floor)
		return -EINVAL;
	if (rec->pgoff > (ULONG_MAX >> PAGE_SHIFT) ||
	    rec->pgoff + ((rec->end - rec->start) >> PAGE_SHIFT) >
	    (ULONG_MAX >> PAGE_SHIFT))
		return -EOVERFLOW;
	switch (rec->kind) {
	case CKPT_VMA_ANON:
	case CKPT_VMA_VDSO:
	case CKPT_VMA_VVAR:
	case CKPT_VMA_AIO:
		if (file)
			return -EINVAL;
		break;
	case CKPT_VMA_FILE_PRIVATE:
	case CKPT_VMA_FILE_SHARED:
	case CKPT_VMA_SHM:
	case CKPT_VMA_HUGETLB_SHARED:
	case CKPT_VMA_SYSV:
	case CKPT_VMA_URING:
		if (!file)
			return -EINVAL;
		break;
	case CKPT_VMA_HUGETLB_PRIVATE:
		if (rec->hugepage_shift <= PAGE_SHIFT || rec->hugepage_shift > 30)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	return ckpt_vma_check_flags(rec);
}

static bool ckpt_file_is_hugetlb(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == HUGETLBFS_MAGIC;
}

/*
 * The mode of the file decides whether a shared mapping may be made writable later (VM_MAYWRITE).
 * The caller may have one descriptor for mappings of both modes: open the file again, read only.
 */
static struct file *ckpt_vma_reopen(const struct ckpt_rec_vma *rec, struct file *file)
{
	struct file *ro;

	if (!ckpt_vma_is_shared(rec) || !(file->f_mode & FMODE_WRITE) ||
	    rec->flags & (CKPT_VM_WRITE | CKPT_VM_MAYWRITE))
		return file;
	ro = dentry_open(&file->f_path, O_RDONLY | O_LARGEFILE, current_cred());
	fput(file);
	return ro;
}

/*
 * The kernel knows an attachment by the file that shmat(2) makes.  @file leads to the segment; take
 * such a file from an attachment in the caller, and put @file.
 */
static struct file *ckpt_vma_attach(const struct ckpt_rec_vma *rec, struct file *file)
{
#ifdef CONFIG_SYSVIPC
	int flags = rec->flags & (CKPT_VM_WRITE | CKPT_VM_MAYWRITE) ? 0 : SHM_RDONLY;
	struct file *attached = ERR_PTR(-EIDRM);
	struct inode *inode = file_inode(file);
	struct vm_area_struct *vma;
	unsigned long addr;
	long err;

	err = -EINVAL;
	if (ckpt_file_is_sysv(file))
		err = ckpt_k(do_shmat)(inode->i_ino, NULL, flags, &addr, SHMLBA);
	if (err) {
		fput(file);
		return ERR_PTR(err);
	}
	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, addr);
	/* not another segment that has its number by now */
	if (vma && vma->vm_start == addr && vma->vm_file && file_inode(vma->vm_file) == inode)
		attached = get_file(vma->vm_file);
	mmap_read_unlock(current->mm);
	vm_munmap(addr, PAGE_ALIGN(i_size_read(inode)));
	fput(file);
	return attached;
#else
	fput(file);
	return ERR_PTR(-EOPNOTSUPP);
#endif
}

/* Where the attachment begins that the mapping is a piece of. */
static u64 ckpt_vma_attached_at(const struct ckpt_rec_vma *rec)
{
	return rec->start - (rec->pgoff << PAGE_SHIFT);
}

/*
 * A piece of the same attachment among the mappings before @item, or NULL: shmdt(2) detaches all
 * pieces that have one file.
 */
static struct file *ckpt_vma_attachment(struct ckpt_mm_job *job, const struct ckpt_vma_item *item,
					const struct file *file)
{
	u64 at = ckpt_vma_attached_at(item->rec);
	const struct ckpt_vma_item *other = item;

	while (other > job->items && (--other)->rec->start >= at)
		if (other->rec->kind == CKPT_VMA_SYSV && ckpt_vma_attached_at(other->rec) == at &&
		    file_inode(other->file) == file_inode(file))
			return other->file;
	return NULL;
}

static int ckpt_vma_get_file(struct ckpt_mm_job *job, struct ckpt_vma_item *item)
{
	struct file *attached;
	struct file *file;

	if (item->rec->file < 0)
		return 0;
	file = fget(item->rec->file);
	if (!file)
		return -EBADF;
	if (ckpt_file_is_hugetlb(file) != ckpt_vma_is_hugetlb(item->rec)) {
		fput(file);
		return -EINVAL;
	}
	attached = item->rec->kind == CKPT_VMA_SYSV ? ckpt_vma_attachment(job, item, file) : NULL;
	if (attached) {
		fput(file);
		file = get_file(attached);
	} else if (item->rec->kind == CKPT_VMA_SYSV) {
		file = ckpt_vma_attach(item->rec, file);
	} else {
		file = ckpt_vma_reopen(item->rec, file);
	}
	if (IS_ERR(file))
		return PTR_ERR(file);
	item->file = file;
	return 0;
}

/* Take the PKEYS record, if it comes next. */
static int ckpt_pkeys_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream)
{
	const struct ckpt_rec_stream before = *stream;
	const struct ckpt_rec_pkeys *rec = ckpt_rec_next(stream);

	if (!rec || rec->hdr.type != CKPT_REC_PKEYS) {
		*stream = before;
		return 0;
	}
	job->pkeys = rec->keys;
	return rec->keys & 1 ? -EINVAL : 0;
}

/* A map has one key of the kernel's choice for all that may only be executed. */
static int ckpt_vma_note_key(struct ckpt_mm_job *job, const struct ckpt_rec_vma *rec)
{
	unsigned int key = ckpt_vma_exec_key_of(job, rec);

	if (!key)
		return 0;
	if ((rec->flags & (CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_EXEC)) != CKPT_VM_EXEC)
		return -EINVAL;
	if (job->key && job->key != key)
		return -EINVAL;
	job->key = key;
	return 0;
}

int ckpt_vmas_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream)
{
	struct ckpt_vma_item *item;
	u64 floor = 0;
	int err = ckpt_pkeys_collect(job, stream);

	if (err)
		return err;
	for (job->nr = 0; job->nr < job->rec->nr_vmas; job->nr++) {
		item = &job->items[job->nr];
		item->rec = ckpt_rec_next(stream);
		if (!item->rec || item->rec->hdr.type != CKPT_REC_VMA)
			return -EINVAL;
		item->pos = stream->bad;
		err = ckpt_vma_check(item->rec, floor);
		if (!err)
			err = ckpt_vma_note_key(job, item->rec);
		if (!err)
			err = ckpt_vma_get_file(job, item);
		if (err)
			return err;
		floor = item->rec->end;
	}
	err = ckpt_aios_collect(job, stream);
	return err ? err : ckpt_mempolicies_collect(job, stream);
}

/* -------------------------------------------- in the thread: mappings */

unsigned long ckpt_vma_def_flags(const struct ckpt_rec_vma *rec)
{
	static const struct {
		u64 from;
		unsigned long to;
	} map[] = {
		{ CKPT_VM_LOCKED, VM_LOCKED },
		{ CKPT_VM_LOCKONFAULT, VM_LOCKONFAULT },
		{ CKPT_VM_SEQ_READ, VM_SEQ_READ },
		{ CKPT_VM_RAND_READ, VM_RAND_READ },
		{ CKPT_VM_DONTCOPY, VM_DONTCOPY },
		{ CKPT_VM_WIPEONFORK, VM_WIPEONFORK },
		{ CKPT_VM_DONTDUMP, VM_DONTDUMP },
		{ CKPT_VM_HUGEPAGE, VM_HUGEPAGE },
		{ CKPT_VM_NOHUGEPAGE, VM_NOHUGEPAGE },
	};
	unsigned long flags = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map); i++)
		if (rec->flags & map[i].from)
			flags |= map[i].to;
	return flags;
}

unsigned long ckpt_vma_prot(const struct ckpt_rec_vma *rec)
{
	return (rec->flags & CKPT_VM_READ ? PROT_READ : 0) |
	       (rec->flags & CKPT_VM_WRITE ? PROT_WRITE : 0) |
	       (rec->flags & CKPT_VM_EXEC ? PROT_EXEC : 0);
}

static unsigned long ckpt_vma_map_flags(const struct ckpt_rec_vma *rec)
{
	unsigned long flags = MAP_FIXED_NOREPLACE;

	if (rec->flags & CKPT_VM_SYNC)
		flags |= MAP_SHARED_VALIDATE | MAP_SYNC;
	else if (rec->flags & CKPT_VM_DROPPABLE)
		flags |= CKPT_MAP_DROPPABLE;
	else
		flags |= ckpt_vma_is_shared(rec) ? MAP_SHARED : MAP_PRIVATE;
	if (rec->flags & CKPT_VM_GROWSDOWN)
		flags |= MAP_GROWSDOWN;
	if (rec->flags & CKPT_VM_NORESERVE)
		flags |= MAP_NORESERVE;
	return flags;
}

static unsigned long ckpt_vma_mmap(const struct ckpt_vma_item *item, u64 start, u64 len)
{
	const struct ckpt_rec_vma *rec = item->rec;
	unsigned long flags = ckpt_vma_map_flags(rec), prot = ckpt_vma_prot(rec);

	if (ckpt_vma_is_late(rec))
		prot |= PROT_WRITE;
	if (rec->kind == CKPT_VMA_HUGETLB_PRIVATE && !item->file)
		return ckpt_k(ksys_mmap_pgoff)(start, len, prot,
					       flags | MAP_ANONYMOUS | MAP_HUGETLB |
					       rec->hugepage_shift << MAP_HUGE_SHIFT,
					       -1, 0);
	if (rec->kind == CKPT_VMA_URING)
		return ckpt_uring_mmap(item->file, start, len, prot, rec->pgoff);
	return vm_mmap(item->file, start, len, prot, flags,
		       (rec->pgoff << PAGE_SHIFT) + start - rec->start);
}

/*
 * A mapping that grew by merging may be larger than the kernel grants at once (heuristic
 * overcommit: memory and swap). The kernel grants it piece by piece, as it did before, and the
 * pieces merge again.
 */
static unsigned long ckpt_vma_mmap_pieces(const struct ckpt_vma_item *item)
{
	u64 piece = max_t(u64, round_up(totalram_pages() / 2, PTRS_PER_PTE), PTRS_PER_PTE) <<
		    PAGE_SHIFT;
	u64 addr, end = item->rec->end;
	unsigned long ret = -ENOMEM;

	if (end - item->rec->start <= piece || ckpt_vma_is_hugetlb(item->rec))
		return ret;
	for (addr = item->rec->start; addr < end; addr += piece) {
		ret = ckpt_vma_mmap(item, addr, min(piece, end - addr));
		if (IS_ERR_VALUE(ret))
			return ret;
	}
	return item->rec->start;
}

/* The program's own protection key for it, as flags of the mapping. */
static unsigned long ckpt_vma_pkey_flags(const struct ckpt_mm_job *job,
					 const struct ckpt_rec_vma *rec)
{
#ifdef CONFIG_ARCH_HAS_PKEYS
	if (!ckpt_vma_exec_key_of(job, rec))
		return (unsigned long)ckpt_vma_key(rec) << VM_PKEY_SHIFT;
#endif
	return 0;
}

static int ckpt_vma_map(const struct ckpt_mm_job *job, const struct ckpt_vma_item *item,
			unsigned long marker)
{
	const struct ckpt_rec_vma *rec = item->rec;
	unsigned long ret;
	int err;

	if (!ckpt_mm_set_exec_key(ckpt_vma_exec_key_of(job, rec), true))
		return -EOPNOTSUPP;
	current->mm->def_flags = (ckpt_vma_def_flags(rec) ^ marker) |
				 ckpt_vma_pkey_flags(job, rec);
	ret = ckpt_vma_mmap(item, rec->start, rec->end - rec->start);
	if (ret == -ENOMEM)
		ret = ckpt_vma_mmap_pieces(item);
	current->mm->def_flags = 0;
	if (IS_ERR_VALUE(ret))
		return ret;
	if (ret != rec->start)
		return -EINVAL;
	if (rec->flags & CKPT_VM_MERGEABLE) {
		err = ckpt_k(do_madvise)(current->mm, rec->start, rec->end - rec->start,
					 MADV_MERGEABLE);
		if (err)
			return err;
	}
	if (rec->name[0] && (rec->kind == CKPT_VMA_ANON || rec->kind == CKPT_VMA_SHM))
		return ckpt_vma_set_anon_name(rec->start, rec->end - rec->start, rec->name);
	return 0;
}

/*
 * The vDSO is mapped first: the kernel takes our address as a hint only, and surely takes it while
 * the address space is empty.
 */
static int ckpt_vdso_map(struct ckpt_mm_job *job)
{
	const struct vdso_image *image = current->mm->context.vdso_image;
	const struct ckpt_rec_vma *vvar = NULL, *vdso = NULL;
	unsigned int i;
	long ret;

	for (i = 0; i < job->nr; i++) {
		if (job->items[i].rec->kind == CKPT_VMA_VVAR && !vvar)
			vvar = job->items[i].rec;
		else if (job->items[i].rec->kind == CKPT_VMA_VDSO && !vdso)
			vdso = job->items[i].rec;
		else if (!ckpt_vma_is_vdso(job->items[i].rec))
			continue;
		else
			return -EXDEV;
		job->bad = i;
	}
	if (!vvar && !vdso) {
		current->mm->context.vdso = NULL;
		return 0;
	}
	if (!vvar || !image || vvar->end - vvar->start != -image->sym_vvar_start ||
	    (vdso && (vvar->end != vdso->start || vdso->end - vdso->start != image->size)))
		return -EXDEV;
	ret = ckpt_k(do_arch_prctl_64)(current, ARCH_MAP_VDSO_64, vvar->start);
	if (ret < 0)
		return ret;
	if (current->mm->context.vdso != (void __user *)vvar->end)
		return -EXDEV;
	/* the data is left where the program has unmapped the code */
	return vdso ? 0 : vm_munmap(vvar->end, image->size);
}

static bool ckpt_vma_matches(struct vm_area_struct *vma, const struct ckpt_rec_vma *rec)
{
	unsigned long prot = ckpt_vma_prot(rec);

	if (vma->vm_start != rec->start || vma->vm_end != rec->end)
		return false;
	if (ckpt_vma_is_vdso(rec))
		return true;
	if (ckpt_vma_is_late(rec))
		prot |= PROT_WRITE;
	else if (vma_pkey(vma) != ckpt_vma_key(rec))
		return false;
	return (vma->vm_flags & VM_ACCESS_FLAGS) == calc_vm_prot_bits(prot, 0) &&
	       !(vma->vm_flags & VM_MAYSHARE) == !ckpt_vma_is_shared(rec) &&
	       !(vma->vm_flags & VM_GROWSDOWN) == !(rec->flags & CKPT_VM_GROWSDOWN);
}

/* Remove the markers; -ENOTUNIQ if the layout is not that of the records. */
static int ckpt_vmas_settle(struct ckpt_mm_job *job)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	unsigned int i = 0;
	unsigned long want;
	int err = 0;

	VMA_ITERATOR(vmi, mm, 0);

	mmap_write_lock(mm);
	for_each_vma(vmi, vma) {
		job->bad = i;
		if (i == job->nr || !ckpt_vma_matches(vma, job->items[i].rec)) {
			err = -ENOTUNIQ;
			break;
		}
		want = ckpt_vma_def_flags(job->items[i].rec) & CKPT_VM_MARKER;
		if (!ckpt_vma_is_vdso(job->items[i].rec) &&
		    (vma->vm_flags & CKPT_VM_MARKER) != want)
			ckpt_vm_flags_change(vma, want, CKPT_VM_MARKER);
		i++;
	}
	mmap_write_unlock(mm);
	return err ? err : i == job->nr ? 0 : -ENOTUNIQ;
}

int ckpt_vmas_map(struct ckpt_mm_job *job)
{
	unsigned long marker = 0;
	unsigned int i;
	int err;

	/* checked before a mapping gets such a key; ckpt_vma_map() changes them */
	if (!ckpt_mm_set_pkeys(job->pkeys))
		return -EOPNOTSUPP;
	err = ckpt_vdso_map(job);
	for (i = 0; !err && i < job->nr; i++) {
		const struct ckpt_rec_vma *rec = job->items[i].rec;

		if (ckpt_vma_is_vdso(rec) || rec->kind == CKPT_VMA_AIO)
			continue;
		if (i && job->items[i - 1].rec->end == rec->start)
			marker ^= CKPT_VM_MARKER ^
				  ((job->items[i - 1].rec->flags ^ rec->flags) &
				   CKPT_VM_DONTDUMP ? CKPT_VM_MARKER : 0);
		else
			marker = 0;
		job->bad = i;
		err = ckpt_vma_map(job, &job->items[i], marker);
		cond_resched();
	}
	ckpt_mm_set_exec_key(job->key, false);
	ckpt_mm_set_pkeys(job->pkeys);
	if (!err)
		err = ckpt_aios_make(job);
	/* while marks keep what lies side by side apart */
	if (!err)
		err = ckpt_mempolicies_set(job);
	return err ? err : ckpt_vmas_settle(job);
}
