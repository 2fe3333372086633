// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling in a struct ckpt_error.
 *
 * Owns the rule which of several texts stays, and the format of a finding as one line.
 * Nothing here prints, and nothing fails for want of memory: a finding that cannot be
 * kept leaves the text and the errno, which still say that the operation failed.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/reason.h"

void error_done(struct ckpt_error *error)
{
	if (!error)
		return;
	free(error->refusals);
	memset(error, 0, sizeof(*error));
}

int error_set(struct ckpt_error *error, int err, const char *format, ...)
{
	va_list args;

	if (error) {
		va_start(args, format);
		vsnprintf(error->text, sizeof(error->text), format, args);
		va_end(args);
		error->err = err;
	}
	return err;
}

int error_fail(struct ckpt_error *error, int err, const char *format, ...)
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

void error_refuse(struct ckpt_error *error, const struct error_refusal *refusal,
		   const char *format, ...)
{
	struct error_refusal *more;
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
static size_t error_describe(char *buf, size_t size, const struct error_refusal *refusal)
{
	const char *text = reason_text(refusal->reason);
	int len;

	if (refusal->pid)
		len = snprintf(buf, size, "pid %d%s%s%s: %s%s%s", refusal->pid,
			       refusal->comm[0] ? " (" : "", refusal->comm,
			       refusal->comm[0] ? ")" : "", text,
			       refusal->detail[0] ? ": " : "", refusal->detail);
	else
		len = snprintf(buf, size, "%s%s%s", text,
			       refusal->detail[0] ? ": " : "", refusal->detail);
	return len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1;
}

int error_refused(struct ckpt_error *error, const char *what)
{
	size_t len;

	if (!error || !error->nr_refusals)
		return 0;
	if (!error->text[0]) {
		len = error_describe(error->text, sizeof(error->text), &error->refusals[0]);
		if (error->nr_refusals > 1)
			snprintf(error->text + len, sizeof(error->text) - len,
				 " (and %u more against the %s)",
				 error->nr_refusals - 1, what);
	}
	error->err = -EOPNOTSUPP;
	return -EOPNOTSUPP;
}
