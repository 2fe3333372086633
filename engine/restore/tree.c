// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building the tree, the builder's part.
 *
 * The builder creates helpers and roots, waits at the context until all tasks have
 * entered, and tells the others the phase through one futex in a shared page.  Each
 * creator of a task notes it in that page, so that a failed build can be taken down
 * without ever killing a foreign process that has a number we wanted.
 */
#include "engine/restore/tree.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define WAIT_STEP_MS	100
#define WAIT_BASE_MS	60000	/* plus 100 ms per thread: enough under any load */

int tree_shared_create(const struct plan *plan, struct tree_shared **ret_shared)
{
	void *p = mmap(NULL, sizeof(struct tree_shared) + (size_t)plan->nr_tasks,
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret_shared = p;
	return 0;
}

/* Set the phase and wake the waiting tasks; the phase never goes back. */
static void set_phase(struct tree *tree, uint32_t phase)
{
	uint32_t *now = &tree->shared->phase;
	uint32_t old = __atomic_load_n(now, __ATOMIC_ACQUIRE);

	while (old < phase &&
	       !__atomic_compare_exchange_n(now, &old, phase, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	syscall(SYS_futex, now, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int tree_failure(const struct tree *tree, struct ckpt_error *error)
{
	const struct tree_shared *s = tree->shared;
	struct error_refusal refusal = { .reason = CKPT_R_PID_TAKEN };

	if (__atomic_load_n(&s->failed, __ATOMIC_ACQUIRE) != 2)
		return 0;
	if (s->err == -EEXIST) {
		error_refuse(error, &refusal, "found out while creating it");
		return error_fail(error, -EEXIST, "a pid of the image is in use");
	}
	return error_fail(error, s->err, "cannot rebuild the process tree: %s (in process %d): %s",
			   s->what, s->pid, strerror(-s->err));
}

static int create_failed(const struct plan_task *task, long err, struct ckpt_error *error)
{
	struct error_refusal refusal = { .reason = CKPT_R_PID_TAKEN, .pid = task->pid };

	if (err == -EEXIST)
		error_refuse(error, &refusal, "found out while creating it");
	return error_fail(error, (int)err, "cannot create process %d: %s", task->pid,
			   strerror((int)-err));
}

int tree_build(struct tree *tree, struct ckpt_error *error)
{
	const struct plan *plan = tree->plan;
	long ret;

	for (int i = 0; i < plan->nr_helpers; i++) {
		ret = task_create(tree, i);
		if (ret < 0)
			return create_failed(&plan->tasks[i], ret, error);
	}
	for (int i = plan->first_root; i != PLAN_NONE; i = plan->tasks[i].sibling) {
		ret = task_create(tree, i);
		if (ret < 0)
			return create_failed(&plan->tasks[i], ret, error);
	}
	return 0;
}

static int wait_entered(struct tree *tree, struct kdev *dev, unsigned int nr,
			struct ckpt_error *error)
{
	int64_t end = clock_monotonic_ms() + WAIT_BASE_MS + 100ULL * nr;
	struct ckpt_restore_wait arg;
	int ret, failed;

	do {
		arg = (struct ckpt_restore_wait){
			.nr_threads = nr, .timeout_ms = WAIT_STEP_MS,
		};
		ret = kdev_restore_wait(dev, &arg);
		failed = ret ? tree_failure(tree, error) : 0;
		if (failed)
			return failed;
	} while (ret == -ETIMEDOUT && clock_monotonic_ms() < end);
	if (ret)
		return error_fail(error, ret, "only %u of %u threads entered the restore: %s",
				   arg.nr_parked, tree->plan->nr_threads, strerror(-ret));
	return 0;
}

int tree_enter(struct tree *tree, struct kdev *dev, struct ckpt_error *error)
{
	const struct plan *plan = tree->plan;
	unsigned int nr = plan->nr_threads + (unsigned int)plan->nr_helpers;
	int ret = 0;

	if (plan->nr_threads > plan->nr_closers)
		ret = wait_entered(tree, dev, plan->nr_threads - plan->nr_closers, error);
	if (ret)
		return ret;
	set_phase(tree, TREE_CLOSE);
	return wait_entered(tree, dev, nr, error);
}

static void reap_helpers(const struct tree *tree)
{
	for (int i = 0; i < tree->plan->nr_helpers; i++)
		if (tree->shared->created[i])
			while (waitpid(tree->plan->tasks[i].pid, NULL, 0) < 0 && errno == EINTR)
				;
}

static int set_limits(const struct ckpt_rec_proc *rec, struct ckpt_error *error)
{
	for (int i = 0; i < 16; i++) {
		struct rlimit64 limit = {
			.rlim_cur = rec->limits[i][0], .rlim_max = rec->limits[i][1],
		};

		if (prlimit64(rec->pid, i, &limit, NULL))
			return error_fail(error, -errno,
					   "cannot set resource limit %d of process %d: %s", i,
					   rec->pid, strerror(errno));
	}
	return 0;
}

int tree_limits(const struct tree *tree, struct ckpt_error *error)
{
	int ret = 0;

	for (int i = 0; !ret && i < tree->plan->nr_tasks; i++)
		if (tree->plan->tasks[i].role == PLAN_LIVE)
			ret = set_limits(tree->plan->tasks[i].proc->rec, error);
	return ret;
}

void tree_done(struct tree *tree)
{
	for (int i = 0; i < tree->plan->nr_helpers; i++)
		kill(tree->plan->tasks[i].pid, SIGKILL);
	reap_helpers(tree);
	/* their numbers are free now: a later tree_kill() must not hit their new owners */
	for (int i = 0; i < tree->plan->nr_helpers; i++)
		tree->shared->created[i] = 0;
}

void tree_kill(struct tree *tree)
{
	set_phase(tree, TREE_FAILED);
	for (int i = 0; i < tree->plan->nr_tasks; i++)
		if (tree->shared->created[i])
			kill(tree->plan->tasks[i].pid, SIGKILL);
	reap_helpers(tree);
}
