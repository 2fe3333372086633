/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places of a diagnosis, as people read them.
 */
#ifndef STILLPOINT_DIAG_PLACE_H
#define STILLPOINT_DIAG_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Add "name" to each place of the result, where a file here has the symbols. Root reads files as
 * the user "uid" of the result, or as nobody if the result does not say whose job it is.
 */
void diag_name_places(const json_t *result);
/* "compute+0x12 (hpl)", "libm.so.6+0x4711", "-"; without the offset if not @exact. */
const char *diag_place(const json_t *place, bool exact, char *buf, size_t size);

#endif /* STILLPOINT_DIAG_PLACE_H */
