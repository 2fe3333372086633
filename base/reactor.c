// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event loop: epoll with sources for descriptors, timers, processes and
 * signals.
 *
 * All sources are on one list.  A removed source is marked dead and taken out of the
 * epoll set at once, but freed only after the round in which it was removed, so that a
 * pointer in the batch that epoll_wait() returned is never stale.
 * Handlers must not block.
 */
#include "base/reactor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH	512	/* events of a turn: more than clients of ckptd */

struct reactor_source {
	struct reactor *reactor;
	struct reactor_source *next;
	struct reactor_source **link;
	int fd;
	bool own_fd;
	bool dead;
	bool late;
	void (*dispatch)(struct reactor_source *source, uint32_t events);
	union {
		reactor_fd_fn fd_fn;
		reactor_timer_fn timer_fn;
		reactor_child_fn child_fn;
		reactor_signal_fn signal_fn;
	};
	pid_t pid;
	void *arg;
};

struct reactor {
	int epoll;
	bool stop;
	struct reactor_source *sources;
	struct reactor_source *dead;
};

int reactor_create(struct reactor **ret_reactor)
{
	struct reactor *reactor = calloc(1, sizeof(*reactor));

	if (!reactor)
		return -ENOMEM;
	reactor->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (reactor->epoll < 0) {
		int err = -errno;

		free(reactor);
		return err;
	}
	*ret_reactor = reactor;
	return 0;
}

static void reactor_bury(struct reactor *reactor)
{
	struct reactor_source *source;

	while ((source = reactor->dead)) {
		reactor->dead = source->next;
		free(source);
	}
}

void reactor_destroy(struct reactor *reactor)
{
	if (!reactor)
		return;
	while (reactor->sources)
		reactor_remove(reactor->sources);
	reactor_bury(reactor);
	close(reactor->epoll);
	free(reactor);
}

static void reactor_dispatch(const struct epoll_event *events, int n, bool late)
{
	int i;

	for (i = 0; i < n; i++) {
		struct reactor_source *source = events[i].data.ptr;

		if (!source->dead && source->late == late)
			source->dispatch(source, events[i].events);
	}
}

/* @timeout: of epoll_wait(2) */
static int reactor_round(struct reactor *reactor, int timeout)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(reactor->epoll, events, BATCH, timeout);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	reactor_dispatch(events, n, false);
	reactor_dispatch(events, n, true);
	reactor_bury(reactor);
	return 0;
}

int reactor_run(struct reactor *reactor)
{
	int err = 0;

	while (!reactor->stop && !err)
		err = reactor_round(reactor, -1);
	if (!err)
		reactor->stop = false;
	return err;
}

int reactor_turn(struct reactor *reactor)
{
	return reactor_round(reactor, 0);
}

int reactor_poll_fd(const struct reactor *reactor)
{
	return reactor->epoll;
}

void reactor_stop(struct reactor *reactor)
{
	reactor->stop = true;
}

/* Takes over @fd if @own_fd, also on failure. */
static int reactor_add(struct reactor *reactor, int fd, bool own_fd, uint32_t events,
		       struct reactor_source **ret_source)
{
	struct reactor_source *source = calloc(1, sizeof(*source));
	struct epoll_event event = { .events = events, .data.ptr = source };
	int err = -ENOMEM;

	if (source && !epoll_ctl(reactor->epoll, EPOLL_CTL_ADD, fd, &event)) {
		source->reactor = reactor;
		source->fd = fd;
		source->own_fd = own_fd;
		source->next = reactor->sources;
		source->link = &reactor->sources;
		if (source->next)
			source->next->link = &source->next;
		reactor->sources = source;
		*ret_source = source;
		return 0;
	}
	if (source)
		err = -errno;
	if (own_fd)
		close(fd);
	free(source);
	return err;
}

void reactor_remove(struct reactor_source *source)
{
	if (!source || source->dead)
		return;
	source->dead = true;
	epoll_ctl(source->reactor->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	if (source->own_fd)
		close(source->fd);
	*source->link = source->next;
	if (source->next)
		source->next->link = source->link;
	source->next = source->reactor->dead;
	source->reactor->dead = source;
}

int reactor_events(struct reactor_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	if (epoll_ctl(source->reactor->epoll, EPOLL_CTL_MOD, source->fd, &event))
		return -errno;
	return 0;
}

void reactor_late(struct reactor_source *source)
{
	source->late = true;
}

/* ----------------------------------------------------------- descriptors */

static void dispatch_fd(struct reactor_source *source, uint32_t events)
{
	source->fd_fn(events, source->arg);
}

int reactor_fd(struct reactor *reactor, int fd, uint32_t events,
	       reactor_fd_fn fn, void *arg, struct reactor_source **ret_source)
{
	struct reactor_source *source;
	int err = reactor_add(reactor, fd, false, events, &source);

	if (err)
		return err;
	source->dispatch = dispatch_fd;
	source->fd_fn = fn;
	source->arg = arg;
	*ret_source = source;
	return 0;
}

/* ---------------------------------------------------------------- timers */

static void dispatch_timer(struct reactor_source *source, uint32_t events)
{
	reactor_timer_fn fn = source->timer_fn;
	void *arg = source->arg;

	reactor_remove(source);
	fn(arg);
}

int reactor_timer(struct reactor *reactor, uint64_t ms, reactor_timer_fn fn,
		  void *arg, struct reactor_source **ret_source)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000) * 1000000 + 1 },
	};
	struct reactor_source *source;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int err;

	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, 0, &when, NULL)) {
		err = -errno;
		close(fd);
		return err;
	}
	err = reactor_add(reactor, fd, true, EPOLLIN, &source);
	if (err)
		return err;
	source->dispatch = dispatch_timer;
	source->timer_fn = fn;
	source->arg = arg;
	*ret_source = source;
	return 0;
}

/* ------------------------------------------------------------- processes */

static void dispatch_child(struct reactor_source *source, uint32_t events)
{
	reactor_child_fn fn = source->child_fn;
	void *arg = source->arg;
	int status;

	if (waitpid(source->pid, &status, WNOHANG) != source->pid)
		status = -1;
	reactor_remove(source);
	fn(status, arg);
}

int reactor_child(struct reactor *reactor, pid_t pid, reactor_child_fn fn,
		  void *arg, struct reactor_source **ret_source)
{
	struct reactor_source *source;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int err;

	if (fd < 0)
		return -errno;
	err = reactor_add(reactor, fd, true, EPOLLIN, &source);
	if (err)
		return err;
	source->dispatch = dispatch_child;
	source->child_fn = fn;
	source->pid = pid;
	source->arg = arg;
	*ret_source = source;
	return 0;
}

/* --------------------------------------------------------------- signals */

static void dispatch_signals(struct reactor_source *source, uint32_t events)
{
	struct signalfd_siginfo info;

	while (!source->dead && read(source->fd, &info, sizeof(info)) == sizeof(info))
		source->signal_fn((int)info.ssi_signo, source->arg);
}

int reactor_signals(struct reactor *reactor, const sigset_t *set,
		    reactor_signal_fn fn, void *arg,
		    struct reactor_source **ret_source)
{
	struct reactor_source *source;
	int fd, err;

	if (sigprocmask(SIG_BLOCK, set, NULL))
		return -errno;
	fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	err = reactor_add(reactor, fd, true, EPOLLIN, &source);
	if (err)
		return err;
	source->dispatch = dispatch_signals;
	source->signal_fn = fn;
	source->arg = arg;
	*ret_source = source;
	return 0;
}
