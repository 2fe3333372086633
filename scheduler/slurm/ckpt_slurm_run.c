// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-slurm-run: launch a job from a batch script, save it when Slurm wants the nodes.
 *
 * Owns the command line, and which of three things this process is: in the batch step the run of a
 * command or, with --script, of the whole batch script (run.c); in a script that is a job itself,
 * the one that waits for a launch (launcher.c), or the command.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "libckptctl/version.h"
#include "scheduler/slurm/find.h"
#include "scheduler/slurm/launcher.h"
#include "scheduler/slurm/run.h"
#include "scheduler/slurm/say.h"

#define LOOK_MS		5000	/* between two questions to slurmctld */
#define LOOK_VARIABLE	"STILLPOINT_CKPT_LOOK"
#define MARGIN_MS	120000	/* before the time limit */
#define USAGE		2

/* ---------------------------------------------------------------- options */

static const struct option longs[] = {
	{ "step", required_argument, NULL, 's' },
	{ "margin", required_argument, NULL, 'm' },
	{ "look", required_argument, NULL, 'l' },
	{ "requeues", required_argument, NULL, 'r' },
	{ "hook", required_argument, NULL, 'H' },
	{ "script", required_argument, NULL, 'S' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL }
};

static void run_help(FILE *to)
{
	fputs("usage: ckpt-slurm-run [OPTIONS] [--] COMMAND [ARGUMENT...]\n"
	      "       ckpt-slurm-run [OPTIONS] --script FILE [--] [ARGUMENT...]\n\n"
	      "launch a job from a batch script of Slurm; save and requeue it when Slurm wants\n"
	      "the nodes. COMMAND is ckptrun or ckptctl run with their options, or any command.\n\n"
	      "      --step NAME        of this launch, the same each time the script runs;\n"
	      "                         default: from the command, its files, the script's line,\n"
	      "                         and how often it was launched\n"
	      "      --margin DURATION  before the time limit; default 2m, at most a quarter of\n"
	      "                         the limit; more where two checkpoints take longer\n"
	      "      --requeues N       hold the batch job when it was requeued N times\n"
	      "      --look DURATION    between questions to slurmctld; default 5s\n"
	      "      --hook PROGRAM     called as PROGRAM save before the requeue, and as PROGRAM\n"
	      "                         restart before a saved job goes on\n"
	      "      --script FILE      the batch script itself is the job, with all that it runs\n"
	      "  -h, --help, -V, --version\n", to);
}

static int take_duration(const char *option, const char *text, int64_t *ret_ms)
{
	if (!duration_parse(text, ret_ms))
		return 0;
	say_line("%s is a duration, as 30s, 5m, not %s", option, text);
	return USAGE;
}

/* False: it is no number. */
static bool read_number(const char *text, unsigned int *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value > UINT32_MAX)
		return false;
	*ret = (unsigned int)value;
	return true;
}

static int take_number(const char *option, const char *text, unsigned int *ret)
{
	if (read_number(text, ret) && *ret)
		return 0;
	say_line("%s is a number, 1 or more, not %s", option, text);
	return USAGE;
}

/* Read a number that Slurm has set; false: it is not there, or no number. */
static bool take_variable(const char *name, unsigned int *ret)
{
	const char *text = getenv(name);

	return text && read_number(text, ret);
}

static int take_step(struct run *run)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-";
	size_t len = strlen(optarg);

	if (!len || len >= sizeof(run->step) || strspn(optarg, good) != len) {
		say_line("--step is 1 to %zu letters, digits, '.', '_' or '-'",
			 sizeof(run->step) - 1);
		return USAGE;
	}
	strcpy(run->step, optarg);
	return 0;
}

static int run_option(struct run *run, int c)
{
	switch (c) {
	case 's':
		return take_step(run);
	case 'm':
		return take_duration("--margin", optarg, &run->margin_ms);
	case 'l':
		return take_duration("--look", optarg, &run->look_ms);
	case 'r':
		return take_number("--requeues", optarg, &run->most);
	case 'H':
		run->hook = optarg;
		return 0;
	case 'S':
		run->script = optarg;
		return 0;
	default:
		run_help(stderr);
		return USAGE;
	}
}


/* A launch cannot be made, of @path: say why, and have a job that may be saved held. */
static int run_wrong(struct run *run, const char *path, int err)
{
	char why[512];

	snprintf(why, sizeof(why), "%.300s: %s", path, err == -EPERM ?
		 "this directory must be this user's alone; remove it, or set TMPDIR" :
		 err == -ENOTUNIQ ? FIND_DOUBT :
		 err == -EHOSTDOWN ? RUN_UNANSWERED :
		 err == -ENAMETOOLONG ? "too long a path; set TMPDIR to a shorter one" :
		 strerror(-err));
	if (run->restarts)
		return run_hold(run, why);
	say_line("%s", why);
	return RUN_FAILED;
}

/* Name this launch by its command: launches of the same run wait for each other. */
static int run_name(struct run *run, char **argv)
{
	const char *line = getenv(STEP_LINE);
	const int fds[3] = { 0, 1, 2 };
	struct step_claims claims;
	unsigned int script = 0;
	char cwd[PATH_MAX];
	struct step_key key;
	uint32_t number;
	int err;

	take_variable("SLURM_TASK_PID", &script);
	key = step_key(getcwd(cwd, sizeof(cwd)) ? cwd : "", argv, line, fds, (int)script);
	err = launch_lock_names(&run->launch, key.command, &claims);
	if (err)
		return err;
	err = find_name(run->port.prefix, &key, &claims, run->restarts ? FIND_ALL : FIND_NONE,
			true, run->step, &number);
	if (!err)
		err = launch_claim(&run->launch, key.command, number);
	launch_unlock_names(&run->launch);
	free(claims.numbers);
	/* The launched program is not of this line of the script alone. */
	unsetenv(STEP_LINE);
	return err;
}

/* Find the batch job that this is, and what it calls this launch. */
static int run_identify(struct run *run, char **argv)
{
	const char *cluster = getenv("SLURM_CLUSTER_NAME");
	int err;

	if (!take_variable("SLURM_JOB_ID", &run->id)) {
		say_line("this is no job of Slurm (SLURM_JOB_ID is not set): ckptctl resume does "
			 "the same elsewhere");
		return USAGE;
	}
	take_variable("SLURM_RESTART_COUNT", &run->restarts);
	slurm_init(NULL);
	snprintf(run->port.prefix, sizeof(run->port.prefix), "slurm-%.100s-%u.",
		 cluster ? cluster : "cluster", run->id);
	err = launch_open(&run->launch, run->id, run->restarts);
	if (!err && run->script && !*run->step)
		strcpy(run->step, "script");
	if (!err && !*run->step)
		err = run_name(run, argv);
	if (err)
		return run_wrong(run, err == -ENOTUNIQ || err == -EHOSTDOWN ? argv[0] :
				 run->launch.path, err);
	snprintf(run->child.name, sizeof(run->child.name), "%s%s", run->port.prefix, run->step);
	return 0;
}

/*
 * The command that makes a job of @script (NULL: none) and @argv, with what sbatch was told; to be
 * freed.
 */
static char **run_words(char *script, int argc, char **argv)
{
	char *every = getenv("STILLPOINT_CKPT_INTERVAL");
	char *keep = getenv("STILLPOINT_CKPT_KEEP");
	char **words = calloc((size_t)argc + 9, sizeof(*words));
	int n = 0;

	if (!words)
		return NULL;
	words[n++] = (char *)"ckptctl";
	words[n++] = (char *)"run";
	if (every && *every) {
		words[n++] = (char *)"--every";
		words[n++] = every;
	}
	if (keep && *keep) {
		words[n++] = (char *)"--keep";
		words[n++] = keep;
	}
	words[n++] = (char *)"--";
	if (script)
		words[n++] = script;
	memcpy(words + n, argv, (size_t)argc * sizeof(*words));
	return words;
}

/* Make the batch script the job. */
static int run_script(struct run *run, int argc, char **argv)
{
	char **words;
	int status, err = script_make(&run->made, run->id, run->script);

	if (err)
		return run_wrong(run, err == -ENOENT ? run->script : *run->made.copy ?
				 run->made.copy : run->made.directory, err);
	run->port.directory = run->made.directory;
	run->port.first = !run->restarts;
	run->port.requeues = run->restarts;
	port_close(&run->port);
	words = run_words(run->made.copy, argc, argv);
	if (!words)
		return RUN_FAILED;
	run->argv = words;
	status = run_main(run);
	port_close(&run->port);
	script_remove(&run->made);
	free(words);
	return status;
}

static bool is_launch(const char *word)
{
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

	return !strcmp(name, "ckptrun") || !strcmp(name, "ckptctl");
}

/* In a script that is a job: a command is saved with it, a launch is the batch step's. */
static int run_inside(const char *directory, char **argv)
{
	if (is_launch(argv[0]))
		return launcher_run(directory, argv);
	execvp(argv[0], argv);
	say_line("%s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* The directory of this job's script, if that is a job; NULL: it is none, or another job's. */
static const char *run_directory(void)
{
	const char *directory = getenv(LAUNCHER_VARIABLE), *id = getenv("SLURM_JOB_ID"), *slash;
	char name[64];

	slash = directory ? strrchr(directory, '/') : NULL;
	snprintf(name, sizeof(name), "/%s.script", id ? id : "");
	return slash && !strcmp(slash, name) ? directory : NULL;
}

/*
 * Run a launch, or a command, which `ckptctl resume` makes one. A command gets what sbatch was told
 * only here: the name of its job is made of the command alone.
 */
static int run_launch(struct run *run, int argc, char **argv)
{
	const char *every = getenv("STILLPOINT_CKPT_INTERVAL");
	const char *keep = getenv("STILLPOINT_CKPT_KEEP");
	bool told = !is_launch(argv[0]) && ((every && *every) || (keep && *keep));
	char **words = told ? run_words(NULL, argc, argv) : NULL;
	int status;

	if (told && !words)
		return RUN_FAILED;
	run->argv = words ? words : argv;
	/* The fronts are for the script: a launched program has the real srun. */
	unsetenv("STILLPOINT_CKPT");
	status = run_main(run);
	free(words);
	return status;
}

static int run_outside(struct run *run, int argc, char **argv)
{
	int status = run_identify(run, argv);

	if (!status)
		status = run->script ? run_script(run, argc, argv) : run_launch(run, argc, argv);
	launch_close(&run->launch);
	return status;
}

int main(int argc, char **argv)
{
	const char *directory = run_directory(), *look = getenv(LOOK_VARIABLE);
	struct run run = { .look_ms = LOOK_MS, .margin_ms = MARGIN_MS, .launch.fd = -1,
			   .port.fd = -1, .hook = getenv("STILLPOINT_CKPT_HOOK") };
	int c, status = look ? take_duration(LOOK_VARIABLE, look, &run.look_ms) : 0;
	const char *most = getenv("STILLPOINT_CKPT_REQUEUES");

	if (!status && most && *most)
		status = take_number("STILLPOINT_CKPT_REQUEUES", most, &run.most);
	while (!status && (c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1) {
		switch (c) {
		case 'h':
			run_help(stdout);
			return 0;
		case 'V':
			puts("ckpt-slurm-run " CKPT_VERSION);
			return 0;
		}
		status = run_option(&run, c);
	}
	if (!status && optind >= argc && !run.script) {
		say_line("which command?");
		run_help(stderr);
		status = USAGE;
	}
	if (status)
		return status;
	if (directory && !run.script)
		return run_inside(directory, argv + optind);
	return run_outside(&run, argc - optind, argv + optind);
}
