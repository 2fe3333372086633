/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the builder (and the init of a new PID namespace) to the caller of
 * restore_tree(): progress, refusals, and how it ended.  One socket pair of
 * messages between processes that were forked from each other.
 */
#ifndef STILLPOINT_RELAY_H
#define STILLPOINT_RELAY_H

#include "base/error.h"
#include "engine/restore/restore.h"

/* Builder's end. */
void relay_progress(int fd, const char *phase, uint64_t done, uint64_t total);
/* Last of all: what happened; @error's refusals too if it failed. */
void relay_result(int fd, int err, const struct ckpt_error *error,
		  const struct restore_stats *stats);
/* Init's: the tree is in its care, the caller may go. */
void relay_ready(int fd);

/**
 * relay_receive() - the caller's end: until the result is there
 * @pid: whose death is the end of it: the builder, or the init
 * @ready: wait for relay_ready() as well, if it succeeded
 *
 * Return: what the builder returned; -EPIPE if it ended without a result.
 */
int relay_receive(int fd, pid_t pid, bool ready, const struct restore_options *options,
		  struct restore_stats *ret_stats, struct ckpt_error *error);

#endif /* STILLPOINT_RELAY_H */
