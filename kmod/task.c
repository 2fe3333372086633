// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of a thread: THREAD and the records that follow it.
 *
 * The caller has settled the thread, so its registers are in memory.  A thread may be killed at
 * any moment: state that exit takes away from a task is read under the lock that exit takes.
 */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/iocontext.h>
#include <linux/io_uring_types.h>
#include <linux/ioprio.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uidgid.h>

#include <asm/unistd.h>

#include "arch.h"
#include "collect.h"
#include "compat/ksyms.h"
#include "compat/lsm.h"
#include "compat/optional.h"
#include "compat/sem.h"
#include "records.h"
#include "uring.h"
#include "restart_block.h"

/* ------------------------------------------------------- what makes it unfit */

/* NULL is no difference: a killed task gives up its objects, and the verdict reports the kill. */
static bool ckpt_task_differs(const void *mine, const void *theirs)
{
	return mine && theirs && mine != theirs;
}

static void ckpt_task_check_process(struct ckpt_collect *c, struct task_struct *task,
				    struct task_struct *alive)
{
	if (ckpt_task_differs(READ_ONCE(task->files), READ_ONCE(alive->files)))
		ckpt_refuse(c->cap, CKPT_R_FILES_PER_THREAD, task, 0, "descriptor table");
	if (ckpt_task_differs(READ_ONCE(task->fs), READ_ONCE(alive->fs)))
		ckpt_refuse(c->cap, CKPT_R_THREAD_STATE, task, 0, "file system context");
	if (task->personality != alive->personality)
		ckpt_refuse(c->cap, CKPT_R_THREAD_STATE, task, 0, "personality");
	if (ckpt_task_differs(READ_ONCE(task->nsproxy), READ_ONCE(alive->nsproxy)))
		ckpt_refuse(c->cap, CKPT_R_NAMESPACE, task, 0, "namespaces of a thread");
}

enum ckpt_task_flaw {
	CKPT_FLAW_SECCOMP,
	CKPT_FLAW_SEM_UNDO,
	CKPT_FLAW_IO_URING,
	CKPT_FLAW_DEADLINE,
	CKPT_FLAW_UCLAMP,
	CKPT_FLAW_CORE_COOKIE,
	CKPT_FLAW_DISPATCH,
	CKPT_FLAW_IO_FLUSHER,
};

static const struct {
	enum ckpt_reason reason;
	const char *what;
} ckpt_task_flaws[] = {
	[CKPT_FLAW_SECCOMP] = { CKPT_R_SECCOMP, "seccomp" },
	[CKPT_FLAW_SEM_UNDO] = { CKPT_R_SYSV_SEM, "SEM_UNDO" },
	[CKPT_FLAW_IO_URING] = { CKPT_R_IO_URING, "io_uring context" },
	[CKPT_FLAW_DEADLINE] = { CKPT_R_TASK_MODE, "SCHED_DEADLINE" },
	[CKPT_FLAW_UCLAMP] = { CKPT_R_TASK_MODE, "utilization clamp" },
	[CKPT_FLAW_CORE_COOKIE] = { CKPT_R_TASK_MODE, "PR_SCHED_CORE" },
	[CKPT_FLAW_DISPATCH] = { CKPT_R_TASK_MODE, "PR_SET_SYSCALL_USER_DISPATCH" },
	[CKPT_FLAW_IO_FLUSHER] = { CKPT_R_TASK_MODE, "PR_SET_IO_FLUSHER" },
};

#define CKPT_PF_IO_FLUSHER	(PF_MEMALLOC_NOIO | PF_LOCAL_THROTTLE)

static unsigned long ckpt_task_find_modes(struct task_struct *task)
{
	unsigned long flaws = 0;

	if (task->policy == SCHED_DEADLINE)
		flaws |= BIT(CKPT_FLAW_DEADLINE);
	if (ckpt_task_has_uclamp(task))
		flaws |= BIT(CKPT_FLAW_UCLAMP);
	if (ckpt_task_has_core_cookie(task))
		flaws |= BIT(CKPT_FLAW_CORE_COOKIE);
	if (ckpt_task_has_dispatch(task))
		flaws |= BIT(CKPT_FLAW_DISPATCH);
	if ((task->flags & CKPT_PF_IO_FLUSHER) == CKPT_PF_IO_FLUSHER)
		flaws |= BIT(CKPT_FLAW_IO_FLUSHER);
	return flaws;
}

/*
 * With siglock held and no SIGKILL pending, a parked or stopped task stays where it is, so objects
 * that exit frees may be read.
 */
static unsigned long ckpt_task_find_flaws(struct task_struct *task)
{
	unsigned long flaws = 0, flags;

	if (!ckpt_lock_sighand(task, &flags))
		return 0;
	if (__fatal_signal_pending(task))
		goto out;	/* the task was killed; the verdict will say so */
	if (ckpt_task_seccomp_mode(task))
		flaws |= BIT(CKPT_FLAW_SECCOMP);
	if (ckpt_task_has_sem_undo(task))
		flaws |= BIT(CKPT_FLAW_SEM_UNDO);
	if (ckpt_task_has_io_uring(task))
		flaws |= BIT(CKPT_FLAW_IO_URING);
	flaws |= ckpt_task_find_modes(task);
out:
	unlock_task_sighand(task, &flags);
	return flaws;
}

static void ckpt_task_check_creds(struct ckpt_collect *c, struct task_struct *task)
{
	const struct cred *cred = get_task_cred(task);

	if (ckpt_cred_has_landlock(cred))
		ckpt_refuse(c->cap, CKPT_R_LANDLOCK, task, 0, "landlock_restrict_self");
	if (ckpt_cred_has_keys(cred))
		ckpt_refuse(c->cap, CKPT_R_KEYRING, task, 0,
			    "process or thread keyring, or KEYCTL_SET_REQKEY_KEYRING");
	put_cred(cred);
}

static void ckpt_task_check(struct ckpt_collect *c, struct task_struct *task)
{
	unsigned long flaws = ckpt_task_find_flaws(task);
	unsigned int i;

	if (ckpt_collects_sysv(c))	/* ckpt_collect_semadj() looks at it */
		flaws &= ~BIT(CKPT_FLAW_SEM_UNDO);
	if (ckpt_collects_uring(c)) {	/* each ring is looked at */
		flaws &= ~BIT(CKPT_FLAW_IO_URING);
		ckpt_collect_uring_thread(c, task);
	}
	for_each_set_bit(i, &flaws, BITS_PER_LONG)
		ckpt_refuse(c->cap, ckpt_task_flaws[i].reason, task, 0, "%s",
			    ckpt_task_flaws[i].what);
	ckpt_task_check_creds(c, task);
	ckpt_arch_check(c, task);
}

/* ----------------------------------------------------------- parts of THREAD */

static void ckpt_task_creds(struct task_struct *task, struct ckpt_rec_thread *rec)
{
	const struct cred *cred = get_task_cred(task);
	struct user_namespace *ns = cred->user_ns;
	struct ckpt_creds *out = &rec->creds;

	out->uid = from_kuid(ns, cred->uid);
	out->euid = from_kuid(ns, cred->euid);
	out->suid = from_kuid(ns, cred->suid);
	out->fsuid = from_kuid(ns, cred->fsuid);
	out->gid = from_kgid(ns, cred->gid);
	out->egid = from_kgid(ns, cred->egid);
	out->sgid = from_kgid(ns, cred->sgid);
	out->fsgid = from_kgid(ns, cred->fsgid);
	out->securebits = cred->securebits;
	out->cap_inheritable = ckpt_cap_to_u64(cred->cap_inheritable);
	out->cap_permitted = ckpt_cap_to_u64(cred->cap_permitted);
	out->cap_effective = ckpt_cap_to_u64(cred->cap_effective);
	out->cap_bounding = ckpt_cap_to_u64(cred->cap_bset);
	out->cap_ambient = ckpt_cap_to_u64(cred->cap_ambient);
	put_cred(cred);
}

static int ckpt_task_groups(struct ckpt_collect *c, struct task_struct *task, s32 tid)
{
	const struct cred *cred = get_task_cred(task);
	const struct group_info *info = cred->group_info;
	struct ckpt_rec_groups *rec;
	u32 *gids;
	int i;

	rec = ckpt_records_add(c->recs, CKPT_REC_GROUPS,
			       sizeof(*rec) + info->ngroups * sizeof(u32));
	if (rec) {
		rec->tid = tid;
		rec->nr = info->ngroups;
		gids = (u32 *)(rec + 1);
		for (i = 0; i < info->ngroups; i++)
			gids[i] = from_kgid(cred->user_ns, info->gid[i]);
	}
	put_cred(cred);
	return rec ? 0 : -ENOMEM;
}

/*
 * Get the CPU mask that the program has asked for; false if it has asked for none.  Before 6.2
 * only the mask in effect is known: if it has all CPUs of the cpuset, it counts as the cpuset's.
 */
static bool ckpt_task_affinity(struct task_struct *task, struct cpumask *ret,
			       struct cpumask *allowed)
{
	unsigned long flags;
	bool asked;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	asked = task->user_cpus_ptr;
	cpumask_copy(ret, asked ? task->user_cpus_ptr : &task->cpus_mask);
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
	if (asked)
		return true;
	ckpt_task_cpuset(task, allowed);
	cpumask_and(allowed, allowed, cpu_online_mask);
	return !cpumask_subset(allowed, ret);
}

/* Fill @cpus with the affinity; all bits set: the program asked for no mask. */
static int ckpt_task_cpus(struct task_struct *task, u64 *cpus, unsigned int nr)
{
	cpumask_var_t mask, allowed;
	unsigned int cpu;
	int err = -ENOMEM;

	memset(cpus, 0xff, nr * sizeof(*cpus));
	if (!alloc_cpumask_var(&mask, GFP_KERNEL_ACCOUNT))
		return err;
	if (!alloc_cpumask_var(&allowed, GFP_KERNEL_ACCOUNT))
		goto free_mask;
	err = 0;
	if (ckpt_task_affinity(task, mask, allowed))
		for (cpu = 0; cpu < nr_cpu_ids && cpu < 64 * nr; cpu++)
			if (!cpumask_test_cpu(cpu, mask))
				cpus[cpu / 64] &= ~(1ULL << (cpu % 64));
	free_cpumask_var(allowed);
free_mask:
	free_cpumask_var(mask);
	return err;
}

static int ckpt_task_sched(struct task_struct *task, struct ckpt_rec_thread *rec)
{
	rec->sched_policy = task->policy;
	rec->sched_priority = task->rt_priority;
	rec->nice = task_nice(task);
	rec->timer_slack_ns = task->timer_slack_ns;
	if (task->sched_reset_on_fork)
		rec->flags |= CKPT_THREAD_RESET_ON_FORK;
	rec->ioprio = ckpt_task_ioprio(task);
	return ckpt_task_cpus(task, rec->cpus, ARRAY_SIZE(rec->cpus));
}

static void ckpt_task_user_pointers(struct task_struct *task, struct ckpt_rec_thread *rec)
{
	rec->sas_sp = task->sas_ss_sp;
	rec->sas_size = task->sas_ss_size;
	rec->sas_flags = task->sas_ss_flags;
	rec->pdeath_signal = task->pdeath_signal;
	rec->robust_list = (__force u64)task->robust_list;
	rec->clear_child_tid = (__force u64)task->clear_child_tid;
#ifdef CONFIG_RSEQ
	rec->rseq = (__force u64)task->rseq;
	rec->rseq_sig = task->rseq_sig;
	rec->rseq_len = task->rseq ? ckpt_rseq_len(task) : 0;
#endif
}

/*
 * Record the signal mask that the program set.  Calls like ppoll replace the mask while they run,
 * and the saved mask comes back when they restart or end.
 */
static void ckpt_task_sigmask(struct task_struct *task, struct ckpt_rec_thread *rec)
{
	const sigset_t *set = test_tsk_restore_sigmask(task) ? &task->saved_sigmask
							     : &task->blocked;

	BUILD_BUG_ON(sizeof(*set) != sizeof(rec->sigmask));
	memcpy(&rec->sigmask, set, sizeof(rec->sigmask));
}

/*
 * True if the thread will go on by its restart block.  The thread parks before the kernel decides
 * that, or after: if it was continued after a stop, or interrupted on its way back into the
 * call, its AX holds the number of restart_syscall.  If AX has that value by chance, recording
 * the restart block does no harm.
 */
static bool ckpt_task_restarts(const struct task_struct *task,
			       const struct ckpt_rec_thread *rec)
{
	if ((s64)rec->regs[CKPT_REG_AX] == -ERESTART_RESTARTBLOCK)
		return rec->flags & CKPT_THREAD_IN_SYSCALL;
	return rec->regs[CKPT_REG_AX] == __NR_restart_syscall &&
	       (const void *)task->restart_block.fn != ckpt_kdata.do_no_restart_syscall;
}

static void ckpt_task_restart(struct ckpt_collect *c, struct task_struct *task,
			      struct ckpt_rec_thread *rec)
{
	if ((s64)rec->regs[CKPT_REG_ORIG_AX] >= 0 &&
	    ckpt_arch_restarts_32(task, rec->regs[CKPT_REG_AX]))
		ckpt_refuse(c->cap, CKPT_R_RESTART_KIND, task,
			    rec->regs[CKPT_REG_ORIG_AX], "32-bit system call %lld",
			    (s64)rec->regs[CKPT_REG_ORIG_AX]);
	if (!ckpt_task_restarts(task, rec))
		return;
	if (ckpt_restart_to_record(task, &rec->restart))
		ckpt_refuse(c->cap, CKPT_R_RESTART_KIND, task,
			    rec->regs[CKPT_REG_ORIG_AX], "system call %lld, %ps",
			    (s64)rec->regs[CKPT_REG_ORIG_AX], task->restart_block.fn);
}

/*
 * Refuse a thread whose code, stack, TLS or rseq area is in memory left out: after a restore that
 * memory would be missing.  A thread left out may have made it, or it may only be passing
 * through that memory, so the refusal asks to try again.
 */
static void ckpt_task_check_inside(struct ckpt_collect *c, struct task_struct *task,
				   const struct ckpt_rec_thread *rec)
{
	const struct {
		u64 addr;
		const char *what;
	} uses[] = {
		{ rec->regs[CKPT_REG_IP], "code" },
		{ rec->regs[CKPT_REG_SP], "stack" },
		{ rec->regs[CKPT_REG_FS_BASE], "thread-local storage" },
		{ rec->rseq, "rseq area" },
	};
	const struct ckpt_excludes *ex = &c->tree->excludes;
	pid_t pid = ckpt_collect_host_pid(c, task);
	unsigned int i;

	for (i = 0; ex->nr && i < ARRAY_SIZE(uses); i++)
		if (ckpt_excludes_range(ex, pid, uses[i].addr, uses[i].addr + 1)) {
			ckpt_refuse(c->cap, CKPT_R_INSIDE, task, uses[i].addr,
				    "its %s at %#llx", uses[i].what, uses[i].addr);
			return;
		}
}

int ckpt_collect_thread(struct ckpt_collect *c, struct ckpt_proc *proc,
			struct ckpt_member *member)
{
	struct task_struct *task = member->task;
	struct ckpt_rec_thread *rec;
	int err;

	rec = ckpt_records_add(c->recs, CKPT_REC_THREAD, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->tid = task_pid_nr_ns(task, c->ns);
	rec->pid = task_tgid_nr_ns(task, c->ns);
	rec->host_tid = task_pid_nr_ns(task, c->ctx->pid_ns);
	get_task_comm(rec->comm, task);
	if (task == proc->leader)
		rec->flags |= CKPT_THREAD_LEADER;
	if (task_no_new_privs(task))
		rec->flags |= CKPT_THREAD_NO_NEW_PRIVS;
	if (task->flags & PF_MCE_PROCESS)
		rec->flags |= CKPT_THREAD_MCE_POLICY;
	if (task->flags & PF_MCE_EARLY)
		rec->flags |= CKPT_THREAD_MCE_EARLY;

	ckpt_task_check_process(c, task, ckpt_proc_alive(c, proc));
	ckpt_task_check(c, task);
	/* the registers lie on the kernel stack, which a killed task frees */
	if (!try_get_task_stack(task))
		return 0;	/* the verdict will say so */
	err = ckpt_arch_collect_regs(c, task, rec);
	ckpt_k(put_task_stack)(task);
	if (err)
		return err;
	ckpt_task_restart(c, task, rec);
	ckpt_task_sigmask(task, rec);
	ckpt_task_user_pointers(task, rec);
	ckpt_task_check_inside(c, task, rec);
	ckpt_task_creds(task, rec);
	err = ckpt_task_sched(task, rec);
	if (!err)
		err = ckpt_arch_collect_xstate(c, task, rec->tid);
	if (!err)
		err = ckpt_task_groups(c, task, rec->tid);
	if (!err)
		err = ckpt_collect_mempolicy(c, task, rec->tid);
	if (!err)
		err = ckpt_collect_sigpending(c, task, rec->tid, NULL);
	return err;
}
