/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A directory of this process below one that several have, for images (and parity) that are needed
 * for a moment.  Whoever opens one removes what dead processes left.
 */
#ifndef STILLPOINT_SCRATCH_H
#define STILLPOINT_SCRATCH_H

#include "base/cleanup.h"
#include "base/error.h"

struct scratch_dir {
	char *path;		/* NULL: not open */
	int lock;
};

/* @base is made if it is not there (its parent is not), for root alone. */
int scratch_dir_open(const char *base, struct scratch_dir *ret_dir, struct ckpt_error *error);
/* With everything that is in it; a zeroed one is fine. */
void scratch_dir_close(struct scratch_dir *dir);

#endif /* STILLPOINT_SCRATCH_H */
