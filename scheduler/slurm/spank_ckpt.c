// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slurm's side of `sbatch --ckpt`: a SPANK plugin.
 *
 * The plugin gives sbatch, salloc and srun the options --ckpt, --ckpt-interval, --ckpt-keep and
 * --ckpt-hook. For a job that wants checkpoints it puts the directory of the fronts (mpirun,
 * mpiexec, srun) first in PATH of each task, has bash know them as functions, and tells the fronts
 * by variables of such names (STILLPOINT_CKPT...). With --ckpt=script Slurm is made to start the
 * front "script" in place of the batch script, whose path is in STILLPOINT_BATCH_SCRIPT. On the
 * node of a step it makes the directory of the user's launches, as root (launch.h). The plugin
 * starts, signals and watches nothing itself.
 *
 * slurmstepd executes the argv[0] that it finds after slurm_spank_task_init(), so changing it there
 * keeps all that slurmstepd sets for the script: limits, working directory, output files.
 *
 * In plugstack.conf: [front=DIR] the directory of the fronts, [default=yes|no|auto|script] for jobs
 * that do not say. A mistake there is logged, and leaves the job without checkpoints.
 *
 * Slurm loads it into several programs, always in one thread, and calls the functions in an order
 * of its own: options are read before a task is made. The plugin is built for one version of Slurm.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <slurm/slurm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "scheduler/slurm/launch.h"

/* Slurm looks these up by name; everything else is hidden. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(stillpoint, 1)
#pragma GCC visibility pop

#define PATH_BYTES	(128 << 10)	/* Linux gives a variable no more */
#define FUNCTION_BYTES	(2 * PATH_MAX + 128)

static const char *const functions[] = { "mpirun", "mpiexec", "srun" };
#define FUNCTIONS	(sizeof(functions) / sizeof(functions[0]))

enum { OPTION_CKPT, OPTION_INTERVAL, OPTION_KEEP, OPTION_HOOK };

static struct spank_ckpt {
	char mode[8];		/* yes, no, auto, script */
	char interval[32];	/* as the user wrote it; empty: only before the job has to leave */
	char keep[16];		/* the number of checkpoints; empty: the site's */
	char hook[PATH_MAX];	/* the user's program; empty: none */
	char front[PATH_MAX];
} wanted = { .mode = "no", .front = SPANK_CKPT_FRONT };

static bool spank_mode_set(const char *mode)
{
	if (!mode || (strcmp(mode, "yes") && strcmp(mode, "no") && strcmp(mode, "auto") &&
		      strcmp(mode, "script")))
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

static bool spank_keep_set(const char *keep)
{
	size_t digits = keep ? strspn(keep, "0123456789") : 0;

	if (!digits || keep[digits] || digits > 9 || !strtol(keep, NULL, 10))
		return false;
	strcpy(wanted.keep, keep);
	return true;
}

static bool spank_hook_set(const char *hook)
{
	if (!hook || *hook != '/' || strlen(hook) >= sizeof(wanted.hook))
		return false;
	strcpy(wanted.hook, hook);
	return true;
}

static int spank_take_option(int value, const char *argument, int remote)
{
	if (value == OPTION_CKPT && !spank_mode_set(argument)) {
		slurm_error("--ckpt is yes, no, auto or script, not %s", argument);
		return -1;
	}
	if (value == OPTION_INTERVAL && !spank_interval_set(argument)) {
		slurm_error("--ckpt-interval is a duration, as 30m or 2h, not %s", argument);
		return -1;
	}
	if (value == OPTION_KEEP && !spank_keep_set(argument)) {
		slurm_error("--ckpt-keep is a number of checkpoints, 1 or more, not %s", argument);
		return -1;
	}
	if (value == OPTION_HOOK && !spank_hook_set(argument)) {
		slurm_error("--ckpt-hook is the path of a program, not %s", argument);
		return -1;
	}
	return 0;
}

static struct spank_option options[] = {
	{ (char *)"ckpt", (char *)"yes|no|auto|script",
	  (char *)"checkpoint what the script launches by mpirun; auto: where that is possible; "
	  "script: the script itself, too",
	  1, OPTION_CKPT, spank_take_option },
	{ (char *)"ckpt-interval", (char *)"DURATION",
	  (char *)"also checkpoint it so often, as 30m or 2h", 1, OPTION_INTERVAL,
	  spank_take_option },
	{ (char *)"ckpt-keep", (char *)"N",
	  (char *)"keep no more than the newest N checkpoints of each launch", 1, OPTION_KEEP,
	  spank_take_option },
	{ (char *)"ckpt-hook", (char *)"PROGRAM",
	  (char *)"call it before the job is requeued (save) and goes on (restart)", 1,
	  OPTION_HOOK, spank_take_option },
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
				    "default=yes|no|auto|script", argv[i]);
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

/*
 * Make LAUNCH_GIVEN/UID. Steps of one user may begin in one moment: each of them leaves the
 * directory as the user's, whoever has made it.
 */
static void spank_directory(uid_t uid, gid_t gid)
{
	char path[sizeof(LAUNCH_GIVEN) + 16];

	snprintf(path, sizeof(path), LAUNCH_GIVEN "/%u", uid);
	if (!mkdir(LAUNCH_GIVEN, 0755))
		chmod(LAUNCH_GIVEN, 0755);	/* whatever the umask is */
	if ((mkdir(path, 0700) && errno != EEXIST) || lchown(path, uid, gid))
		slurm_error("stillpoint: %s: %m; jobs use TMPDIR", path);
}

/* In each program that has read the options; in slurmstepd, as root. */
int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	uid_t uid;
	gid_t gid;

	if (spank_remote(spank) == 1 && !geteuid() &&
	    spank_get_item(spank, S_JOB_UID, &uid) == ESPANK_SUCCESS &&
	    spank_get_item(spank, S_JOB_GID, &gid) == ESPANK_SUCCESS)
		spank_directory(uid, gid);
	return 0;
}

/* Put the directory of the fronts first in PATH; a PATH that is there is kept whole. */
static void spank_path(spank_t spank)
{
	size_t len = strlen(wanted.front) + 1;
	char *path = malloc(PATH_BYTES), *before = path + len;
	spank_err_t err;

	if (!path)
		return;
	snprintf(path, len + 1, "%s:", wanted.front);
	err = spank_getenv(spank, "PATH", before, (int)(PATH_BYTES - len));
	if (err == ESPANK_ENV_NOEXIST)
		snprintf(before, PATH_BYTES - len, "/usr/local/bin:/usr/bin:/bin");
	if (err && err != ESPANK_ENV_NOEXIST)
		slurm_error("stillpoint: PATH stays as it is: %s", spank_strerror(err));
	else if (strncmp(before, path, len))
		spank_setenv(spank, "PATH", path, 1);
	free(path);
}

/* The variable by which bash takes over a function @name, and its value: see the file "call". */
static void spank_function(const char *name, char variable[32], char value[FUNCTION_BYTES])
{
	snprintf(variable, 32, "BASH_FUNC_%s%%%%", name);
	snprintf(value, FUNCTION_BYTES,
		 "() {  if [ -r '%s/call' ]; then . '%s/call' %s \"$@\"; "
		 "else command %s \"$@\"; fi\n}",
		 wanted.front, wanted.front, name, name);
}

/*
 * The fronts as functions of bash: modules and login shells put other directories before ours in
 * PATH. A function of the user's own stays, and finds the front in PATH.
 */
static void spank_functions(spank_t spank)
{
	char variable[32], value[FUNCTION_BYTES];
	size_t i;

	for (i = 0; i < FUNCTIONS && !strchr(wanted.front, '\''); i++) {
		spank_function(functions[i], variable, value);
		spank_setenv(spank, variable, value, 0);
	}
}

/* The submitting script has handed its functions on. */
static void spank_functions_forget(spank_t spank)
{
	char variable[32], value[FUNCTION_BYTES], theirs[FUNCTION_BYTES];
	size_t i;

	for (i = 0; i < FUNCTIONS; i++) {
		spank_function(functions[i], variable, value);
		if (spank_getenv(spank, variable, theirs, sizeof(theirs)) == ESPANK_SUCCESS &&
		    !strcmp(theirs, value))
			spank_unsetenv(spank, variable);
	}
}

static int spank_wrong(const char *what)
{
	slurm_error("stillpoint: %s", what);
	return -1;
}

static bool spank_is_batch(spank_t spank)
{
	uint32_t step = 0;

	return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
	       step == SLURM_BATCH_SCRIPT;
}

/* A script that submits another one hands its environment on: that is of another job. */
static void spank_forget(spank_t spank)
{
	static const char *const ours[] = { "STILLPOINT_SCRIPT", "STILLPOINT_JOB",
		"STILLPOINT_CKPT", "STILLPOINT_CKPT_INTERVAL", "STILLPOINT_CKPT_KEEP",
		"STILLPOINT_CKPT_HOOK" };
	static const char end[] = ".script/env";
	char file[PATH_MAX];
	size_t i, len;

	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		spank_unsetenv(spank, ours[i]);
	spank_functions_forget(spank);
	if (spank_getenv(spank, "BASH_ENV", file, sizeof(file)) != ESPANK_SUCCESS)
		return;
	len = strlen(file);
	if (len >= strlen(end) && !strcmp(file + len - strlen(end), end))
		spank_unsetenv(spank, "BASH_ENV");
}

/* Have the front "script" executed in place of the batch script. */
static int spank_exchange(spank_t spank)
{
	char path[PATH_MAX + 8];
	char **words = NULL;
	int count = 0;

	if (spank_get_item(spank, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || count < 1)
		return spank_wrong("Slurm does not tell which script it starts");
	snprintf(path, sizeof(path), "%s/script", wanted.front);
	spank_setenv(spank, "STILLPOINT_BATCH_SCRIPT", words[0], 1);
	words[0] = strdup(path);
	return words[0] ? 0 : -1;
}

/* In the task, as the user, before its program. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	bool batch = spank_is_batch(spank);

	if (batch)
		spank_forget(spank);
	if (!strcmp(wanted.mode, "no"))
		return 0;
	spank_path(spank);
	spank_functions(spank);
	spank_setenv(spank, "STILLPOINT_CKPT", wanted.mode, 1);
	if (*wanted.interval)
		spank_setenv(spank, "STILLPOINT_CKPT_INTERVAL", wanted.interval, 1);
	if (*wanted.keep)
		spank_setenv(spank, "STILLPOINT_CKPT_KEEP", wanted.keep, 1);
	if (*wanted.hook)
		spank_setenv(spank, "STILLPOINT_CKPT_HOOK", wanted.hook, 1);
	return batch && !strcmp(wanted.mode, "script") ? spank_exchange(spank) : 0;
}
