// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of a process: process group, session, terminal, exit signal, reaper flags, signal
 * actions; the steps that a thread takes for its process at commit: stop, timers; and the state
 * that a zombie cannot set itself.
 *
 * A process is moved only into groups and sessions of processes of this context, or of their
 * zombie children; 0 leaves the process where it is.  A zombie is touched only while its parent
 * is parked in this context, so nobody waits for it.  The terminal of a session is that of its
 * leader, which took it in user space; the leader's record sets the foreground group.
 *
 * ctx->lock is never taken while tasklist_lock is held for writing: interrupts take tasklist_lock
 * for reading, and ctx->lock does not disable interrupts.  So pids are judged first; under
 * tasklist_lock only their tasks are checked to be still alive.
 */
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/oom.h>
#include <linux/pid.h>
#include <linux/sched/coredump.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/tty.h>

#include "compat/ksyms.h"
#include "compat/mdwe.h"
#include "context.h"
#include "restore.h"
#include "thread.h"

#define CKPT_CORE_FLAG	0x80	/* in a wait status: the process left a core file */

struct ckpt_proc_ids {
	struct pid *pgid;		/* reference; NULL: do not move the process */
	struct pid *sid;		/* reference; NULL: do not move the process */
	struct task_struct *session;	/* leader of @sid if it is in the context, else NULL */
};

/* A thread of @task's process is in this context; called under RCU. */
static bool ckpt_pid_process_is_ours(struct ckpt_ctx *ctx, struct task_struct *task)
{
	struct task_struct *thread;

	for_each_thread(task, thread)
		if (ckpt_thread_find(ctx, thread))
			return true;
	return false;
}

/* A process of this context is in the group or session @pid; called under RCU. */
static bool ckpt_pid_has_ours(struct ckpt_ctx *ctx, struct pid *pid, enum pid_type type)
{
	struct task_struct *leader;

	hlist_for_each_entry_rcu(leader, &pid->tasks[type], pid_links[type])
		if (ckpt_pid_process_is_ours(ctx, leader))
			return true;
	return false;
}

/*
 * True for the pid of a process of this context, of a child of one, or of a group or session that
 * has one.  The search begins at @pid: the threads of the context may be many.
 */
static bool ckpt_pid_is_ours(struct ckpt_ctx *ctx, struct pid *pid)
{
	struct task_struct *owner = pid_task(pid, PIDTYPE_TGID);

	return (owner && (ckpt_pid_process_is_ours(ctx, owner) ||
			  ckpt_pid_process_is_ours(ctx, rcu_dereference(owner->real_parent)))) ||
	       ckpt_pid_has_ours(ctx, pid, PIDTYPE_PGID) ||
	       ckpt_pid_has_ours(ctx, pid, PIDTYPE_SID);
}

/*
 * Get the pid @nr of @task's namespace if it belongs to this context; -ESRCH if @task has been
 * killed and reaped.
 */
static struct pid *ckpt_pid_get(struct ckpt_ctx *ctx, struct task_struct *task,
				pid_t nr, struct task_struct **ret_leader)
{
	struct task_struct *leader;
	struct pid_namespace *ns;
	struct pid *pid;

	rcu_read_lock();
	ns = task_active_pid_ns(task);
	pid = ns ? find_pid_ns(nr, ns) : NULL;
	if (!pid || !ckpt_pid_is_ours(ctx, pid)) {
		rcu_read_unlock();
		return ERR_PTR(ns ? -EPERM : -ESRCH);
	}
	get_pid(pid);
	leader = ret_leader ? pid_task(pid, PIDTYPE_PID) : NULL;
	if (leader && ckpt_thread_find(ctx, leader))
		*ret_leader = leader;
	rcu_read_unlock();
	return pid;
}

static void ckpt_proc_ids_put(struct ckpt_proc_ids *ids)
{
	put_pid(ids->pgid);
	put_pid(ids->sid);
}

static int ckpt_proc_ids_get(struct ckpt_ctx *ctx, struct task_struct *task,
			     const struct ckpt_rec_proc *rec, struct ckpt_proc_ids *ids)
{
	struct pid *pid;

	memset(ids, 0, sizeof(*ids));
	if (rec->pgid) {
		pid = ckpt_pid_get(ctx, task, rec->pgid, NULL);
		if (IS_ERR(pid))
			return PTR_ERR(pid);
		ids->pgid = pid;
	}
	if (rec->sid) {
		pid = ckpt_pid_get(ctx, task, rec->sid, &ids->session);
		if (IS_ERR(pid)) {
			ckpt_proc_ids_put(ids);
			return PTR_ERR(pid);
		}
		ids->sid = pid;
	}
	return 0;
}

static bool ckpt_pid_is_alive(struct pid *pid)
{
	return pid_has_task(pid, PIDTYPE_TGID) || pid_has_task(pid, PIDTYPE_PGID) ||
	       pid_has_task(pid, PIDTYPE_SID);
}

/* Give @task the terminal of its session's leader; returns its old terminal, to be put. */
static struct tty_struct *ckpt_proc_swap_tty(struct task_struct *task,
					     struct task_struct *leader, bool wanted)
{
	struct tty_struct *tty = NULL, *old;

	if (wanted && ckpt_sighand_of(leader)) {
		spin_lock(&ckpt_sighand_of(leader)->siglock);
		tty = tty_kref_get(leader->signal->tty);
		spin_unlock(&ckpt_sighand_of(leader)->siglock);
	}
	spin_lock(&ckpt_sighand_of(task)->siglock);
	old = task->signal->tty;
	task->signal->tty = tty;
	spin_unlock(&ckpt_sighand_of(task)->siglock);
	return old;
}

static int ckpt_proc_move(struct task_struct *task, const struct ckpt_proc_ids *ids)
{
	if ((ids->pgid && !ckpt_pid_is_alive(ids->pgid)) ||
	    (ids->sid && !ckpt_pid_is_alive(ids->sid)))
		return -ESRCH;
	if (ids->sid && ids->sid != task_session(task)) {
		/* a session leader would leave its terminal and its session behind */
		if (task->signal->leader)
			return -EBUSY;
		ckpt_k(change_pid)(task, PIDTYPE_SID, ids->sid);
	}
	if (ids->pgid && ids->pgid != task_pgrp(task))
		ckpt_k(change_pid)(task, PIDTYPE_PGID, ids->pgid);
	return 0;
}

static struct tty_struct *ckpt_proc_get_tty(struct task_struct *task)
{
	struct tty_struct *tty;

	spin_lock(&ckpt_sighand_of(task)->siglock);
	tty = tty_kref_get(task->signal->tty);
	spin_unlock(&ckpt_sighand_of(task)->siglock);
	return tty;
}

/*
 * Set the foreground group, only of the session's own terminal and only to a group of this
 * context; a group that was gone at the checkpoint stays gone.
 */
static void ckpt_proc_set_foreground(struct ckpt_ctx *ctx, struct task_struct *leader,
				     struct tty_struct *tty, pid_t nr)
{
	struct pid *pid = nr > 0 ? ckpt_pid_get(ctx, leader, nr, NULL) : NULL;

	if (IS_ERR_OR_NULL(pid))
		return;
	rcu_read_lock();
	spin_lock_irq(&tty->ctrl.lock);
	if (tty->ctrl.session == task_session(leader))
		swap(tty->ctrl.pgrp, pid);
	spin_unlock_irq(&tty->ctrl.lock);
	rcu_read_unlock();
	put_pid(pid);
}

/*
 * Set oom_score_adj with the checks of a write to /proc/PID/oom_score_adj; a process whose memory
 * is shared and not dumpable may not write there itself.  oom_score_adj_min, the least value
 * that the process may go back to, gets lower only if the opener had the right to lower it.
 */
static int ckpt_proc_set_oom(const struct ckpt_ctx *ctx, struct signal_struct *signal,
			     const struct ckpt_rec_proc *rec)
{
	bool may_lower = cap_raised(ctx->cred->cap_effective, CAP_SYS_RESOURCE);
	short least;

	if (rec->oom_score_adj != signal->oom_score_adj) {
		if (rec->oom_score_adj < signal->oom_score_adj_min && !may_lower)
			return -EACCES;
		signal->oom_score_adj = rec->oom_score_adj;
	}
	least = clamp_t(short, rec->oom_score_adj_min, OOM_SCORE_ADJ_MIN,
			signal->oom_score_adj);
	if (least >= signal->oom_score_adj_min || may_lower)
		signal->oom_score_adj_min = least;
	return 0;
}

/*
 * Set the state of a thread group leader, which may be dead; called under tasklist_lock.  The
 * caller puts *ret_tty and *ret_own, the latter a session leader's terminal.
 */
static int ckpt_proc_set(struct task_struct *task, const struct ckpt_rec_proc *rec,
			 const struct ckpt_proc_ids *ids, struct tty_struct **ret_tty,
			 struct tty_struct **ret_own)
{
	struct signal_struct *signal = task->signal;
	int err;

	if (!ckpt_sighand_of(task))
		return -ESRCH;
	err = ckpt_proc_move(task, ids);
	if (err)
		return err;
	if ((rec->flags & CKPT_PROC_SESSION_LEADER) &&
	    task_session(task) == task_pid(task)) {
		signal->leader = 1;
		*ret_own = ckpt_proc_get_tty(task);
	} else if (ids->session ? ids->session != task : ids->sid && rec->tty == -1) {
		/* if the leader is dead, the process can only lose its creator's terminal */
		*ret_tty = ckpt_proc_swap_tty(task, ids->session, rec->tty != -1);
	}
	signal->is_child_subreaper = !!(rec->flags & CKPT_PROC_SUBREAPER);
	if (rec->flags & CKPT_PROC_HAS_SUBREAPER)
		signal->has_child_subreaper = 1;
	if (rec->exit_signal >= 0 && task->exit_signal >= 0)
		task->exit_signal = rec->exit_signal;
	return 0;
}

static bool ckpt_proc_ok(const struct ckpt_rec_proc *rec)
{
	unsigned int i;

	if (rec->state != CKPT_PROC_RUNNING && rec->state != CKPT_PROC_STOPPED)
		return false;
	if (rec->state == CKPT_PROC_STOPPED &&
	    (!valid_signal(rec->exit_code) || !sig_kernel_stop(rec->exit_code)))
		return false;
	for (i = 0; i < ARRAY_SIZE(rec->itimer); i++)
		if (rec->itimer[i].value_ns > KTIME_MAX ||
		    rec->itimer[i].interval_ns > KTIME_MAX)
			return false;
	return rec->pgid >= 0 && rec->sid >= 0 &&
	       rec->oom_score_adj >= OOM_SCORE_ADJ_MIN &&
	       rec->oom_score_adj <= OOM_SCORE_ADJ_MAX &&
	       (rec->exit_signal == -1 || valid_signal(rec->exit_signal));
}

int ckpt_restore_proc(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		      const struct ckpt_rec_proc *rec)
{
	struct ckpt_restore_thread *side = thread->side;
	struct tty_struct *tty = NULL, *own = NULL;
	struct ckpt_proc_ids ids;
	struct ckpt_rec_proc *copy;
	int err;

	if (!ckpt_proc_ok(rec))
		return -EINVAL;
	if (!ckpt_can_mdwe(rec->flags))
		return -EOPNOTSUPP;
	err = ckpt_proc_ids_get(ctx, thread->task, rec, &ids);
	if (err)
		return err;
	copy = kmemdup(rec, sizeof(*rec), GFP_KERNEL_ACCOUNT);
	if (!copy) {
		ckpt_proc_ids_put(&ids);
		return -ENOMEM;
	}
	write_lock_irq(ckpt_kdata.tasklist_lock);
	/* a released thread does not point to its leader any more */
	err = -ESRCH;
	if (pid_alive(thread->task))
		err = ckpt_proc_set(thread->task->group_leader, rec, &ids, &tty, &own);
	if (!err)
		err = ckpt_proc_set_oom(ctx, thread->task->signal, rec);
	write_unlock_irq(ckpt_kdata.tasklist_lock);
	tty_kref_put(tty);
	if (own)
		ckpt_proc_set_foreground(ctx, thread->task, own, rec->tty_pgrp);
	tty_kref_put(own);
	ckpt_proc_ids_put(&ids);
	if (err) {
		kfree(copy);
		return err;
	}
	kfree(side->proc);
	side->proc = copy;
	return 0;
}

/* ------------------------------------------------------------ zombies */

/* A parked thread of the parent of @task, or NULL; called under RCU. */
static struct ckpt_thread *ckpt_zombie_parent(struct ckpt_ctx *ctx,
					      struct task_struct *task)
{
	struct task_struct *parent = rcu_dereference(task->real_parent);
	struct ckpt_thread *thread, *found = NULL;

	spin_lock(&ctx->lock);
	list_for_each_entry(thread, &ctx->threads, link)
		if (thread->state == CKPT_THREAD_PARKED &&
		    same_thread_group(thread->task, parent))
			found = thread;
	spin_unlock(&ctx->lock);
	return found;
}

/* A reference to the zombie @pid (caller's PID namespace), or NULL. */
static struct task_struct *ckpt_zombie_get(struct ckpt_ctx *ctx, pid_t pid,
					   struct ckpt_thread **ret_parent)
{
	struct task_struct *task;

	rcu_read_lock();
	task = pid > 0 ? pid_task(find_vpid(pid), PIDTYPE_TGID) : NULL;
	if (task && READ_ONCE(task->exit_state) == EXIT_ZOMBIE)
		*ret_parent = ckpt_zombie_parent(ctx, task);
	else
		*ret_parent = NULL;
	if (*ret_parent)
		get_task_struct(task);
	rcu_read_unlock();
	return *ret_parent ? task : NULL;
}

bool ckpt_restore_is_zombie(struct ckpt_ctx *ctx, pid_t pid)
{
	struct ckpt_thread *parent;
	struct task_struct *task = ckpt_zombie_get(ctx, pid, &parent);

	if (task)
		put_task_struct(task);
	return task;
}

/* Set a zombie's state; called under tasklist_lock. */
static int ckpt_zombie_set(struct task_struct *task, struct ckpt_thread *parent,
			   const struct ckpt_rec_proc *rec, const struct ckpt_proc_ids *ids)
{
	struct signal_struct *signal = task->signal;
	int *code = signal->flags & SIGNAL_GROUP_EXIT ? &signal->group_exit_code :
							&task->exit_code;
	int err;

	if (task->exit_state != EXIT_ZOMBIE || !ckpt_sighand_of(task) ||
	    !same_thread_group(rcu_dereference_raw(task->real_parent), parent->task))
		return -ESRCH;
	if ((*code ^ rec->exit_code) & ~CKPT_CORE_FLAG)
		return -EINVAL;
	err = ckpt_proc_move(task, ids);
	if (!err)
		*code = rec->exit_code;
	return err;
}

static bool ckpt_zombie_rec_ok(const struct ckpt_rec_proc *rec)
{
	return rec->hdr.type == CKPT_REC_PROC && rec->state == CKPT_PROC_ZOMBIE &&
	       rec->pgid >= 0 && rec->sid >= 0 &&
	       (!(rec->exit_code & CKPT_CORE_FLAG) || rec->exit_code & 0x7f);
}

int ckpt_restore_zombie(struct ckpt_ctx *ctx, pid_t pid, struct ckpt_rec_stream *stream)
{
	const struct ckpt_rec_proc *rec = ckpt_rec_next(stream);
	struct ckpt_thread *parent;
	struct ckpt_proc_ids ids;
	struct task_struct *task;
	int err;

	if (!rec || !ckpt_zombie_rec_ok(rec) || ckpt_rec_next(stream))
		return -EINVAL;
	task = ckpt_zombie_get(ctx, pid, &parent);
	if (!task)
		return -ESRCH;
	err = ckpt_proc_ids_get(ctx, task, rec, &ids);
	if (err)
		goto put_task;
	write_lock_irq(ckpt_kdata.tasklist_lock);
	err = ckpt_zombie_set(task, parent, rec, &ids);
	write_unlock_irq(ckpt_kdata.tasklist_lock);
	ckpt_proc_ids_put(&ids);
put_task:
	put_task_struct(task);
	return err;
}

/* ------------------------------------------------------------ actions */

static int ckpt_sigactions_act(struct ckpt_thread *thread, void *arg)
{
	const struct ckpt_rec_sigactions *rec = arg;
	struct sighand_struct *sighand = ckpt_sighand_of(current);
	unsigned int i;

	spin_lock_irq(&sighand->siglock);
	for (i = 0; i < _NSIG; i++) {
		const struct ckpt_sigaction *from = &rec->sa[i];
		struct sigaction *to = &sighand->action[i].sa;

		if (sig_kernel_only(i + 1))
			continue;
		to->sa_handler = (__sighandler_t)from->handler;
		to->sa_flags = from->flags & UAPI_SA_FLAGS;
		to->sa_restorer = (__sigrestore_t)from->restorer;
		to->sa_mask.sig[0] = from->mask;
		sigdelsetmask(&to->sa_mask, sigmask(SIGKILL) | sigmask(SIGSTOP));
	}
	spin_unlock_irq(&sighand->siglock);
	return 0;
}

int ckpt_restore_sigactions(struct ckpt_thread *thread,
			    const struct ckpt_rec_sigactions *rec)
{
	BUILD_BUG_ON(ARRAY_SIZE(rec->sa) != _NSIG);
	BUILD_BUG_ON(sizeof(sigset_t) != sizeof(rec->sa[0].mask));
	return ckpt_thread_run(thread, ckpt_sigactions_act, (void *)rec);
}

/*
 * Make the group stop that the process was in: every thread finds the stop pending when it leaves
 * the park, before it looks at its signals.  The stop counts as complete already, so that nobody
 * reports it to the parent a second time.
 */
int ckpt_restore_stop(struct ckpt_thread *thread, void *unused)
{
	const struct ckpt_restore_thread *side = thread->side;
	struct signal_struct *signal = current->signal;
	struct task_struct *t;

	spin_lock_irq(&ckpt_sighand_of(current)->siglock);
	if (signal->flags & SIGNAL_GROUP_EXIT) {
		spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
		return -ESRCH;
	}
	signal->group_stop_count = 0;
	for_each_thread(current, t) {
		if (t->flags & PF_EXITING)
			continue;
		t->jobctl &= ~JOBCTL_STOP_SIGMASK;
		t->jobctl |= side->proc->exit_code | JOBCTL_STOP_PENDING |
			     JOBCTL_STOP_CONSUME;
		signal->group_stop_count++;
		set_tsk_thread_flag(t, TIF_SIGPENDING);
	}
	signal->group_exit_code = side->proc->stop_reported ? 0 : side->proc->exit_code;
	signal_set_stop_flags(signal, SIGNAL_STOP_STOPPED);
	spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
	return 0;
}
