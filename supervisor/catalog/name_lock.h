/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name lock keeps two ckptds from using one image directory under the same node name:
 * each would take the other's jobs for its own, find no running processes, and call them
 * lost.
 */
#ifndef STILLPOINT_NAME_LOCK_H
#define STILLPOINT_NAME_LOCK_H

struct ckpt_error;

/*
 * name_lock_take() - take the lock IMAGE_DIR/.ckptd-NODE, or check that it is still held
 * @lock: its descriptor, -1 before the first call; the caller closes it
 *
 * Call before reading or making jobs: the directory may have appeared since, or be another
 * one. -EBUSY: another ckptd has the lock, and @error says which. 0: this ckptd has the lock,
 * or nobody can: no such directory, read-only, or a file system without locks.
 */
int name_lock_take(const char *image_dir, const char *node, int *lock, struct ckpt_error *error);

#endif /* STILLPOINT_NAME_LOCK_H */
