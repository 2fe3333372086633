// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of where the threads of a tree are, without stopping or tracing them.
 *
 * A thread that does not run has its user registers at the end of its kernel stack. One that runs
 * is interrupted: on its CPU, in the interrupt, these registers are as fresh. The thread may move
 * or stop between the look and the interrupt: then it is looked at again, a few times.
 *
 * Must not sleep or allocate in the interrupt, nor touch user memory there. A sample finds the
 * tree once, and is bounded in threads, samples and time; it can be killed between two rounds.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include <linux/ckpt.h>

#include "arch.h"
#include "capture.h"
#include "compat/ksyms.h"
#include "context.h"
#include "sample.h"
#include "tree.h"

#define CKPT_SAMPLE_TRIES	5

/* A look at one thread; filled in an interrupt on its CPU, or by the caller. */
struct ckpt_look {
	struct task_struct *task;
	struct ckpt_sample_thread *out;
	bool done;
};

static void ckpt_sample_take(struct ckpt_look *look)
{
	look->done = ckpt_arch_sample(look->task, look->out);
	if (look->done)
		look->out->flags |= CKPT_SAMPLE_REGS;
}

/* In the interrupt. */
static void ckpt_sample_on_cpu(void *arg)
{
	struct ckpt_look *look = arg;

	if (look->task != current)
		return;
	ckpt_sample_take(look);
	if (look->done)
		look->out->flags |= CKPT_SAMPLE_ON_CPU;
}

/* The thread is off its CPU, and must have been until the end of the look. */
static void ckpt_sample_off_cpu(struct ckpt_look *look)
{
	struct task_struct *task = look->task;
	unsigned long switches = READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);

	if (!try_get_task_stack(task)) {
		look->out->flags |= CKPT_SAMPLE_GONE;
		look->done = true;
		return;
	}
	/* pairs with the full barriers of a context switch */
	smp_mb();
	ckpt_sample_take(look);
	/* the registers were read before the look at whether the thread ran meanwhile */
	smp_mb();
	if (READ_ONCE(task->on_cpu) ||
	    READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw) != switches)
		look->done = false;
	ckpt_k(put_task_stack)(task);
}

static void ckpt_sample_one(struct task_struct *task, struct ckpt_sample_thread *out)
{
	struct ckpt_look look = { .task = task, .out = out };
	u32 flags = out->flags;
	int i;

	for (i = 0; i < CKPT_SAMPLE_TRIES && !look.done; i++) {
		out->flags = flags;
		if (task->flags & PF_EXITING || !task->mm) {
			out->flags |= CKPT_SAMPLE_GONE;
			break;
		}
		if (READ_ONCE(task->on_cpu))
			smp_call_function_single(task_cpu(task), ckpt_sample_on_cpu, &look, 1);
		else
			ckpt_sample_off_cpu(&look);
	}
	if (!look.done)
		out->flags &= ~(CKPT_SAMPLE_REGS | CKPT_SAMPLE_ON_CPU);
	out->cpu = task_cpu(task);
	out->state = (u8)task_state_to_char(task);
	out->runtime_ns = task->se.sum_exec_runtime;
}

/* ------------------------------------------------------------- the command */

/* The rights are those of the opener: a descriptor that is passed on gives nobody more. */
static bool ckpt_sample_may(struct ckpt_capture *cap, struct task_struct *task)
{
	const struct cred *cred = override_creds(cap->ctx->cred);
	bool may = ckpt_k(ptrace_may_access)(task, PTRACE_MODE_READ_REALCREDS);

	revert_creds(cred);
	return may && !ckpt_owner_refuses(cap, task);
}

/* Fill in the rows' heads, and what may not be looked at. */
static void ckpt_sample_begin(struct ckpt_capture *cap, struct ckpt_sample_thread *rows,
			      unsigned int nr_samples)
{
	struct pid_namespace *ns = cap->ctx->pid_ns;
	unsigned int i, k;

	for (i = 0; i < cap->tree.nr_members; i++) {
		struct task_struct *task = cap->tree.members[i].task;
		struct ckpt_sample_thread head = {
			.pid = task_tgid_nr_ns(task, ns), .tid = task_pid_nr_ns(task, ns),
			.flags = ckpt_sample_may(cap, task) ? 0 : CKPT_SAMPLE_DENIED,
			.syscall = -1,
		};

		for (k = 0; k < nr_samples; k++)
			rows[i * nr_samples + k] = head;
		cond_resched();
	}
	/* a thread that may not be looked at is no reason to refuse the others */
	ckpt_refuse_reset(cap);
}

static int ckpt_sample_wait(u32 interval_us)
{
	ktime_t end = ktime_add_us(ktime_get(), interval_us);

	set_current_state(TASK_KILLABLE);
	schedule_hrtimeout(&end, HRTIMER_MODE_ABS);
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static int ckpt_sample_rounds(struct ckpt_capture *cap, struct ckpt_sample_thread *rows,
			      const struct ckpt_sample *arg)
{
	unsigned int i, k;
	int err = 0;

	for (k = 0; k < arg->nr_samples && !err; k++) {
		if (k)
			err = ckpt_sample_wait(arg->interval_us);
		for (i = 0; i < cap->tree.nr_members && !err; i++) {
			struct ckpt_sample_thread *row = &rows[i * arg->nr_samples + k];
			struct task_struct *task = cap->tree.members[i].task;

			/* the thread may have become somebody else's by execve(2) */
			if (k && !ckpt_sample_may(cap, task))
				row->flags |= CKPT_SAMPLE_DENIED;
			if (!(row->flags & CKPT_SAMPLE_DENIED))
				ckpt_sample_one(task, row);
			cond_resched();
		}
	}
	ckpt_refuse_reset(cap);
	return err;
}

int ckpt_capture_sample(struct ckpt_ctx *ctx, struct ckpt_sample *arg)
{
	struct ckpt_capture *cap = ctx->capture;
	struct ckpt_sample_thread *rows = NULL;
	size_t nr;
	int err;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_TARGET, CKPT_PHASE_TARGET);
	if (err)
		return err;
	if (!arg->nr_samples || arg->nr_samples > CKPT_SAMPLES_MAX ||
	    arg->interval_us < CKPT_SAMPLE_US_MIN || arg->interval_us > CKPT_SAMPLE_US_MAX)
		return -EINVAL;
	err = ckpt_tree_scan(&cap->tree, ctx);
	if (err)
		goto out;
	arg->nr_threads = cap->tree.nr_members;
	nr = (size_t)arg->nr_threads * arg->nr_samples;
	if (arg->nr_threads > arg->room) {
		err = -ENOSPC;
		goto out;
	}
	rows = kvcalloc(nr + 1, sizeof(*rows), GFP_KERNEL_ACCOUNT);
	if (!rows) {
		err = -ENOMEM;
		goto out;
	}
	ckpt_sample_begin(cap, rows, arg->nr_samples);
	err = ckpt_sample_rounds(cap, rows, arg);
	if (!err && copy_to_user(u64_to_user_ptr(arg->threads), rows, nr * sizeof(*rows)))
		err = -EFAULT;
out:
	ckpt_tree_forget(&cap->tree);
	kvfree(rows);
	return err;
}
