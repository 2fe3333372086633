/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A coordinator's record on disk: STATE_DIR/ID/coord, JSON, replaced as a whole.
 */
#ifndef STILLPOINT_COORD_RECORD_H
#define STILLPOINT_COORD_RECORD_H

#include "coord/coord.h"

#define COORD_RECORD_FILE "coord"

/* All zero if there is none. -EBADMSG: it cannot be read. */
int coord_record_read(const char *dir, struct coord_record *ret_record);
int coord_record_write(const char *dir, const struct coord_record *record);

#endif /* STILLPOINT_COORD_RECORD_H */
