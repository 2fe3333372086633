// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers: work in a process of its own; see worker.h.
 *
 * A worker is a fork of the event loop's process, so it first resets what it inherited:
 * signals, descriptors, name, and the signal on the parent's death. The outcome is passed on
 * only after the process has ended as well (unless it stays), so that nothing of the worker is
 * left when the caller acts on the outcome.
 */
#include "supervisor/control/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/priority.h"
#include "base/outcome.h"

#define ABORT_MS	1000

struct worker {
	struct reactor *reactor;
	const char *name;
	const char *killed;
	pid_t pid;
	bool stays;
	struct channel *channel;
	struct reactor_source *child;
	struct reactor_source *timer;	/* of the deadline; NULL: none */
	unsigned int deadline_ms;
	json_t *outcome;
	bool over;		/* the channel has ended */
	bool ended;		/* the process has ended */
	int status;
	const struct channel_ops *ops;
	void *arg;
};

static json_t *worker_died(const struct worker *w)
{
	const char *so = w->killed ? w->killed : "nothing was changed";

	if (w->status > 0 && WIFSIGNALED(w->status))
		return outcome_error(-ECHILD, "the %s process was killed by signal %d (%s); %s",
				     w->name, WTERMSIG(w->status),
				     strsignal(WTERMSIG(w->status)), so);
	return outcome_error(-ECHILD, "the %s process ended without a word; %s", w->name, so);
}

/* A worker that stays is still ckptd's child: reap it, so that it leaves no zombie. */
static void on_late_end(int status, void *arg)
{
}

static void maybe_finish(struct worker *w)
{
	const struct channel_ops *ops = w->ops;
	void *arg = w->arg;
	json_t *outcome;

	if (!w->over || (!w->ended && !(w->stays && w->outcome)))
		return;
	outcome = w->outcome ? w->outcome : worker_died(w);
	reactor_remove(w->timer);
	reactor_remove(w->child);
	if (!w->ended)
		reactor_child(w->reactor, w->pid, on_late_end, NULL, &w->child);
	free(w);
	ops->outcome(outcome, arg);
}

static void worker_on_progress(json_t *progress, void *arg)
{
	struct worker *w = arg;

	w->ops->progress(progress, w->arg);
}

static void worker_on_outcome(json_t *outcome, void *arg)
{
	struct worker *w = arg;

	w->channel = NULL;
	w->outcome = outcome;
	w->over = true;
	maybe_finish(w);
}

static void worker_on_end(int status, void *arg)
{
	struct worker *w = arg;

	w->child = NULL;
	w->ended = true;
	w->status = status;
	maybe_finish(w);
}

static const struct channel_ops channel_ops = { worker_on_progress, worker_on_outcome };

/* ------------------------------------------------------------ the worker */

static void worker_default_signals(void)
{
	sigset_t none;
	int signo;

	for (signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Close all descriptors but 0 to 2, @report and those in @keep. */
static void close_others(int report, const int *keep)
{
	int top = report, fd;
	const int *k;

	for (k = keep; k && *k >= 0; k++) {
		if (*k > top)
			top = *k;
	}
	for (fd = 3; fd < top; fd++) {
		bool kept = fd == report;

		for (k = keep; k && *k >= 0; k++)
			kept = kept || *k == fd;
		if (!kept)
			close(fd);
	}
	close_range((unsigned int)top + 1, ~0U, 0);
}

_Noreturn static void worker_main(const struct worker_spec *spec, int report,
				  pid_t parent, int nice)
{
	struct channel_reporter reporter = { .fd = report };
	bool stays = spec->kind->flags & WORKER_STAYS;
	json_t *outcome;

	prctl(PR_SET_NAME, spec->kind->name);
	worker_default_signals();
	setsid();
	priority_set(nice);
	if (!stays)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	close_others(report, spec->keep);
	outcome = spec->kind->run(&reporter, spec->arg);
	stays = stays && outcome_is_ok(outcome);
	channel_report_outcome(&reporter, outcome);
	close(report);
	_exit(stays ? spec->kind->stay(spec->arg) : 0);
}

/* ------------------------------------------------------------ the daemon */

static void worker_on_deadline(void *arg)
{
	struct worker *w = arg;
	const struct channel_ops *ops = w->ops;
	json_t *outcome = json_incref(w->outcome);

	if (!outcome)
		outcome = outcome_error(-ETIMEDOUT,
					"the %s process has not ended within %u ms, and was killed",
					w->name, w->deadline_ms);
	arg = w->arg;
	w->timer = NULL;
	worker_leave(w);
	ops->outcome(outcome, arg);
}

int worker_start(const struct worker_parent *parent, const struct worker_spec *spec,
		 const struct channel_ops *ops, void *ops_arg,
		 struct worker **ret_worker)
{
	struct worker *w = calloc(1, sizeof(*w));
	pid_t self = getpid();
	int sock[2], err;

	if (!w)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock)) {
		free(w);
		return -errno;
	}
	w->pid = fork();
	if (!w->pid)
		worker_main(spec, sock[1], self, parent->nice);
	err = w->pid < 0 ? -errno : 0;
	close(sock[1]);
	if (err) {
		close(sock[0]);
		free(w);
		return err;
	}
	w->reactor = parent->reactor;
	w->name = spec->kind->name;
	w->killed = spec->kind->killed;
	w->stays = spec->kind->flags & WORKER_STAYS;
	w->deadline_ms = spec->kind->deadline_ms;
	w->ops = ops;
	w->arg = ops_arg;
	err = reactor_child(parent->reactor, w->pid, worker_on_end, w, &w->child);
	if (!err)
		err = channel_open(parent->reactor, sock[0], &channel_ops, w,
				   &w->channel);
	else
		close(sock[0]);
	if (!err && w->deadline_ms)
		err = reactor_timer(parent->reactor, w->deadline_ms, worker_on_deadline, w,
				    &w->timer);
	if (err) {
		worker_abort(w);
		return err;
	}
	*ret_worker = w;
	return 0;
}

/* True if the process ends within ABORT_MS. */
static bool wait_briefly(pid_t pid)
{
	const struct timespec slice = { .tv_nsec = 1000000 };
	unsigned int ms;

	for (ms = 0; ms < ABORT_MS; ms++) {
		if (waitpid(pid, NULL, WNOHANG))
			return true;
		nanosleep(&slice, NULL);
	}
	return false;
}

static void worker_end(struct worker *w, bool wait)
{
	channel_close(w->channel);
	reactor_remove(w->timer);
	reactor_remove(w->child);
	worker_kill(w, SIGKILL);
	if (!w->ended && !(wait && wait_briefly(w->pid)))
		reactor_child(w->reactor, w->pid, on_late_end, NULL, &w->child);
	json_decref(w->outcome);
	free(w);
}

void worker_abort(struct worker *w)
{
	if (w)
		worker_end(w, true);
}

void worker_leave(struct worker *w)
{
	worker_end(w, false);
}

void worker_kill(const struct worker *w, int signo)
{
	if (!w->ended)
		kill(w->pid, signo);
}

void worker_hold_sigterm(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

bool worker_is_to_stop(void *arg)
{
	sigset_t pending;

	return !sigpending(&pending) && sigismember(&pending, SIGTERM);
}

void worker_on_abandon(struct request *request, void *worker)
{
	(void)request;
	worker_kill(worker, SIGKILL);
}

void worker_step_back(void)
{
	priority_set(19);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

pid_t worker_pid(const struct worker *w)
{
	return w->pid;
}
