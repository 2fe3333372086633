// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words to the user of a batch script; see say.h.
 *
 * A line is written at once: launches of one script share its error output.
 */
#include "scheduler/slurm/say.h"

#include <stdarg.h>
#include <stdio.h>

void say_line(const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "ckpt-slurm-run: %s\n", text);
}
