/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which directory a level or a store was the first time, by the id of its marker (levels/marker.h), in
 * a file of the state directory: so that a mount point without its file system is not filled.
 */
#ifndef STILLPOINT_MOUNT_ID_H
#define STILLPOINT_MOUNT_ID_H

#include "base/error.h"
#include "levels/marker.h"
#include "base/log.h"

/* @ret_id stays as it is if nothing is remembered of @place. */
void mount_id_read(const char *path, const char *place, char ret_id[MARKER_ID_CHARS + 1]);
/*
 * Lost, it is made anew by the next: it guards against mistakes, not against power cuts.  If it cannot be
 * written, as when the disk is full, the place is used all the same, and that is logged.
 * @log: NULL: it is not
 */
void mount_id_write(const char *path, const char *place, const char *id, const struct log *log);

/*
 * mount_id_check() - is the directory of the store the one that it was?
 *
 * The first time it is marked.  -ESTALE: it is not; -ENOENT: there is none.
 */
int mount_id_check(const char *store, const char *node, const char *state_dir,
		      const struct log *log, struct ckpt_error *error);

#endif /* STILLPOINT_MOUNT_ID_H */
