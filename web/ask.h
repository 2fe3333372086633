/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking ckptd, for one page: by its control socket, as the user whose process this is.
 *
 * ckptd decides by that user what it answers; nothing here adds to it. A page has one deadline for
 * all that it asks, and few pages ask at a time, so that a ckptd that hangs costs no more than
 * those, and the user's other connections to ckptd keep their places.
 */
#ifndef STILLPOINT_WEB_ASK_H
#define STILLPOINT_WEB_ASK_H

#include <jansson.h>
#include <semaphore.h>
#include <stdint.h>

#define ASK_AT_ONCE	8

struct ask_place {
	const char *socket;	/* NULL: the library's default */
	unsigned int timeout_s;	/* of a page */
	sem_t places;		/* ASK_AT_ONCE, by ask_place_open() */
};

struct ckpt;

struct ask {
	struct ask_place *place;
	int64_t until_ms;	/* CLOCK_MONOTONIC */
	struct ckpt *ckpt;	/* NULL: not connected */
	int err;		/* of the connection, after which no more is asked */
	int held;		/* a place is taken */
};

int ask_place_open(struct ask_place *place, const char *socket, unsigned int timeout_s);

void ask_begin(struct ask *ask, struct ask_place *place);
void ask_end(struct ask *ask);

/*
 * Make a request; takes over @args. The outcome is a new reference, as base/outcome.h has it: an
 * error with errno ETIMEDOUT if ckptd has not answered in time.
 */
json_t *ask_call(struct ask *ask, const char *verb, json_t *args);

#endif /* STILLPOINT_WEB_ASK_H */
