/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The key of a node that has none, and which one it is.
 */
#ifndef STILLPOINT_FIRST_KEY_H
#define STILLPOINT_FIRST_KEY_H

#include "supervisor/catalog/catalog.h"
#include "base/log.h"

/*
 * first_key_make() - make the key of @catalog, if nothing there was written with another one
 *
 * What was done, or why nothing was, is logged where it matters.  0: there is a key; -ENOENT: it is gone,
 * and there are jobs, or that cannot be known; other negative errno: it could not be made, or cannot be used.
 */
int first_key_make(const struct catalog *catalog, const struct log *log);

#define FIRST_KEY_NAME	33

/* What tells keys apart and does not betray them, in hexadecimal; "": it cannot be used. */
void first_key_name(const struct catalog *catalog, char ret_name[FIRST_KEY_NAME]);

#endif /* STILLPOINT_FIRST_KEY_H */
