// SPDX-License-Identifier: GPL-2.0-only
/*
 * Begin, enter, wait, the streams of records, and the end of a restore.
 *
 * A thread that enters gives up what the kernel would touch in its old memory
 * (rseq, robust list, child tid) and blocks every signal but SIGKILL before it
 * counts as parked: its memory may be unmapped from then on.
 *
 * Release kills the threads that no commit has let go, and nothing else.  Code that runs in a
 * thread must not look at ckpt_restore: threads may leave after release has freed it.
 */
#include <linux/capability.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "capture.h"
#include "collect_kind.h"
#include "context.h"
#include "restore.h"
#include "thread.h"
#include "trace.h"

#define CKPT_WAIT_MAX_MS	600000

struct ckpt_restore *ckpt_restore_alloc(s64 monotonic_ns, s64 boottime_ns)
{
	struct ckpt_restore *restore = kzalloc(sizeof(*restore), GFP_KERNEL_ACCOUNT);
	int i;

	if (!restore)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(restore->fault_locks); i++)
		init_rwsem(&restore->fault_locks[i]);
	restore->deltas.monotonic_ns = monotonic_ns;
	restore->deltas.boottime_ns = boottime_ns;
	INIT_LIST_HEAD(&restore->mms);
	INIT_LIST_HEAD(&restore->rings);
	return restore;
}

void ckpt_restore_free(struct ckpt_restore *restore)
{
	while (restore->nr_kept) {
		const struct ckpt_restore_kept *kept = &restore->kept[--restore->nr_kept];

		if (kept->snapshot)	/* perhaps the last reference, and somebody waits */
			mmput_async(kept->snapshot);
		mmdrop(kept->mm);
	}
	kvfree(restore->kept);
	ckpt_restore_mms_free(restore);
	ckpt_restore_rings_free(restore);
	kfree(restore);
}

const struct ckpt_restore_kept *ckpt_restore_kept(const struct ckpt_restore *restore,
						  const struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < restore->nr_kept; i++)
		if (restore->kept[i].mm == mm)
			return &restore->kept[i];
	return NULL;
}

int ckpt_restore_begin(struct ckpt_ctx *ctx, struct ckpt_restore_begin *arg)
{
	struct ckpt_restore *restore;

	/* the process may have dropped its rights since it opened the device */
	if (!ckpt_ctx_permitted())
		return -EPERM;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_NEW)
		return -EBADFD;
	restore = ckpt_restore_alloc(arg->monotonic_delta_ns, arg->boottime_delta_ns);
	if (!restore)
		return -ENOMEM;
	ctx->restore = restore;
	ckpt_ctx_advance(ctx, CKPT_PHASE_NEW, CKPT_PHASE_RESTORE);
	trace_ckpt_phase(ctx, CKPT_PHASE_NEW, CKPT_PHASE_RESTORE);
	return 0;
}

void ckpt_restore_side_free(void *data)
{
	struct ckpt_restore_thread *side = data;
	struct ckpt_restore_signal *sig, *next;

	list_for_each_entry_safe(sig, next, &side->signals, link)
		kfree(sig);
	ckpt_restore_timers_free(side);
	kfree(side->proc);
	kfree(side);
}

static int ckpt_restore_on_park(struct ckpt_thread *thread, void *unused)
{
	ckpt_restore_disown(thread);
	return 0;
}

struct ckpt_restore_thread *ckpt_restore_side_alloc(void)
{
	struct ckpt_restore_thread *side = kzalloc(sizeof(*side), GFP_KERNEL_ACCOUNT);

	if (!side)
		return NULL;
	INIT_LIST_HEAD(&side->signals);
	INIT_LIST_HEAD(&side->timers);
	side->sigpending_limit = RLIM_INFINITY;
	return side;
}

void ckpt_restore_take_side(struct ckpt_thread *thread, struct ckpt_restore_thread *side)
{
	thread->side = side;
	thread->side_free = ckpt_restore_side_free;
	thread->on_park = ckpt_restore_on_park;
	thread->on_leave = ckpt_restore_leave;
	thread->mend = NULL;
}

static struct ckpt_thread *ckpt_restore_thread_alloc(void)
{
	struct ckpt_thread *thread = ckpt_thread_alloc(GFP_KERNEL_ACCOUNT);
	struct ckpt_restore_thread *side;

	if (!thread)
		return NULL;
	side = ckpt_restore_side_alloc();
	if (!side) {
		ckpt_thread_put(thread);
		return NULL;
	}
	ckpt_restore_take_side(thread, side);
	return thread;
}

/* True if the caller's descriptor @fd is this very context. */
static bool ckpt_restore_is_own_fd(struct ckpt_ctx *ctx, int fd)
{
	struct file *file = fget(fd);
	bool own;

	if (!file)
		return false;
	own = file->private_data == ctx;
	fput(file);
	return own;
}

/* Runs at the same time as other commands, without cmd_lock. */
int ckpt_restore_enter(struct ckpt_ctx *ctx, struct ckpt_enter *arg)
{
	struct ckpt_thread *thread;
	int err;

	if (arg->pad || arg->ctx_fd < -1)
		return -EINVAL;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_RESTORE)
		return -EBADFD;
	if (!user_64bit_mode(task_pt_regs(current)))
		return -EOPNOTSUPP;
	if (READ_ONCE(ctx->nr_threads) >= CKPT_MAX_THREADS)
		return -ENOSPC;
	if (arg->ctx_fd >= 0 && !ckpt_restore_is_own_fd(ctx, arg->ctx_fd))
		return -EBADF;

	thread = ckpt_restore_thread_alloc();
	if (!thread)
		return -ENOMEM;
	err = ckpt_thread_queue(thread, ctx, current);
	if (err) {
		ckpt_thread_put(thread);
		return err;
	}
	if (arg->ctx_fd >= 0)
		close_fd(arg->ctx_fd);
	return 0;
}

int ckpt_restore_wait(struct ckpt_ctx *ctx, struct ckpt_restore_wait *arg)
{
	long left;

	if (arg->pad || !arg->nr_threads || arg->nr_threads > CKPT_MAX_THREADS ||
	    !arg->timeout_ms || arg->timeout_ms > CKPT_WAIT_MAX_MS)
		return -EINVAL;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_RESTORE)
		return -EBADFD;
	spin_lock(&ctx->lock);
	ctx->nr_wanted = arg->nr_threads;
	spin_unlock(&ctx->lock);
	left = wait_event_killable_timeout(ctx->wq,
					   READ_ONCE(ctx->nr_parked) >= arg->nr_threads,
					   msecs_to_jiffies(arg->timeout_ms));
	arg->nr_parked = READ_ONCE(ctx->nr_parked);
	if (left < 0)
		return left;
	return left ? 0 : -ETIMEDOUT;
}

struct ckpt_thread *ckpt_restore_find(struct ckpt_ctx *ctx, pid_t pid)
{
	struct ckpt_thread *thread = NULL;
	struct task_struct *task;

	if (pid <= 0)
		return NULL;
	rcu_read_lock();
	task = pid_task(find_vpid(pid), PIDTYPE_PID);
	if (task)
		thread = ckpt_thread_find(ctx, task);
	rcu_read_unlock();
	return thread && ckpt_thread_is_parked(thread) ? thread : NULL;
}

bool ckpt_restore_owns_process(struct ckpt_ctx *ctx, struct ckpt_thread *thread)
{
	bool owns = true;
	struct ckpt_thread *own;
	struct task_struct *t;

	rcu_read_lock();
	for_each_thread(thread->task, t) {
		if (READ_ONCE(t->exit_state) || READ_ONCE(t->flags) & PF_EXITING)
			continue;
		own = ckpt_thread_find(ctx, t);
		owns &= own && ckpt_thread_is_parked(own);
	}
	rcu_read_unlock();
	return owns;
}

struct mm_struct *ckpt_restore_get_mm(struct ckpt_ctx *ctx, pid_t pid)
{
	struct ckpt_thread *thread = ckpt_restore_find(ctx, pid);
	struct mm_struct *mm;

	if (!thread)
		return ERR_PTR(-ESRCH);
	mm = get_task_mm(thread->task);
	if (!mm)
		return ERR_PTR(-ESRCH);
	if (mm == current->mm) {
		mmput(mm);
		return ERR_PTR(-EINVAL);
	}
	return mm;
}

bool ckpt_range_ok(u64 start, u64 end)
{
	return start < end && end <= TASK_SIZE_MAX && PAGE_ALIGNED(start) &&
	       PAGE_ALIGNED(end);
}

/* Check all headers, so that nobody after this reads past the end. */
static int ckpt_rec_check(struct ckpt_rec_stream *stream)
{
	const struct ckpt_restore_kind *kind;
	const struct ckpt_rec_hdr *hdr;
	u32 pos;

	for (pos = 0; pos < stream->len; pos += hdr->len) {
		stream->bad = pos;
		hdr = stream->buf + pos;
		if (stream->len - pos < sizeof(*hdr) || hdr->len < sizeof(*hdr) ||
		    hdr->len % 8 || hdr->len > stream->len - pos)
			return -EINVAL;
		if (hdr->type & CKPT_REC_OPTIONAL)
			continue;
		kind = ckpt_restore_kind_of(hdr->type);
		if (!kind || !hdr->version || hdr->len < kind->min_len)
			return -EINVAL;
	}
	return 0;
}

const void *ckpt_rec_next(struct ckpt_rec_stream *stream)
{
	const struct ckpt_rec_hdr *hdr;

	while (stream->pos < stream->len) {
		stream->bad = stream->pos;
		hdr = stream->buf + stream->pos;
		stream->pos += hdr->len;
		if (!(hdr->type & CKPT_REC_OPTIONAL))
			return hdr;
	}
	return NULL;
}

static int ckpt_rec_apply(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			  const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_restore_kind *kind = ckpt_restore_kind_of(hdr->type);

	return kind && kind->apply ? kind->apply(ctx, thread, hdr) : -EINVAL;
}

static int ckpt_rec_dispatch(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			     struct ckpt_rec_stream *stream)
{
	const struct ckpt_rec_hdr *hdr = ckpt_rec_next(stream);
	int err = hdr ? 0 : -EINVAL;

	if (hdr && (hdr->type == CKPT_REC_MM || hdr->type == CKPT_REC_FD)) {
		stream->pos = stream->bad;
		return hdr->type == CKPT_REC_MM ? ckpt_restore_mm(ctx, thread, stream) :
						  ckpt_restore_files(ctx, thread, stream);
	}
	for (; hdr && !err; hdr = err ? hdr : ckpt_rec_next(stream))
		err = ckpt_rec_apply(ctx, thread, hdr);
	return err;
}

int ckpt_restore_state(struct ckpt_ctx *ctx, struct ckpt_restore_state *arg)
{
	struct ckpt_rec_stream stream = { .len = arg->len };
	struct ckpt_thread *thread;
	void *buf;
	int err;

	arg->bad_offset = 0;
	if (!arg->len || arg->len > CKPT_STATE_MAX)
		return -EINVAL;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_RESTORE)
		return -EBADFD;
	buf = kvmalloc(arg->len, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	stream.buf = buf;
	err = -EFAULT;
	if (!copy_from_user(buf, u64_to_user_ptr(arg->buf), arg->len))
		err = ckpt_rec_check(&stream);
	/* look the thread up only now: no later step lets user space delay us */
	thread = ckpt_restore_find(ctx, arg->pid);
	if (!thread && !ckpt_restore_is_zombie(ctx, arg->pid)) {
		stream.bad = 0;
		err = -ESRCH;
	}
	if (!err)
		err = thread ? ckpt_rec_dispatch(ctx, thread, &stream) :
			       ckpt_restore_zombie(ctx, arg->pid, &stream);
	if (err)
		arg->bad_offset = stream.bad;
	kvfree(buf);
	return err;
}

/* Kill the threads that were not let go: all before a commit, late entrants after it. */
static void ckpt_restore_kill(struct ckpt_ctx *ctx)
{
	struct ckpt_thread *thread;

	spin_lock(&ctx->lock);
	list_for_each_entry(thread, &ctx->threads, link)
		if (thread->state != CKPT_THREAD_GONE && !thread->let_go)
			send_sig(SIGKILL, thread->task, 1);
	spin_unlock(&ctx->lock);
}

void ckpt_restore_release(struct ckpt_ctx *ctx)
{
	struct ckpt_restore *restore = ctx->restore;

	if (!restore)
		return;
	ckpt_restore_kill(ctx);
	ckpt_restore_free(restore);
	ctx->restore = NULL;
}
