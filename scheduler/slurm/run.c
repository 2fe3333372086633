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
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/slurm/batch.h"
#include "scheduler/slurm/say.h"

#define RARE_LOOKS	12	/* looks at the job for one at its nodes and its generations */
#define OTHERS_MS	600000	/* for the other launches of the script to be saved */
#define END_MS		900000	/* for a slurmctld that answers to requeue and end us */
#define RUN_UNANSWERED	"ckptd of the node does not answer, and the job may be saved"
#define REQUEUE_MS	10000	/* for Slurm to begin with a requeue that it has accepted */

/* ------------------------------------------------------------------- plan */

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

	run->moved = false;
	if (*run->port.hold) {
		snprintf(run->hold, sizeof(run->hold), "%s", run->port.hold);
		return run->hold;
	}
	if (launch_is_demanded(&run->launch) || run->port.saved)
		return "another job of the script is saved";
	if (batch_ask(run->id, &plan))
		return NULL;
	if (plan.preempted)
		return "Slurm preempts the batch job";
	if (limit_is_near(run, &plan))
		return "the time limit is near";
	run->moved = *plan.move && plan.requeue;
	if (run->moved) {
		snprintf(run->reason, sizeof(run->reason), "the job is to move to %s", plan.move);
		return run->reason;
	}
	return run_is_drained(run, &plan) ? run->reason : NULL;
}

/* Name a generation that was taken meanwhile in the comment of the batch job. */
static void run_tell_generation(struct run *run)
{
	struct saver_job job;
	char text[96];

	if (run->looks % RARE_LOOKS || saver_find(run->child.name, &job) || !job.runs ||
	    job.newest <= run->told_generation)
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

void run_sleep(struct run *run, int64_t ms)
{
	struct pollfd fds[2] = { { .fd = run->signals, .events = POLLIN },
				 { .fd = run->port.fd, .events = POLLIN } };
	struct signalfd_siginfo info;

	if (ms > 0)
		poll(fds, 2, (int)(ms > INT32_MAX ? INT32_MAX : ms));
	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD && run->child.pid)
			kill(run->child.pid, (int)info.ssi_signo);
	}
	if (fds[1].revents)
		port_take(&run->port);
}

static int run_start(struct run *run, int64_t generation)
{
	struct child_how how = {
		.argv = run->argv, .generation = generation, .mask = &run->before,
		.pipe = &run->pipe,
		/* Numbers of batch jobs may begin anew: only a requeued one was here before. */
		.anew = !run->restarts, .rerun = run->script != NULL,
	};
	char text[256];
	int err = child_start(&run->child, &how);

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
	int64_t older;

	switch (child_judge(&run->child, wait_status, &run->status, &older)) {
	case POLICY_DONE:
		run->over = true;
		break;
	case POLICY_SAVED:
		/* By us, or by somebody's ckptctl checkpoint --kill; or lost: it has not ended. */
		run->requeue = true;
		break;
	case POLICY_OLDER:
		say_line("job %lld does not go on from generation %lld: trying %lld",
			 (long long)run->child.before.job, (long long)run->child.generation,
			 (long long)older);
		if (run_start(run, older))
			run_judge_hold(run, "an older generation cannot be tried");
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

/* Stay with the job until it has ended or is saved. */
static void run_follow(struct run *run)
{
	run->next_ms = clock_monotonic_ms() + run->look_ms;
	for (;;) {
		run_reap(run);
		if (run->over || run->requeue)
			return;
		port_watch(&run->port);
		if (clock_monotonic_ms() >= run->next_ms ||
		    ((run->port.saved || *run->port.hold) &&
		     clock_monotonic_ms() >= run->again_ms))
			run_look(run);
		else
			run_sleep(run, run->next_ms - clock_monotonic_ms());
	}
}

/* Call the user's program, as `HOOK save` and `HOOK restart`; its failure changes nothing. */
static void run_hook(struct run *run, const char *when)
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

/* ---------------------------------------------------------------- requeue */

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

/* Tell that the batch job is saved and goes nowhere by itself. */
static int run_stays(const struct run *run, const char *why)
{
	long long job = (long long)run->child.before.job;
	struct saver_job saved = { 0 };

	saver_find(run->child.name, &saved);
	job = job ?: (long long)saved.job;
	if (*run->hold)
		say_line("%s", run->hold);
	say_line("job %lld is %s, but batch job %u is not requeued: %s; to go on: ckptctl restart "
		 "--attach %lld", job, run_word(&saved), run->id, why, job);
	return RUN_FAILED;
}

/* Say what was requeued, here and in the job's comment. */
static void run_tell(const struct run *run)
{
	struct saver_job saved = { 0 };
	char text[768];

	saver_find(run->child.name, &saved);
	if (*run->hold)
		snprintf(text, sizeof(text), "held: %.500s; scontrol release %u tries again",
			 run->hold, run->id);
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
static bool run_is_refused(struct run *run, const char **ret_why)
{
	struct batch_plan plan = { .requeue = true };
	int err = batch_ask(run->id, &plan);

	if (err == -ESRCH || (!err && run_is_requeued(run, &plan)))
		return false;
	if (!plan.requeue) {
		*ret_why = "Slurm must not requeue it (sbatch --requeue)";
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

/* The job is saved; have Slurm start the script again, and wait for the end. */
static int run_requeue(struct run *run)
{
	struct batch_plan plan = { .requeue = true };
	const char *why = "";
	int64_t began, left = END_MS;

	if (run->launch.fd >= 0)
		wait_for_others(run);
	if (!*run->hold)
		run_hook(run, "save");
	batch_ask(run->id, &plan);
	if (plan.requeue)
		run_tell(run);
	while (left > 0) {
		began = clock_monotonic_ms();
		if (run_is_refused(run, &why))
			return run_stays(run, why);
		run_sleep(run, run->away ? 1000 : REQUEUE_MS);
		/* While slurmctld is away the script must not go on without its saved job. */
		if (!run->away)
			left -= clock_monotonic_ms() - began;
	}
	say_line("batch job %u is saved, and Slurm does not end it", run->id);
	return RUN_FAILED;
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

	snprintf(run->hold, sizeof(run->hold), "%s", why);
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

	run->port.mask = &run->before;
	run->port.pipe = &run->pipe;
	if (!err && run->restarts && run->hook &&
	    !saver_find_patiently(run->child.name, 0, &job) && job.newest &&
	    (job.saved || job.lost))
		run_hook(run, "restart");
	if (!err && run->script)
		err = port_open(&run->port);
	if (!err)
		err = run_start(run, 0);
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
