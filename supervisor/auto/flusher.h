/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flusher: copies committed generations to the levels in the background.
 *
 * A flush begins after each commit, at the start of ckptd, and again when a level did not work,
 * with a longer delay each time. The node has one flush worker at a time; nothing waits for it.
 * Requests that need the levels for themselves (rm, a restart that fetches) hold the flusher
 * for that long.
 */
#ifndef STILLPOINT_FLUSHER_H
#define STILLPOINT_FLUSHER_H

#include <jansson.h>
#include <stdbool.h>

struct device_watch;
struct job;
struct jobs;
struct flusher;

/* @devices: is told each copy; stays the caller's; NULL: devices are not watched */
int flusher_open(struct jobs *jobs, struct device_watch *devices, struct flusher **ret_flusher);
void flusher_close(struct flusher *flusher);		/* NULL is fine */

/*
 * @job may have a new generation, or a new tombstone: the worker ends after the copy under way,
 * and the next worker begins with the newest generation. @flusher may be NULL: ckptd is ending.
 */
void flusher_after_commit(struct flusher *flusher, const struct job *job);
/*
 * flusher_hold() - start no flush worker until flusher_release(), once for each hold
 *
 * A running worker is killed. True: no worker runs, and @fn is never called. False: @fn will be
 * called, once, when the worker has ended, or has not ended within 2 s, as when its disk hangs.
 */
bool flusher_hold(struct flusher *flusher, void (*fn)(void *arg), void *arg);
void flusher_release(struct flusher *flusher);
/*
 * Images of the job of that label were replaced or removed: forget which of its generations
 * could not be copied, so that they are tried again.
 */
void flusher_changed(struct flusher *flusher, const char *label);

/*
 * flusher_describe() - state of the flusher, as a new reference
 *
 *	{"running": bool, "left": N, "now": {"done", "total"} or null, "levels":
 *	 {NAME: {"failures", "text", "again_ms"}}, "bad": {NAME: text}}
 *
 * "levels" has only those that do not work; "again_ms" is the time until the next try.
 */
json_t *flusher_describe(const struct flusher *flusher);

#endif /* STILLPOINT_FLUSHER_H */
