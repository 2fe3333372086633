// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking ckptd; see ask.h.
 *
 * Owns the connection of a page and its deadline. Does not say what may be asked: route.c and the
 * pages do.
 */
#include "web/ask.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "libckptctl/handle.h"

int ask_place_open(struct ask_place *place, const char *socket, unsigned int timeout_s)
{
	place->socket = socket;
	place->timeout_s = timeout_s;
	return sem_init(&place->places, 0, ASK_AT_ONCE) ? -errno : 0;
}

static int64_t ask_left_ms(const struct ask *ask)
{
	int64_t left = ask->until_ms - clock_monotonic_ms();

	return left > 0 ? left : 0;
}

/* As handle_wait_fn. */
static int ask_wait(int sock, short events, void *arg)
{
	const struct ask *ask = arg;
	struct pollfd fd = { .fd = sock, .events = events };
	int n = poll(&fd, 1, (int)ask_left_ms(ask));

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n ? 0 : -ETIMEDOUT;
}

/* Wait for a place until the page's deadline. */
static int ask_hold(struct ask *ask)
{
	struct timespec until = { .tv_sec = (time_t)(ask->until_ms / 1000),
				  .tv_nsec = (long)(ask->until_ms % 1000) * 1000000 };
	int n;

	do {
		n = sem_clockwait(&ask->place->places, CLOCK_MONOTONIC, &until);
	} while (n && errno == EINTR);
	ask->held = !n;
	return n ? -EBUSY : 0;
}

static int ask_connect(struct ask *ask)
{
	int err = ask->err ? ask->err : ask->ckpt ? 0 : ask_hold(ask);

	if (!err && !ask->ckpt) {
		err = handle_connect(ask->place->socket,
				     (unsigned int)(ask_left_ms(ask) + 999) / 1000, &ask->ckpt);
		if (!err)
			handle_set_wait(ask->ckpt, ask_wait, ask);
	}
	ask->err = err;
	return err;
}

static json_t *ask_failed(const struct ask *ask, int err, const char *text)
{
	switch (err) {
	case -EBUSY:
		return outcome_error(-EBUSY, "%d pages wait for ckptd already, and it does not "
				     "answer: try again later", ASK_AT_ONCE);
	case -EAGAIN:	/* of connect(2) */
	case -ETIMEDOUT:
		return outcome_error(-ETIMEDOUT, "ckptd has not answered within %u s: is it "
				     "stopped (systemctl status ckptd)? Jobs that run are not "
				     "affected", ask->place->timeout_s);
	case -ENOENT:
	case -ECONNREFUSED:
		return outcome_error(-ENOTCONN, "ckptd does not run on this node: start it "
				     "(systemctl start ckptd)");
	default:
		return outcome_error(err, "ckptd cannot be asked: %s", text);
	}
}

json_t *ask_call(struct ask *ask, const char *verb, json_t *args)
{
	_cleanup_free_ char *text = json_dumps(args, JSON_COMPACT);
	json_t *outcome = NULL;
	int err = ask_connect(ask);

	json_decref(args);
	if (err)
		return ask_failed(ask, err, strerror(-err));
	if (!text)
		return outcome_error(-ENOMEM, "%s", strerror(ENOMEM));
	err = ckpt_call(ask->ckpt, verb, text, NULL, 0);
	if (*ckpt_answer(ask->ckpt))
		outcome = json_loads(ckpt_answer(ask->ckpt), 0, NULL);
	if (outcome)
		return outcome;
	ask->err = err ? err : -EPROTO;
	return ask_failed(ask, ask->err, ckpt_error_text(ask->ckpt));
}

void ask_begin(struct ask *ask, struct ask_place *place)
{
	*ask = (struct ask) {
		.place = place,
		.until_ms = clock_monotonic_ms() + 1000ll * place->timeout_s,
	};
}

void ask_end(struct ask *ask)
{
	ckpt_disconnect(ask->ckpt);
	if (ask->held)
		sem_post(&ask->place->places);
	ask->ckpt = NULL;
	ask->held = 0;
}
