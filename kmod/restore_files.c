// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptor table of a process from its FD records, and the locks that it owns, in one
 * action.
 *
 * Files come from the caller's table.  A descriptor may lie above the soft
 * limit (the limit was lowered later), never above the hard one.
 */
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat/ksyms.h"
#include "context.h"
#include "restore.h"
#include "thread.h"

struct ckpt_fd_item {
	struct file *file;	/* reference */
	const struct ckpt_rec_lock *lock;	/* NULL: a descriptor */
	unsigned int fd;
	unsigned int flags;
	u32 pos;		/* position of the record in the stream */
};

struct ckpt_files_job {
	struct ckpt_fd_item *items;
	unsigned int nr;
	unsigned int bad;
};

/* True if the table has the file: a lock on any other file would outlive the table. */
static bool ckpt_files_has(const struct ckpt_files_job *job, const struct file *file)
{
	const struct ckpt_fd_item *last = &job->items[job->nr] - 1;
	unsigned int i;

	if (job->nr && last->lock && last->file == file)
		return true;	/* one more lock on the same file */
	for (i = 0; i < job->nr; i++)
		if (job->items[i].file == file && !job->items[i].lock)
			return true;
	return false;
}

static int ckpt_files_collect_lock(struct ckpt_files_job *job, const struct ckpt_rec_lock *rec,
				   struct ckpt_fd_item *item)
{
	fmode_t mode = rec->type == F_WRLCK ? FMODE_WRITE : FMODE_READ;

	if (rec->kind != CKPT_LOCK_POSIX || rec->file < 0 || rec->start > rec->end ||
	    rec->end > OFFSET_MAX || (rec->type != F_RDLCK && rec->type != F_WRLCK))
		return -EINVAL;
	item->file = fget_raw(rec->file);
	if (!item->file)
		return -EBADF;
	if (!(item->file->f_mode & mode) || !ckpt_files_has(job, item->file)) {
		fput(item->file);
		return -EBADF;
	}
	item->lock = rec;
	return 0;
}

static int ckpt_files_collect_fd(struct ckpt_ctx *ctx, const struct ckpt_rec_fd *rec,
				 struct ckpt_fd_item *item)
{
	if (rec->cloexec > 1 || rec->fd < 0 || rec->file < 0)
		return -EINVAL;
	item->file = fget_raw(rec->file);
	if (!item->file)
		return -EBADF;
	/* a process that holds its own context would keep it from its release */
	if (item->file->private_data == ctx) {
		fput(item->file);
		return -EINVAL;
	}
	item->fd = rec->fd;
	item->flags = rec->cloexec ? O_CLOEXEC : 0;
	return 0;
}

/* Take the files from the caller; on error stream->bad is the record that failed. */
static int ckpt_files_collect(struct ckpt_ctx *ctx, struct ckpt_files_job *job,
			      struct ckpt_rec_stream *stream)
{
	const struct ckpt_rec_hdr *hdr;
	const struct ckpt_rec_fd *fd;
	int err = 0;

	while (!err && (hdr = ckpt_rec_next(stream))) {
		struct ckpt_fd_item *item = &job->items[job->nr];

		fd = (const void *)hdr;
		*item = (struct ckpt_fd_item) { .pos = stream->bad };
		if (hdr->type == CKPT_REC_LOCK)
			err = ckpt_files_collect_lock(job, (const void *)hdr, item);
		else if (hdr->type != CKPT_REC_FD)
			err = -EINVAL;
		else if (fd->fd == -1 && fd->file == -1)
			continue;
		else
			err = ckpt_files_collect_fd(ctx, fd, item);
		job->nr += !err;
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	return err;
}

static unsigned long ckpt_nofile_raise(void)
{
	struct rlimit *limit = &current->signal->rlim[RLIMIT_NOFILE];
	unsigned long old;

	task_lock(current->group_leader);
	old = limit->rlim_cur;
	limit->rlim_cur = limit->rlim_max;
	task_unlock(current->group_leader);
	return old;
}

static void ckpt_nofile_put_back(unsigned long old)
{
	struct rlimit *limit = &current->signal->rlim[RLIMIT_NOFILE];

	task_lock(current->group_leader);
	limit->rlim_cur = min(old, limit->rlim_max);
	task_unlock(current->group_leader);
}

/* Set a lock for the descriptor table of the running thread. */
static int ckpt_files_lock(struct file *file, const struct ckpt_rec_lock *rec)
{
	struct file_lock *lock = locks_alloc_lock();
	int err;

	if (!lock)
		return -ENOMEM;
	lock->ckpt_fl_file = file;
	lock->ckpt_fl_owner = current->files;
	lock->ckpt_fl_pid = current->tgid;
	lock->ckpt_fl_flags = FL_POSIX;
	lock->ckpt_fl_type = rec->type;
	lock->fl_start = rec->start;
	lock->fl_end = rec->end;
	err = vfs_lock_file(file, F_SETLK, lock, NULL);
	locks_free_lock(lock);
	return err == -EACCES ? -EAGAIN : err;
}

static int ckpt_files_install(const struct ckpt_fd_item *item)
{
	int err;

	if (item->lock)
		return ckpt_files_lock(item->file, item->lock);
	err = ckpt_k(replace_fd)(item->fd, item->file, item->flags);
	return err == -EBADF ? -EMFILE : err;
}

/* An action: fill the descriptor table, then set the locks. */
static int ckpt_files_act(struct ckpt_thread *thread, void *arg)
{
	struct ckpt_files_job *job = arg;
	unsigned long limit;
	int err;

	err = ckpt_k(__close_range)(0, ~0U, 0);
	limit = ckpt_nofile_raise();
	for (job->bad = 0; !err && job->bad < job->nr; job->bad++) {
		/* this may take long: an image may have any number of locks, kept in a list */
		err = fatal_signal_pending(current) ? -EINTR :
						      ckpt_files_install(&job->items[job->bad]);
		if (err)
			break;
		cond_resched();
	}
	ckpt_nofile_put_back(limit);
	return err;
}

static bool ckpt_files_is_callers(struct task_struct *task)
{
	bool same;

	task_lock(task);
	same = !task->files || task->files == current->files;
	task_unlock(task);
	return same;
}

int ckpt_restore_files(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		       struct ckpt_rec_stream *stream)
{
	struct ckpt_files_job job = {};
	unsigned int i;
	int err;

	if (ckpt_files_is_callers(thread->task) ||
	    !ckpt_restore_owns_process(ctx, thread))
		return -EPERM;
	job.items = kvmalloc_array(stream->len / sizeof(struct ckpt_rec_fd) + 1,
				   sizeof(*job.items), GFP_KERNEL_ACCOUNT);
	if (!job.items)
		return -ENOMEM;
	err = ckpt_files_collect(ctx, &job, stream);
	if (!err) {
		err = ckpt_thread_run(thread, ckpt_files_act, &job);
		if (err && job.bad < job.nr)
			stream->bad = job.items[job.bad].pos;
	}
	for (i = 0; i < job.nr; i++)
		fput(job.items[i].file);
	kvfree(job.items);
	return err;
}
