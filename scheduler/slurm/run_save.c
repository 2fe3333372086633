// SPDX-License-Identifier: GPL-2.0-only
/*
 * Saving what a batch script has launched; see run.h.
 *
 * A script that is a job is saved after the launches that it waits for: its image must hold
 * launchers that ask again, not launches that go on without it. While that is done no launcher may
 * ask. If the script cannot be saved but launches can, these are: the next run begins the script
 * anew and finds its launches. So it does if a launch was saved by somebody else, or is to be held:
 * nobody would end the script's waiting for that launch. If nothing can be saved all goes on as if
 * nobody had tried.
 */
#include "scheduler/slurm/run.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "scheduler/slurm/say.h"

#define AGAIN_MS	10000	/* after a save that failed */
#define TRIES		4	/* a program may use a socket for a moment */
#define TRY_MS		1000
#define REAP_MS		60000	/* for launches that are saved to end */

static void run_not_saved(struct run *run, const char *name, const char *why)
{
	say_line("%s is not saved: %s; Slurm goes on as without a checkpoint", name, why);
	run->again_ms = clock_monotonic_ms() + AGAIN_MS;
}

/* Would a checkpoint of the script be taken, once its launches are saved? */
static bool run_script_can(struct run *run, int64_t *ret_job, char *why, unsigned int size)
{
	bool pipes = port_runs(&run->port);
	struct saver_job script;
	int i;

	for (i = 0; i < TRIES; i++) {
		strcpy(why, "ckptd of this node does not know it");
		*ret_job = 0;
		if (!saver_find(run->child.name, &script) && script.job) {
			*ret_job = script.job;
			if (script.saved || !saver_check(script.job, pipes, why, size))
				return true;
		}
		run_sleep(run, TRY_MS);
	}
	return false;
}

bool run_can(struct run *run, char *why, unsigned int size)
{
	struct saver_job job;
	int64_t script;
	int i;

	if (run->script)
		return run_script_can(run, &script, why, size);
	for (i = 0; i < TRIES; i++) {
		snprintf(why, size, "ckptd of this node does not know it");
		if (!saver_find(run->child.name, &job) && job.job &&
		    (job.saved || !saver_check(job.job, false, why, size)))
			return true;
		run_sleep(run, TRY_MS);
	}
	return false;
}

/* Save the launches of the script, and see them end; false: @why. */
static bool run_save_launches(struct run *run, char *why, unsigned int size)
{
	int64_t end = clock_monotonic_ms() + REAP_MS;

	if (port_save(&run->port, why, size))
		return false;
	while (port_runs(&run->port) && clock_monotonic_ms() < end) {
		run_sleep(run, 100);
		run_reap(run);
	}
	strcpy(why, "a launch does not end");
	return !port_runs(&run->port);
}

static bool run_save_child(struct run *run, char *why, unsigned int size)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		if (!child_save(&run->child, why, size))
			return true;
		run_sleep(run, TRY_MS);
	}
	return false;
}

static void run_save_script(struct run *run)
{
	bool launches = port_runs(&run->port) || run->port.saved || *run->port.hold;
	char why[SAVER_WHY];
	int64_t job;
	bool script = run_script_can(run, &job, why, sizeof(why)), saved;

	/* A launcher that has no name yet would be saved with the script, and start anew. */
	if (run->port.doubt) {
		snprintf(why, sizeof(why), "%s", run->port.hold);
		script = false;
	}

	if (!script && (!launches || !job)) {
		run_not_saved(run, run->child.name, why);
		return;
	}
	if (!script)
		say_line("the script cannot be saved: %s; its launches are, and it will begin anew "
			 "and find them", why);
	port_shut(&run->port);
	saved = run_save_launches(run, why, sizeof(why));
	if (saved && script)
		saved = run_save_child(run, why, sizeof(why));
	run->requeue = saved && !script;
	if (saved)	/* the end of the script is seen in a moment */
		run->again_ms = clock_monotonic_ms() + TRY_MS;
	if (saved || run->over)
		return;
	run_not_saved(run, run->child.name, why);
	port_forget(&run->port);
	if (port_open(&run->port))
		say_line("%s: launches of the script cannot be taken any more",
			 run->port.directory);
}

void run_save(struct run *run)
{
	struct saver_job job;
	char why[SAVER_WHY];

	launch_demand(&run->launch);
	if (run->retry_ms) {
		/* It is saved: the next run tries again. */
		run->retry_ms = 0;
		run->requeue = true;
		return;
	}
	if (run->script) {
		run_save_script(run);
		return;
	}
	if (saver_find(run->child.name, &job) || !job.job || job.saved)
		return;
	if (saver_save(job.job, why, sizeof(why)))
		run_not_saved(run, run->child.name, why);
}
