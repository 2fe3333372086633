/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run of ckpt-slurm-run in a batch step: launch, look at Slurm's plan, save, requeue.
 */
#ifndef STILLPOINT_SLURM_RUN_H
#define STILLPOINT_SLURM_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "scheduler/slurm/child.h"
#include "scheduler/slurm/drain.h"
#include "scheduler/slurm/launch.h"
#include "scheduler/slurm/port.h"
#include "scheduler/slurm/script.h"

/* Why nothing can begin. */
#define RUN_UNANSWERED	"ckptd of the node does not answer, and the job may be saved"
#define RUN_FAILED	1	/* exit status: nothing was launched, or saved and not requeued */

/**
 * struct run - a run of ckpt-slurm-run
 * @id: of the batch job
 * @restarts: how often Slurm has requeued it
 * @step: name of the launch
 * @look_ms: time between two questions to slurmctld
 * @margin_ms: how long before the time limit the job is saved, at least
 * @cost_ms: the longest of the job's last checkpoints; 0: unknown
 * @most: hold the batch job rather than requeue it more often; 0: no bound
 * @limit_ms: the time limit; 0: none, or not known
 * @end_ms: when it is reached, of clock_monotonic_ms()
 * @hook: the user's program, called after a save and before a restart; NULL: none
 * @script: the batch script, if that is the job; NULL: a command of the script is
 * @argv: the command to launch
 * @launch: the other launches of the script
 * @made: the directory of the script's job
 * @port: launches that the script's job asks for
 * @child: the launched job
 * @handled: signals that are handed on, and SIGCHLD
 * @before: signals that were blocked before
 * @pipe: what SIGPIPE did before, and does in launched programs
 * @signals: descriptor of @handled
 * @next_ms: when to look again
 * @again_ms: no save before that
 * @retry: a restart to try at @retry_ms
 * @retry_ms: 0: none is to be tried
 * @commented: the job that the batch job's comment named when this run began; 0: none
 * @looks: looks at what Slurm plans so far
 * @told_generation: the generation that the batch job's comment names
 * @reason: why the job leaves a node
 * @moved: the user wants the job on other nodes
 * @told: the user was told that the job is to be saved
 * @requeue: all that can be saved is saved
 * @over: the job has ended with @status
 * @status: its exit status
 * @hold: why Slurm must not start the batch job again by itself; empty: it may
 * @away: slurmctld did not answer when it was asked for the requeue
 * @counted: @requeues is known
 * @requeues: how often Slurm had requeued the job when it was first asked to
 */
struct run {
	uint32_t id;
	unsigned int restarts;
	char step[STEP_NAME_MAX];
	int64_t look_ms;
	int64_t margin_ms;
	int64_t cost_ms;
	unsigned int most;
	int64_t limit_ms;
	int64_t end_ms;
	const char *hook;
	const char *script;
	char *const *argv;
	struct launch launch;
	struct script made;
	struct port port;
	struct child child;
	sigset_t handled, before;
	struct sigaction pipe;
	int signals;
	int64_t next_ms;
	int64_t again_ms;
	struct child_how retry;
	int64_t retry_ms;
	int64_t commented;
	unsigned int looks;
	int64_t told_generation;
	char reason[DRAIN_NAME + 32];
	bool moved;
	bool told;
	bool requeue;
	bool over;
	int status;
	char hold[512];
	bool away;
	bool counted;
	uint32_t requeues;
};

/*
 * run_main() - launch @run->argv, and stay until it has ended or Slurm ends us
 *
 * Return: the exit status.
 */
int run_main(struct run *run);

/*
 * run_hold() - have the batch job requeued and held, since @run cannot begin and may be saved
 *
 * Returns only if Slurm does not end us: the exit status.
 */
int run_hold(struct run *run, const char *why);

/*
 * run_save() - save what was launched, and have it ended
 *
 * Afterwards @run->requeue or the end of the child tells that it is saved. A failure is told to
 * the user, and changes nothing for the job.
 */
void run_save(struct run *run);

/* run_hook() - call the user's program, as `HOOK save` and `HOOK restart`; it changes nothing */
void run_hook(struct run *run, const char *when);

/*
 * run_requeue() - the job is saved, or @run->hold says why it cannot begin: have Slurm start the
 * script again, and wait for the end
 *
 * Return: the exit status, if Slurm does not requeue the batch job.
 */
int run_requeue(struct run *run);

/* run_can() - would a checkpoint be taken now? @why, of SAVER_WHY bytes: why not */
bool run_can(struct run *run, char *why, unsigned int size);

/* run_reap() - look which launched jobs have ended; never waits */
void run_reap(struct run *run);

/* run_sleep() - wait for a signal, which is handed on, or a launcher; at most @ms */
void run_sleep(struct run *run, int64_t ms);

#endif /* STILLPOINT_SLURM_RUN_H */
