// SPDX-License-Identifier: GPL-2.0-only
/*
 * Errors and reasons of the engine.
 *
 * Owns the texts: the names of reasons come from linux/ckpt_reasons.def, the one
 * list.  An error keeps the first thing said about it, because that is the cause
 * and what follows are consequences.  Nothing here prints.
 */
#include "engine/core/engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reason {
	const char *name;
	const char *text;
	const char *advice;
};

static const struct reason reasons[] = {
#define CKPT_REASON(name, text, advice) { #name, text, advice },
#include <linux/ckpt_reasons.def>
#undef CKPT_REASON
};

static const struct reason *reason_find(uint32_t reason)
{
	static const struct reason unknown = {
		"UNKNOWN", "a reason this program does not know", "update Stillpoint",
	};

	return reason < CKPT_R__COUNT ? &reasons[reason] : &unknown;
}

const char *engine_reason_name(uint32_t reason)
{
	return reason_find(reason)->name;
}

const char *engine_reason_text(uint32_t reason)
{
	return reason_find(reason)->text;
}

const char *engine_reason_advice(uint32_t reason)
{
	return reason_find(reason)->advice;
}

void engine_error_done(struct engine_error *error)
{
	if (!error)
		return;
	free(error->refusals);
	memset(error, 0, sizeof(*error));
}

int engine_fail(struct engine_error *error, int err, const char *format, ...)
{
	va_list args;

	if (!error)
		return err;
	if (!error->text[0]) {
		va_start(args, format);
		vsnprintf(error->text, sizeof(error->text), format, args);
		va_end(args);
	}
	error->err = err;
	return err;
}

void engine_refuse(struct engine_error *error, const struct engine_refusal *refusal,
		   const char *format, ...)
{
	struct engine_refusal *more;
	va_list args;

	if (!error)
		return;
	more = reallocarray(error->refusals, error->nr_refusals + 1, sizeof(*more));
	if (!more)
		return;		/* the text and the errno still say that it failed */
	error->refusals = more;
	more += error->nr_refusals++;
	*more = *refusal;
	va_start(args, format);
	vsnprintf(more->detail, sizeof(more->detail), format, args);
	va_end(args);
}

/* "pid 12 (xz): a socket is open: fd 3 socket:[123]; advice" */
static size_t describe(char *buf, size_t size, const struct engine_refusal *refusal)
{
	const struct reason *reason = reason_find(refusal->reason);
	int len;

	if (refusal->pid)
		len = snprintf(buf, size, "pid %d%s%s%s: %s%s%s", refusal->pid,
			       refusal->comm[0] ? " (" : "", refusal->comm,
			       refusal->comm[0] ? ")" : "", reason->text,
			       refusal->detail[0] ? ": " : "", refusal->detail);
	else
		len = snprintf(buf, size, "%s%s%s", reason->text,
			       refusal->detail[0] ? ": " : "", refusal->detail);
	return len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1;
}

int engine_refused(struct engine_error *error, const char *what)
{
	size_t len;

	if (!error || !error->nr_refusals)
		return 0;
	if (!error->text[0]) {
		len = describe(error->text, sizeof(error->text), &error->refusals[0]);
		if (error->nr_refusals > 1)
			snprintf(error->text + len, sizeof(error->text) - len,
				 " (and %u more against the %s)",
				 error->nr_refusals - 1, what);
	}
	error->err = -EOPNOTSUPP;
	return -EOPNOTSUPP;
}
