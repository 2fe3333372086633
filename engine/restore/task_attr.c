// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes that a task of the tree sets by ordinary system calls before it enters.
 *
 * Order matters: attributes that children must not inherit are set when the children are
 * there; rights are dropped last, by each thread.  Resource limits are not set here: they
 * would bind before the memory is there (tree_limits()).  A process starts with the
 * builder's values, which are the best of the tree, and only lowers them, so none of this
 * needs a capability that plan_owner.c did not ask for.  Raw system calls only: see
 * rawsys.h.
 */
#include "engine/restore/task.h"

#include <asm/termbits.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/ioprio.h>
#include <linux/sched/types.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>

#include "base/rawsys.h"

/* linux/sched.h and sched.h cannot both be included */
#define POLICY_FIFO	1
#define POLICY_RR	2
#define POLICY_DEADLINE	6

/* ---------------------------------------------------------------- early */

/*
 * A terminal that belongs to another session cannot be taken (EPERM).  That is the caller's own
 * terminal, and the tree runs on without job control, as after a disown.
 */
void task_attr_early(const struct tree *tree, int index)
{
	const struct plan_task *task = &tree->plan->tasks[index];
	long ret;

	/* the kernel sets groups and sessions of other tasks at the end; zombies inherit theirs */
	if (!task->setsid) {
		if (task->proc->rec->pgid == task->pid)
			raw(SYS_setpgid, 0, 0);
		return;
	}
	ret = raw(SYS_setsid);
	if (ret < 0)
		task_fail(tree, "setsid", ret);
	if (tree->tty[index] < 0)
		return;
	ret = raw(SYS_ioctl, tree->tty[index], TIOCSCTTY, 0);
	if (ret < 0 && ret != -EPERM)
		task_fail(tree, "cannot take the controlling terminal", ret);
}

/* ---------------------------------------------------------------- late */

#define CAP_SEARCH	(1U << CAP_DAC_READ_SEARCH)

/*
 * Enter a directory.  @had: the process had the very directory but may not search it any more,
 * as it gave rights up since.  Then a capability is raised for the call only.
 */
static long enter_directory(int fd, bool root, bool had)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	uint32_t before = 0;
	long ret = had ? raw(SYS_capget, &hdr, data) : 0;

	if (!ret && had) {
		before = data[0].effective;
		data[0].effective |= CAP_SEARCH & data[0].permitted;
		ret = raw(SYS_capset, &hdr, data);
	}
	if (!ret)
		ret = raw(SYS_fchdir, fd);
	if (!ret && root)
		ret = raw(SYS_chroot, ".");
	if (!had)
		return ret;
	data[0].effective = before;
	/* the task must not run on with the raised capability */
	return raw(SYS_capset, &hdr, data) < 0 && !ret ? -EPERM : ret;
}

/* Only the first of the tasks that share root and working directory sets them. */
static bool is_first_of_fs(const struct tree *tree, int index)
{
	const struct plan_task *tasks = tree->plan->tasks;

	for (int i = 0; i < index; i++)
		if (tasks[i].role == PLAN_LIVE && tasks[i].proc->rec->fs_id &&
		    tasks[i].proc->rec->fs_id == tasks[index].proc->rec->fs_id)
			return false;
	return true;
}

static void set_directories(const struct tree *tree, int index)
{
	const bool *had = tree->had, *root_had = had + tree->plan->nr_tasks;
	long ret = 0;

	if (tree->root[index] >= 0)
		ret = enter_directory(tree->root[index], true, root_had[index]);
	if (ret < 0)
		task_fail(tree, "cannot change the root directory", ret);
	ret = enter_directory(tree->cwd[index], false, had[index]);
	if (ret < 0)
		task_fail(tree, "cannot change the working directory", ret);
}

/*
 * Let the kernel know what SEM_UNDO is to undo: operate on the set the other way. It has values
 * from which that is possible; the builder sets the right ones later, which no undo list notes.
 */
static void set_semadj(const struct tree *tree, const struct ckpt_rec_semadj *rec)
{
	const int16_t *adj = (const int16_t *)(rec + 1);

	for (uint32_t i = 0; i < rec->nr; i++) {
		struct sembuf op = {
			.sem_num = (unsigned short)i, .sem_op = (short)-adj[i],
			.sem_flg = SEM_UNDO | IPC_NOWAIT,
		};
		long ret = adj[i] ? raw(SYS_semop, rec->id, &op, 1) : 0;

		if (ret < 0)
			task_fail(tree, "cannot note what SEM_UNDO undoes", ret);
	}
}

static void set_semadjs(const struct tree *tree, const struct state_proc *proc)
{
	const struct ckpt_rec_semadj *rec = proc->semadjs;

	for (unsigned int i = 0; i < proc->nr_semadjs; i++) {
		set_semadj(tree, rec);
		rec = (const void *)((const char *)rec + rec->hdr.len);
	}
}

void task_attr_late(const struct tree *tree, int index)
{
	const struct ckpt_rec_proc *rec = tree->plan->tasks[index].proc->rec;
	long ret = 0;

	if (rec->flags & CKPT_PROC_SUBREAPER)
		ret = raw(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
	if (!ret && rec->flags & CKPT_PROC_THP_DISABLE)
		ret = raw(SYS_prctl, PR_SET_THP_DISABLE, 1);
	if (ret < 0)
		task_fail(tree, "prctl", ret);
	raw(SYS_personality, rec->personality);
	if (is_first_of_fs(tree, index)) {
		raw(SYS_umask, rec->umask);
		set_directories(tree, index);
	}
	set_semadjs(tree, tree->plan->tasks[index].proc);
}

/* ---------------------------------------------------------------- scheduling */

static void set_scheduling(const struct tree *tree, const struct ckpt_rec_thread *rec)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = rec->sched_policy,
		.sched_nice = rec->nice,
	};
	long ret;

	if (rec->flags & CKPT_THREAD_RESET_ON_FORK)
		attr.sched_flags = SCHED_FLAG_RESET_ON_FORK;
	if (rec->sched_policy == POLICY_FIFO || rec->sched_policy == POLICY_RR)
		attr.sched_priority = rec->sched_priority;
	if (rec->sched_policy == POLICY_DEADLINE)
		task_fail(tree, "deadline scheduling cannot be restored", -EOPNOTSUPP);
	ret = raw(SYS_setpriority, PRIO_PROCESS, rec->tid, rec->nice);
	if (!ret)
		ret = raw(SYS_sched_setattr, rec->tid, &attr, 0);
	if (ret < 0)
		task_fail(tree, "cannot set the scheduling policy", ret);
	/* the kernel ignores CPUs that this node does not have or does not give us */
	raw(SYS_sched_setaffinity, rec->tid, sizeof(rec->cpus), rec->cpus);
	if (!rec->ioprio)
		return;
	ret = raw(SYS_ioprio_set, IOPRIO_WHO_PROCESS, rec->tid, rec->ioprio);
	if (ret < 0)
		task_fail(tree, "cannot set the I/O priority", ret);
}

/* The leader sets it for all threads, while it still has the builder's limits. */
void task_attr_sched(const struct tree *tree, int index)
{
	const struct state_proc *proc = tree->plan->tasks[index].proc;

	for (unsigned int i = 0; i < proc->nr_threads; i++)
		set_scheduling(tree, proc->threads[i].rec);
}

/* ---------------------------------------------------------------- thread */

static void set_caps(const struct tree *tree, uint64_t permitted, uint64_t effective,
		     uint64_t inheritable)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	long ret;

	for (int i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(permitted >> (32 * i));
		data[i].effective = (uint32_t)(effective >> (32 * i));
		data[i].inheritable = (uint32_t)(inheritable >> (32 * i));
	}
	ret = raw(SYS_capset, &hdr, data);
	if (ret < 0)
		task_fail(tree, "cannot set capabilities", ret);
}

static uint64_t permitted_now(const struct tree *tree)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	long ret = raw(SYS_capget, &hdr, data);

	if (ret < 0)
		task_fail(tree, "cannot read capabilities", ret);
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static void drop_bounding(const struct tree *tree, uint64_t bounding)
{
	for (long cap = 0; cap < 64; cap++) {
		uint64_t bit = 1ULL << cap;

		if ((tree->bounding & bit) && !(bounding & bit) &&
		    raw(SYS_prctl, PR_CAPBSET_DROP, cap) < 0)
			task_fail(tree, "cannot limit the capability bounding set", -EPERM);
	}
}

/* Are these the owner's groups, which the builder has? No memcmp(), as that is libc's. */
static bool is_owners(const struct plan_owner *owner, const uint32_t *groups, unsigned int nr)
{
	if (nr != owner->nr_groups)
		return false;
	for (unsigned int i = 0; i < nr; i++)
		if (groups[i] != owner->groups[i])
			return false;
	return true;
}

static void set_ids(const struct tree *tree, const struct state_thread *thread)
{
	const struct ckpt_creds *c = &thread->rec->creds;
	const uint32_t *groups = thread->groups ? (const uint32_t *)(thread->groups + 1) : NULL;
	unsigned int nr = thread->groups ? thread->groups->nr : 0;
	long ret = 0;

	if (!is_owners(&tree->plan->owner, groups, nr))
		ret = raw(SYS_setgroups, nr, groups);
	if (!ret)
		ret = raw(SYS_setresgid, c->gid, c->egid, c->sgid);
	if (!ret)
		ret = raw(SYS_setresuid, c->uid, c->euid, c->suid);
	if (ret < 0)
		task_fail(tree, "cannot become the user of a thread", ret);
}

/* Called with capabilities in effect again: setting these ids may need one. */
static void set_fs_ids(const struct tree *tree, const struct ckpt_creds *c)
{
	/* each call returns the old value and no error, so the second one tells the result */
	raw(SYS_setfsgid, c->fsgid);
	raw(SYS_setfsuid, c->fsuid);
	if (raw(SYS_setfsgid, -1) != (long)c->fsgid || raw(SYS_setfsuid, -1) != (long)c->fsuid)
		task_fail(tree, "cannot become the file system user of a thread", -EPERM);
}

static void set_creds(const struct tree *tree, const struct state_thread *thread)
{
	const struct ckpt_creds *c = &thread->rec->creds;
	uint64_t now;
	long ret;

	ret = raw(SYS_prctl, PR_SET_KEEPCAPS, 1);
	set_ids(tree, thread);
	now = permitted_now(tree);
	/* inheritable first: it may hold capabilities that are no longer in the bounding set */
	set_caps(tree, now, now, c->cap_inheritable);
	drop_bounding(tree, c->cap_bounding);
	set_fs_ids(tree, c);
	for (long cap = 0; !ret && cap < 64; cap++)
		if (c->cap_ambient & 1ULL << cap)
			ret = raw(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
	if (!ret && c->securebits)
		ret = raw(SYS_prctl, PR_SET_SECUREBITS, c->securebits);
	else if (!ret)
		ret = raw(SYS_prctl, PR_SET_KEEPCAPS, 0);
	if (ret < 0)
		task_fail(tree, "cannot set ambient capabilities or securebits", ret);
	/*
	 * The task's memory is still a copy of the builder's, with the keys in it.  Without
	 * capabilities the task could be traced by the owner, who must not see them.  The
	 * program's own value comes with its memory.
	 */
	raw(SYS_prctl, PR_SET_DUMPABLE, 0);
	set_caps(tree, c->cap_permitted, c->cap_effective, c->cap_inheritable);
}

/* The kernel ignores nodes that are not here; if no node is left (-EINVAL), there is no policy. */
static void set_mempolicy(const struct tree *tree, const struct ckpt_rec_mempolicy *rec)
{
	long ret = 0;

	if (rec)
		ret = raw(SYS_set_mempolicy, rec->mode | rec->flags, rec->nodes,
			  CKPT_NODES_MAX + 1);
	if (ret < 0 && ret != -EINVAL)
		task_fail(tree, "cannot set the memory policy of a thread", ret);
}

void task_attr_thread(const struct tree *tree, const struct state_thread *thread)
{
	const struct ckpt_rec_thread *rec = thread->rec;
	long ret = 0;

	raw(SYS_prctl, PR_SET_NAME, rec->comm);
	if (rec->timer_slack_ns)
		ret = raw(SYS_prctl, PR_SET_TIMERSLACK, rec->timer_slack_ns);
	set_mempolicy(tree, thread->mempolicy);
	set_creds(tree, thread);
	if (!ret && rec->flags & CKPT_THREAD_NO_NEW_PRIVS)
		ret = raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
	if (ret < 0)
		task_fail(tree, "prctl of a thread", ret);
}
