// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memory map from its records: MM and its VMAs, in one action of one thread.
 *
 * All is checked before anything is unmapped; files are taken from the caller's
 * table beforehand.  Each mapping is made by the kernel's own mmap, so limits,
 * permissions, accounting and security hooks are those of any mmap.
 *
 * Flags that mmap cannot give are put into mm->def_flags while it runs.  Two
 * mappings that touch differ in one marker flag (VM_DONTDUMP) until all are
 * made, so that what was separate does not merge; ckpt_vmas_settle() sets
 * that flag right and compares the layout with the records.
 *
 * Private mappings that lost PROT_WRITE after they were accounted, and hugetlb
 * mappings, which cannot be written by force, stay writable until commit.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/personality.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/syscalls.h>

#include <asm/prctl.h>
#include <asm/vdso.h>

#include "compat/ksyms.h"
#include "compat/mm.h"
#include "context.h"
#include "restore.h"
#include "thread.h"

#define CKPT_VM_KNOWN		((CKPT_VM_EXCLUDED << 1) - 1)
#define CKPT_VM_MARKER		VM_DONTDUMP

struct ckpt_vma_item {
	const struct ckpt_rec_vma *rec;
	struct file *file;		/* reference, or NULL */
	u32 pos;			/* of the record in the stream */
};

struct ckpt_mm_job {
	const struct ckpt_rec_mm *rec;
	struct file *exe;
	struct ckpt_vma_item *items;
	unsigned int nr;
	unsigned int bad;		/* item that failed; nr: the MM record */
	struct ckpt_restore_mm *rmm;
};

/* ------------------------------------------------------------ checking */

static bool ckpt_vma_is_shared(const struct ckpt_rec_vma *rec)
{
	return rec->kind == CKPT_VMA_FILE_SHARED || rec->kind == CKPT_VMA_SHM ||
	       rec->kind == CKPT_VMA_HUGETLB_SHARED;
}

static bool ckpt_vma_is_hugetlb(const struct ckpt_rec_vma *rec)
{
	return rec->kind == CKPT_VMA_HUGETLB_PRIVATE ||
	       rec->kind == CKPT_VMA_HUGETLB_SHARED;
}

static bool ckpt_vma_is_vdso(const struct ckpt_rec_vma *rec)
{
	return rec->kind == CKPT_VMA_VDSO || rec->kind == CKPT_VMA_VVAR;
}

/* Writable until commit? */
static bool ckpt_vma_is_late(const struct ckpt_rec_vma *rec)
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

static int ckpt_vma_check_flags(const struct ckpt_rec_vma *rec)
{
	u64 flags = rec->flags;

	if (flags & ~CKPT_VM_KNOWN)
		return -EINVAL;
	if ((flags & CKPT_VM_HUGEPAGE) && (flags & CKPT_VM_NOHUGEPAGE))
		return -EINVAL;
	if ((flags & CKPT_VM_LOCKONFAULT) && !(flags & CKPT_VM_LOCKED))
		return -EINVAL;
	if ((flags & (CKPT_VM_GROWSDOWN | CKPT_VM_WIPEONFORK)) &&
	    rec->kind != CKPT_VMA_ANON)
		return -EINVAL;
	if ((flags & CKPT_VM_SYNC) && rec->kind != CKPT_VMA_FILE_SHARED)
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
		if (file)
			return -EINVAL;
		break;
	case CKPT_VMA_FILE_PRIVATE:
	case CKPT_VMA_FILE_SHARED:
	case CKPT_VMA_SHM:
	case CKPT_VMA_HUGETLB_SHARED:
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

static bool ckpt_mm_fields_ok(const struct ckpt_rec_mm *rec)
{
	const u64 addrs[] = {
		rec->start_code, rec->end_code, rec->start_data, rec->end_data,
		rec->start_brk, rec->brk, rec->start_stack,
		rec->arg_start, rec->arg_end, rec->env_start, rec->env_end,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(addrs); i++)
		if (addrs[i] >= TASK_SIZE_MAX)
			return false;
	return rec->start_code <= rec->end_code &&
	       rec->start_data <= rec->end_data && rec->start_brk <= rec->brk &&
	       rec->arg_start <= rec->arg_end && rec->env_start <= rec->env_end &&
	       rec->nr_auxv <= ARRAY_SIZE(rec->auxv) &&
	       rec->dumpable <= SUID_DUMP_ROOT && rec->def_locked <= 2;
}

static bool ckpt_file_is_hugetlb(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == HUGETLBFS_MAGIC;
}

/* Fill job->items from the stream; on error the stream knows where. */
static int ckpt_mm_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream)
{
	struct ckpt_vma_item *item;
	u64 floor = 0;
	int err;

	for (job->nr = 0; job->nr < job->rec->nr_vmas; job->nr++) {
		item = &job->items[job->nr];
		item->rec = ckpt_rec_next(stream);
		if (!item->rec || item->rec->hdr.type != CKPT_REC_VMA)
			return -EINVAL;
		item->pos = stream->bad;
		err = ckpt_vma_check(item->rec, floor);
		if (err)
			return err;
		floor = item->rec->end;
		if (item->rec->file < 0)
			continue;
		item->file = fget(item->rec->file);
		if (!item->file)
			return -EBADF;
		if (ckpt_file_is_hugetlb(item->file) != ckpt_vma_is_hugetlb(item->rec)) {
			fput(item->file);
			return -EINVAL;
		}
	}
	return ckpt_rec_next(stream) ? -EINVAL : 0;
}

static void ckpt_mm_release_files(struct ckpt_mm_job *job)
{
	unsigned int i;

	for (i = 0; i < job->nr; i++)
		if (job->items[i].file)
			fput(job->items[i].file);
	if (job->exe)
		fput(job->exe);
}

/* -------------------------------------------- in the thread: mappings */

/* VM_* of the new mapping beyond what prot and MAP_* flags give. */
static unsigned long ckpt_vma_def_flags(const struct ckpt_rec_vma *rec)
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

static unsigned long ckpt_vma_prot(const struct ckpt_rec_vma *rec)
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
	else
		flags |= ckpt_vma_is_shared(rec) ? MAP_SHARED : MAP_PRIVATE;
	if (rec->flags & CKPT_VM_GROWSDOWN)
		flags |= MAP_GROWSDOWN;
	if (rec->flags & CKPT_VM_NORESERVE)
		flags |= MAP_NORESERVE;
	return flags;
}

static int ckpt_vma_map(const struct ckpt_vma_item *item, unsigned long marker)
{
	const struct ckpt_rec_vma *rec = item->rec;
	unsigned long flags = ckpt_vma_map_flags(rec), prot = ckpt_vma_prot(rec), ret;

	if (ckpt_vma_is_late(rec))
		prot |= PROT_WRITE;
	current->mm->def_flags = ckpt_vma_def_flags(rec) ^ marker;
	if (rec->kind == CKPT_VMA_HUGETLB_PRIVATE && !item->file)
		ret = ckpt_k(ksys_mmap_pgoff)(rec->start, rec->end - rec->start, prot,
					      flags | MAP_ANONYMOUS | MAP_HUGETLB |
					      rec->hugepage_shift << MAP_HUGE_SHIFT,
					      -1, 0);
	else
		ret = vm_mmap(item->file, rec->start, rec->end - rec->start, prot,
			      flags, rec->pgoff << PAGE_SHIFT);
	current->mm->def_flags = 0;
	if (IS_ERR_VALUE(ret))
		return ret;
	if (ret != rec->start)
		return -EINVAL;
	if (rec->flags & CKPT_VM_MERGEABLE)
		return ckpt_k(do_madvise)(current->mm, rec->start,
					  rec->end - rec->start, MADV_MERGEABLE);
	return 0;
}

/*
 * The vDSO goes first: the kernel takes our address as a hint only, and takes
 * it for sure while the address space is empty.
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
	if (!vvar || !vdso || !image || vvar->end != vdso->start ||
	    vdso->end - vdso->start != image->size ||
	    vvar->end - vvar->start != -image->sym_vvar_start)
		return -EXDEV;
	ret = ckpt_k(do_arch_prctl_64)(current, ARCH_MAP_VDSO_64, vvar->start);
	if (ret < 0)
		return ret;
	return current->mm->context.vdso == (void __user *)vdso->start ? 0 : -EXDEV;
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

static int ckpt_vmas_map(struct ckpt_mm_job *job)
{
	unsigned long marker = 0;
	unsigned int i;
	int err;

	err = ckpt_vdso_map(job);
	for (i = 0; !err && i < job->nr; i++) {
		const struct ckpt_rec_vma *rec = job->items[i].rec;

		if (ckpt_vma_is_vdso(rec))
			continue;
		if (i && job->items[i - 1].rec->end == rec->start)
			marker ^= CKPT_VM_MARKER ^
				  ((job->items[i - 1].rec->flags ^ rec->flags) &
				   CKPT_VM_DONTDUMP ? CKPT_VM_MARKER : 0);
		else
			marker = 0;
		job->bad = i;
		err = ckpt_vma_map(&job->items[i], marker);
		cond_resched();
	}
	return err ? err : ckpt_vmas_settle(job);
}

/* -------------------------------------------- in the thread: the rest */

/* As prctl(PR_SET_MM_EXE_FILE): a regular file that the thread may execute. */
static int ckpt_mm_set_exe(struct file *exe)
{
	int err;

	if (!S_ISREG(file_inode(exe)->i_mode) ||
	    exe->f_path.mnt->mnt_flags & MNT_NOEXEC ||
	    exe->f_path.mnt->mnt_sb->s_iflags & SB_I_NOEXEC)
		return -EACCES;
	err = file_permission(exe, MAY_EXEC);
	if (err)
		return err;
	return ckpt_k(replace_mm_exe_file)(current->mm, exe);
}

static void ckpt_mm_set_fields(const struct ckpt_rec_mm *rec)
{
	struct mm_struct *mm = current->mm;
	unsigned int nr = min_t(unsigned int, rec->nr_auxv, AT_VECTOR_SIZE - 2);
	unsigned int i;

	mmap_write_lock(mm);
	spin_lock(&mm->arg_lock);
	mm->start_code = rec->start_code;
	mm->end_code = rec->end_code;
	mm->start_data = rec->start_data;
	mm->end_data = rec->end_data;
	mm->start_brk = rec->start_brk;
	mm->brk = rec->brk;
	mm->start_stack = rec->start_stack;
	mm->arg_start = rec->arg_start;
	mm->arg_end = rec->arg_end;
	mm->env_start = rec->env_start;
	mm->env_end = rec->env_end;
	spin_unlock(&mm->arg_lock);
	if (nr) {
		memset(mm->saved_auxv, 0, sizeof(mm->saved_auxv));
		for (i = 0; i < nr; i++)
			mm->saved_auxv[i] = rec->auxv[i];
	}
	if (rec->def_locked)
		mm->def_flags = VM_LOCKED |
				(rec->def_locked == 2 ? VM_LOCKONFAULT : 0);
	mmap_write_unlock(mm);
	set_mask_bits(&mm->flags, MMF_DUMPABLE_MASK, rec->dumpable);
}

static int ckpt_mm_build(struct ckpt_mm_job *job)
{
	int err;

	job->bad = job->nr;
	current->mm->def_flags = 0;
	err = vm_munmap(0, TASK_SIZE_MAX);
	if (!err)
		err = ckpt_vmas_map(job);
	if (err)
		return err;
	job->bad = job->nr;
	if (job->rec->def_locked && !can_do_mlock())
		return -EPERM;
	if (job->exe)
		err = ckpt_mm_set_exe(job->exe);
	if (!err)
		ckpt_mm_set_fields(job->rec);
	return err;
}

/* An action. */
static int ckpt_mm_act(struct ckpt_thread *thread, void *arg)
{
	unsigned int personality = current->personality;
	int err;

	/* protections are the records', whatever PROT_READ implies for the job */
	current->personality &= ~READ_IMPLIES_EXEC;
	err = ckpt_mm_build(arg);
	current->personality = personality;
	return err;
}

/* -------------------------------------------------------- the command */

static void ckpt_restore_mm_free(struct ckpt_restore_mm *rmm)
{
	if (rmm->mm)
		mmdrop(rmm->mm);
	kvfree(rmm->protect);
	kfree(rmm);
}

void ckpt_restore_mms_free(struct ckpt_restore *restore)
{
	struct ckpt_restore_mm *rmm, *next;

	list_for_each_entry_safe(rmm, next, &restore->mms, link)
		ckpt_restore_mm_free(rmm);
}

static struct ckpt_restore_mm *ckpt_restore_mm_alloc(struct ckpt_mm_job *job,
						     struct ckpt_thread *thread,
						     struct mm_struct *mm)
{
	struct ckpt_restore_mm *rmm = kzalloc(sizeof(*rmm), GFP_KERNEL_ACCOUNT);
	unsigned int i, nr = 0;

	if (!rmm)
		return NULL;
	rmm->thread = thread;
	for (i = 0; i < job->nr; i++)
		nr += ckpt_vma_is_late(job->items[i].rec);
	if (nr) {
		rmm->protect = kvmalloc_array(nr, sizeof(*rmm->protect),
					      GFP_KERNEL_ACCOUNT);
		if (!rmm->protect) {
			kfree(rmm);
			return NULL;
		}
	}
	for (i = 0; i < job->nr; i++) {
		const struct ckpt_rec_vma *rec = job->items[i].rec;

		if (!ckpt_vma_is_late(rec))
			continue;
		rmm->protect[rmm->nr_protect++] = (struct ckpt_protect) {
			.start = rec->start,
			.end = rec->end,
			.prot = ckpt_vma_prot(rec),
		};
	}
	mmgrab(mm);
	rmm->mm = mm;
	return rmm;
}

static int ckpt_mm_run(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		       struct ckpt_mm_job *job, struct ckpt_rec_stream *stream)
{
	struct mm_struct *mm = thread->task->mm;
	struct ckpt_restore_mm *rmm;
	int err;

	list_for_each_entry(rmm, &ctx->restore->mms, link)
		if (rmm->mm == mm)
			return -EEXIST;
	err = ckpt_mm_collect(job, stream);
	if (err)
		return err;
	rmm = ckpt_restore_mm_alloc(job, thread, mm);
	if (!rmm)
		return -ENOMEM;
	err = ckpt_thread_run(thread, ckpt_mm_act, job);
	if (err) {
		stream->bad = job->bad < job->nr ? job->items[job->bad].pos : 0;
		ckpt_restore_mm_free(rmm);
		return err;
	}
	list_add_tail(&rmm->link, &ctx->restore->mms);
	return 0;
}

int ckpt_restore_mm(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		    struct ckpt_rec_stream *stream)
{
	struct ckpt_mm_job job = { .rec = ckpt_rec_next(stream) };
	int err = -ENOMEM;

	if (thread->task->mm == current->mm || !thread->task->mm ||
	    !ckpt_restore_owns_process(ctx, thread))
		return -EPERM;
	if (!ckpt_mm_fields_ok(job.rec) ||
	    job.rec->nr_vmas > stream->len / sizeof(struct ckpt_rec_vma))
		return -EINVAL;
	if ((s32)job.rec->exe >= 0) {
		job.exe = fget(job.rec->exe);
		if (!job.exe)
			return -EBADF;
	}
	job.items = kvcalloc(job.rec->nr_vmas + 1, sizeof(*job.items),
			     GFP_KERNEL_ACCOUNT);
	if (job.items)
		err = ckpt_mm_run(ctx, thread, &job, stream);
	ckpt_mm_release_files(&job);
	kvfree(job.items);
	return err;
}

/* ------------------------------------------------------------- commit */

/* An action: the protections that were put off. */
static int ckpt_mm_protect(struct ckpt_thread *thread, void *arg)
{
	unsigned int personality = current->personality;
	struct ckpt_restore_mm *rmm = arg;
	unsigned int i;
	long err = 0;

	current->personality &= ~READ_IMPLIES_EXEC;
	for (i = 0; i < rmm->nr_protect && !err; i++) {
		const struct pt_regs regs = {
			.di = rmm->protect[i].start,
			.si = rmm->protect[i].end - rmm->protect[i].start,
			.dx = rmm->protect[i].prot,
		};

		err = ckpt_k(__x64_sys_mprotect)(&regs);
	}
	current->personality = personality;
	return err;
}

int ckpt_restore_protect(struct ckpt_ctx *ctx)
{
	struct ckpt_restore_mm *rmm;
	int err;

	list_for_each_entry(rmm, &ctx->restore->mms, link) {
		if (!rmm->nr_protect)
			continue;
		err = ckpt_thread_run(rmm->thread, ckpt_mm_protect, rmm);
		if (err)
			return err;
	}
	return 0;
}
