// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptor table of a process from its FD records, in one action.
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
	unsigned int fd;
	unsigned int flags;
	u32 pos;		/* of the record in the stream */
};

struct ckpt_files_job {
	struct ckpt_fd_item *items;
	unsigned int nr;
	unsigned int bad;
};

/* Take the files from the caller; on error the stream knows where. */
static int ckpt_files_collect(struct ckpt_ctx *ctx, struct ckpt_files_job *job,
			      struct ckpt_rec_stream *stream)
{
	const struct ckpt_rec_fd *rec;
	struct ckpt_fd_item *item;

	while ((rec = ckpt_rec_next(stream))) {
		if (rec->hdr.type != CKPT_REC_FD || rec->cloexec > 1)
			return -EINVAL;
		if (rec->fd == -1 && rec->file == -1)
			continue;
		if (rec->fd < 0 || rec->file < 0)
			return -EINVAL;
		item = &job->items[job->nr];
		item->file = fget_raw(rec->file);
		if (!item->file)
			return -EBADF;
		job->nr++;
		item->fd = rec->fd;
		item->flags = rec->cloexec ? O_CLOEXEC : 0;
		item->pos = stream->bad;
		/* a process that held its own context would outlive its release */
		if (item->file->private_data == ctx)
			return -EINVAL;
	}
	return 0;
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

/* An action. */
static int ckpt_files_act(struct ckpt_thread *thread, void *arg)
{
	struct ckpt_files_job *job = arg;
	unsigned long limit;
	int err;

	err = ckpt_k(__close_range)(0, ~0U, 0);
	limit = ckpt_nofile_raise();
	for (job->bad = 0; !err && job->bad < job->nr; job->bad++) {
		const struct ckpt_fd_item *item = &job->items[job->bad];

		err = ckpt_k(replace_fd)(item->fd, item->file, item->flags);
		if (err) {
			err = err == -EBADF ? -EMFILE : err;
			break;
		}
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
	job.items = kvmalloc_array(stream->len / sizeof(struct ckpt_rec_fd),
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
