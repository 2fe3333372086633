// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start of a shim for a job; see launch.h.
 *
 * The shim is forked twice and in a session of its own, so that it is a child of the system's
 * init and no signal for ckptd reaches it. Its specification is in a memory file, which nobody
 * else can read: it has command lines and environments.
 */
#include "supervisor/job/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "base/priority.h"
#include "libckptctl/wire.h"
#include "shim/spec.h"
#include "supervisor/job/rank_record.h"

/* The shim to start. */
struct launch {
	const char *path;
	int spec, report, attach;
	const struct confines *confines;
};

json_t *launch_spec(const struct job *job, json_t *restore)
{
	const struct common *common = jobs_common(job->jobs);
	const struct job_record *record = &job->record;
	json_t *spec = json_pack("{s:s, s:s, s:s, s:s*, s:i, s:I, s:I, s:b}",
				 "state_dir", job->state_dir, "image_dir", job->image_dir,
				 "key", common->config.key,
				 "encryption_key", common->config.encryption_key,
				 "nice", common->workers.nice, "job", (json_int_t)job->id,
				 "uid", (json_int_t)job->uid, "host_ns", job->host_ns);
	const json_t *ranks = record->ranks;
	unsigned int node = job->node_index;
	json_t *stdio;

	if (ranks)
		json_object_set_new(spec, "ranks",
				    rank_record_spec(ranks, node, &common->config));
	if (record->gid != (gid_t)-1)
		json_object_set_new(spec, "gid", json_integer(record->gid));
	json_object_update(spec, record->launch);
	/* Numbers of CPUs and NUMA nodes mean something on the node of the caller only. */
	if (node && json_object_get(spec, "sched")) {
		json_t *sched = json_copy(json_object_get(spec, "sched"));

		json_object_del(sched, "cpus");
		json_object_del(sched, "mempolicy");
		json_object_set_new(spec, "sched", sched);
	}
	/* Standard input goes to rank 0, which is at home: other nodes read nothing. */
	if (node) {
		stdio = json_copy(json_object_get(spec, "stdio"));
		json_array_set_new(stdio, 0, json_string(SPEC_NULL));
		json_object_set_new(spec, "stdio", stdio);
	}
	if (restore)
		json_object_set_new(spec, "restore", restore);
	return spec;
}

static int memory_file(const json_t *json)
{
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);
	_cleanup_fd_ int fd = memfd_create("shim-spec", MFD_CLOEXEC);
	const char *at = text;
	size_t left;

	if (!text)
		return -ENOMEM;
	if (fd < 0)
		return -errno;
	for (left = strlen(text); left;) {
		ssize_t n = write(fd, at, left);

		if (n < 0)
			return -errno;
		at += n;
		left -= (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return take_fd(&fd);
}

static void launch_default_signals(void)
{
	sigset_t none;
	int signo;

	for (signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the child of the second fork. */
_Noreturn static void exec_shim(const char *path, int spec, int report, int attach)
{
	char spec_arg[16], report_arg[16], attach_arg[16];
	char *argv[8] = { "ckpt-shim", "--spec", spec_arg, "--report", report_arg };
	char *env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	launch_default_signals();
	setsid();
	priority_set(priority_get());
	snprintf(spec_arg, sizeof(spec_arg), "%d", spec);
	snprintf(report_arg, sizeof(report_arg), "%d", report);
	snprintf(attach_arg, sizeof(attach_arg), "%d", attach);
	if (attach >= 0) {
		argv[5] = "--attach";
		argv[6] = attach_arg;
		fcntl(attach, F_SETFD, 0);
	}
	fcntl(spec, F_SETFD, 0);
	fcntl(report, F_SETFD, 0);
	dup2(null, 0);
	dup2(2, 1);
	execve(path, argv, env);
	_exit(127);
}

/* Tell ckptd by the shim's connection why there is no shim. */
static void launch_tell(int report, int err, const char *why)
{
	json_t *outcome = outcome_error(err, "the job cannot be put where it has to be: %s", why);
	_cleanup_free_ char *text = json_dumps(outcome, JSON_COMPACT);

	if (text)
		wire_send(report, text, strlen(text), NULL, 0);
	json_decref(outcome);
}

/*
 * Runs in the child of the first fork, for which ckptd waits. It waits for nothing itself: the
 * control group that the shim enters may be frozen.
 */
_Noreturn static void launch_twice(const struct launch *l)
{
	char why[512] = "";
	pid_t pid = l->confines ? confines_fork(l->confines, why, sizeof(why)) : fork();
	int err = pid < 0 ? -errno : 0;

	if (!pid && l->confines)
		err = confines_enter(l->confines, why, sizeof(why));
	if (!err && !pid)
		exec_shim(l->path, l->spec, l->report, l->attach);
	if (!err || !l->confines)
		_exit(err != 0);
	launch_tell(l->report, err, why);
	_exit(0);
}

static int launch_spawn(const struct launch *l)
{
	pid_t pid;
	int status;

	/* Report a missing shim here: the channel would only tell that the shim ended. */
	if (access(l->path, X_OK))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		launch_twice(l);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status ? -EAGAIN : 0;
}

int launch_start(struct job *job, json_t *spec, int attach,
		 const struct confines *confines, const struct channel_ops *ops, void *arg,
		 struct channel **ret_channel)
{
	const struct common *common = jobs_common(job->jobs);
	int report[2] = { -1, -1 };
	struct launch launch;
	int file, err;

	if (confines)
		confines_tell(confines, spec);
	file = memory_file(spec);
	err = file < 0 ? file : 0;
	if (!err && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report))
		err = -errno;
	if (!err) {
		launch = (struct launch) {
			common->config.shim, file, report[1], attach, confines,
		};
		err = launch_spawn(&launch);
		if (err)
			log_error(&common->log, "%s: %s", common->config.shim,
				  strerror(-err));
	}
	if (file >= 0)
		close(file);
	if (report[1] >= 0)
		close(report[1]);
	if (attach >= 0)
		close(attach);
	if (!err)
		return channel_open(common->reactor, report[0], ops, arg, ret_channel);
	if (report[0] >= 0)
		close(report[0]);
	return err;
}
