// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run of ckpt-slurm-run; see run.h.
 *
 * A child, `ckptctl resume`, starts the job or goes on with it, and has the script's standard
 * streams. This process asks slurmctld now and then what is planned. When the batch job is to be
 * preempted, or its time limit is near, the job is saved (run_save.c), the batch job requeued, and
 * this process waits until Slurm ends it: the script must not go on behind a job that is not over.
 * Slurm then starts the script again, and the launch of the same name goes on with the saved job.
 *
 * A failure to save changes nothing for the job: Slurm does to it what it would do without us. A
 * restart that fails is tried from an older generation, and then the batch job is held.
 */
#include "scheduler/slurm/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/slurm/batch.h"
#include "scheduler/slurm/say.h"

#define RARE_LOOKS	12	/* looks at the job for one at its nodes and its generations */
#define COSTS		2	/* checkpoints that there must be time for before the time limit */
#define ASK_TRIES	3	/* of slurmctld, a second apart, when a run begins */

/* ------------------------------------------------------------------- plan */

/* Remember when the limit is reached: slurmctld may be away then, and clocks may be apart. */
static void run_note_limit(struct run *run, const struct batch_plan *plan)
{
	run->limit_ms = plan->limit * 1000;
	run->end_ms = clock_monotonic_ms() + plan->left * 1000;
}

/* True if the time limit is near: never sooner than after three quarters of it. */
static bool limit_is_near(const struct run *run)
{
	int64_t margin = run->margin_ms;

	if (!run->limit_ms)
		return false;
	if (margin < COSTS * run->cost_ms)
		margin = COSTS * run->cost_ms;
	if (margin > run->limit_ms / 4)
		margin = run->limit_ms / 4;
	return run->end_ms - clock_monotonic_ms() <= margin;
}

/* True if the job shall leave a node, and Slurm would start it again; run->reason says which. */
static bool run_is_drained(struct run *run, const struct batch_plan *plan)
{
	char node[DRAIN_NAME];

	if (!plan->requeue || run->looks % RARE_LOOKS || !drain_is_wanted(run->id, node))
		return false;
	snprintf(run->reason, sizeof(run->reason), "node %s is drained", node);
	return true;
}

/* Why the job has to be saved now; NULL: it need not. */
static const char *reason_to_save(struct run *run)
{
	struct batch_plan plan;
	int err;

	run->moved = false;
	if (*run->port.hold) {
		snprintf(run->hold, sizeof(run->hold), "%s", run->port.hold);
		return run->hold;
	}
	if (launch_is_demanded(&run->launch) || run->port.saved)
		return "another job of the script is saved";
	err = batch_ask(run->id, &plan);
	if (!err)
		run_note_limit(run, &plan);
	if (!err && plan.preempted)
		return "Slurm preempts the batch job";
	if (err != -ESRCH && limit_is_near(run))
		return "the time limit is near";
	if (err)
		return NULL;
	run->moved = *plan.move && plan.requeue;
	if (run->moved) {
		snprintf(run->reason, sizeof(run->reason), "the job is to move to %s", plan.move);
		return run->reason;
	}
	return run_is_drained(run, &plan) ? run->reason : NULL;
}

/* Name a generation that was taken meanwhile in the batch job's comment, and learn its cost. */
static void run_tell_generation(struct run *run)
{
	struct saver_job job;
	char text[96];

	if (run->looks % RARE_LOOKS || saver_find(run->child.name, &job) || !job.runs)
		return;
	/* The launches of a script are saved one after the other, and then the script. */
	run->cost_ms = port_cost_ms(&run->port) + (job.newest ? saver_cost_ms(job.job) : 0);
	if (job.newest <= run->told_generation)
		return;
	run->told_generation = job.newest;
	snprintf(text, sizeof(text), "job %lld runs, generation %lld", (long long)job.job,
		 (long long)job.newest);
	batch_comment(run->id, text);
}

/* A job that cannot be saved stays, and whoever wants it moved reads why in the comment. */
static bool run_must_stay(struct run *run)
{
	char why[SAVER_WHY], text[SAVER_WHY + sizeof(BATCH_NOT_MOVED)];

	if (!run->moved || run_can(run, why, sizeof(why)))
		return false;
	snprintf(text, sizeof(text), BATCH_NOT_MOVED "%s", why);
	batch_comment(run->id, text);
	say_line("%s is %s", run->child.name, text);
	return true;
}

static void run_look(struct run *run)
{
	const char *reason = reason_to_save(run);

	if (reason && run_must_stay(run))
		reason = NULL;
	else if (!reason)
		run_tell_generation(run);
	run->looks++;
	run->next_ms = clock_monotonic_ms() + run->look_ms;
	if (!reason || clock_monotonic_ms() < run->again_ms)
		return;
	if (!run->told)
		say_line("%s: saving %s", reason, run->child.name);
	run->told = true;
	run_save(run);
}

/* ------------------------------------------------------------------ child */

/* Nobody wants the restart any more that was to be tried. */
static void run_retry_ends(struct run *run, int signo)
{
	run->retry_ms = 0;
	run->status = 128 + signo;
	run->over = true;
}

void run_sleep(struct run *run, int64_t ms)
{
	struct pollfd fds[2] = { { .fd = run->signals, .events = POLLIN },
				 { .fd = run->port.fd, .events = POLLIN } };
	struct signalfd_siginfo info;

	if (ms > 0)
		poll(fds, 2, (int)(ms > INT32_MAX ? INT32_MAX : ms));
	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (run->child.pid)
			kill(run->child.pid, (int)info.ssi_signo);
		else if (run->retry_ms && info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2)
			run_retry_ends(run, (int)info.ssi_signo);
	}
	if (fds[1].revents)
		port_take(&run->port);
}

/* @next: a restart to try, of child_judge(); NULL: none */
static int run_start(struct run *run, const struct child_how *next)
{
	struct child_how how = next ? *next : (struct child_how) { 0 };
	char text[256];
	int err;

	how.argv = run->argv;
	how.mask = &run->before;
	how.pipe = &run->pipe;
	/* Numbers of batch jobs may begin anew: only a requeued one was here before. */
	how.anew = !run->restarts;
	how.rerun = run->script != NULL;
	run->child.requeues = run->restarts;
	err = child_start(&run->child, &how);

	if (err)
		return err;
	run->port.restored = run->child.restarted;
	run->told_generation = run->child.generation;
	if (run->child.restarted)
		snprintf(text, sizeof(text), "restart %u of job %lld, generation %lld",
			 run->restarts, (long long)run->child.before.job,
			 (long long)run->child.generation);
	else
		snprintf(text, sizeof(text), "started as %.200s", run->child.name);
	batch_comment(run->id, text);
	return 0;
}

/* Have the batch job held: nobody knows that the job is over. */
static void run_judge_hold(struct run *run, const char *why)
{
	snprintf(run->hold, sizeof(run->hold), "%s", why);
	run->requeue = true;
}

static void run_judge(struct run *run, int wait_status)
{
	char why[sizeof(run->hold)];
	struct child_how next = { 0 };

	switch (child_judge(&run->child, wait_status, &run->status, &next)) {
	case POLICY_DONE:
		run->over = true;
		break;
	case POLICY_SAVED:
		/* By us, or by somebody's ckptctl checkpoint --kill; or lost: it has not ended. */
		run->requeue = true;
		break;
	case POLICY_AGAIN:
	case POLICY_OLDER:
		say_line("job %lld does not go on from generation %lld: trying %lld",
			 (long long)run->child.before.job, (long long)run->child.generation,
			 (long long)next.generation);
		run->retry = next;
		run->retry_ms = clock_monotonic_ms() + next.pause_ms;
		break;
	case POLICY_HOLD:
		snprintf(why, sizeof(why),
			 "job %lld does not go on, last tried from generation %lld (status %d)",
			 (long long)run->child.before.job, (long long)run->child.generation,
			 run->status);
		run_judge_hold(run, why);
		break;
	case POLICY_UNKNOWN:
		run_judge_hold(run, RUN_UNANSWERED);
		break;
	}
}

void run_reap(struct run *run)
{
	int wait_status;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		if (pid == run->child.pid)
			run_judge(run, wait_status);
		else
			port_ended(&run->port, pid, wait_status);
	}
}

/* Try the restart that is due, if one is; return when to look again. */
static int64_t run_retry(struct run *run)
{
	if (run->retry_ms && clock_monotonic_ms() >= run->retry_ms) {
		run->retry_ms = 0;
		if (run_start(run, &run->retry))
			run_judge_hold(run, "a restart cannot be tried again");
	}
	return run->retry_ms && run->retry_ms < run->next_ms ? run->retry_ms : run->next_ms;
}

/* Stay with the job until it has ended or is saved. */
static void run_follow(struct run *run)
{
	int64_t next;

	run->next_ms = clock_monotonic_ms() + run->look_ms;
	for (;;) {
		run_reap(run);
		next = run_retry(run);
		if (run->over || run->requeue)
			return;
		port_watch(&run->port);
		if (clock_monotonic_ms() >= run->next_ms ||
		    ((run->port.saved || *run->port.hold) &&
		     clock_monotonic_ms() >= run->again_ms))
			run_look(run);
		else
			run_sleep(run, next - clock_monotonic_ms());
	}
}

/* ------------------------------------------------------------------- main */

static int run_signals(struct run *run)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	/* libslurm and libmunge write to who may have hung up; the launched job needs us. */
	sigaction(SIGPIPE, &ignore, &run->pipe);
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
	run->signals = signalfd(-1, &run->handled, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signals < 0 ? -errno : 0;
}

/*
 * A launch that cannot begin in a later run of the batch job is held: a saved job must not be taken
 * for a new one, or for one that has ended, because of what is wrong with this node.
 */
static void run_hold_begin(struct run *run, int err)
{
	const char *why = err == -EBADMSG ? "the job " CHILD_HIDDEN :
			  err == -EHOSTDOWN ? RUN_UNANSWERED : strerror(-err);

	if (!*run->hold)
		snprintf(run->hold, sizeof(run->hold), "%s", why);
}

/*
 * The job that the batch job's comment names must be known here: an image directory that is not
 * mounted looks like one without jobs. 0, or -ENODEV with run->hold.
 */
static int run_check_images(struct run *run)
{
	struct batch_plan plan = { 0 };
	int i;

	for (i = 0; run->restarts && i < ASK_TRIES && batch_ask(run->id, &plan) == -EAGAIN; i++)
		run_sleep(run, 1000);
	run->commented = plan.saved;
	if (!plan.saved || saver_knows(plan.saved))
		return 0;
	snprintf(run->hold, sizeof(run->hold),
		 "job %lld has checkpoints, and is not in the image directory of this node: is it "
		 "mounted? (to begin anew all the same: scontrol update JobId=%u Comment=)",
		 (long long)plan.saved, run->id);
	return -ENODEV;
}

int run_hold(struct run *run, const char *why)
{
	snprintf(run->hold, sizeof(run->hold), "%s", why);
	return run_signals(run) ? RUN_FAILED : run_requeue(run);
}

int run_main(struct run *run)
{
	struct saver_job job;
	int err = run_signals(run);

	if (!err)
		err = run_check_images(run);
	run->port.mask = &run->before;
	run->port.pipe = &run->pipe;
	if (!err && run->restarts && run->hook &&
	    !saver_find_patiently(run->child.name, 0, &job) && job.newest &&
	    (job.saved || job.lost))
		run_hook(run, "restart");
	if (!err && run->script)
		err = port_open(&run->port);
	if (!err)
		err = run_start(run, NULL);
	if (err && run->restarts) {
		run_hold_begin(run, err);
	} else if (err) {
		say_line("%s", err == -EHOSTDOWN ? "ckptd of this node does not answer" :
			 strerror(-err));
		return RUN_FAILED;
	} else {
		run_follow(run);
	}
	return run->over ? run->status : run_requeue(run);
}
