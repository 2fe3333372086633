/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP connections of a job's processes whose data nobody acknowledges: the kernel sends the same
 * packet again and again. A rank cannot tell a peer that is slow from a network that loses what it
 * sends; the kernel can, as the peer's kernel acknowledges also what its rank does not read.
 */
#ifndef STILLPOINT_DIAGNOSE_RESENT_H
#define STILLPOINT_DIAGNOSE_RESENT_H

#include <jansson.h>
#include <sys/types.h>

#define RESENT_MIN	3	/* attempts that failed: more than one second at least */

/*
 * resent_signs() - look for such connections of @pids, which are in one network namespace
 * @root: /proc is below; "" for this node's own
 *
 * Return: a new reference, [{"kind": "lost_packets", "object": "10.0.0.2", "connections": 3,
 * "count": 6, "text": "..."}, ...]: one for each address at the other end, with the most attempts
 * of one connection. Empty: there is none.
 */
json_t *resent_signs(const char *root, const pid_t *pids, size_t nr);

#endif /* STILLPOINT_DIAGNOSE_RESENT_H */
