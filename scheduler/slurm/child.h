/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A launched job: `ckptctl resume` as a child process, and what its end means.
 */
#ifndef STILLPOINT_SLURM_CHILD_H
#define STILLPOINT_SLURM_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/slurm/policy.h"
#include "scheduler/slurm/saver.h"

#define CHILD_NAME_MAX	256
/* A hold's words for -EBADMSG of child_start(). */
#define CHILD_HIDDEN	"may be saved, and records of jobs cannot be read (ckptctl ps --all)"

/**
 * struct child - a launched job
 * @name: of the job of ckptd
 * @pid: of ckptctl; 0: it does not run
 * @began_ms: when @pid was started
 * @before: the job of that name, when @pid was started
 * @requeues: how often Slurm has requeued the batch job; the caller's
 * @tries: generations whose restarts have failed
 * @again: tries of @generation before the last one
 * @restarted: @pid goes on with a saved job
 * @generation: what the restart goes on from; 0: nothing
 */
struct child {
	char name[CHILD_NAME_MAX];
	pid_t pid;
	int64_t began_ms;
	struct saver_job before;
	unsigned int requeues;
	int tries;
	int again;
	bool restarted;
	int64_t generation;
};

/**
 * struct child_how - how to start a launched job; stays the caller's
 * @argv: the command, ends with NULL
 * @env: its environment; NULL: ours
 * @directory: its working directory; NULL: ours
 * @fds: its standard streams, none of them below 3; NULL: ours
 * @anew: no earlier job is meant: numbers of batch jobs may begin anew
 * @rerun: a job that has ended is started again
 * @generation: try this one of the job before; 0: the newest
 * @pause_ms: the caller waits so long before that
 * @mask: the signals that are blocked in it
 * @pipe: what SIGPIPE does in it
 */
struct child_how {
	char *const *argv;
	char **env;
	const char *directory;
	const int *fds;
	bool anew;
	bool rerun;
	int64_t generation;
	int64_t pause_ms;
	const sigset_t *mask;
	const struct sigaction *pipe;
};

/*
 * child_start() - start the job @child->name, or go on with it
 *
 * A job that was ended by SIGTERM or SIGKILL, or ended when SIGTERM had told it to, was ended by
 * Slurm, or by a scrub: it goes on from its newest generation that is not doubted, or is started
 * again.
 *
 * Return: 0, or a negative errno: -EHOSTDOWN if ckptd does not say what became of the job, -EBADMSG
 * if it may be one of those whose records cannot be read.
 */
int child_start(struct child *child, const struct child_how *how);

/*
 * child_judge() - @child has ended: what to do
 * @wait_status: as of waitpid(2)
 * @ret_status: exit status as a shell has it
 * @ret_next: what to try, of POLICY_OLDER and POLICY_AGAIN: its generation and pause_ms are set
 *
 * @child->pid is 0 afterwards.
 */
enum policy child_judge(struct child *child, int wait_status, int *ret_status,
			struct child_how *ret_next);

/*
 * child_save() - have the job saved and ended, if it runs
 * @why: SAVER_WHY bytes
 *
 * Return: 0 if it is saved, or was not running; a negative errno with @why: it runs on.
 */
int child_save(const struct child *child, char *why, unsigned int size);

#endif /* STILLPOINT_SLURM_CHILD_H */
