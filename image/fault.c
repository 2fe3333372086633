// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an image is damaged.
 *
 * Owns the form of the text: the file of the image and the offset stand before the cause.
 */
#include <stdarg.h>
#include <stdio.h>

#include "image/fault.h"
#include "base/cleanup.h"
#include "base/error.h"

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
	return error_set(&f->error, err, "%s at %llu: %.200s", file,
			       (unsigned long long)offset, text);
}
