/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bounds of a request, checked on its text before it is parsed: parsing takes memory and time
 * by the number of its JSON values, and the event loop parses the requests of all users.
 */
#ifndef STILLPOINT_REQUEST_HEAD_H
#define STILLPOINT_REQUEST_HEAD_H

#include <stddef.h>

#define REQUEST_SMALL	(32u << 10)	/* bytes of a request of most verbs */
#define REQUEST_DEPTH	16		/* lists and objects within each other */
#define REQUEST_VALUE	16		/* bytes of its limit that each value takes up */

/**
 * struct request_head - what a glance at the text of a request tells
 * @verb: the verb; "" if there is none, or one that no verb of ours looks like
 * @depth: the deepest nesting of lists and objects
 * @values: at least as many as a parser makes of the text, names of members included
 */
struct request_head {
	char verb[32];
	unsigned int depth;
	size_t values;
};

/* Look at @len bytes of text, which may be no JSON: the parser says so. */
struct request_head request_head(const char *text, size_t len);

/*
 * request_head_fits() - is a request of @len bytes within bounds, if its verb may have @max bytes?
 *
 * It may have one value for each REQUEST_VALUE bytes of @max.
 */
int request_head_fits(const struct request_head *head, size_t len, size_t max);

#endif /* STILLPOINT_REQUEST_HEAD_H */
