// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of a thread: its THREAD record and pending signals, kept until commit, and the actions
 * by which the thread then sets them itself.
 *
 * Registers are set at once (restore_regs.c).  State that makes the kernel deliver signals waits
 * for commit.  State that makes the kernel write to memory when the thread dies waits until the
 * thread is let go: a thread that is killed before, also by a commit that fails, must not walk a
 * restored robust list in memory it shares.
 *
 * Signals stay blocked from the entry until the thread leaves the park.  So signals queued at
 * commit are pending as they were, whatever their action: a fatal signal takes effect when the
 * thread, not the committer, sees it.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/uaccess.h>

#include "compat/ksyms.h"
#include "compat/mdwe.h"
#include "compat/rseq.h"
#include "context.h"
#include "restore.h"
#include "thread.h"

/* Called in the thread that enters, whose old memory is not needed from now on. */
void ckpt_restore_disown(struct ckpt_thread *thread)
{
	sigset_t all;

	siginitsetinv(&all, sigmask(SIGKILL) | sigmask(SIGSTOP));
	sigprocmask(SIG_SETMASK, &all, NULL);
	ckpt_rseq_set(0, 0, 0);
	current->robust_list = NULL;
	current->clear_child_tid = NULL;
	current->sas_ss_sp = 0;
	current->sas_ss_size = 0;
	current->sas_ss_flags = SS_DISABLE;
}

static bool ckpt_rseq_ok(const struct ckpt_rec_thread *rec)
{
	u32 len = rec->rseq_len ? rec->rseq_len : CKPT_RSEQ_LEN;

	return !rec->rseq || (access_ok((void __user *)rec->rseq, len) &&
			      ckpt_rseq_layout_ok(rec->rseq, len));
}

/* True for flags that sigaltstack(2) accepts: SS_ONSTACK is kept, and means the same as 0. */
static bool ckpt_sas_flags_ok(u32 flags)
{
	u32 mode = flags & ~SS_AUTODISARM;

	return !mode || mode == SS_ONSTACK || mode == SS_DISABLE;
}

static bool ckpt_thread_rec_ok(const struct ckpt_rec_thread *rec)
{
	return ckpt_sas_flags_ok(rec->sas_flags) &&
	       rec->sas_sp < TASK_SIZE_MAX && rec->sas_size < TASK_SIZE_MAX &&
	       rec->pdeath_signal >= 0 && valid_signal(rec->pdeath_signal) &&
	       rec->robust_list < TASK_SIZE_MAX &&
	       rec->clear_child_tid < TASK_SIZE_MAX && ckpt_rseq_ok(rec) &&
	       ckpt_restart_is_ok(&rec->restart);
}

int ckpt_restore_thread(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			const struct ckpt_rec_thread *rec)
{
	struct ckpt_restore_thread *side = thread->side;
	int err;

	if (!ckpt_thread_rec_ok(rec))
		return -EINVAL;
	err = ckpt_restore_regs(thread, rec->regs);
	if (err)
		return err;
	side->rec = *rec;
	side->deltas = ctx->restore->deltas;
	side->has_rec = true;
	return 0;
}

int ckpt_restore_signal(struct ckpt_thread *thread,
			const struct ckpt_rec_sigpending *rec)
{
	struct ckpt_restore_thread *side = thread->side;
	const struct kernel_siginfo *info = (const void *)rec->siginfo;
	struct ckpt_restore_signal *sig;

	if (!rec->signo || !valid_signal(rec->signo) || rec->signo == SIGKILL ||
	    rec->shared > 1 || rec->has_info > 1)
		return -EINVAL;
	if (rec->has_info && (info->si_signo != rec->signo ||
			      memchr_inv(rec->siginfo + sizeof(*info), 0,
					 sizeof(rec->siginfo) - sizeof(*info))))
		return -EINVAL;
	if (side->nr_signals >= CKPT_SIGNALS_MAX)
		return -ENOSPC;
	sig = kmalloc(sizeof(*sig), GFP_KERNEL_ACCOUNT);
	if (!sig)
		return -ENOMEM;
	sig->rec = *rec;
	list_add_tail(&sig->link, &side->signals);
	side->nr_signals++;
	return 0;
}

/* -------------------------------------------------- actions of commit */

/*
 * Drop the signals that the thread got while it was a helper, mostly SIGCHLD from the building
 * phase.  A SIGKILL that is under way must survive this.
 */
int ckpt_restore_flush_signals(struct ckpt_thread *thread, void *unused)
{
	bool dying;

	flush_signals(current);
	spin_lock_irq(&ckpt_sighand_of(current)->siglock);
	dying = current->signal->flags & SIGNAL_GROUP_EXIT;
	if (dying) {
		sigaddset(&current->pending.signal, SIGKILL);
		set_thread_flag(TIF_SIGPENDING);
	}
	spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
	return dying ? -ESRCH : 0;
}

/* Make a signal pending that has a bit only and no queue entry: the queue had been full. */
static void ckpt_signal_set_bit(const struct ckpt_rec_sigpending *rec)
{
	struct sigpending *pending = rec->shared ? &current->signal->shared_pending :
						   &current->pending;

	spin_lock_irq(&ckpt_sighand_of(current)->siglock);
	sigaddset(&pending->signal, rec->signo);
	spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
}

int ckpt_restore_queue_signals(struct ckpt_thread *thread, void *unused)
{
	struct ckpt_restore_thread *side = thread->side;
	struct ckpt_restore_signal *sig;
	struct kernel_siginfo info;
	int err;

	list_for_each_entry(sig, &side->signals, link) {
		if (!sig->rec.has_info) {
			ckpt_signal_set_bit(&sig->rec);
			continue;
		}
		memcpy(&info, sig->rec.siginfo, sizeof(info));
		/* the kernel's own field: a value would rearm the timer */
		if (info.si_code == SI_TIMER)
			info.si_sys_private = 0;
		err = ckpt_k(do_send_sig_info)(sig->rec.signo, &info, current,
					       sig->rec.shared ? PIDTYPE_TGID :
								 PIDTYPE_PID);
		if (err)
			return err;
	}
	return 0;
}

static void ckpt_apply_proc(const struct ckpt_rec_proc *proc)
{
	if (proc->flags & CKPT_PROC_THP_DISABLE)
		set_bit(MMF_DISABLE_THP, &current->mm->flags);
	else
		clear_bit(MMF_DISABLE_THP, &current->mm->flags);
	ckpt_mm_set_mdwe(current->mm, proc->flags);
	if (!thread_group_leader(current))
		return;
	if (proc->flags & CKPT_PROC_EXECED)
		current->flags &= ~PF_FORKNOEXEC;
	else
		current->flags |= PF_FORKNOEXEC;
}

/* Set the machine-check policy, as prctl(PR_MCE_KILL) does. */
static void ckpt_apply_mce_policy(u32 flags)
{
	current->flags &= ~(PF_MCE_PROCESS | PF_MCE_EARLY);
	if (flags & CKPT_THREAD_MCE_POLICY)
		current->flags |= PF_MCE_PROCESS;
	if (flags & CKPT_THREAD_MCE_EARLY)
		current->flags |= PF_MCE_EARLY;
}

int ckpt_restore_apply(struct ckpt_thread *thread, void *unused)
{
	const struct ckpt_restore_thread *side = thread->side;
	const struct ckpt_rec_thread *rec = &side->rec;

	task_lock(current);
	strscpy_pad(current->comm, rec->comm, sizeof(current->comm));
	task_unlock(current);
	current->sas_ss_sp = rec->sas_sp;
	current->sas_ss_size = rec->sas_size;
	current->sas_ss_flags = rec->sas_flags;
	current->pdeath_signal = rec->pdeath_signal;
	if (rec->timer_slack_ns)
		current->timer_slack_ns = rec->timer_slack_ns;
	if (rec->rseq)
		ckpt_rseq_set(rec->rseq, rec->rseq_len ? rec->rseq_len : CKPT_RSEQ_LEN,
			      rec->rseq_sig);
	ckpt_apply_mce_policy(rec->flags);
	if (side->proc)
		ckpt_apply_proc(side->proc);
	ckpt_restart_from_record(&rec->restart, &side->deltas);
	return 0;
}

static void ckpt_leave_timers(const struct ckpt_rec_proc *proc)
{
	struct itimerspec64 value;
	unsigned int i;

	/* the timer's signal is pending: taking the signal arms the timer again */
	if (!proc->itimer[0].value_ns && proc->itimer[0].interval_ns) {
		spin_lock_irq(&ckpt_sighand_of(current)->siglock);
		current->signal->it_real_incr = ns_to_ktime(proc->itimer[0].interval_ns);
		spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
	}
	for (i = 0; i < ARRAY_SIZE(proc->itimer); i++) {
		if (!proc->itimer[i].value_ns)
			continue;
		value.it_value = ns_to_timespec64(proc->itimer[i].value_ns);
		value.it_interval = ns_to_timespec64(proc->itimer[i].interval_ns);
		ckpt_k(do_setitimer)(i, &value, NULL);
	}
}

/*
 * The last step in the park: from here on signals and timers belong to the program, and so do the
 * writes to memory that the kernel makes when the thread dies.
 */
int ckpt_restore_leave(struct ckpt_thread *thread, void *unused)
{
	const struct ckpt_restore_thread *side = thread->side;
	sigset_t mask;

	if (!side->committed)
		return 0;
	current->robust_list = (struct robust_list_head __user *)side->rec.robust_list;
	current->clear_child_tid = (int __user *)side->rec.clear_child_tid;
	if (side->proc)
		ckpt_leave_timers(side->proc);
	mask.sig[0] = side->rec.sigmask;
	sigdelsetmask(&mask, sigmask(SIGKILL) | sigmask(SIGSTOP));
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return 0;
}
