/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event loop of ckptd and of ckpt-shim: descriptors, timers, processes and
 * signals, one thread, one handler at a time.
 *
 * A source calls its handler until the source is removed.  A handler may remove any
 * source, also its own: the handler of a removed source is not called again, and the
 * memory of the source lives until the round is over.
 *
 * A turn takes the events of all ready sources, up to some hundred, and calls the handlers of late
 * sources after those of all others. A reactor can be a source of another one: reactor_poll_fd() is
 * its descriptor, and the handler calls reactor_turn().
 */
#ifndef STILLPOINT_REACTOR_H
#define STILLPOINT_REACTOR_H

#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

struct reactor;
struct reactor_source;

int reactor_create(struct reactor **ret_reactor);
void reactor_destroy(struct reactor *reactor);	/* NULL is fine; drops all sources */

/* Serve events until reactor_stop(); may be called again. 0 or negative errno. */
int reactor_run(struct reactor *reactor);
void reactor_stop(struct reactor *reactor);
/* Serve the events that are there now, without waiting. 0 or negative errno. */
int reactor_turn(struct reactor *reactor);
/* Readable while reactor_turn() has something to do; stays the reactor's. */
int reactor_poll_fd(const struct reactor *reactor);

/* @events: EPOLLIN, EPOLLOUT, …  The descriptor stays the caller's. */
typedef void (*reactor_fd_fn)(uint32_t events, void *arg);
int reactor_fd(struct reactor *reactor, int fd, uint32_t events,
	       reactor_fd_fn fn, void *arg, struct reactor_source **ret_source);
/* Wait for other events from now on; 0: for none, but errors are still reported. */
int reactor_events(struct reactor_source *source, uint32_t events);
/* Call the handler after those of all other sources that are ready in the same turn. */
void reactor_late(struct reactor_source *source);

/* Call @fn once, @ms from now. The source is removed before the call. */
typedef void (*reactor_timer_fn)(void *arg);
int reactor_timer(struct reactor *reactor, uint64_t ms, reactor_timer_fn fn,
		  void *arg, struct reactor_source **ret_source);

/*
 * Call @fn once, when the process @pid has ended.  The status is that of waitpid(2), or
 * -1 if the process was not our child.  The source is removed before the call.
 */
typedef void (*reactor_child_fn)(int status, void *arg);
int reactor_child(struct reactor *reactor, pid_t pid, reactor_child_fn fn,
		  void *arg, struct reactor_source **ret_source);

/* Call @fn for every signal of @set; blocks these signals in the calling thread. */
typedef void (*reactor_signal_fn)(int signo, void *arg);
int reactor_signals(struct reactor *reactor, const sigset_t *set,
		    reactor_signal_fn fn, void *arg,
		    struct reactor_source **ret_source);

void reactor_remove(struct reactor_source *source);	/* NULL is fine */

#endif /* STILLPOINT_REACTOR_H */
