/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a node that did not answer can be reached, and the tally of several nodes' votes on that.
 *
 * A connection to the port of its ckptd tells three cases apart, without the help of that ckptd:
 * the kernel there refuses (the node runs, its ckptd does not), the kernel there accepts (ckptd has
 * the port, and hangs or is slow), or nothing comes back (the node is off, or the way is cut). The
 * node itself and a way to it are told apart by the votes of others.
 */
#ifndef STILLPOINT_DIAGNOSE_REACH_H
#define STILLPOINT_DIAGNOSE_REACH_H

#include <jansson.h>

enum reach {
	REACH_UNTRIED,		/* its address is not known here */
	REACH_NOTHING,		/* no sign of it before the deadline */
	REACH_REFUSED,		/* its kernel says that nobody has the port */
	REACH_LISTENS,		/* its kernel has taken the connection */
};

/**
 * struct reach_target - a node to be tried
 * @address: as in the hosts file, an IPv6 address in brackets
 * @found: by reach_try()
 */
struct reach_target {
	const char *address;
	unsigned int port;
	enum reach found;
	int sock;		/* of reach_try() */
};

/* Try all targets at once. Waits for up to @timeout_ms, and for names to be resolved. */
void reach_try(struct reach_target *targets, unsigned int nr, unsigned int timeout_ms);

const char *reach_name(enum reach found);	/* "untried", "nothing", "refused", "listens" */

/*
 * reach_tally() - what the votes on @node say; pure
 * @votes: [{"node": name, "by": name, "found": reach_name()}, ...], also on other nodes
 *
 * Return: a new reference, {"node": name, "is": "off", "votes": [...], "text": "..."}. "is":
 * "off" (none of several nodes reaches it), "unreached" (one node does not, and no other could be
 * asked), "no_daemon", "daemon_hangs", "link" (some reach it, others do not), "unknown".
 */
json_t *reach_tally(const char *node, const json_t *votes);

#endif /* STILLPOINT_DIAGNOSE_REACH_H */
