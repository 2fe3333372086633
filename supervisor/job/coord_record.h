/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A coordinator's record on disk: the JSON file STATE_DIR/ID/coord, replaced as a whole.
 *
 * Readers see the old or the new record, never a part. Call from any process of ckptd.
 */
#ifndef STILLPOINT_COORD_RECORD_H
#define STILLPOINT_COORD_RECORD_H

#include "coord/coord.h"

#define COORD_RECORD_FILE "coord"

/*
 * Read the record of @dir; all zero if there is none. A record that cannot be read (-EBADMSG) must
 * not be taken for an empty one: that would forget a commit.
 */
int coord_record_read(const char *dir, struct coord_record *ret_record);
int coord_record_write(const char *dir, const struct coord_record *record);

#endif /* STILLPOINT_COORD_RECORD_H */
