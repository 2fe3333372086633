/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a process of ours reports to the event loop: progress, one outcome, the
 * end.  Frames as on the control socket (libckptctl/wire.h).
 */
#ifndef STILLPOINT_CHANNEL_H
#define STILLPOINT_CHANNEL_H

#include <jansson.h>

#include "engine/core/engine.h"
#include "base/reactor.h"

struct channel;

struct channel_ops {
	/* @progress: {"phase": …, "done": …, "total": …}, or an event */
	void (*progress)(json_t *progress, void *arg);
	/* Once, last: the outcome, a new reference; NULL: it ended without one. */
	void (*outcome)(json_t *outcome, void *arg);
};

/* Takes over @fd, also on failure. */
int channel_open(struct reactor *reactor, int fd, const struct channel_ops *ops,
		 void *arg, struct channel **ret_channel);
void channel_close(struct channel *channel);	/* NULL is fine; no more calls */

/* The other end, in the process that reports; blocking. */
struct channel_reporter {
	int fd;
	int64_t last_ms;
	const char *phase;
};

/* As engine_progress_fn, arg a reporter; not more than some a second. */
void channel_report_progress(const struct engine_progress *progress, void *arg);
/* Each of them, whatever it is about. Both take over the reference. */
void channel_report_event(struct channel_reporter *reporter, json_t *event);
void channel_report_outcome(struct channel_reporter *reporter, json_t *outcome);

#endif /* STILLPOINT_CHANNEL_H */
