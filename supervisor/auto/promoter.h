/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Promotion in the background: after each commit, at the start of ckptd, and again, later each
 * time, when a level did not work.  One worker at a time for the node; nothing waits for it.  What
 * needs the levels for itself (rm, a restart that fetches) has it stopped for that long.
 */
#ifndef STILLPOINT_PROMOTER_H
#define STILLPOINT_PROMOTER_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/daemon.h"

struct job;
struct promoter;

int promoter_open(struct daemon *daemon, struct promoter **ret_promoter);
void promoter_close(struct promoter *promoter);		/* NULL is fine */

/*
 * @job may have a new generation, or one less that is wanted: the worker ends after its copy, and the next one begins with
 * what is newest. NULL for the promoter is fine: ckptd leaves.
 */
void promoter_after_commit(struct promoter *promoter, const struct job *job);
/*
 * promoter_hold() - no worker until it is released as often as it was held
 *
 * True: there is none. False: there was one; @fn is called, once and later, when it has ended, or does not end
 * for as long as a disk that hangs may take.
 */
bool promoter_hold(struct promoter *promoter, void (*fn)(void *arg), void *arg);
void promoter_release(struct promoter *promoter);
/* Images of the job of that label were replaced or removed: what could not be copied is tried again. */
void promoter_changed(struct promoter *promoter, const char *label);

/*
 * promoter_describe() - what it does
 *
 *	{"running": bool, "left": N, "now": {"done", "total"} or null, "levels":
 *	 {NAME: {"failures", "text", "again_ms"}}, "bad": {NAME: text}}
 */
json_t *promoter_describe(const struct promoter *promoter);

#endif /* STILLPOINT_PROMOTER_H */
