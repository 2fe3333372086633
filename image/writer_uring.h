/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only for unit tests: a hook that replaces the results of the ring's writes, so that a test
 * can make writes fail or fall short.
 */
#ifndef STILLPOINT_IMAGE_WRITER_URING_H
#define STILLPOINT_IMAGE_WRITER_URING_H

#include <stdint.h>

#include "image/writer.h"

/* @res: the kernel's result for @len bytes at @offset; return the result to use instead. */
typedef int (*writer_uring_fault_fn)(void *arg, uint64_t offset, uint32_t len, int res);

/* @w: made by image_writer_uring_create() */
void writer_uring_fault(struct image_writer *w, writer_uring_fault_fn fault, void *arg);

#endif /* STILLPOINT_IMAGE_WRITER_URING_H */
