// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memory map from its records: MM and its VMAs, in one action of one thread.
 *
 * All records are checked before anything is unmapped; files are taken from the caller's table
 * before that, too.  Mappings of a map whose memory stays are there: only what lies between them
 * goes.  Else the order is: unmap the old mappings, map the vDSO, make the mappings, set
 * the executable (which the helper must not map any more), set the fields.  restore_vma.c makes
 * the mappings.
 */
#include <linux/cred.h>
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/membarrier.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/personality.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/ksyms.h"
#include "compat/optional.h"
#include "compat/pkeys.h"
#include "context.h"
#include "restore.h"
#include "restore_mm.h"
#include "thread.h"

#define CKPT_MEMBARRIER_CMDS	(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED |	\
				 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED |	\
				 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE | \
				 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ)

static bool ckpt_mm_fields_ok(const struct ckpt_rec_mm *rec)
{
	const u64 addrs[] = {
		rec->start_code, rec->end_code, rec->start_data, rec->end_data,
		rec->start_brk, rec->brk, rec->start_stack,
		rec->arg_start, rec->arg_end, rec->env_start, rec->env_end,
		rec->mmap_base,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(addrs); i++)
		if (addrs[i] >= TASK_SIZE_MAX)
			return false;
	return rec->start_code <= rec->end_code &&
	       rec->start_data <= rec->end_data && rec->start_brk <= rec->brk &&
	       rec->arg_start <= rec->arg_end && rec->env_start <= rec->env_end &&
	       rec->nr_auxv <= ARRAY_SIZE(rec->auxv) &&
	       rec->dumpable <= SUID_DUMP_ROOT && rec->def_locked <= 2 &&
	       rec->coredump_filter < 1U << MMF_DUMP_FILTER_BITS &&
	       !(rec->membarrier & ~CKPT_MEMBARRIER_CMDS) &&
	       PAGE_ALIGNED(rec->mmap_base);
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

/* ------------------------------------------------------ in the thread */

/*
 * The program may have given up the right to execute its file, or the file's mode may give that
 * right to nobody any more.  A file that the thread may not execute is accepted only as the
 * recorded executable (exe_recorded), on the word of an opener with CAP_DAC_OVERRIDE: any other
 * file would be protected from writers that way.
 */
static int ckpt_mm_may_exec(const struct ckpt_ctx *ctx, const struct ckpt_rec_mm *rec,
			    struct file *exe)
{
	int err = file_permission(exe, MAY_EXEC);

	if (err == -EACCES && rec->exe_recorded &&
	    cap_raised(ctx->cred->cap_effective, CAP_DAC_OVERRIDE))
		return 0;
	return err;
}

/* A map that is rolled back has it; the kernel sets none anew while the old one is mapped. */
static bool ckpt_mm_has_exe(const struct file *exe)
{
	struct file *old = ckpt_k(get_mm_exe_file)(current->mm);
	bool same = old && path_equal(&old->f_path, &exe->f_path);

	if (old)
		fput(old);
	return same;
}

/* Set the executable; as for prctl(PR_SET_MM_EXE_FILE), it must be regular and executable. */
static int ckpt_mm_set_exe(const struct ckpt_ctx *ctx, const struct ckpt_rec_mm *rec,
			   struct file *exe)
{
	int err;

	if (!S_ISREG(file_inode(exe)->i_mode) ||
	    exe->f_path.mnt->mnt_flags & MNT_NOEXEC ||
	    exe->f_path.mnt->mnt_sb->s_iflags & SB_I_NOEXEC)
		return -EACCES;
	err = ckpt_mm_may_exec(ctx, rec, exe);
	if (err || ckpt_mm_has_exe(exe))
		return err;
	return ckpt_k(replace_mm_exe_file)(current->mm, exe);
}

/* The flags keep the page's mapping from merging with a neighbour and sharing its anon_vma. */
unsigned long ckpt_scratch_map(void)
{
	unsigned long page, flags = current->mm->def_flags;

	current->mm->def_flags = VM_DONTCOPY | VM_WIPEONFORK;
	page = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	current->mm->def_flags = flags;
	return page;
}

int ckpt_scratch_unmap(unsigned long page)
{
	return vm_munmap(page, PAGE_SIZE);
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
	set_mask_bits(&mm->flags, MMF_DUMPABLE_MASK | MMF_DUMP_FILTER_MASK,
		      rec->dumpable | (rec->coredump_filter << MMF_DUMP_FILTER_SHIFT));
}

/*
 * Set mmap_base as exec does. The direction follows from the personality, which is already that of
 * the program; the room left for the stack at exec follows from the recorded base.
 */
static void ckpt_mm_set_layout(const struct ckpt_rec_mm *rec)
{
	struct rlimit stack;

	if (!rec->mmap_base)
		return;
	task_lock(current->group_leader);
	stack = current->signal->rlim[RLIMIT_STACK];
	task_unlock(current->group_leader);
	mmap_write_lock(current->mm);
	ckpt_k(arch_pick_mmap_layout)(current->mm, &stack);
	current->mm->mmap_base = rec->mmap_base;
	mmap_write_unlock(current->mm);
}

static int ckpt_mm_membarrier(u32 cmds)
{
	struct pt_regs regs = {};
	long err = 0;
	u32 cmd;

	for (; cmds && !err; cmds &= cmds - 1) {
		cmd = cmds & -cmds;
		regs.di = cmd;
		err = ckpt_k(__x64_sys_membarrier)(&regs);
	}
	return err;
}

static int ckpt_mm_build(const struct ckpt_ctx *ctx, struct ckpt_mm_job *job)
{
	int err;

	job->bad = job->nr;
	current->mm->def_flags = 0;
	err = job->kept ? ckpt_vmas_keep(job) : vm_munmap(0, TASK_SIZE_MAX);
	if (!err && !job->kept)
		err = ckpt_vmas_map(job);
	if (err)
		return err;
	job->bad = job->nr;
	if (job->rec->def_locked && !can_do_mlock())
		return -EPERM;
	/* a map that stays has it, and the caller has compared the inodes */
	if (job->exe && !job->kept)
		err = ckpt_mm_set_exe(ctx, job->rec, job->exe);
	if (err)
		return err;
	ckpt_mm_set_fields(job->rec);
	ckpt_mm_set_layout(job->rec);
	return ckpt_mm_membarrier(job->rec->membarrier);
}

/* An action: build the memory map. */
static int ckpt_mm_act(struct ckpt_thread *thread, void *arg)
{
	unsigned int personality = current->personality;
	int err;

	/* the records have the protections: READ_IMPLIES_EXEC must not change them */
	current->personality &= ~READ_IMPLIES_EXEC;
	err = ckpt_mm_build(thread->ctx, arg);
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
	for (i = 0; i < job->nr && !job->kept; i++)
		nr += ckpt_vma_is_late(job->items[i].rec);
	if (nr) {
		rmm->protect = kvmalloc_array(nr, sizeof(*rmm->protect),
					      GFP_KERNEL_ACCOUNT);
		if (!rmm->protect) {
			kfree(rmm);
			return NULL;
		}
	}
	for (i = 0; i < job->nr && !job->kept; i++) {
		const struct ckpt_rec_vma *rec = job->items[i].rec;

		if (!ckpt_vma_is_late(rec))
			continue;
		rmm->protect[rmm->nr_protect++] = (struct ckpt_protect) {
			.start = rec->start,
			.end = rec->end,
			.prot = ckpt_vma_prot(rec),
			.key = ckpt_vma_exec_key_of(job, rec),
		};
	}
	mmgrab(mm);
	rmm->mm = mm;
	rmm->key = job->key;
	rmm->pkeys = job->pkeys;
	return rmm;
}

/* Run the job in @thread. The caller holds @mm, as the thread may be killed at any time. */
static int ckpt_mm_run(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		       struct mm_struct *mm, struct ckpt_mm_job *job,
		       struct ckpt_rec_stream *stream)
{
	struct ckpt_restore_mm *rmm;
	int err;

	list_for_each_entry(rmm, &ctx->restore->mms, link)
		if (rmm->mm == mm)
			return -EEXIST;
	job->rings = &ctx->restore->rings;
	job->kept = ckpt_restore_kept(ctx->restore, mm);
	err = ckpt_vmas_collect(job, stream);
	if (!err && job->kept && job->nr_aios)
		err = -EINVAL;
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
	return job->nr_aios ? ckpt_restore_rings_note(ctx->restore, job) : 0;
}

static int ckpt_mm_apply(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			 struct mm_struct *mm, struct ckpt_rec_stream *stream)
{
	struct ckpt_mm_job job = { .rec = ckpt_rec_next(stream) };
	int err = -ENOMEM;

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
		err = ckpt_mm_run(ctx, thread, mm, &job, stream);
	ckpt_mm_release_files(&job);
	kvfree(job.items);
	return err;
}

int ckpt_restore_mm(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		    struct ckpt_rec_stream *stream)
{
	struct mm_struct *mm;
	int err = -EPERM;

	task_lock(thread->task);
	mm = thread->task->mm;
	if (mm)
		mmgrab(mm);
	task_unlock(thread->task);
	if (!mm)
		return -EPERM;
	if (mm != current->mm && ckpt_restore_owns_process(ctx, thread))
		err = ckpt_mm_apply(ctx, thread, mm, stream);
	mmdrop(mm);
	return err;
}

/* ------------------------------------------------------------- commit */

/* An action: set the deferred protections. */
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

		ckpt_mm_set_exec_key(rmm->protect[i].key, true);
		err = ckpt_k(__x64_sys_mprotect)(&regs);
	}
	ckpt_mm_set_exec_key(rmm->key, false);
	ckpt_mm_set_pkeys(rmm->pkeys);
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
