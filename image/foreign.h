/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes in an image that are not a user's own: whose memory layout he may not learn.
 */
#ifndef STILLPOINT_IMAGE_FOREIGN_H
#define STILLPOINT_IMAGE_FOREIGN_H

#include <sys/types.h>

#include "image/reader.h"

/**
 * image_foreign() - find a process that @uid could not trace when it was saved
 * @ret_pid: its number in the image
 *
 * By its users, capabilities, and whether its memory may be dumped, as ptrace(2) decides. Reads the
 * state stream from the start and leaves the reader at the start; of a locked image, which shows no
 * process, nothing is read.
 *
 * Return: 1: there is one; 0: there is none; negative errno
 */
int image_foreign(struct image_reader *r, uid_t uid, pid_t *ret_pid);

#endif /* STILLPOINT_IMAGE_FOREIGN_H */
