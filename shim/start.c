// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting a job's main process, or one of its ranks: session, scheduling, terminal, limits,
 * owner, working directory, files, exec, in this order.
 *
 * The process reports a failure by a close-on-exec pipe; the end of that pipe
 * without a report means that exec has succeeded.
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

#include "base/cleanup.h"
#include "shim/confine.h"
#include "shim/pages.h"
#include "base/priority.h"
#include "base/scheduling.h"
#include "base/outcome.h"

extern char **environ;

/* The process's report of a failure, sent through the pipe. */
struct start_failure {
	int err;
	char what[PATH_MAX];
};

/* The process to start. */
struct start {
	int index;
	const json_t *env;
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

_Noreturn static void shim_start_fail(int report, int err, const char *what)
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
			shim_start_fail(report, -errno, "resource limits");
	}
}

static void set_scheduling(const struct shim_spec *spec, int report)
{
	struct ckpt_error error;
	int err;

	if (!spec->sched) {
		priority_set(spec->nice);
		return;
	}
	err = scheduling_set(spec->sched, &error);
	if (err)
		shim_start_fail(report, err, error.text);
}

/* Within the processors that the job has. */
static void start_bind(const struct ranks *ranks, int index, int report)
{
	char why[256];
	int err;

	if (index < 0 || !ranks->binds)
		return;
	err = binding_set(&ranks->binding, (unsigned int)index, ranks->nr, why, sizeof(why));
	if (err)
		shim_start_fail(report, err, why);
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

/* Give this process its own strings and descriptor of process management. */
static int set_own(const struct shim *shim, unsigned int index, const json_t *env)
{
	const struct pm_base *pm = (const struct pm_base *)shim->pm;
	int fd = pm ? pm->ops->rank_fd(shim->pm, index) : -1;
	size_t i;

	if (fd >= 0 && fcntl(fd, F_SETFD, 0))
		return -errno;
	for (i = 0; i < json_array_size(env); i++) {
		const char *string = json_string_value(json_array_get(env, i));

		if (!string || putenv((char *)string))
			return -EINVAL;
	}
	if (spec_has_pages(&shim->spec)) {
		char path[64];

		pages_path(shim->spec.pages, shim->spec.ranks.rank[index], path, sizeof(path));
		if (setenv("CKPT_STATUS", path, 1))
			return -errno;
	}
	return ranks_setenv(&shim->spec.ranks, index);
}

/* The environment, with the job's number in it. */
static int set_environment(const struct shim *shim, const struct start *start)
{
	char id[32];

	environ = shim->spec.env;
	snprintf(id, sizeof(id), "%lld", (long long)shim->spec.job);
	setenv("STILLPOINT_JOB", id, 1);
	return start->index < 0 ? 0 : set_own(shim, (unsigned int)start->index, start->env);
}

/* Only a node's first rank reads the job's input; the home's first rank truncates its files. */
static unsigned int stdio_flags(const struct shim *shim, int index)
{
	unsigned int flags = 0;

	if (index < 0)
		return 0;
	if (shim->spec.ranks.rank[index])
		flags |= STDIO_NO_INPUT;
	return flags | (index || shim->spec.ranks.node ? STDIO_APPEND :
			STDIO_APPEND | STDIO_TRUNCATE);
}

_Noreturn static void become_job(const struct shim *shim, const struct start *start,
				 int report)
{
	const struct shim_spec *spec = &shim->spec;
	unsigned int flags = stdio_flags(shim, start->index);
	const char *path;
	char **argv;
	int err;

	prctl(PR_SET_PDEATHSIG, 0);
	default_signals();
	setsid();
	set_scheduling(spec, report);
	start_bind(&spec->ranks, start->index, report);
	oom_default();
	err = stdio_enter(&shim->io, spec, flags, start->index);
	if (err)
		shim_start_fail(report, err, "standard streams");
	set_limits(spec, report);
	err = shim_drop(spec);
	if (err)
		shim_start_fail(report, err, "changing to the job's owner");
	umask(spec->umask);
	if (chdir(spec->cwd))
		shim_start_fail(report, -errno, spec->cwd);
	err = stdio_enter_files(spec, flags, &path);
	if (err)
		shim_start_fail(report, err, path);
	err = set_environment(shim, start);
	if (err)
		shim_start_fail(report, err, "environment");
	err = confine_next_exec(spec);
	if (err)
		shim_start_fail(report, err, "AppArmor profile");
	argv = start->index < 0 ? NULL : ranks_argv(&spec->ranks, (unsigned int)start->index);
	if (!argv)
		argv = spec->argv;
	execvp(argv[0], argv);
	shim_start_fail(report, -errno, argv[0]);
}

json_t *start_process(const struct shim *shim, int index, const json_t *env,
		      pid_t *ret_pid)
{
	const struct start start = { index, env };
	struct start_failure failure;
	int report[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return outcome_error(-errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		become_job(shim, &start, report[1]);
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
		*ret_pid = pid;
		return outcome_ok(NULL);
	}
	waitpid(pid, NULL, 0);
	if (n != sizeof(failure))
		return outcome_error(-ECHILD, "the job's process died before it began");
	return outcome_error(failure.err, "%s: %s", failure.what,
			     strerror(-failure.err));
}
