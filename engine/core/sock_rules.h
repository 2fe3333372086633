/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules for sockets that are connected to somebody outside of the tree; the text of --sockets.
 *
 * A rule is ACTION or PATTERN=ACTION, rules are separated by commas, and the first that fits
 * decides.  A pattern is compared with the peer: ADDRESS:PORT, with IPv6 [ADDRESS]:PORT, or the
 * name of a unix socket; a star in it stands for any text.  Where no rule fits, it is refused.
 */
#ifndef STILLPOINT_SOCK_RULES_H
#define STILLPOINT_SOCK_RULES_H

#include <stdbool.h>

#include <linux/ckpt.h>

/* The values are in images (struct engine_rec_sock_end): new ones are added at the end. */
enum sock_rule {
	SOCK_RULE_REFUSE = 0,
	SOCK_RULE_CLOSE = 1,	/* it comes back as if the peer had closed the connection */
	SOCK_RULE_RESET = 2,	/* … as if the peer had reset it */
};

/* Record SOCK_END: a socket whose peer is outside comes back without it, as a rule says. */
struct engine_rec_sock_end {
	struct ckpt_rec_hdr hdr;
	__u32 sock;
	__u32 action;		/* enum sock_rule */
};

#define SOCK_RULES_SYNTAX \
	"refuse, close or reset, or rules as 10.0.0.*:443=close,*=reset, separated by commas"

/* Are the rules well formed? */
bool sock_rules_valid(const char *rules);
/* The action for a socket whose peer is @peer. @rules: valid ones, or NULL: none. */
enum sock_rule sock_rules_decide(const char *rules, const char *peer);

#endif /* STILLPOINT_SOCK_RULES_H */
