/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages from the builder (and the init of a new PID namespace) to the caller of
 * restore_tree(): progress, refusals, and the result.  They go through one socket pair
 * between processes that were forked from each other.
 */
#ifndef STILLPOINT_RELAY_H
#define STILLPOINT_RELAY_H

#include "base/error.h"
#include "engine/restore/restore.h"

/* From the builder: how far the restore is. */
void relay_progress(int fd, const char *phase, uint64_t done, uint64_t total);
/* From the builder: a line for people about something that it does, or would do. */
void relay_note(int fd, const char *text);
/* From the builder: a file that other nodes may have (struct engine_given). */
void relay_given(int fd, const struct engine_given_file *file);
/* From the builder, last of all: the result; after a failure also the refusals in @error. */
void relay_result(int fd, int err, const struct ckpt_error *error,
		  const struct restore_stats *stats);
/* From the init: it keeps the tree now, and the caller may exit. */
void relay_ready(int fd);

/* From the builder: have the caller do @step, and wait. 0, or negative errno: it failed. */
int relay_ask(int fd, int step);
typedef int (*relay_ask_fn)(int step, void *arg);

/**
 * relay_receive() - the caller's end: receive messages until the result is there
 * @pid: the sender, builder or init; its death ends the wait
 * @asked: does what relay_ask() asks for; NULL: nothing may be asked
 * @ready: after a success wait for relay_ready(), too
 *
 * Return: the builder's result; -EPIPE if the sender died without a result.
 */
int relay_receive(int fd, pid_t pid, bool ready, const struct restore_options *options,
		  relay_ask_fn asked, void *arg, struct restore_stats *ret_stats,
		  struct ckpt_error *error);

#endif /* STILLPOINT_RELAY_H */
