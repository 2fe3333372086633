// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text that goes with a negative errno.
 *
 * The library does not log: whoever handles an error prints it once.  A text
 * names the file, the place and the cause, and fits one line; what does not fit
 * is cut off, never an error of its own.
 */
#include <stdarg.h>
#include <stdio.h>

#include "image/fault.h"
#include "base/util.h"

int image_error_set(struct image_error *error, int err, const char *fmt, ...)
{
	va_list ap;

	if (error) {
		va_start(ap, fmt);
		vsnprintf(error->text, sizeof(error->text), fmt, ap);
		va_end(ap);
	}
	return err;
}

int fault_set(struct fault *f, int err, const char *file, uint64_t offset,
	      const char *fmt, ...)
{
	char text[sizeof(f->error.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f->file = file;
	f->offset = offset;
	return image_error_set(&f->error, err, "%s at %llu: %.200s", file,
			       (unsigned long long)offset, text);
}
