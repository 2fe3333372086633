/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The units of this room, for their table.
 *
 * Each unit defines one struct state_kind, and nothing else that others see; the contract of that
 * is engine/core/state_kind.h.  A new kind is a line here and one in kinds.c.  Below are a few
 * functions that several units need.
 */
#ifndef STILLPOINT_KINDS_H
#define STILLPOINT_KINDS_H

#include "engine/core/state_kind.h"

extern const struct state_kind state_kind_timer;
extern const struct state_kind state_kind_aio;
extern const struct state_kind state_kind_tty;
extern const struct state_kind state_kind_pipe;
extern const struct state_kind state_kind_socket;
extern const struct state_kind state_kind_eventfd;
extern const struct state_kind state_kind_signalfd;
extern const struct state_kind state_kind_timerfd;
extern const struct state_kind state_kind_epoll;
extern const struct state_kind state_kind_sysv;
extern const struct state_kind state_kind_mqueue;
extern const struct state_kind state_kind_uring;
extern const struct state_kind state_kind_inotify;
extern const struct state_kind state_kind_lease;
extern const struct state_kind state_kind_pidfd;
extern const struct state_kind state_kind_fown;

/* kinds.c: the policy of a kind that the kernel module alone refuses, if anybody does. */
void kind_passes(struct dump *d, const struct state_file *file);
/*
 * Give a new descriptor the recorded status flags; it is close-on-exec already.
 * Return: @fd; -errno with a text, and @fd is closed
 */
int kind_flags(struct reopen *r, const struct state_file *file, int fd);

/*
 * Call @set with a descriptor of the file that has the lowest number at which the tree has it:
 * the number that a signal will tell. The call is made in a child, whose table nobody needs.
 * Return: 0 or -errno; @set returns negative with errno set
 */
int kind_at_number(struct reopen *r, const struct state_file *file, int (*set)(int fd));

#endif /* STILLPOINT_KINDS_H */
