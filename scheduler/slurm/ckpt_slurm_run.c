// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-slurm-run: launch a job from a batch script, save it when Slurm wants the nodes.
 *
 * A child, `ckptctl resume`, starts the job or goes on with it, and has the script's standard
 * streams. This process asks slurmctld now and then what is planned. When the batch job is to be
 * preempted, or its time limit is near, the job is saved, the batch job requeued, and this process
 * waits until Slurm ends it: the script must not go on behind a job that is not over. Slurm then
 * starts the script again, and the launch of the same name goes on with the saved job.
 *
 * A failure to save changes nothing for the job: Slurm does to it what it would do without us.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "libckptctl/version.h"
#include "scheduler/slurm/batch.h"
#include "scheduler/slurm/launch.h"
#include "scheduler/slurm/saver.h"

#define LOOK_MS		5000	/* between two questions to slurmctld */
#define MARGIN_MS	120000	/* before the time limit */
#define AGAIN_MS	10000	/* after a save that failed */
#define OTHERS_MS	600000	/* for the other launches of the script to be saved */
#define END_MS		300000	/* for Slurm to end this process after a requeue */
#define FAILED		1
#define USAGE		2

struct run {
	uint32_t id;		/* of the batch job */
	unsigned int restarts;
	char name[256];		/* of the job of ckptd */
	char step[LAUNCH_STEP_MAX];
	int64_t look_ms;
	int64_t margin_ms;
	struct launch launch;
	pid_t child;
	sigset_t handled, before;
	int64_t next_ms;	/* when to look again */
	int64_t again_ms;	/* no save before that */
	bool told;
};

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	va_list args;

	fputs("ckpt-slurm-run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ----------------------------------------------------------------- saving */

/* True if the time limit of @plan is near: never sooner than after three quarters of it. */
static bool limit_is_near(const struct run *run, const struct batch_plan *plan)
{
	int64_t margin = run->margin_ms / 1000;

	if (!plan->end)
		return false;
	if (margin > plan->limit / 4)
		margin = plan->limit / 4;
	return plan->end - time(NULL) <= margin;
}

/* Why the job has to be saved now; NULL: it need not. */
static const char *reason_to_save(struct run *run)
{
	struct batch_plan plan;

	if (launch_is_demanded(&run->launch))
		return "another job of the script is saved";
	if (batch_ask(run->id, &plan))
		return NULL;
	if (plan.preempted)
		return "Slurm preempts the batch job";
	return limit_is_near(run, &plan) ? "the time limit is near" : NULL;
}

static void run_save(struct run *run)
{
	int64_t job;
	bool saved;
	char why[1024];

	launch_demand(&run->launch);
	if (saver_find(run->name, &job, &saved) || !job || saved)
		return;
	if (!saver_save(job, why, sizeof(why)))
		return;
	say("job %lld is not saved: %s; Slurm goes on as without a checkpoint", (long long)job,
	    why);
	run->again_ms = clock_monotonic_ms() + AGAIN_MS;
}

static void run_look(struct run *run)
{
	const char *reason = reason_to_save(run);

	run->next_ms = clock_monotonic_ms() + run->look_ms;
	if (!reason || clock_monotonic_ms() < run->again_ms)
		return;
	if (!run->told)
		say("%s: saving %s", reason, run->name);
	run->told = true;
	run_save(run);
}

/* ------------------------------------------------------------------ child */

/* Sleep until a signal or @ms have passed; the signal, 0: none. */
static int run_sleep(const struct run *run, int64_t ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	int signo = ms > 0 ? sigtimedwait(&run->handled, NULL, &time) : 0;

	return signo > 0 ? signo : 0;
}

/* Exit status of the child, as a shell has it; looks at Slurm's plan until it has one. */
static int run_follow(struct run *run)
{
	int status, signo;

	run->next_ms = clock_monotonic_ms() + run->look_ms;
	while (waitpid(run->child, &status, WNOHANG) != run->child) {
		if (clock_monotonic_ms() >= run->next_ms)
			run_look(run);
		signo = run_sleep(run, run->next_ms - clock_monotonic_ms());
		if (signo && signo != SIGCHLD)
			kill(run->child, signo);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_start(struct run *run, int argc, char **argv)
{
	char **words = calloc((size_t)argc + 7, sizeof(*words));
	int n = 0;

	if (!words)
		return -ENOMEM;
	words[n++] = (char *)"ckptctl";
	words[n++] = (char *)"resume";
	words[n++] = (char *)"--name";
	words[n++] = run->name;
	/* Numbers of batch jobs may begin anew: only a requeued one was here before. */
	if (!run->restarts)
		words[n++] = (char *)"--new";
	words[n++] = (char *)"--";
	memcpy(words + n, argv, (size_t)argc * sizeof(*words));
	run->child = fork();
	if (!run->child) {
		sigprocmask(SIG_SETMASK, &run->before, NULL);
		execvp(words[0], words);
		say("ckptctl: %s", strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	free(words);
	return run->child < 0 ? -errno : 0;
}

/* ---------------------------------------------------------------- requeue */

/* Wait for the script's other jobs; the requeue would end those that are not saved. */
static void wait_for_others(struct run *run)
{
	int64_t end = clock_monotonic_ms() + OTHERS_MS;

	launch_demand(&run->launch);
	launch_saved(&run->launch);
	while (!launch_all_saved(&run->launch)) {
		if (clock_monotonic_ms() >= end) {
			say("other jobs of the script are not saved yet: requeued all the same");
			return;
		}
		run_sleep(run, 500);
	}
}

/* The job is saved; have Slurm start the script again, and wait for the end. */
static int run_requeue(struct run *run, int64_t job)
{
	struct batch_plan plan = { .requeue = true };
	const char *why = "Slurm must not requeue it (sbatch --requeue)";
	int64_t end;

	wait_for_others(run);
	batch_ask(run->id, &plan);
	if (!plan.requeue || batch_requeue(run->id, &why)) {
		say("job %lld is saved, but batch job %u is not requeued: %s; to go on: ckptctl "
		    "restart --attach %lld", (long long)job, run->id, why, (long long)job);
		return FAILED;
	}
	say("job %lld is saved, and batch job %u requeued", (long long)job, run->id);
	end = clock_monotonic_ms() + END_MS;
	while (clock_monotonic_ms() < end)
		run_sleep(run, 1000);
	say("Slurm has requeued batch job %u and does not end it", run->id);
	return FAILED;
}

static int run_main(struct run *run, int argc, char **argv)
{
	int64_t job = 0;
	bool saved = false;
	int status, err;

	/* A caller may have had it ignored: then nobody could wait for the child. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&run->handled);
	sigaddset(&run->handled, SIGCHLD);
	sigaddset(&run->handled, SIGINT);
	sigaddset(&run->handled, SIGTERM);
	sigaddset(&run->handled, SIGHUP);
	sigaddset(&run->handled, SIGQUIT);
	sigaddset(&run->handled, SIGUSR1);
	sigaddset(&run->handled, SIGUSR2);
	sigprocmask(SIG_BLOCK, &run->handled, &run->before);
	err = run_start(run, argc, argv);
	if (err) {
		say("%s", strerror(-err));
		return FAILED;
	}
	status = run_follow(run);
	/* Saved by us, or by somebody's ckptctl checkpoint --kill: it has not ended. */
	if (status && !saver_find(run->name, &job, &saved) && saved)
		return run_requeue(run, job);
	return status;
}

/* ---------------------------------------------------------------- options */

static const struct option longs[] = {
	{ "step", required_argument, NULL, 's' },
	{ "margin", required_argument, NULL, 'm' },
	{ "look", required_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL }
};

static void run_help(FILE *to)
{
	fputs("usage: ckpt-slurm-run [OPTIONS] [--] COMMAND [ARGUMENT...]\n\n"
	      "launch a job from a batch script of Slurm; save and requeue it when Slurm wants\n"
	      "the nodes. COMMAND is ckptrun or ckptctl run with their options, or any command.\n\n"
	      "      --step NAME        of this launch, the same each time the script runs;\n"
	      "                         default: from the command, and how often it was launched\n"
	      "      --margin DURATION  before the time limit; default 2m, at most a quarter of\n"
	      "                         the limit\n"
	      "      --look DURATION    between questions to slurmctld; default 5s\n"
	      "  -h, --help, -V, --version\n", to);
}

static int take_duration(const char *option, int64_t *ret_ms)
{
	if (!duration_parse(optarg, ret_ms))
		return 0;
	say("%s is a duration, as 30s, 5m, not %s", option, optarg);
	return USAGE;
}

static int take_step(struct run *run)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-";
	size_t len = strlen(optarg);

	if (!len || len >= sizeof(run->step) || strspn(optarg, good) != len) {
		say("--step is 1 to %zu letters, digits, '.', '_' or '-'", sizeof(run->step) - 1);
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
		return take_duration("--margin", &run->margin_ms);
	case 'l':
		return take_duration("--look", &run->look_ms);
	default:
		run_help(stderr);
		return USAGE;
	}
}

/* Read a number that Slurm has set; false: it is not there, or no number. */
static bool take_variable(const char *name, unsigned int *ret)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value = text ? strtoul(text, &end, 10) : 0;

	if (!text || !*text || *end || value > UINT32_MAX)
		return false;
	*ret = (unsigned int)value;
	return true;
}

/* Find the batch job that this is, and what it calls this launch. */
static int run_identify(struct run *run, char **argv)
{
	const char *cluster = getenv("SLURM_CLUSTER_NAME");
	int err;

	if (!take_variable("SLURM_JOB_ID", &run->id)) {
		say("this is no job of Slurm (SLURM_JOB_ID is not set): ckptctl resume does the "
		    "same elsewhere");
		return USAGE;
	}
	take_variable("SLURM_RESTART_COUNT", &run->restarts);
	err = launch_open(&run->launch, run->id, run->restarts);
	if (!err && !*run->step)
		err = launch_step(&run->launch, argv, run->step);
	if (err) {
		say("%s: %s", run->launch.path, err == -EPERM ?
		    "this directory must be this user's alone; remove it, or set TMPDIR" :
		    strerror(-err));
		return FAILED;
	}
	snprintf(run->name, sizeof(run->name), "slurm-%.100s-%u.%s", cluster ? cluster : "cluster",
		 run->id, run->step);
	return 0;
}

int main(int argc, char **argv)
{
	struct run run = { .look_ms = LOOK_MS, .margin_ms = MARGIN_MS, .launch.fd = -1 };
	int c, status = 0;

	while (!status && (c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1) {
		if (c == 'h' || c == 'V') {
			if (c == 'h')
				run_help(stdout);
			else
				puts("ckpt-slurm-run " CKPT_VERSION);
			return 0;
		}
		status = run_option(&run, c);
	}
	if (!status && optind >= argc) {
		say("which command?");
		run_help(stderr);
		status = USAGE;
	}
	if (!status)
		status = run_identify(&run, argv + optind);
	if (!status) {
		slurm_init(NULL);
		status = run_main(&run, argc - optind, argv + optind);
	}
	launch_close(&run.launch);
	return status;
}
