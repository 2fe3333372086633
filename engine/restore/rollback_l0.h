/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's snapshot of the image's memory (L0), for a rollback.
 *
 * The kernel may have kept the snapshots that an image was written from, and then copies pages from
 * them. All of this comes before the rollback is begun: which snapshots there are, whether there is
 * room for them until its end, and which pages they lack.
 */
#ifndef STILLPOINT_ROLLBACK_L0_H
#define STILLPOINT_ROLLBACK_L0_H

#include "engine/core/kdev.h"
#include "engine/core/state.h"
#include "engine/restore/rollback_keep.h"
#include "image/reader.h"

/**
 * rollback_l0_look() - find the kernel's snapshots of maps that stay
 * @keep: of rollback_keep_look(); gets l0 and l0_runs of its maps
 * @dev: the context of the frozen tree, which holds from then on what was found
 *
 * Any failure means that pages are read from the image instead.
 */
void rollback_l0_look(struct rollback_keep *keep, const struct state *image,
		      struct image_reader *reader, struct kdev *dev);

#endif /* STILLPOINT_ROLLBACK_L0_H */
