// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of a process: PROC, its THREADs, its signal state.
 *
 * The process is frozen, stopped or a zombie, so the state that only the process changes is read
 * without locks; state that others may change (limits, terminals, sessions) is read under its
 * locks.
 */
#include <linux/fs_struct.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/sched/coredump.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/tty.h>
#include <linux/tty_driver.h>
#include <linux/user_namespace.h>

#include "collect.h"
#include "compat/ksyms.h"
#include "compat/mdwe.h"
#include "compat/optional.h"
#include "records.h"
#include "thread.h"

pid_t ckpt_collect_host_pid(const struct ckpt_collect *c, struct task_struct *task)
{
	return task_tgid_nr_ns(task, c->ctx->pid_ns);
}

struct task_struct *ckpt_proc_alive(const struct ckpt_collect *c,
				    const struct ckpt_proc *proc)
{
	return proc->nr ? c->tree->members[proc->first].task : NULL;
}

static bool ckpt_proc_is_stopped(const struct ckpt_collect *c,
				 const struct ckpt_proc *proc)
{
	unsigned int i;

	for (i = 0; i < proc->nr; i++)
		if (!c->tree->members[proc->first + i].stopped)
			return false;
	return proc->nr;
}

/* ------------------------------------------------------------ what is unfit */

static void ckpt_proc_differs(struct ckpt_collect *c, struct task_struct *task,
			      const void *a, const void *b, const char *name)
{
	if (a != b)
		ckpt_refuse(c->cap, CKPT_R_NAMESPACE, task, 0, "%s namespace", name);
}

static void ckpt_proc_check_namespaces(struct ckpt_collect *c, struct task_struct *task)
{
	const struct nsproxy *first = &c->first_ns;
	struct user_namespace *user_ns;
	struct pid_namespace *pid_ns;
	struct nsproxy mine;

	rcu_read_lock();
	user_ns = __task_cred(task)->user_ns;
	pid_ns = task_active_pid_ns(task);
	rcu_read_unlock();
	if (user_ns != c->ctx->cred->user_ns)
		ckpt_refuse(c->cap, CKPT_R_USER_NS, task, 0, "user namespace");
	if (pid_ns != c->ns)
		ckpt_refuse(c->cap, CKPT_R_PID_NS, task, 0, "another PID namespace");

	if (!ckpt_collect_namespaces(task, &mine))
		return;		/* the task died */
	/* a clone for the snapshot would become init of the new namespace */
	if (mine.pid_ns_for_children != c->ns)
		ckpt_refuse(c->cap, CKPT_R_PID_NS, task, 0, "PID namespace for children");
	ckpt_proc_differs(c, task, mine.time_ns_for_children, mine.time_ns,
			  "children's time");
	ckpt_proc_differs(c, task, mine.mnt_ns, first->mnt_ns, "mount");
	ckpt_proc_differs(c, task, mine.uts_ns, first->uts_ns, "UTS");
	ckpt_proc_differs(c, task, mine.ipc_ns, first->ipc_ns, "IPC");
	ckpt_proc_differs(c, task, mine.net_ns, first->net_ns, "network");
	ckpt_proc_differs(c, task, mine.cgroup_ns, first->cgroup_ns, "cgroup");
	ckpt_proc_differs(c, task, mine.time_ns, first->time_ns, "time");
}

static bool ckpt_fs_is_of(const struct task_struct *task, const void *fs)
{
	return READ_ONCE(task->fs) == fs;
}

/* Number of threads of the process that have @fs, including threads left out. */
static unsigned int ckpt_fs_count(struct ckpt_proc *proc, const struct fs_struct *fs)
{
	struct task_struct *task;
	unsigned int nr = 0;

	rcu_read_lock();
	for_each_thread(proc->leader, task)
		nr += ckpt_fs_is_of(task, fs);
	rcu_read_unlock();
	return nr;
}

/*
 * True if the fs_struct has more users than were counted. No passing reference counts as a user;
 * but the additional user may have been made by a thread left out.
 */
static bool ckpt_fs_is_shared(struct ckpt_object *obj)
{
	struct fs_struct *fs;
	bool shared;

	task_lock(obj->task);
	fs = obj->task->fs;
	shared = fs == obj->key && READ_ONCE(fs->users) > obj->users;
	task_unlock(obj->task);
	return shared;
}

void ckpt_collect_check_fs(struct ckpt_collect *c)
{
	struct ckpt_object *obj;
	unsigned long id;
	pid_t pid;

	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_FS)
		if (ckpt_fs_is_shared(obj) &&
		    ckpt_collect_find_stranger(c, obj->key, &pid))
			ckpt_refuse(c->cap, CKPT_R_SHARED_FILES, obj->task, pid,
				    "directory and umask shared with pid %d", pid);
}

/*
 * Objects in an IPC namespace of the job's own would be lost with the namespace, so they are
 * refused, except segments that only ranges left out map: a restart does not miss them.
 */
void ckpt_collect_check_ipc(struct ckpt_collect *c)
{
#ifdef CONFIG_SYSVIPC
	static const char * const names[] = { "semaphores", "message queues",
					      "shared memory", "POSIX message queues" };
	int in_use[ARRAY_SIZE(names)] = { 0 };
	struct nsproxy *ns;
	unsigned int i;

	task_lock(c->first);
	ns = c->first->nsproxy;
	if (ns && ns->ipc_ns != current->nsproxy->ipc_ns) {
		for (i = 0; i < 3 && !ckpt_collects_sysv(c); i++)
			in_use[i] = ns->ipc_ns->ids[i].in_use;
		if (!ckpt_collects_mqueue(c))
			in_use[3] = READ_ONCE(ns->ipc_ns->mq_queues_count);
	}
	task_unlock(c->first);
	in_use[2] -= min_t(int, in_use[2], c->objs->nr[CKPT_OBJ_SYSV]);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (in_use[i])
			ckpt_refuse(c->cap, i < 3 ? CKPT_R_SYSV_IPC : CKPT_R_MQUEUE, c->first,
				    in_use[i], "%d %s", in_use[i], names[i]);
#endif
}

/* ------------------------------------------------------------- parts of PROC */

/*
 * As in do_notify_parent(): a parent that has called exec since gets SIGCHLD, whatever exit signal
 * was asked for.
 */
static s32 ckpt_proc_exit_signal(struct task_struct *leader)
{
	struct task_struct *parent = rcu_dereference(leader->real_parent);

	if (leader->exit_signal >= 0 && leader->parent_exec_id != READ_ONCE(parent->self_exec_id))
		return SIGCHLD;
	return leader->exit_signal;
}

static void ckpt_proc_ids(struct ckpt_collect *c, struct ckpt_proc *proc,
			  struct ckpt_rec_proc *rec)
{
	struct task_struct *leader = proc->leader;

	rcu_read_lock();
	rec->pid = task_tgid_nr_ns(leader, c->ns);
	rec->ppid = task_ppid_nr_ns(leader, c->ns);	/* a reaped task may have no parent */
	rec->pgid = task_pgrp_nr_ns(leader, c->ns);
	rec->sid = task_session_nr_ns(leader, c->ns);
	rec->exit_signal = ckpt_proc_exit_signal(leader);
	rcu_read_unlock();
	rec->host_pid = ckpt_collect_host_pid(c, leader);
	get_task_comm(rec->comm, leader);
	if (proc->parent < 0)
		rec->flags |= CKPT_PROC_ROOT;
}

static void ckpt_proc_tty(struct ckpt_collect *c, struct task_struct *task,
			  struct ckpt_rec_proc *rec)
{
	struct tty_struct *tty;
	unsigned long flags;

	rec->tty = -1;
	if (!ckpt_lock_sighand(task, &flags))
		return;
	tty = tty_kref_get(task->signal->tty);
	unlock_task_sighand(task, &flags);
	if (!tty)
		return;
	rec->tty = tty->driver->type == TTY_DRIVER_TYPE_PTY ? tty->index : -2;
	spin_lock_irqsave(&tty->ctrl.lock, flags);
	rec->tty_pgrp = pid_nr_ns(tty->ctrl.pgrp, c->ns);
	spin_unlock_irqrestore(&tty->ctrl.lock, flags);
	tty_kref_put(tty);
}

static void ckpt_proc_limits(struct task_struct *leader, struct ckpt_rec_proc *rec)
{
	unsigned int i;

	BUILD_BUG_ON(RLIM_NLIMITS != ARRAY_SIZE(rec->limits));
	task_lock(leader->group_leader);
	for (i = 0; i < RLIM_NLIMITS; i++) {
		rec->limits[i][0] = leader->signal->rlim[i].rlim_cur;
		rec->limits[i][1] = leader->signal->rlim[i].rlim_max;
	}
	task_unlock(leader->group_leader);
}

static void ckpt_proc_signal(struct ckpt_proc *proc, struct task_struct *alive,
			     struct ckpt_rec_proc *rec)
{
	struct signal_struct *signal = proc->leader->signal;

	if (signal->is_child_subreaper)
		rec->flags |= CKPT_PROC_SUBREAPER;
	if (signal->has_child_subreaper)
		rec->flags |= CKPT_PROC_HAS_SUBREAPER;
	if (signal->leader)
		rec->flags |= CKPT_PROC_SESSION_LEADER;
	if (!(proc->leader->flags & PF_FORKNOEXEC))
		rec->flags |= CKPT_PROC_EXECED;
	if (proc->leader->exit_state)
		rec->flags |= CKPT_PROC_LEADER_DEAD;
	rec->oom_score_adj = signal->oom_score_adj;
	rec->oom_score_adj_min = signal->oom_score_adj_min;
	rec->personality = alive->personality;
}

static void ckpt_proc_stop(struct task_struct *alive, struct ckpt_rec_proc *rec)
{
	unsigned long flags;

	if (!ckpt_lock_sighand(alive, &flags))
		return;
	rec->exit_code = alive->signal->group_exit_code;
	if (!rec->exit_code) {
		/* the parent has taken the report of the stop */
		rec->stop_reported = 1;
		rec->exit_code = alive->jobctl & JOBCTL_STOP_SIGMASK;
	}
	unlock_task_sighand(alive, &flags);
}

static void ckpt_proc_fs(struct ckpt_collect *c, struct ckpt_proc *proc,
			 struct ckpt_rec_proc *rec)
{
	struct task_struct *alive = ckpt_proc_alive(c, proc);
	struct ckpt_object *obj;
	struct fs_struct *fs;
	struct path pwd, root;
	bool is_new;

	task_lock(alive);
	fs = alive->fs;
	if (!fs) {
		task_unlock(alive);
		return;
	}
	get_fs_pwd(fs, &pwd);
	get_fs_root(fs, &root);
	rec->umask = fs->umask;
	task_unlock(alive);

	obj = ckpt_object_get(c->objs, CKPT_OBJ_FS, fs, NULL, &is_new);
	if (obj) {
		rec->fs_id = obj->id;
		obj->task = alive;
		obj->users += ckpt_fs_count(proc, fs);
	} else {
		c->error = -ENOMEM;
	}
	rec->cwd = ckpt_collect_path(c, alive, &pwd);
	rec->root = ckpt_collect_path(c, alive, &root);
	path_put(&pwd);
	path_put(&root);
}

static int ckpt_proc_objects(struct ckpt_collect *c, struct task_struct *alive,
			     struct ckpt_rec_proc *rec)
{
	struct ckpt_object *mm, *files, *sighand;
	bool is_new;

	mm = ckpt_object_find(c->objs, CKPT_OBJ_MM, alive->mm, NULL);
	files = ckpt_object_find(c->objs, CKPT_OBJ_FILES, alive->files, NULL);
	sighand = ckpt_object_get(c->objs, CKPT_OBJ_SIGHAND,
				  rcu_access_pointer(alive->sighand), NULL, &is_new);
	if (!sighand)
		return -ENOMEM;
	rec->mm_id = mm ? mm->id : 0;
	rec->files_id = files ? files->id : 0;
	rec->sighand_id = sighand->id;
	if (mm && test_bit(MMF_DISABLE_THP, &mm->mm.mm->flags))
		rec->flags |= CKPT_PROC_THP_DISABLE;
	if (mm)
		rec->flags |= ckpt_mm_mdwe(mm->mm.mm);
	return 0;
}

static void ckpt_proc_zombie(struct ckpt_proc *proc, struct ckpt_rec_proc *rec)
{
	struct task_struct *leader = proc->leader;

	rec->state = CKPT_PROC_ZOMBIE;
	rec->exit_code = leader->signal->flags & SIGNAL_GROUP_EXIT ?
			 leader->signal->group_exit_code : leader->exit_code;
	rec->tty = -1;
}

/* -------------------------------------------------------------------- PROC */

static int ckpt_proc_members(struct ckpt_collect *c, struct ckpt_proc *proc)
{
	unsigned int i;
	int err;

	for (i = 0; i < proc->nr; i++) {
		struct ckpt_member *member = &c->tree->members[proc->first + i];

		if (ckpt_capture_expired(c->ctx))
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;
		err = ckpt_collect_thread(c, proc, member);
		if (err)
			return err;
	}
	return 0;
}

int ckpt_collect_proc(struct ckpt_collect *c, struct ckpt_proc *proc)
{
	struct task_struct *alive = ckpt_proc_alive(c, proc);
	struct ckpt_rec_proc *rec;
	int err;

	rec = ckpt_records_add(c->recs, CKPT_REC_PROC, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	ckpt_proc_ids(c, proc, rec);
	if (!alive) {
		if (proc->nr_excluded)
			ckpt_refuse(c->cap, CKPT_R_EXCLUDE, proc->leader, 0,
				    "of its threads only those left out are alive");
		ckpt_proc_zombie(proc, rec);
		return 0;
	}
	ckpt_proc_check_namespaces(c, alive);
	rec->nr_threads = proc->nr;
	rec->state = CKPT_PROC_RUNNING;
	ckpt_proc_signal(proc, alive, rec);
	if (ckpt_proc_is_stopped(c, proc)) {
		rec->state = CKPT_PROC_STOPPED;
		ckpt_proc_stop(alive, rec);
	}
	ckpt_proc_tty(c, alive, rec);
	ckpt_proc_limits(alive, rec);
	ckpt_proc_fs(c, proc, rec);
	ckpt_collect_itimers(alive, rec);
	err = ckpt_proc_objects(c, alive, rec);
	if (!err)
		err = ckpt_proc_members(c, proc);
	if (!err)
		err = ckpt_collect_sigactions(c, alive, rec->pid);
	if (!err)
		err = ckpt_collect_timers(c, alive, rec->pid);
	if (!err)
		err = ckpt_collect_semadj(c, alive, rec->pid);
	if (!err)
		err = ckpt_collect_sigpending(c, alive, rec->pid, rec);
	return err;
}
