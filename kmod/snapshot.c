// SPDX-License-Identifier: GPL-2.0-only
/*
 * The snapshot: collect the records of a frozen tree, then clone its memory.
 *
 * Collecting touches no user memory of the caller and is bounded by the size of the tree; the
 * expiry of the pause waits for it, and collecting ends early once the pause should expire.
 *
 * A memory map is cloned by a fork: one parked thread of each map makes a child that hands over
 * its copy-on-write map and dies before it ever runs user code.  The traces of the child in the
 * parent (resource usage of children) are put back as they were.
 */
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>

#include <uapi/linux/wait.h>

#include "aio.h"
#include "arch.h"
#include "collect.h"
#include "compat/ksyms.h"
#include "compat/mm.h"
#include "events.h"
#include "freeze.h"
#include "l0.h"
#include "records.h"
#include "snapshot_fork.h"
#include "snapshot_room.h"
#include "thread.h"
#include "trace.h"
#include "track.h"

/* ---------------------------------------------------------------- collecting */

bool ckpt_collect_namespaces(struct task_struct *task, struct nsproxy *ret_ns)
{
	bool ok;

	task_lock(task);
	ok = task->nsproxy;
	if (ok)
		*ret_ns = *task->nsproxy;
	task_unlock(task);
	return ok;
}

/* The PID namespace of @task, with a reference; NULL if the task has been reaped. */
static struct pid_namespace *ckpt_collect_pid_ns(struct task_struct *task)
{
	struct pid_namespace *ns;

	rcu_read_lock();
	ns = task_active_pid_ns(task);
	if (ns)
		get_pid_ns(ns);
	rcu_read_unlock();
	return ns;
}

static void ckpt_collect_timens(struct ckpt_collect *c, struct ckpt_rec_system *rec)
{
#ifdef CONFIG_TIME_NS
	task_lock(c->first);
	if (c->first->nsproxy) {
		const struct timens_offsets *offsets = &c->first->nsproxy->time_ns->offsets;

		rec->timens_monotonic_ns = timespec64_to_ns(&offsets->monotonic);
		rec->timens_boottime_ns = timespec64_to_ns(&offsets->boottime);
	}
	task_unlock(c->first);
#endif
}

static int ckpt_collect_system(struct ckpt_collect *c)
{
	struct ckpt_info info = { 0 };
	struct ckpt_rec_system *rec;
	struct mm_struct *mm;

	rec = ckpt_records_add(c->recs, CKPT_REC_SYSTEM, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->api = CKPT_API;
	rec->monotonic_ns = ktime_get_ns();
	rec->boottime_ns = ktime_get_boottime_ns();
	rec->realtime_ns = ktime_get_real_ns();
	rec->nr_procs = c->tree->nr_procs;
	rec->nr_threads = c->tree->nr_members;
	strscpy(rec->release, init_utsname()->release, sizeof(rec->release));
	ckpt_arch_info(&info);
	rec->xstate_size = info.xstate_size;
	rec->xfeatures = info.xfeatures;
	mm = get_task_mm(c->first);
	if (mm) {
		ckpt_arch_vdso(mm, &rec->vdso_size, &rec->vvar_size);
		mmput(mm);
	}
	ckpt_collect_timens(c, rec);
	return 0;
}

static int ckpt_collect_cpu(struct ckpt_collect *c)
{
	struct ckpt_rec_cpu *rec;

	rec = ckpt_records_add(c->recs, CKPT_REC_CPU | CKPT_REC_OPTIONAL, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	ckpt_arch_cpu(&rec->cpu);
	return 0;
}

/*
 * Wait until the threads are off their CPUs, so that registers may be read.  A stopped thread is
 * off its CPU while it is stopped; if it is continued, it parks.
 */
static int ckpt_collect_settle(struct ckpt_collect *c)
{
	unsigned int i;
	int err;

	for (i = 0; i < c->tree->nr_members; i++) {
		struct ckpt_member *member = &c->tree->members[i];

		if (ckpt_capture_expired(c->ctx))
			return -ETIMEDOUT;
		if (!ckpt_thread_is_parked(member->thread)) {
			ckpt_k(wait_task_inactive)(member->task,
						   __TASK_STOPPED | TASK_FROZEN);
			continue;
		}
		err = ckpt_thread_settle(member->thread);
		if (err == -EBUSY)
			ckpt_refuse(c->cap, CKPT_R_TIMEOUT, member->task, 0, "not off its CPU");
		else if (err && err != -ESRCH)
			return err;	/* the verdict will report threads that died */
	}
	return 0;
}

/* Refuse an exclusion that names @obj by this pid if the records have it under another pid. */
static void ckpt_collect_check_owner(struct ckpt_collect *c, struct ckpt_object *obj,
				     struct task_struct *alive, u32 kind, const char *what)
{
	pid_t pid = ckpt_collect_host_pid(c, alive), owner;

	if (!obj || !ckpt_excludes_any(&c->tree->excludes, kind, pid))
		return;
	owner = ckpt_collect_host_pid(c, obj->task);
	if (owner != pid)
		ckpt_refuse(c->cap, CKPT_R_EXCLUDE, alive, owner,
			    "its %s is that of pid %d: name that", what, owner);
}

/*
 * Count the references of threads left out as well, so that a higher count does not look like a
 * stranger outside the tree.
 */
static void ckpt_collect_left_out(struct ckpt_collect *c, struct ckpt_proc *proc)
{
	struct task_struct *alive = ckpt_proc_alive(c, proc), *task;
	struct ckpt_object *mm, *files;

	if (!alive || !c->tree->excludes.nr)
		return;
	mm = ckpt_object_find(c->objs, CKPT_OBJ_MM, alive->mm, NULL);
	files = ckpt_object_find(c->objs, CKPT_OBJ_FILES, alive->files, NULL);
	ckpt_collect_check_owner(c, mm, alive, CKPT_EXCLUDE_RANGE, "memory map");
	ckpt_collect_check_owner(c, files, alive, CKPT_EXCLUDE_FD, "descriptor table");
	if (!proc->nr_excluded)
		return;
	rcu_read_lock();
	for_each_thread(proc->leader, task) {
		if (ckpt_thread_find(c->ctx, task))
			continue;
		if (mm && READ_ONCE(task->mm) == mm->key)
			mm->excluded++;
		if (files && READ_ONCE(task->files) == files->key)
			files->excluded++;
	}
	rcu_read_unlock();
}

/*
 * Choose the thread that clones the map: a parked one.  Only if all threads of the map are stopped
 * the map is held and read in place: if another process had it, its writes after the thaw would
 * be seen.
 */
static void ckpt_collect_reader(struct ckpt_object *mm, const struct ckpt_member *member)
{
	if (member->stopped) {
		mm->mm.held = !mm->mm.cloner;
	} else if (!mm->mm.cloner) {
		mm->mm.cloner = member->thread;
		mm->mm.held = false;
	}
}

/* Number the maps and descriptor tables, and with the tables the open files. */
static int ckpt_collect_objects(struct ckpt_collect *c)
{
	unsigned int i, j;
	int err;

	for (i = 0; i < c->tree->nr_procs; i++) {
		struct ckpt_proc *proc = &c->tree->procs[i];

		for (j = 0; j < proc->nr; j++) {
			struct ckpt_member *member = &c->tree->members[proc->first + j];
			struct ckpt_object *mm;

			if (ckpt_capture_expired(c->ctx))
				return -ETIMEDOUT;
			mm = ckpt_collect_mm_object(c, member->task);
			if (IS_ERR(mm))
				return PTR_ERR(mm);
			if (mm)
				ckpt_collect_reader(mm, member);
			if (mm && proc->nr_excluded)
				mm->mm.in_use = true;
			err = ckpt_collect_files_object(c, member->task);
			if (err)
				return err;
		}
		ckpt_collect_left_out(c, proc);
	}
	return ckpt_collect_sock_queues(c);
}

static int ckpt_collect_all(struct ckpt_collect *c)
{
	struct ckpt_object *obj;
	unsigned long id;
	unsigned int i;
	int err;

	err = ckpt_collect_system(c);
	if (!err)
		err = ckpt_collect_cpu(c);
	if (!err)
		err = ckpt_collect_settle(c);
	if (err || c->cap->nr_refusals)
		return err;	/* the registers of a running thread cannot be read */
	err = ckpt_collect_objects(c);
	for (i = 0; i < c->tree->nr_procs && !err; i++)
		err = ckpt_collect_proc(c, &c->tree->procs[i]);
	if (err)
		return err;
	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_MM) {
		err = ckpt_collect_mm(c, obj);
		if (err)
			return err;
	}
	ckpt_collect_aio_rings(c);
	ckpt_collect_check_ipc(c);
	ckpt_collect_check_fs(c);
	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_FILES) {
		err = ckpt_collect_fds(c, obj);
		if (err)
			return err;
	}
	return ckpt_collect_files(c) ?: c->error;
}

/* A live thread of the first process that has one: a root may be a zombie. */
static struct task_struct *ckpt_collect_first(const struct ckpt_collect *c)
{
	struct task_struct *alive = NULL;
	unsigned int i;

	for (i = 0; i < c->tree->nr_procs && !alive; i++)
		alive = ckpt_proc_alive(c, &c->tree->procs[i]);
	return alive ?: c->tree->procs[0].leader;
}

static int ckpt_snapshot_collect(struct ckpt_capture *cap)
{
	struct ckpt_ctx *ctx = cap->ctx;
	struct ckpt_collect c = {
		.ctx = ctx, .cap = cap, .tree = &cap->tree, .objs = &cap->objects,
		.recs = ctx->records,
	};
	int err;

	down_write(&cap->collecting);
	if (ckpt_capture_expired(ctx)) {
		err = -ETIMEDOUT;
		goto out;
	}
	c.first = ckpt_collect_first(&c);
	c.ns = ckpt_collect_pid_ns(c.first);
	ckpt_freeze_note(cap);
	ckpt_freeze_verify(cap);
	if (cap->nr_refusals || !c.ns || !ckpt_collect_namespaces(c.first, &c.first_ns)) {
		err = 0;
		if (!cap->nr_refusals)
			ckpt_refuse(cap, CKPT_R_KILLED, c.first, 0, "it has exited");
		goto out;
	}
	ckpt_refuse_reset(cap);
	err = ckpt_collect_all(&c);
	if (!err)
		err = ckpt_records_error(c.recs);
	/* a dying task gives up its state bit by bit: differences found then are no findings */
	if (!err && ckpt_freeze_lost_any(cap))
		ckpt_refuse_reset(cap);
	if (!err)
		ckpt_freeze_verify(cap);
out:
	up_write(&cap->collecting);
	ckpt_collect_forget_strangers(&c);
	if (c.ns)
		put_pid_ns(c.ns);
	return err;
}

/* ------------------------------------------------------------------- cloning */

/* Lies on the stack of the parent, which waits for @done whatever happens to it. */
struct ckpt_clone {
	struct mm_struct *mm;		/* reference */
	struct completion done;
};

/* Runs in the child before it ever enters user mode, so no signal is handled yet. */
static int ckpt_snapshot_child(void *arg)
{
	struct ckpt_clone *clone = arg;

	current->flags |= PF_NOFREEZE;	/* the parent waits for the end of the child */
	set_bit(MMF_DISABLE_THP, &current->mm->flags);	/* keep khugepaged away */
	mmget(current->mm);
	clone->mm = current->mm;
	send_sig(SIGKILL, current, 1);
	complete(&clone->done);
	return 0;
}

/* The resource usage that a reaped child adds to its parent. */
struct ckpt_child_usage {
	u64 cutime, cstime, cgtime;
	unsigned long cnvcsw, cnivcsw, cmin_flt, cmaj_flt, cinblock, coublock, cmaxrss;
	struct task_io_accounting ioac;
};

static void ckpt_usage_save(struct signal_struct *sig, struct ckpt_child_usage *usage)
{
	*usage = (struct ckpt_child_usage) {
		.cutime = sig->cutime, .cstime = sig->cstime, .cgtime = sig->cgtime,
		.cnvcsw = sig->cnvcsw, .cnivcsw = sig->cnivcsw,
		.cmin_flt = sig->cmin_flt, .cmaj_flt = sig->cmaj_flt,
		.cinblock = sig->cinblock, .coublock = sig->coublock,
		.cmaxrss = sig->cmaxrss, .ioac = sig->ioac,
	};
}

static void ckpt_usage_restore(struct signal_struct *sig,
			       const struct ckpt_child_usage *usage)
{
	write_seqlock_irq(&sig->stats_lock);
	sig->cutime = usage->cutime;
	sig->cstime = usage->cstime;
	sig->cgtime = usage->cgtime;
	sig->cnvcsw = usage->cnvcsw;
	sig->cnivcsw = usage->cnivcsw;
	sig->cmin_flt = usage->cmin_flt;
	sig->cmaj_flt = usage->cmaj_flt;
	sig->cinblock = usage->cinblock;
	sig->coublock = usage->coublock;
	sig->cmaxrss = usage->cmaxrss;
	sig->ioac = usage->ioac;
	write_sequnlock_irq(&sig->stats_lock);
}

/*
 * Wait for the child that killed itself; only a SIGKILL of this thread ends the wait early.  The
 * thread does not sleep in wait4(): a freezer could freeze it there at once, and the child would
 * wake nobody.
 */
static void ckpt_snapshot_reap(pid_t pid)
{
	wait_queue_head_t *wq = &current->signal->wait_chldexit;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(wq, &wait);
	while (!ckpt_k(kernel_wait4)(pid, NULL, __WALL | WNOHANG, NULL)) {
		if (fatal_signal_pending(current))
			break;		/* init will reap the child */
		wait_woken(&wait, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
		clear_notify_signal();
		recalc_sigpending();
		cond_resched();
	}
	remove_wait_queue(wq, &wait);
}

/*
 * Clone the map; runs in a parked thread of it.  Fork refuses to run with a signal pending, so all
 * signals but SIGKILL are blocked and a notification is put off.  The credentials are the
 * opener's, so that the job's RLIMIT_NPROC does not count.
 */
static int ckpt_snapshot_clone(struct ckpt_thread *thread, void *arg)
{
	struct ckpt_capture *cap = thread->ctx->capture;
	struct ckpt_object *obj = arg;
	struct ckpt_clone clone = { .done = COMPLETION_INITIALIZER_ONSTACK(clone.done) };
	struct kernel_clone_args args = {
		.flags = CLONE_UNTRACED | CLONE_FILES | CLONE_FS,
		.fn = ckpt_snapshot_child,
		.fn_arg = &clone,
	};
	struct ckpt_child_usage usage;
	const struct cred *cred;
	sigset_t block, old;
	pid_t pid;

	sigfillset(&block);
	sigdelset(&block, SIGKILL);
	sigprocmask(SIG_SETMASK, &block, &old);
	clear_notify_signal();
	cred = override_creds(thread->ctx->cred);
	ckpt_usage_save(current->signal, &usage);

	if (cap->track)
		ckpt_track_prepare(current->mm);
	pid = ckpt_snapshot_fork(cap, obj, &args);
	if (pid > 0) {
		wait_for_completion(&clone.done);
		obj->mm.snapshot = clone.mm;
		if (cap->track)
			ckpt_track_begin(current->mm, clone.mm, &obj->mm.base, &obj->mm.token);
		ckpt_snapshot_reap(pid);
		ckpt_usage_restore(current->signal, &usage);
	}

	revert_creds(cred);
	sigprocmask(SIG_SETMASK, &old, NULL);
	/*
	 * Set the notification that was put off. The thread may need it to get to the code that
	 * restarts its system call: a thread does not always park on its way there.
	 */
	set_thread_flag(TIF_NOTIFY_SIGNAL);
	if (pid < 0)
		return pid == -ERESTARTNOINTR ? -EAGAIN : pid;
	return 0;
}

static void ckpt_snapshot_blame(struct ckpt_capture *cap, struct ckpt_object *obj, int err)
{
	if (err == -EAGAIN)
		ckpt_refuse(cap, CKPT_R_NPROC, obj->task, 0,
			    "fork failed: pids.max, or the cgroup or the machine is frozen");
	else if (err == -ENOMEM)
		ckpt_refuse(cap, CKPT_R_MEMORY, obj->task, 0, "fork failed");
}

/*
 * The fork met a limit that admission did not see coming: once more, without kept snapshots. One
 * map after the other: mostly the first one fails again, or none.
 */
static void ckpt_snapshot_clone_again(struct ckpt_capture *cap)
{
	struct ckpt_object *obj;
	bool made_room = false;
	unsigned long id;

	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM) {
		if (!obj->mm.cloner || obj->mm.clone_err != -ENOMEM)
			continue;
		made_room = made_room || ckpt_snapshot_make_room(cap, obj, 0);
		if (!made_room)
			return;
		obj->mm.clone_err = ckpt_thread_try_post(obj->mm.cloner, ckpt_snapshot_clone,
							 obj) ?:
				    ckpt_thread_wait(obj->mm.cloner);
		if (obj->mm.clone_err)
			return;
	}
}

/* Clone all maps at once, each in a thread of its own, then wait for all. */
static int ckpt_snapshot_clone_all(struct ckpt_capture *cap)
{
	struct ckpt_object *obj;
	unsigned long id;
	int err = 0, ret;

	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM) {
		if (!obj->mm.cloner)
			continue;
		obj->mm.clone_err = ckpt_thread_try_post(obj->mm.cloner,
							 ckpt_snapshot_clone, obj);
	}
	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM)
		if (obj->mm.cloner && !obj->mm.clone_err)
			obj->mm.clone_err = ckpt_thread_wait(obj->mm.cloner);
	ckpt_snapshot_clone_again(cap);
	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM) {
		if (!obj->mm.cloner)
			continue;
		ret = obj->mm.clone_err;
		if (ret)
			ckpt_snapshot_blame(cap, obj, ret);
		if (!err)
			err = ret;
	}
	return err;
}

static int ckpt_snapshot_memory(struct ckpt_capture *cap)
{
	struct ckpt_object *obj;
	unsigned long id;
	int err;

	err = ckpt_snapshot_admit(cap);
	if (!err)
		err = ckpt_snapshot_clone_all(cap);
	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM) {
		/* the bits count from this snapshot now, so an older one is of no use */
		if (obj->mm.snapshot && cap->track)
			ckpt_l0_forget(obj->mm.mm, false);
		if (!err && obj->mm.snapshot) {
			obj->mm.rec->live = 0;
			cap->has_snapshot = true;
		} else if (obj->mm.snapshot) {
			mmput(obj->mm.snapshot);
			obj->mm.snapshot = NULL;
		}
	}
	return err;
}

/* Hold the threads of stopped processes: they stay where they are when the tree is thawed. */
static void ckpt_snapshot_hold(struct ckpt_capture *cap)
{
	unsigned int i;

	for (i = 0; i < cap->tree.nr_members; i++) {
		struct ckpt_member *member = &cap->tree.members[i];

		if (member->stopped)
			ckpt_thread_hold(member->thread);
	}
}

/* If there is not enough room, the records stay, and the refusals follow them. */
static void ckpt_snapshot_append_refusals(struct ckpt_capture *cap)
{
	ckpt_records_append(cap->ctx->records, cap->refusals);
	ckpt_refuse_reset(cap);
}

int ckpt_capture_snapshot(struct ckpt_ctx *ctx, struct ckpt_snapshot *arg)
{
	struct ckpt_capture *cap = ctx->capture;
	u64 start = ktime_get_ns(), collected;
	int err;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_FROZEN, CKPT_PHASE_FROZEN);
	if (err)
		return err;
	if (arg->pad)
		return -EINVAL;
	ckpt_records_reset(ctx->records);
	ckpt_refuse_reset(cap);
	cap->has_snapshot = false;
	cap->lost = false;
	cap->track = arg->flags & CKPT_SNAPSHOT_TRACK;
	err = ckpt_snapshot_collect(cap);
	collected = ktime_get_ns();
	trace_ckpt_snapshot(ctx, "collect", collected - start, err);
	if (err || cap->nr_refusals)
		goto undo;
	ckpt_snapshot_hold(cap);
	if (!(arg->flags & (CKPT_SNAPSHOT_NO_COW | CKPT_SNAPSHOT_DRY))) {
		err = ckpt_snapshot_memory(cap);
		trace_ckpt_snapshot(ctx, "clone", ktime_get_ns() - collected, err);
		if (err && err != -ENOMEM && err != -EAGAIN)
			goto undo;
		ckpt_snapshot_append_refusals(cap);
	}
	if (!ckpt_ctx_advance(ctx, CKPT_PHASE_FROZEN, CKPT_PHASE_COLLECTED)) {
		err = -ETIMEDOUT;
		goto undo;
	}
	arg->nr_mm = cap->objects.nr[CKPT_OBJ_MM];
	arg->state_bytes = ckpt_records_len(ctx->records);
	arg->collect_ns = collected - start;
	arg->clone_ns = ktime_get_ns() - collected;
	return err;

undo:
	if (err == -ESRCH)
		ckpt_refuse(cap, CKPT_R_KILLED, NULL, 0, "a thread died during the clone");
	ckpt_capture_undo(ctx);
	if (!ckpt_ctx_advance(ctx, CKPT_PHASE_FROZEN, CKPT_PHASE_TARGET))
		return -ETIMEDOUT;
	err = ckpt_refuse_verdict(cap) ?: err;
	ckpt_event(ctx, CKPT_EVENT_REFUSED, 0);
	return err;
}
