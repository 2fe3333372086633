/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A channel carries the reports of a process of ckptd to the event loop: progress, then one
 * outcome. Its frames are those of the control socket (libckptctl/wire.h).
 */
#ifndef STILLPOINT_CHANNEL_H
#define STILLPOINT_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/core/engine.h"
#include "base/reactor.h"

struct channel;

struct channel_ops {
	/* @progress: {"phase": …, "done": …, "total": …}, or an event */
	void (*progress)(json_t *progress, void *arg);
	/* Called once, last. @outcome: a new reference; NULL: the process ended without one. */
	void (*outcome)(json_t *outcome, void *arg);
};

/* Takes over @fd, also on failure. */
int channel_open(struct reactor *reactor, int fd, const struct channel_ops *ops,
		 void *arg, struct channel **ret_channel);
/*
 * Send the reporter one byte, or nothing any more (@go false), so that it reads the end. A reporter
 * reads only where its kind of work says so.
 */
void channel_answer(struct channel *channel, bool go);
void channel_close(struct channel *channel);	/* NULL is fine; no more calls */

/* The reporting end of the channel, in the other process; blocking. */
struct channel_reporter {
	int fd;
	int64_t last_ms;
	const char *phase;
};

/* An engine_progress_fn whose arg is a reporter; limits how often it reports. */
void channel_report_progress(const struct engine_progress *progress, void *arg);
/* Report an event, never limited, or the outcome; both take over the reference. */
void channel_report_event(struct channel_reporter *reporter, json_t *event);
void channel_report_outcome(struct channel_reporter *reporter, json_t *outcome);

#endif /* STILLPOINT_CHANNEL_H */
