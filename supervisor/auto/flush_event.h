/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of a flush worker (storage/flush.h: "event"): a copy, a merge, a removal, or why a
 * generation cannot be copied. Each event goes into ckptd's log; a copy also goes into the job's
 * history, and a damaged base makes the job's next checkpoint a full one.
 */
#ifndef STILLPOINT_FLUSH_EVENT_H
#define STILLPOINT_FLUSH_EVENT_H

#include <jansson.h>

struct jobs;

/* Take @event, which stays the caller's. Its job may be gone. */
void flush_event_take(struct jobs *jobs, const json_t *event);

#endif /* STILLPOINT_FLUSH_EVENT_H */
