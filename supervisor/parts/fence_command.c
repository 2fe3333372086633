// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the site's fence command in a worker; see fence_command.h.
 *
 * The worker waits for the command and kills it when it takes too long; the event loop never does.
 * The command gets no descriptor of ours and nothing of the job but its number.
 */
#include "supervisor/parts/fence_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/storage/common.h"

#define LOOK_MS		20

static void fence_exec(const struct fence_command *f)
{
	char reason[64];
	char *argv[] = { (char *)f->command, (char *)f->node, reason, NULL };
	char *envp[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	snprintf(reason, sizeof(reason), "job %lld is cut off from it", (long long)f->job);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	execve(f->command, argv, envp);
	_exit(127);
}

/* The command is run as root, so that only root may be able to write it. */
static json_t *fence_check(const char *command)
{
	struct stat st;

	if (stat(command, &st))
		return outcome_error(-errno, "fence_command %s: %s", command, strerror(errno));
	if (st.st_uid || st.st_mode & 022)
		return outcome_error(-EPERM, "fence_command %s: others than root can write it",
				     command);
	return NULL;
}

/* True if @pid ends in time. */
static bool fence_wait(pid_t pid, int *ret_status)
{
	const struct timespec slice = { .tv_nsec = LOOK_MS * 1000000 };
	int64_t until = clock_monotonic_ms() + FENCE_COMMAND_MS;

	while (waitpid(pid, ret_status, WNOHANG) != pid) {
		if (clock_monotonic_ms() >= until)
			return false;
		nanosleep(&slice, NULL);
	}
	return true;
}

static json_t *fence_work(struct channel_reporter *reporter, void *arg)
{
	const struct fence_command *f = arg;
	json_t *bad = fence_check(f->command);
	int status = -1;
	pid_t pid;

	if (bad)
		return bad;
	pid = fork();
	if (!pid)
		fence_exec(f);
	if (pid < 0)
		return outcome_error(-errno, "fence_command: %s", strerror(errno));
	if (!fence_wait(pid, &status)) {
		if (kill(-pid, SIGKILL))
			kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return outcome_error(-ETIMEDOUT, "fence_command %s %s did not end in time",
				     f->command, f->node);
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return outcome_ok(NULL);
	return outcome_error(-EIO, "fence_command %s %s failed (%s %d)", f->command, f->node,
			     WIFEXITED(status) ? "status" : "signal",
			     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void fence_on_progress(json_t *progress, void *arg)
{
}

static void fence_on_outcome(json_t *outcome, void *arg)
{
	struct fence_command *f = arg;

	f->worker = NULL;
	f->fn(outcome ?: outcome_error(-ECHILD, "the fence command's worker was ended"), f->arg);
}

static const struct worker_kind fence_work_kind = {
	.name = "ckptd-fence",
	.run = fence_work,
};

int fence_command_start(const struct common *common, struct fence_command *fence)
{
	static const struct channel_ops ops = { fence_on_progress, fence_on_outcome };
	const struct worker_spec spec = { .kind = &fence_work_kind, .arg = fence };

	fence->command = common->config.fence_command;
	return worker_start(&common->workers, &spec, &ops, fence, &fence->worker);
}

void fence_command_stop(struct fence_command *fence)
{
	if (fence->worker)
		worker_leave(fence->worker);
	fence->worker = NULL;
}
