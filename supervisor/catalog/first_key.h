/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's key: making the first one, and the public name of the present one. A key is
 * made only when ckptd starts: one that vanishes later was lost, and must not be replaced.
 */
#ifndef STILLPOINT_FIRST_KEY_H
#define STILLPOINT_FIRST_KEY_H

#include "supervisor/catalog/catalog.h"
#include "base/log.h"

#define FIRST_KEY_NONE	1

/*
 * first_key_look() - tell what first_key_make() would find
 *
 * 0: there is a usable key; FIRST_KEY_NONE: there is none, and one may be made; negative errno as
 * of first_key_make().
 */
int first_key_look(const struct catalog *catalog, struct ckpt_error *error);

/*
 * first_key_make() - make the key of @catalog, if nothing there was written with another
 *	key
 *
 * The outcome is logged where it matters. 0: there is a usable key; -ENOENT: the key is
 * gone although jobs exist, or it is unknown whether jobs exist; other negative errno: the
 * key could not be made, or cannot be used.
 */
int first_key_make(const struct catalog *catalog, const struct log *log);

#define FIRST_KEY_NAME	33

/* A hexadecimal name that tells keys apart without betraying them; "": the key cannot be used. */
void first_key_name(const struct catalog *catalog, char ret_name[FIRST_KEY_NAME]);

#endif /* STILLPOINT_FIRST_KEY_H */
