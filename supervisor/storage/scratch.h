/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scratch directory: this process's own directory below a common base, for images (and
 * parity) that are needed for a short time. Opening one removes what dead processes left in
 * the base.
 */
#ifndef STILLPOINT_SCRATCH_H
#define STILLPOINT_SCRATCH_H

#include "base/cleanup.h"
#include "base/error.h"

struct scratch_dir {
	char *path;		/* NULL: not open */
	int lock;
};

/* Make @base if it does not exist (its parent must), for root alone, and a directory in it. */
int scratch_dir_open(const char *base, struct scratch_dir *ret_dir, struct ckpt_error *error);
/* Remove the directory and everything in it; a zeroed one is fine. */
void scratch_dir_close(struct scratch_dir *dir);

#endif /* STILLPOINT_SCRATCH_H */
