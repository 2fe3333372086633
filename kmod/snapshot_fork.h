/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fork that clones a memory map.
 */
#ifndef _CKPT_SNAPSHOT_FORK_H
#define _CKPT_SNAPSHOT_FORK_H

#include <linux/types.h>

struct ckpt_capture;
struct ckpt_object;
struct kernel_clone_args;

/* Fork, in a parked thread of the map @obj; returns the child's pid or a negative errno. */
pid_t ckpt_snapshot_fork(struct ckpt_capture *cap, const struct ckpt_object *obj,
			 struct kernel_clone_args *args);

#endif /* _CKPT_SNAPSHOT_FORK_H */
