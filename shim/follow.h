/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output of a job's other nodes, at its home: their shims write stdout.K and stderr.K in
 * the job's image directory, which all nodes see, and who is attached here is shown
 * what is in them.  For whole lines only where ranks have labels.
 */
#ifndef STILLPOINT_SHIM_FOLLOW_H
#define STILLPOINT_SHIM_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/spec.h"
#include "base/reactor.h"

struct shim_follow;

/* As root: files in @dir.  NULL where there is nothing to follow. */
int follow_open(const struct shim_spec *spec, int dir, struct shim_follow **ret_follow);
void follow_close(struct shim_follow *follow);	/* NULL is fine, for all of these */

/* Look every now and then, while @wanted(), and call @changed if there is more. */
int follow_start(struct shim_follow *follow, struct reactor *reactor,
		 bool (*wanted)(void *arg), void (*changed)(void *arg), void *arg);
/* Look now; true: what clients have to be shown has changed, or is not there any more. */
bool follow_look(struct shim_follow *follow);
/* Nothing more will be written: what is there is all, lines or not. */
void follow_finish(struct shim_follow *follow);

unsigned int follow_count(const struct shim_follow *follow);
/* Log @i, and how much of it may be shown; -1: none. */
int follow_log(const struct shim_follow *follow, unsigned int i, uint64_t *ret_ready);

#endif /* STILLPOINT_SHIM_FOLLOW_H */
