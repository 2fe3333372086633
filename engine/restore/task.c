// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process of the tree while it is built: its children, its threads, its end.
 *
 * Runs in processes that were forked from the builder or from each other, some
 * of which share memory, and in threads without thread-local storage.  So there
 * is no libc here (raw system calls, no errno, no allocation, no locks), all
 * data is read-only except the stack and the shared page, and no main function
 * returns: a task enters the context, becomes a zombie, or exits.
 *
 * Every signal is blocked from the builder on.  The death of the parent kills a
 * task (PR_SET_PDEATHSIG) until the kernel has set the program's own value.
 */
#include "engine/restore/task.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/wait.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/rawsys.h"

#define STACK_SIZE	(32UL << 10)
#define ALL_SIGNALS	(~0ULL)
#define LOOK_NS		500000000L	/* time between two checks whether the builder lives */

/* Arguments of a new task; they lie at the bottom of its stack. */
struct start {
	const struct tree *tree;
	int index;		/* of the task */
	unsigned int thread;	/* index among the threads of the task */
	uint32_t leader;	/* thread 0 only: 1 while the leader, which must die, lives */
};

_Noreturn void task_fail(const struct tree *tree, const char *what, long err)
{
	struct tree_shared *s = tree->shared;
	uint32_t none = 0;

	if (__atomic_compare_exchange_n(&s->failed, &none, 1, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		s->err = (int32_t)err;
		s->pid = (pid_t)raw(SYS_gettid);
		s->what = what;
		__atomic_store_n(&s->failed, 2, __ATOMIC_RELEASE);
		__atomic_store_n(&s->phase, TREE_FAILED, __ATOMIC_RELEASE);
		raw(SYS_futex, &s->phase, FUTEX_WAKE, 1 << 30);
	}
	for (;;)
		raw(SYS_exit_group, 1);
}

/*
 * Wait for @phase.  Exit if the tree has failed, or if the builder, which would say so, is dead:
 * not every task dies with its parent, and a task that waits here keeps the context open,
 * and with it the threads that have entered.
 */
static void wait_phase(const struct tree *tree, uint32_t phase)
{
	const struct { long sec, nsec; } step = { 0, LOOK_NS };
	uint32_t now;

	while ((now = __atomic_load_n(&tree->shared->phase, __ATOMIC_ACQUIRE)) < phase)
		if (raw(SYS_futex, &tree->shared->phase, FUTEX_WAIT, now, &step) == -ETIMEDOUT &&
		    raw(SYS_kill, tree->builder, 0) == -ESRCH)
			raw(SYS_exit_group, 1);
	if (now == TREE_FAILED)
		raw(SYS_exit_group, 1);
}

static void *new_stack(const struct tree *tree, unsigned int nr)
{
	long ret = raw(SYS_mmap, 0, nr * STACK_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (ret < 0 && ret > -4096)
		task_fail(tree, "cannot map stacks of threads", ret);
	return (void *)ret;
}

/* ---------------------------------------------------------------- entering */

/* Close all inherited descriptors except @fd, so that no end of a pipe stays open here. */
static void close_all_but(int fd)
{
	if (fd > 0)
		raw(SYS_close_range, 0, fd - 1, 0);
	raw(SYS_close_range, fd + 1, ~0U, 0);
}

static _Noreturn void task_enter(const struct tree *tree, bool closer)
{
	struct ckpt_enter arg = {
		.size = sizeof(arg),
		.ctx_fd = closer ? tree->ctx_fd : -1,
	};
	long ret;

	if (closer) {
		wait_phase(tree, TREE_CLOSE);
		close_all_but(tree->ctx_fd);
	}
	ret = raw(SYS_ioctl, tree->ctx_fd, CKPT_IOC_ENTER, &arg);
	task_fail(tree, "a thread cannot enter the restore", ret ? ret : -EPROTO);
}

/* ---------------------------------------------------------------- threads */

/* Wait until the leader exits: the kernel then clears the word and wakes us. */
static void await_leader(const struct start *start)
{
	const struct { long sec, nsec; } step = { 0, LOOK_NS };

	while (__atomic_load_n(&start->leader, __ATOMIC_ACQUIRE)) {
		raw(SYS_futex, &start->leader, FUTEX_WAIT, 1, &step);
		if (__atomic_load_n(&start->tree->shared->phase, __ATOMIC_ACQUIRE) == TREE_FAILED)
			raw(SYS_exit_group, 1);
	}
}

static void thread_main(void *arg)
{
	const struct start *start = arg;
	const struct plan_task *task = &start->tree->plan->tasks[start->index];

	await_leader(start);
	task_attr_thread(start->tree, &task->proc->threads[start->thread]);
	task_enter(start->tree, task->closer && task->leader_dead && start->thread == 0);
}

/*
 * Create the threads of a process, without the leader if that lives.
 * Return: the word by which thread 0 learns that the leader is dead; NULL: thread 0 is the leader
 */
static uint32_t *create_threads(const struct tree *tree, int index)
{
	const struct plan_task *task = &tree->plan->tasks[index];
	unsigned int first = task->leader_dead ? 0 : 1;
	unsigned int nr = task->proc->nr_threads;
	char *stacks;

	if (first >= nr)
		return NULL;
	stacks = new_stack(tree, nr - first);
	for (unsigned int i = first; i < nr; i++) {
		struct start *start = (void *)(stacks + (i - first) * STACK_SIZE);
		pid_t tid = task->proc->threads[i].rec->tid;
		struct clone_args args = {
			.flags = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_FILES |
				 CLONE_FS | CLONE_SYSVSEM,
			.stack = (uintptr_t)start,
			.stack_size = STACK_SIZE,
			.set_tid = (uintptr_t)&tid,
			.set_tid_size = 1,
		};
		long ret;

		*start = (struct start){ .tree = tree, .index = index, .thread = i, .leader = !i };
		ret = raw_clone_call(&args, thread_main, start);
		if (ret < 0)
			task_fail(tree, "cannot create a thread with its number", ret);
	}
	return first ? NULL : &((struct start *)stacks)->leader;
}

/* ---------------------------------------------------------------- endings */

/* Die as the zombie did; after a signal without a core dump, whatever core_pattern is. */
static _Noreturn void become_zombie(const struct tree *tree, const struct ckpt_rec_proc *rec)
{
	struct rlimit64 limit = { .rlim_cur = 1, .rlim_max = 1 };
	int signo = rec->exit_code & 0x7f;
	uint64_t mask = ALL_SIGNALS;

	raw(SYS_prctl, PR_SET_NAME, rec->comm);
	/* ignore failures: a group or session that it cannot join is lost */
	if (rec->sid == rec->pid)
		raw(SYS_setsid);
	else if (rec->pgid)
		raw(SYS_setpgid, 0, rec->pgid);
	if (signo) {
		raw(SYS_prctl, PR_SET_DUMPABLE, 0);
		raw(SYS_prlimit64, 0, RLIMIT_CORE, &limit, 0);
		raw(SYS_kill, raw(SYS_getpid), signo);
		mask = 0;
		raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof(mask));
		task_fail(tree, "a zombie survived its signal", -EPROTO);
	}
	for (;;)
		raw(SYS_exit_group, (rec->exit_code >> 8) & 0xff);
}

/* End the leader of a process whose other threads run on; the process keeps the leader's name. */
static _Noreturn void exit_leader(const struct ckpt_rec_proc *rec, uint32_t *lives)
{
	raw(SYS_set_tid_address, lives);
	raw(SYS_prctl, PR_SET_NAME, rec->comm);
	for (;;)
		raw(SYS_exit, 0);
}

/* Make the session or group, and enter, so that the kernel has the number; killed at the end. */
static _Noreturn void be_helper(const struct tree *tree, const struct plan_task *task)
{
	long ret = task->setsid ? raw(SYS_setsid) : raw(SYS_setpgid, 0, 0);

	if (ret < 0)
		task_fail(tree, "cannot name a session or process group", ret);
	task_enter(tree, true);
}

/* ---------------------------------------------------------------- children */

/* Wait until the zombie children are dead, and take the SIGCHLDs that they sent. */
static void settle_zombies(const struct tree *tree, const struct plan_task *task)
{
	struct { long sec, nsec; } now = { 0, 0 };
	uint64_t all = ALL_SIGNALS;
	long ret;

	for (int c = task->child; c != PLAN_NONE; c = tree->plan->tasks[c].sibling) {
		if (tree->plan->tasks[c].role != PLAN_ZOMBIE)
			continue;
		ret = raw(SYS_waitid, P_PID, tree->plan->tasks[c].pid, 0,
			  WEXITED | WNOWAIT | __WALL);
		if (ret < 0)
			task_fail(tree, "cannot make a zombie", ret);
	}
	do {
		ret = raw(SYS_rt_sigtimedwait, &all, 0, &now, sizeof(all));
	} while (ret > 0);
}

static void create_children(const struct tree *tree, const struct plan_task *task, bool late)
{
	for (int c = task->child; c != PLAN_NONE; c = tree->plan->tasks[c].sibling) {
		long ret;

		if (tree->plan->tasks[c].late != late)
			continue;
		ret = task_create(tree, c);
		if (ret < 0)
			task_fail(tree, "cannot create a process with its number", ret);
	}
}

/* Die when the parent dies, unless the parent's leader will exit, which would count as death. */
static void die_with_parent(const struct tree *tree, const struct plan_task *task)
{
	const struct plan_task *tasks = tree->plan->tasks;
	pid_t parent = tree->reaper;
	long ret;

	if (task->role == PLAN_HELPER)
		parent = tree->builder;
	else if (task->parent != PLAN_NONE)
		parent = tasks[task->parent].pid;
	if (task->parent != PLAN_NONE && tasks[task->parent].leader_dead)
		return;
	ret = raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (ret < 0 || raw(SYS_getppid) != parent)
		task_fail(tree, "the parent is gone", ret < 0 ? ret : -ESRCH);
}

static _Noreturn void process_main(const struct tree *tree, int index)
{
	const struct plan_task *task = &tree->plan->tasks[index];
	uint32_t *leader;

	die_with_parent(tree, task);
	if (task->role == PLAN_HELPER)
		be_helper(tree, task);
	if (task->role == PLAN_ZOMBIE)
		become_zombie(tree, task->proc->rec);
	task_attr_early(tree, index);
	create_children(tree, task, false);
	if (task->unshare_flags && raw(SYS_unshare, task->unshare_flags) < 0)
		task_fail(tree, "cannot unshare tables", -ENOMEM);
	create_children(tree, task, true);
	if (task->zombies)
		settle_zombies(tree, task);
	task_attr_late(tree, index);
	leader = create_threads(tree, index);
	task_attr_sched(tree, index);
	if (task->leader_dead)
		exit_leader(task->proc->rec, leader);
	task_attr_thread(tree, &task->proc->threads[0]);
	die_with_parent(tree, task);	/* a change of credentials has cleared it */
	task_enter(tree, task->closer);
}

static void shared_main(void *arg)
{
	const struct start *start = arg;

	process_main(start->tree, start->index);
}

long task_create(const struct tree *tree, int index)
{
	const struct plan_task *task = &tree->plan->tasks[index];
	bool root = task->parent == PLAN_NONE && task->role != PLAN_HELPER;
	pid_t pid = task->pid;
	struct clone_args args = {
		.flags = task->clone_flags | (root ? CLONE_PARENT : 0),
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};
	struct start *start;
	long ret;

	/* with CLONE_PARENT the kernel takes the builder's exit signal */
	if (!root)
		args.exit_signal = SIGCHLD;
	if (!root && task->proc && task->proc->rec->exit_signal >= 0 &&
	    task->proc->rec->exit_signal <= 64)
		args.exit_signal = (unsigned int)task->proc->rec->exit_signal;
	if (args.flags & CLONE_VM) {
		start = new_stack(tree, 1);
		*start = (struct start){ .tree = tree, .index = index };
		args.stack = (uintptr_t)start;
		args.stack_size = STACK_SIZE;
		ret = raw_clone_call(&args, shared_main, start);
	} else {
		ret = raw(SYS_clone3, &args, sizeof(args));
		if (ret == 0)
			process_main(tree, index);
	}
	if (ret > 0)
		tree->shared->created[index] = 1;
	return ret;
}
