/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only for unit testing: what the ring says of its writes, as a test wants it.
 */
#ifndef STILLPOINT_IMAGE_WRITER_URING_H
#define STILLPOINT_IMAGE_WRITER_URING_H

#include <stdint.h>

#include "image/writer.h"

/* @res: what the kernel said of @len bytes at @offset; returns what is believed. */
typedef int (*writer_uring_fault_fn)(void *arg, uint64_t offset, uint32_t len, int res);

/* @w: made by image_writer_uring_create() */
void writer_uring_fault(struct image_writer *w, writer_uring_fault_fn fault, void *arg);

#endif /* STILLPOINT_IMAGE_WRITER_URING_H */
