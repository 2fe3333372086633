// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slurm's side of `sbatch --ckpt`: a SPANK plugin.
 *
 * The plugin gives sbatch, salloc and srun the options --ckpt and --ckpt-interval. For a job that
 * wants checkpoints it puts the directory of the mpirun front first in PATH of each task, and tells
 * the front by STILLPOINT_CKPT and STILLPOINT_CKPT_INTERVAL. It starts, signals and watches
 * nothing: a batch script that does not launch by mpirun, mpiexec or ckpt-slurm-run is as without.
 *
 * In plugstack.conf: [front=DIR] the directory of the front, [default=yes|no|auto] for jobs that do
 * not say. A mistake there is logged, and leaves the job without checkpoints.
 *
 * Slurm loads it into several programs, always in one thread, and calls the functions in an order
 * of its own: options are read before a task is made. The plugin is built for one version of Slurm.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"

/* Slurm looks these up by name; everything else is hidden. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(stillpoint, 1)
#pragma GCC visibility pop

enum { OPTION_CKPT, OPTION_INTERVAL };

static struct spank_ckpt {
	char mode[8];		/* yes, no, auto */
	char interval[32];	/* as the user wrote it; empty: only before the job has to leave */
	char front[PATH_MAX];
} wanted = { .mode = "no", .front = SPANK_CKPT_FRONT };

static bool spank_mode_set(const char *mode)
{
	if (!mode || (strcmp(mode, "yes") && strcmp(mode, "no") && strcmp(mode, "auto")))
		return false;
	strcpy(wanted.mode, mode);
	return true;
}

static bool spank_interval_set(const char *interval)
{
	int64_t ms;

	if (!interval || strlen(interval) >= sizeof(wanted.interval) ||
	    duration_parse(interval, &ms))
		return false;
	strcpy(wanted.interval, interval);
	return true;
}

static int spank_take_option(int value, const char *argument, int remote)
{
	if (value == OPTION_CKPT && !spank_mode_set(argument)) {
		slurm_error("--ckpt is yes, no or auto, not %s", argument);
		return -1;
	}
	if (value == OPTION_INTERVAL && !spank_interval_set(argument)) {
		slurm_error("--ckpt-interval is a duration, as 30m or 2h, not %s", argument);
		return -1;
	}
	return 0;
}

static struct spank_option options[] = {
	{ (char *)"ckpt", (char *)"yes|no|auto",
	  (char *)"checkpoint what the script launches by mpirun; auto: where that is possible",
	  1, OPTION_CKPT, spank_take_option },
	{ (char *)"ckpt-interval", (char *)"DURATION",
	  (char *)"also checkpoint it so often, as 30m or 2h", 1, OPTION_INTERVAL,
	  spank_take_option },
};

/* Read the words of plugstack.conf. */
static void spank_configure(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "front=/", 7) && strlen(argv[i] + 6) < sizeof(wanted.front))
			strcpy(wanted.front, argv[i] + 6);
		else if (strncmp(argv[i], "default=", 8) || !spank_mode_set(argv[i] + 8))
			slurm_error("stillpoint: %s in plugstack.conf is neither front=/DIR nor "
				    "default=yes|no|auto", argv[i]);
	}
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	size_t i;

	spank_configure(argc, argv);
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
			slurm_error("stillpoint: Slurm does not take the option --%s",
				    options[i].name);
	}
	return 0;
}

/* In the task, as the user, before its program. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	char path[2 * PATH_MAX], before[PATH_MAX];

	if (!strcmp(wanted.mode, "no"))
		return 0;
	if (spank_getenv(spank, "PATH", before, sizeof(before)) != ESPANK_SUCCESS)
		strcpy(before, "/usr/local/bin:/usr/bin:/bin");
	snprintf(path, sizeof(path), "%s:%s", wanted.front, before);
	if (strncmp(before, wanted.front, strlen(wanted.front)))
		spank_setenv(spank, "PATH", path, 1);
	spank_setenv(spank, "STILLPOINT_CKPT", wanted.mode, 1);
	if (*wanted.interval)
		spank_setenv(spank, "STILLPOINT_CKPT_INTERVAL", wanted.interval, 1);
	return 0;
}
