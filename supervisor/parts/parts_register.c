// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers the questions and messages that nodes send about parts; see parts.h.
 *
 * Stands above all other files of parts/: none of them uses it, so that a file that answers a
 * question does not become part of their circle.
 */
#include "supervisor/parts/parts_priv.h"

int parts_register(struct daemon *daemon)
{
	int err;

	if (!nodes_asks(daemon->nodes))
		return 0;
	err = parts_fence_register(daemon);
	if (!err)
		err = parts_home_register(daemon);
	if (!err)
		err = parts_start_register(daemon);
	if (!err)
		err = parts_try_register(daemon);
	if (!err)
		err = parts_fetch_register(daemon);
	if (!err)
		err = parts_forget_register(daemon);
	if (!err)
		err = parts_pin_register(daemon);
	return err ? err : parts_away_register(daemon);
}
