/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * That no two ckptds have jobs in one image directory under one name of a node: each would take the other's
 * jobs for its own, find nothing of them running, and call them lost.
 */
#ifndef STILLPOINT_NAME_LOCK_H
#define STILLPOINT_NAME_LOCK_H

#include <stddef.h>

/*
 * name_lock_take() - have IMAGE_DIR/.ckptd-NODE, or find out that we have it still
 * @lock: its descriptor, -1 before the first time; the caller's to close
 *
 * To be asked before jobs are read or made: the directory may have come since, or be another one.
 * -EBUSY: another ckptd has it, and @why says which.  0: it is ours, or nobody can have it there: no such directory,
 * read-only, a file system without locks.
 */
int name_lock_take(const char *image_dir, const char *node, int *lock, char *why, size_t size);

#endif /* STILLPOINT_NAME_LOCK_H */
