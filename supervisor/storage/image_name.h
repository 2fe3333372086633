/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of images on levels: which job, which generation, and which node's part of it.
 * A job of one node has one image in a generation, a job of several nodes one of each.
 */
#ifndef STILLPOINT_IMAGE_NAME_H
#define STILLPOINT_IMAGE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "levels/level.h"

/* "12-0123456789abcdef.gen-3", of one node "….node-1" behind it; @part < 0: of one image. */
int level_image_name(const char *label, int64_t generation, int part,
		    char ret_name[LEVEL_NAME_MAX + 1]);
/* The reverse: true if it is such a name; @label gets at most @size bytes. */
bool level_image_parse(const char *name, char *label, size_t size, int64_t *ret_generation,
		      int *ret_part);

#endif /* STILLPOINT_IMAGE_NAME_H */
