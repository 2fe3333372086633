/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Promotion in the background: after each commit, at the start of ckptd, and again, later each
 * time, when a level did not work.  One worker at a time for the node; nothing waits for it.  What
 * needs the levels for itself (rm, a restart that fetches) has it stopped for that long.
 */
#ifndef STILLPOINT_FLUSHER_H
#define STILLPOINT_FLUSHER_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/daemon.h"

struct job;
struct flusher;

int flusher_open(struct daemon *daemon, struct flusher **ret_flusher);
void flusher_close(struct flusher *flusher);		/* NULL is fine */

/*
 * @job may have a new generation, or one less that is wanted: the worker ends after its copy,
 * and the next one begins with what is newest. NULL for the promoter is fine: ckptd leaves.
 */
void flusher_after_commit(struct flusher *flusher, const struct job *job);
/*
 * flusher_hold() - no worker until it is released as often as it was held
 *
 * True: there is none. False: there was one; @fn is called, once and later, when it has ended,
 * or does not end for as long as a disk that hangs may take.
 */
bool flusher_hold(struct flusher *flusher, void (*fn)(void *arg), void *arg);
void flusher_release(struct flusher *flusher);
/*
 * Images of the job of that label were replaced or removed: what could not be copied is tried
 * again.
 */
void flusher_changed(struct flusher *flusher, const char *label);

/*
 * flusher_describe() - what it does
 *
 *	{"running": bool, "left": N, "now": {"done", "total"} or null, "levels":
 *	 {NAME: {"failures", "text", "again_ms"}}, "bad": {NAME: text}}
 */
json_t *flusher_describe(const struct flusher *flusher);

#endif /* STILLPOINT_FLUSHER_H */
