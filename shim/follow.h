/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output of a job's other nodes, at its home: their shims write stdout.K and stderr.K in
 * the job's image directory, which all nodes see, and clients attached at the home are
 * shown these files.  Where ranks have labels, only whole lines are shown.
 */
#ifndef STILLPOINT_SHIM_FOLLOW_H
#define STILLPOINT_SHIM_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/spec.h"
#include "base/reactor.h"

struct shim_follow;

/* Call as root: makes and opens the files in @dir.  NULL: there is nothing to follow. */
int follow_open(const struct shim_spec *spec, int dir, struct shim_follow **ret_follow);
void follow_close(struct shim_follow *follow);	/* NULL is fine, here and below */

/* While @wanted() is true, look every 100 ms, and call @changed if a log has grown. */
int follow_start(struct shim_follow *follow, struct reactor *reactor,
		 bool (*wanted)(void *arg), void (*changed)(void *arg), void *arg);
/* Look now; true: the part that clients may see has grown, or a log was cut. */
bool follow_look(struct shim_follow *follow);
/* Nothing more will be written: show everything, an unfinished last line as well. */
void follow_finish(struct shim_follow *follow);

unsigned int follow_count(const struct shim_follow *follow);
/* Descriptor of log @i, and how many of its bytes may be shown; -1: no such log. */
int follow_log(const struct shim_follow *follow, unsigned int i, uint64_t *ret_ready);

#endif /* STILLPOINT_SHIM_FOLLOW_H */
