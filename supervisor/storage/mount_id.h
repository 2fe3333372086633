/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mount id: which directory a level or a store was the first time, by the id of its
 * marker (levels/marker.h), kept in a file of the state directory. A mount point without
 * its file system has another id, or none, and so is not filled.
 */
#ifndef STILLPOINT_MOUNT_ID_H
#define STILLPOINT_MOUNT_ID_H

#include "base/error.h"
#include "levels/marker.h"
#include "base/log.h"

/* @ret_id stays unchanged if the file does not name @place. */
void mount_id_read(const char *path, const char *place, char ret_id[MARKER_ID_CHARS + 1]);
/*
 * Remember the id of @place. If the file is lost, the next process makes it anew: it guards
 * against mistakes, not against power cuts. If it cannot be written, as when the disk is
 * full, the place is used all the same, and a warning is logged.
 * @log: NULL: do not log
 */
void mount_id_write(const char *path, const char *place, const char *id, const struct log *log);

/*
 * mount_id_check() - check that the store is the same directory as before
 *
 * The first time, the store is marked. -ESTALE: it is another directory; -ENOENT: there is
 * none.
 */
int mount_id_check(const char *store, const char *node, const char *state_dir,
		      const struct log *log, struct ckpt_error *error);

#endif /* STILLPOINT_MOUNT_ID_H */
