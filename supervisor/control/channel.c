// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process reports to the event loop; see channel.h.
 *
 * The channel ends with its outcome: nothing after that is read. It frees itself before it
 * passes the outcome on, so the handler may do what it likes.
 */
#include "supervisor/control/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libckptctl/wire.h"
#include "base/clock.h"
#include "base/outcome.h"

#define PROGRESS_MS	100

struct channel {
	int fd;
	struct wire_in in;
	struct reactor_source *source;
	const struct channel_ops *ops;
	void *arg;
};

void channel_close(struct channel *channel)
{
	if (!channel)
		return;
	reactor_remove(channel->source);
	wire_in_done(&channel->in);
	close(channel->fd);
	free(channel);
}

void channel_answer(struct channel *channel, bool go)
{
	if (!go || send(channel->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		shutdown(channel->fd, SHUT_WR);
}

static void channel_finish(struct channel *channel, json_t *outcome)
{
	const struct channel_ops *ops = channel->ops;
	void *arg = channel->arg;

	channel_close(channel);
	ops->outcome(outcome, arg);
}

/* True when the channel is finished, and freed. */
static bool take_frame(struct channel *channel, const char *body, size_t len)
{
	json_t *json = json_loadb(body, len, JSON_ALLOW_NUL, NULL);
	json_t *progress = json_object_get(json, "progress");

	wire_consume(&channel->in);
	if (progress) {
		channel->ops->progress(progress, channel->arg);
		json_decref(json);
		return false;
	}
	channel_finish(channel, json);
	return true;
}

static void channel_on_readable(uint32_t events, void *arg)
{
	struct channel *channel = arg;
	const char *body;
	size_t len;
	int n = wire_receive(&channel->in, channel->fd);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		channel_finish(channel, NULL);
		return;
	}
	while ((n = wire_next(&channel->in, &body, &len)) == 1) {
		if (take_frame(channel, body, len))
			return;
	}
	if (n < 0)
		channel_finish(channel, NULL);
}

int channel_open(struct reactor *reactor, int fd, const struct channel_ops *ops,
		 void *arg, struct channel **ret_channel)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	int err = -ENOMEM;

	if (channel) {
		err = fcntl(fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
		if (!err)
			err = reactor_fd(reactor, fd, EPOLLIN, channel_on_readable, channel,
					 &channel->source);
	}
	if (err) {
		free(channel);
		close(fd);
		return err;
	}
	channel->fd = fd;
	channel->in.limit = WIRE_ANSWER_MAX;
	channel->ops = ops;
	channel->arg = arg;
	*ret_channel = channel;
	return 0;
}

/* ------------------------------------------------------------- reporting */

static int channel_report(struct channel_reporter *reporter, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	int err = text ? wire_send(reporter->fd, text, strlen(text), NULL, 0) : -ENOMEM;

	json_decref(json);
	free(text);
	return err;
}

void channel_report_progress(const struct engine_progress *progress, void *arg)
{
	struct channel_reporter *reporter = arg;
	int64_t ms = clock_monotonic_ms();

	if (reporter->phase == progress->phase && ms < reporter->last_ms + PROGRESS_MS)
		return;
	reporter->phase = progress->phase;
	reporter->last_ms = ms;
	channel_report(reporter, json_pack("{s:{s:s, s:I, s:I}}", "progress",
					   "phase", progress->phase,
					   "done", (json_int_t)progress->done,
					   "total", (json_int_t)progress->total));
}

void channel_report_event(struct channel_reporter *reporter, json_t *event)
{
	channel_report(reporter, json_pack("{s:o}", "progress", event));
}

void channel_report_outcome(struct channel_reporter *reporter, json_t *outcome)
{
	if (channel_report(reporter, outcome) == -EMSGSIZE)
		channel_report(reporter, outcome_error(-EMSGSIZE, "the answer is too long to be "
								  "handed on: ask for less, or "
								  "with --standalone and the "
								  "image's directory"));
}
