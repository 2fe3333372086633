// SPDX-License-Identifier: GPL-2.0-only
/*
 * The init of a new PID namespace.
 *
 * The init has its own mount namespace with a fresh /proc (and the given directory as
 * /dev/shm).  Its end is the end of everything in the namespace.  When the builder has
 * succeeded, the init gives up its rights, keeps no descriptor, and has three duties
 * left: to reap, to pass signals on, and to exit as the first root ended.
 *
 * It must never wait for anything else: a process 1 that does not reap fills its
 * namespace with zombies.
 */
#include "engine/restore/nsinit.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rawsys.h"
#include "engine/core/nsinit_name.h"
#include "engine/restore/relay.h"

static int mount_all(const struct restore_options *options)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return -errno;
	if (options->shm_dir && strcmp(options->shm_dir, "/dev/shm") != 0 &&
	    mount(options->shm_dir, "/dev/shm", NULL, MS_BIND, NULL))
		return -errno;
	return 0;
}

/* A number for the builder that the tree does not need. */
static pid_t spare_pid(const struct plan *plan)
{
	pid_t pid = 2;

	for (unsigned int i = 0; i < plan->nr_pids && plan->pids[i] <= pid; i++)
		if (plan->pids[i] == pid)
			pid++;
	return pid;
}

static int run_builder(const struct builder *b)
{
	pid_t pid = spare_pid(b->plan), child;
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};
	int status;

	child = (pid_t)raw(SYS_clone3, &args, sizeof(args));
	if (child == 0)
		builder_main(b, 1);
	if (child < 0)
		return child;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECANCELED;
}

/* Give up all rights and descriptors; exit if that fails. */
static void become_nobody(const struct plan_owner *owner)
{
	if (owner->uid && (setgroups(0, NULL) || setresgid(owner->gid, owner->gid, owner->gid) ||
			   setresuid(owner->uid, owner->uid, owner->uid)))
		_exit(1);
	/* whatever fs.suid_dumpable says: our memory is a copy of the caller's, with the keys */
	prctl(PR_SET_DUMPABLE, 0);
	close_range(0, ~0U, 0);
	if (chdir("/"))
		_exit(1);
}

static void nsinit_reap(pid_t first, int *first_status)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (pid == first)
			*first_status = status;
	if (pid < 0 && errno == ECHILD)
		_exit(WIFSIGNALED(*first_status) ? 128 + WTERMSIG(*first_status) :
						   WEXITSTATUS(*first_status));
}

/* Reap, and pass signals from outside, which are meant for the tree, on to the first root. */
static _Noreturn void nsinit_keep(pid_t first)
{
	int first_status = 0, signo;
	siginfo_t info;
	sigset_t all;

	sigfillset(&all);
	for (;;) {
		nsinit_reap(first, &first_status);
		signo = sigwaitinfo(&all, &info);
		if (signo > 0 && signo != SIGCHLD && info.si_code <= 0)
			kill(first, signo);
	}
}

static _Noreturn void nsinit_main(const struct builder *b)
{
	struct ckpt_error error = { 0 };
	struct restore_stats stats = { 0 };
	const struct plan *plan = b->plan;
	sigset_t all;
	int ret = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int i = 1; i <= SIGRTMAX; i++)
		signal(i, SIG_DFL);
	prctl(PR_SET_NAME, NSINIT_NAME);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getpid() != 1)
		ret = error_fail(&error, -EPROTO, "not the init of a new PID namespace");
	if (!ret)
		ret = mount_all(b->options);
	if (ret) {
		error_fail(&error, ret, "cannot set up a new PID namespace: %s",
			    strerror(-ret));
		relay_result(b->relay, ret, &error, &stats);
		_exit(1);
	}
	if (run_builder(b))
		_exit(1);	/* the builder has told the caller why */
	if (b->options->dry_run)
		_exit(0);
	if (prctl(PR_SET_PDEATHSIG, 0))
		_exit(1);
	relay_ready(b->relay);
	become_nobody(&plan->owner);
	nsinit_keep(plan->tasks[plan->first_root].pid);
}

pid_t nsinit_create(const struct builder *b)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS,
		.exit_signal = SIGCHLD,
	};
	pid_t pid = (pid_t)raw(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		nsinit_main(b);
	return pid;
}
