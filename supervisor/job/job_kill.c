// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals for a job; see jobs.h.
 *
 * Signals go through the shim, so that init can write how the job ended. A shim that is stopped,
 * or waits for a disk that does not answer, leaves the message in the socket: then the job's
 * init is killed instead, and the kernel ends all of its namespace. Init is also killed if the
 * job does not end although init was told to kill it: init may not kill a process that has
 * become another user's.
 */
#include "supervisor/job/job_restore.h"
#include "supervisor/job/jobs.h"

#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "shim/identity.h"
#include "shim/proto.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "base/proc_stat.h"

#define LAST_RESORT_MS	5000	/* for the shim to read SHIM_SIGNAL */
#define TOLD_MS 25000 /* then for the job to end; again while its processes are exiting */
#define EXITING		0x4	/* the kernel's PF_EXITING: killed, and freeing its memory */

static void kill_init(const struct job *job, const char *why)
{
	log_warning(&jobs_common(job->jobs)->log, "job %lld: %s; killing init", (long long)job->id,
		    why);
	kill(job->init, SIGKILL);
}

/*
 * True if all children of init are exiting. Freeing much memory takes long, and killing init now
 * would lose how the job ended.
 */
static bool is_going(pid_t init)
{
	bool some = false, all = true;
	struct proc_stat stat;
	char path[64];
	int pid, err;
	FILE *f;

	if (proc_stat_read(init, &stat) || stat.state == 'T' || stat.state == 't')
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)init, (int)init);
	f = fopen(path, "re");
	while (f && all && fscanf(f, "%d", &pid) == 1) {
		some = true;
		err = proc_stat_read(pid, &stat);
		/* -ESRCH: the process has gone, and is no child any more */
		all = err == -ESRCH || (!err && stat.flags & EXITING);
	}
	if (f)
		fclose(f);
	return some && all;
}

static void job_kill_on_told(void *arg)
{
	struct job *job = arg;

	job->last_resort = NULL;
	if (!job->init ||
	    (is_going(job->init) && !reactor_timer(jobs_common(job->jobs)->reactor, TOLD_MS,
						   job_kill_on_told, job, &job->last_resort)))
		return;
	kill_init(job, "it was to be killed, and does not end");
}

static void on_last_resort(void *arg)
{
	struct job *job = arg;
	int unread = 0;

	job->last_resort = NULL;
	if (!job->init)
		return;
	if (job->shim < 0 || ioctl(job->shim, SIOCOUTQ, &unread) || unread)
		kill_init(job, "its shim does not read that it is to be killed");
	else if (reactor_timer(jobs_common(job->jobs)->reactor, TOLD_MS, job_kill_on_told, job,
			       &job->last_resort))
		kill_init(job, "no timer to see it end");
}

/*
 * Kill a job that is being started. Its shim reads no messages yet, so init is killed; the shim
 * finds it dead, and undoes the start.
 */
static json_t *kill_starting(struct job *job)
{
	struct identity id;
	json_t *why;
	int err = identity_read(job->state_dir, &id);

	if (!err && !id.init_alive)
		err = -ESRCH;
	/* parts_cancel() ends a hold, and then files are taken back */
	if (!err && !job_restore_is_busy(job) && kill(id.init, SIGKILL))
		err = -errno;
	if (job->parts) {
		why = outcome_error(-ECANCELED, "job %lld was killed while it was being started",
				    (long long)job->id);
		job->ops->parts_cancel(job->parts, why);
		json_decref(why);
		return NULL;
	}
	return err ? outcome_error(err,
				   "job %lld is just being started, and has no process yet: try "
				   "again",
				   (long long)job->id)
		   : NULL;
}

/* True if @signo means the end to programs that do not know better. */
static bool signal_ends(int signo)
{
	return signo == SIGKILL || signo == SIGTERM || signo == SIGINT || signo == SIGHUP ||
	       signo == SIGQUIT || signo == SIGABRT;
}

static void job_note_kill(struct job *job, int signo)
{
	job->kill_signal = signo;
	job->killed_ms = clock_monotonic_ms();
}

json_t *job_kill(struct job *job, int signo)
{
	struct shim_msg msg = { .type = SHIM_SIGNAL, .number = (uint64_t)signo };
	json_t *outcome;
	int err;

	if (job->state == JOB_STARTING && signo == SIGKILL && !job->node_index)
		return kill_starting(job);
	outcome = job_check_running(job);
	if (outcome)
		return outcome;
	if (signal_ends(signo))
		job_note_kill(job, signo);
	err = job->shim < 0 ? -ENOTCONN : shim_send(job->shim, &msg, NULL, 0, NULL, 0);
	if (job->parts)
		job->ops->parts_signal(job->parts, signo);
	if (signo != SIGKILL || !job->init)
		;
	else if (err)
		err = kill(job->init, SIGKILL) ? -errno : 0;
	else if (!job->last_resort)
		reactor_timer(jobs_common(job->jobs)->reactor, LAST_RESORT_MS, on_last_resort, job,
			      &job->last_resort);
	return err ? outcome_error(err, "job %lld cannot be signalled: %s", (long long)job->id,
				   strerror(-err)) : NULL;
}
