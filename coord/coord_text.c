// SPDX-License-Identifier: GPL-2.0-only
/*
 * The coordinator's findings as text.
 *
 * Owns the sentences that ckptctl prints when a checkpoint or a restart was not
 * done: which rank is waited for, in which call, and for which peer.  The caller gives
 * the names of MPI calls (mpi_calls.def belongs to the glue).  No state, no allocation.
 */
#include "coord/coord.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const reason_texts[] = {
#define X(name, text) text,
	COORD_REASONS(X)
#undef X
};

const char *coord_reason_text(enum coord_reason reason)
{
	return (unsigned int)reason < COORD_WHYS ? reason_texts[reason] : "?";
}

struct text {
	char *at;
	size_t left;
};

static void coord_text_put(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void coord_text_put(struct text *text, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text->at, text->left, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= text->left)
		n = text->left ? (int)text->left - 1 : 0;
	text->at += n;
	text->left -= (size_t)n;
}

static void put_node(struct text *text, const struct coord_wait *wait, const char *node)
{
	if (node)
		coord_text_put(text, "node %s", node);
	else
		coord_text_put(text, "node %u", wait->node);
}

static void put_rank(struct text *text, const struct coord_wait *wait, const char *node,
		     const char *call)
{
	coord_text_put(text, ": rank %u on ", wait->rank);
	put_node(text, wait, node);
	if (call)
		coord_text_put(text, " is in %s", call);
	if (wait->peer != COORD_NONE)
		coord_text_put(text, "%s waits for rank %u", call ? " and" : "", wait->peer);
	if (wait->comm)
		coord_text_put(text, ", communicator %llx", (unsigned long long)wait->comm);
	if (wait->seq)
		coord_text_put(text, ", collective %llu of it", (unsigned long long)wait->seq);
}

int coord_describe(char *buf, size_t size, enum coord_reason reason,
		   const struct coord_wait *wait, const char *node, const char *call)
{
	struct text text = { buf, size };

	if (!size)
		return -EINVAL;
	coord_text_put(&text, "%s", coord_reason_text(reason));
	if (!wait || wait->node == COORD_NONE)
		return 0;
	if (wait->rank != COORD_NONE) {
		put_rank(&text, wait, node, call);
		return 0;
	}
	coord_text_put(&text, ": ");
	put_node(&text, wait, node);
	if (wait->reason == COORD_WHY_NO_ANSWER)
		coord_text_put(&text, " does not answer");
	return 0;
}
