// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a run that is saved, or cannot begin: its requeue by Slurm; see run.h.
 *
 * Owns the words that the batch job's comment and the user get, and what is done where Slurm does
 * not requeue the batch job: a script must not go on behind a job that is not over.
 */
#include "scheduler/slurm/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/slurm/batch.h"
#include "scheduler/slurm/say.h"

#define OTHERS_MS	600000	/* for the other launches of the script to be saved */
#define END_MS		900000	/* for a slurmctld that answers to requeue and end us */
#define RUN_NO_REQUEUE	"Slurm must not requeue it (sbatch --requeue)"
#define REQUEUE_MS	10000	/* for Slurm to begin with a requeue that it has accepted */

void run_hook(struct run *run, const char *when)
{
	int wait_status = 0;
	pid_t pid = run->hook ? fork() : 0;

	if (!run->hook)
		return;
	if (!pid) {
		sigprocmask(SIG_SETMASK, &run->before, NULL);
		sigaction(SIGPIPE, &run->pipe, NULL);
		execlp(run->hook, run->hook, when, NULL);
		say_line("%s: %s", run->hook, strerror(errno));
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || wait_status)
		say_line("%s %s has failed; going on", run->hook, when);
}

/* Wait for the script's other jobs; the requeue would end those that are not saved. */
static void wait_for_others(struct run *run)
{
	int64_t end = clock_monotonic_ms() + OTHERS_MS;

	launch_demand(&run->launch);
	launch_saved(&run->launch);
	while (!launch_all_saved(&run->launch)) {
		if (clock_monotonic_ms() >= end) {
			say_line("other jobs of the script are not saved yet: requeued all the "
				 "same");
			return;
		}
		run_sleep(run, 500);
	}
}

static const char *run_word(const struct saver_job *job)
{
	return job->lost ? "lost with a node" : "saved";
}

/* The job's number, as far as anybody knows; 0: there is none. */
static long long run_number(const struct run *run, const struct saver_job *job)
{
	return (long long)(job->job ?: run->child.before.job ?: run->commented);
}

/*
 * Tell that the batch job goes nowhere by itself, and have Slurm end it if its job is saved: the
 * script must not go on behind a job that is not over. @batch: there is a script.
 */
static int run_stays(struct run *run, const char *why, bool batch)
{
	int64_t end = clock_monotonic_ms() + END_MS;
	struct saver_job saved = { 0 };
	long long job;

	/* A ckptd that is just being restarted must not let the script go on. */
	saver_find_patiently(run->child.name, 0, &saved);
	job = run_number(run, &saved);
	if (*run->hold)
		say_line("%s", run->hold);
	if (!saved.newest || (!saved.saved && !saved.lost)) {
		say_line("batch job %u is not requeued: %s", run->id, why);
		return run->status ?: RUN_FAILED;
	}
	say_line("job %lld is %s, but batch job %u is not requeued: %s; to go on: ckptctl restart "
		 "--attach %lld", job, run_word(&saved), run->id, why, job);
	while (batch && clock_monotonic_ms() < end) {
		batch_end(run->id);
		run_sleep(run, REQUEUE_MS);
	}
	return RUN_FAILED;
}

/* Say what was requeued, here and in the job's comment, which a later run reads (batch.c). */
static void run_tell(const struct run *run)
{
	struct saver_job saved = { 0 };
	char text[768], number[32] = "";
	long long job;

	saver_find(run->child.name, &saved);
	job = run_number(run, &saved);
	if (job && strncmp(run->hold, "job ", 4))
		snprintf(number, sizeof(number), "job %lld: ", job);
	if (*run->hold)
		snprintf(text, sizeof(text), "held: %s%.500s; scontrol release %u tries again",
			 number, run->hold, run->id);
	else
		snprintf(text, sizeof(text), "job %lld %s, generation %lld",
			 (long long)saved.job, run_word(&saved), (long long)saved.newest);
	batch_comment(run->id, text);
	if (*run->hold)
		say_line("batch job %u is %s", run->id, text);
	else
		say_line("job %lld is %s, and batch job %u requeued", (long long)saved.job,
			 run_word(&saved), run->id);
}

/* Slurm has counted a requeue: the run that it starts now must not be requeued in place of this. */
static bool run_is_requeued(struct run *run, const struct batch_plan *plan)
{
	if (!run->counted)
		run->requeues = plan->restarts;
	run->counted = true;
	return plan->restarts > run->requeues;
}

/*
 * Ask for the requeue until Slurm has it: slurmctld or munge may be away, and a slurmctld that is
 * killed forgets a requeue that it has not written down. True: refused, for @ret_why.
 */
static bool run_is_refused(struct run *run, const char **ret_why, bool *ret_batch)
{
	struct batch_plan plan = { .requeue = true };
	int err = batch_ask(run->id, &plan);

	*ret_batch |= plan.batch;
	if (err == -ESRCH || (!err && run_is_requeued(run, &plan)))
		return false;
	if (!plan.requeue) {
		*ret_why = RUN_NO_REQUEUE;
		return true;
	}
	*ret_why = "slurmctld does not answer";
	if (!err)
		err = batch_requeue(run->id, *run->hold, ret_why);
	if (err == -EAGAIN && !run->away)
		say_line("batch job %u is not requeued yet: %s; trying again", run->id, *ret_why);
	run->away = err == -EAGAIN;
	return err == -EPERM;
}

/* There is nothing to go on from, and Slurm would not start the script again. */
static bool run_is_pointless(const struct run *run, const struct batch_plan *plan)
{
	struct saver_job saved = { 0 };

	return !plan->requeue && !saver_find_patiently(run->child.name, 0, &saved) &&
	       !saved.newest;
}

int run_requeue(struct run *run)
{
	struct batch_plan plan = { .requeue = true };
	const char *why = "";
	int64_t began, left = END_MS;
	bool batch = false;

	batch_ask(run->id, &plan);
	if (run_is_pointless(run, &plan))
		return run_stays(run, RUN_NO_REQUEUE, false);
	if (run->launch.fd >= 0)
		wait_for_others(run);
	if (!*run->hold)
		run_hook(run, "save");
	if (run->most && run->restarts >= run->most && !*run->hold)
		snprintf(run->hold, sizeof(run->hold), "%s was requeued %u times", run->child.name,
			 run->restarts);
	if (plan.requeue)
		run_tell(run);
	while (left > 0) {
		began = clock_monotonic_ms();
		if (run_is_refused(run, &why, &batch))
			return run_stays(run, why, batch);
		run_sleep(run, run->away ? 1000 : REQUEUE_MS);
		/* While slurmctld is away the script must not go on without its saved job. */
		if (!run->away)
			left -= clock_monotonic_ms() - began;
	}
	say_line("batch job %u is saved, and Slurm does not end it", run->id);
	return RUN_FAILED;
}
