/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fault: the cause and place of damage in an image; the reader's side of an error.
 */
#ifndef STILLPOINT_IMAGE_FAULT_H
#define STILLPOINT_IMAGE_FAULT_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct fault {
	const char *file;	/* name of a file of the image, constant */
	uint64_t offset;
	struct ckpt_error error;
};

/* Set the fault and return @err; the text gets "FILE at OFFSET: " in front. */
__attribute__((format(printf, 5, 6)))
int fault_set(struct fault *f, int err, const char *file, uint64_t offset,
	      const char *fmt, ...);

#endif /* STILLPOINT_IMAGE_FAULT_H */
