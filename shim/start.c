// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting a job's main process: session, terminal, limits, owner, working
 * directory, files, exec, in this order.
 *
 * The process says by a close-on-exec pipe what went wrong; the end of that
 * pipe without a word means that exec has happened.
 */
#include "shim/start.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/util.h"
#include "supervisor/outcome.h"

extern char **environ;

/* What the process says when it cannot go on. */
struct start_failure {
	int err;
	char what[PATH_MAX];
};

int shim_drop(const struct shim_spec *spec)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(spec->nr_groups, spec->groups) ||
	    setresgid(spec->gid, spec->gid, spec->gid) ||
	    setresuid(spec->uid, spec->uid, spec->uid))
		return -errno;
	return 0;
}

_Noreturn static void fail(int report, int err, const char *what)
{
	struct start_failure failure = { .err = err };

	snprintf(failure.what, sizeof(failure.what), "%s", what);
	if (write(report, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

static void default_signals(void)
{
	sigset_t none;
	int signo;

	for (signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_limits(const struct shim_spec *spec, int report)
{
	int i;

	for (i = 0; spec->has_limits && i < RLIM_NLIMITS; i++) {
		if (setrlimit((__rlimit_resource_t)i, &spec->limits[i]))
			fail(report, -errno, "resource limits");
	}
}

static void oom_default(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "0", 1) < 0)
			errno = 0;
		close(fd);
	}
}

/* The environment, with the job's number in it. */
static void set_environment(const struct shim_spec *spec)
{
	char id[32];

	environ = spec->env;
	snprintf(id, sizeof(id), "%lld", (long long)spec->job);
	setenv("STILLPOINT_JOB", id, 1);
}

_Noreturn static void become_job(const struct shim *shim, int report)
{
	const struct shim_spec *spec = &shim->spec;
	const char *path;
	int err;

	prctl(PR_SET_PDEATHSIG, 0);
	default_signals();
	setsid();
	oom_default();
	err = stdio_enter(&shim->io, spec);
	if (err)
		fail(report, err, "standard streams");
	set_limits(spec, report);
	err = shim_drop(spec);
	if (err)
		fail(report, err, "changing to the job's owner");
	umask(spec->umask);
	if (chdir(spec->cwd))
		fail(report, -errno, spec->cwd);
	err = stdio_enter_files(spec, &path);
	if (err)
		fail(report, err, path);
	set_environment(spec);
	execvp(spec->argv[0], spec->argv);
	fail(report, -errno, spec->argv[0]);
}

json_t *start_job(const struct shim *shim, pid_t *ret_main)
{
	struct start_failure failure;
	int report[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return outcome_error(-errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		become_job(shim, report[1]);
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		return outcome_error(-EAGAIN, "the job's process cannot be made");
	}
	do {
		n = read(report[0], &failure, sizeof(failure));
	} while (n < 0 && errno == EINTR);
	close(report[0]);
	if (n == 0) {
		*ret_main = pid;
		return outcome_ok(NULL);
	}
	waitpid(pid, NULL, 0);
	if (n != sizeof(failure))
		return outcome_error(-ECHILD, "the job's process died before it began");
	return outcome_error(failure.err, "%s: %s", failure.what,
			     strerror(-failure.err));
}
