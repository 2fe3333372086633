// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of pids on this node.
 *
 * A tree still runs if its dump was made since this node booted, and if a process that is
 * older than the dump has the host pid, the inner pid and the name of a process of the
 * tree.  Before the dump the tree itself had the pid, so no other process can have got it.
 */
#include "engine/restore/restore_numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/proc_stat.h"

#define REFUSALS_MAX	16U

static bool is_taken(pid_t pid)
{
	/* finds threads, too; kill() finds groups whose leader is gone */
	if (sched_getscheduler(pid) >= 0 || errno != ESRCH)
		return true;
	return kill(-pid, 0) == 0 || errno != ESRCH;
}

bool numbers_taken(const struct plan *plan, pid_t *ret_pid)
{
	for (unsigned int i = 0; i < plan->nr_pids; i++) {
		if (!is_taken(plan->pids[i]))
			continue;
		if (ret_pid)
			*ret_pid = plan->pids[i];
		return true;
	}
	return false;
}

static int restore_numbers_read_text(const char *path, char *buf, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (len < 0)
		return -errno;
	buf[len] = 0;
	if (len && buf[len - 1] == '\n')
		buf[len - 1] = 0;
	return 0;
}

static int read_comm(pid_t pid, char *buf, size_t size)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	buf[0] = 0;
	return restore_numbers_read_text(path, buf, size);
}

int numbers_refuse(const struct plan *plan, struct ckpt_error *error)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < plan->nr_pids && found < REFUSALS_MAX; i++) {
		struct error_refusal refusal = {
			.reason = CKPT_R_PID_TAKEN, .pid = plan->pids[i],
		};

		if (!is_taken(plan->pids[i]))
			continue;
		read_comm(plan->pids[i], refusal.comm, sizeof(refusal.comm));
		error_refuse(error, &refusal, "in use on this node");
		found++;
	}
	return error_refused(error, "restore");
}

/* ---------------------------------------------------------------- running */

static bool same_boot(const struct state *state)
{
	char id[64];

	return state->tree && state->tree->boot_id[0] &&
	       restore_numbers_read_text("/proc/sys/kernel/random/boot_id", id, sizeof(id)) == 0 &&
	       strncmp(id, state->tree->boot_id, sizeof(state->tree->boot_id)) == 0;
}

/* The number that @pid has in its own PID namespace, or -errno. */
static pid_t inner_pid(pid_t pid)
{
	char path[40], text[4096], *line, *last;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	err = restore_numbers_read_text(path, text, sizeof(text));
	if (err)
		return err;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	line++;
	line[strcspn(line, "\n")] = 0;
	last = strrchr(line, '\t');
	return last ? (pid_t)strtol(last, NULL, 10) : pid;
}

/* Is the process that has the recorded host pid the one of the tree? 1, 0, -errno. */
static int restore_numbers_is_same(const struct state *state, const struct ckpt_rec_proc *rec)
{
	struct proc_stat stat;
	char comm[32];
	pid_t inner;
	int err = proc_stat_read(rec->host_pid, &stat);

	if (err)
		return err;
	if (proc_stat_is_dead(&stat) || proc_stat_start_ns(&stat) > state->system->boottime_ns)
		return 0;
	inner = inner_pid(rec->host_pid);
	if (inner != rec->pid)
		return inner < 0 ? inner : 0;
	err = read_comm(rec->host_pid, comm, sizeof(comm));
	return err ?: strncmp(comm, rec->comm, sizeof(rec->comm)) == 0;
}

/* Does the process of the tree still run? 1, 0; -errno: it cannot be told. */
static int is_running(const struct state *state, const struct ckpt_rec_proc *rec)
{
	int ret = restore_numbers_is_same(state, rec);

	return ret == -ESRCH || ret == -ENOENT ? 0 : ret;
}

static int check_running(const struct state *state, struct ckpt_error *error)
{
	int ret = 0;

	if (!same_boot(state))
		return 0;
	for (unsigned int i = 0; i < state->nr_procs && ret >= 0; i++) {
		const struct state_proc *proc = &state->procs[i];

		if (proc->rec->state == CKPT_PROC_ZOMBIE)
			continue;
		ret = is_running(state, proc->rec);
		if (ret > 0)
			plan_refuse(error, CKPT_R_RUNNING, proc, "since before the dump");
		else if (ret < 0)
			error_fail(error, ret, "cannot tell whether process %d still runs: %s",
				    (int)proc->rec->host_pid, strerror(-ret));
	}
	return ret < 0 ? ret : 0;
}

int numbers_check(const struct state *state, const struct plan *plan,
		  struct ckpt_error *error)
{
	pid_t last = plan->pids[plan->nr_pids - 1];
	char text[32];
	int ret = check_running(state, error);

	if (ret)
		return ret;
	if (error_refused(error, "restore"))
		return -EOPNOTSUPP;
	if (restore_numbers_read_text("/proc/sys/kernel/pid_max", text, sizeof(text)) == 0 &&
	    last >= strtol(text, NULL, 10))
		return error_fail(error, -ERANGE,
				   "the image needs pid %d, this node allows less than %s: "
				   "raise kernel.pid_max", last, text);
	return 0;
}
