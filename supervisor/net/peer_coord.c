// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading coordinators' messages from another node; see peer.h.
 *
 * They are structs sent as they are, so the bytes are copied to where the struct is
 * aligned, and are checked before use. The coordinator judges what the fields mean.
 */
#include "supervisor/net/peer.h"

#include <errno.h>
#include <string.h>

int peer_coord_read(const struct peer_msg *msg, struct coord_msg *ret_msg)
{
	const size_t head = offsetof(struct coord_msg, view);
	struct coord_msg copy = { 0 };

	if (msg->len < head || msg->len > sizeof(copy))
		return -EPROTO;
	memcpy(&copy, msg->data, msg->len);
	if (!copy.kind || copy.kind >= COORD_MSGS || copy.count > COORD_BATCH ||
	    copy.from != msg->node || coord_msg_size(&copy) != msg->len)
		return -EPROTO;
	*ret_msg = copy;
	return 0;
}
