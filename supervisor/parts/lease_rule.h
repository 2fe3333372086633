/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the lease of a part that is silent has surely run out.
 *
 * Pure: no I/O, no clock. The part counts its lease from the moment at which it asked; the home
 * counts from the moment at which it answered, which is later. So the part's lease ends first,
 * however long a message was on its way, unless a clock runs too slowly: for that, and for the
 * time that processes take to end, there is a margin.
 *
 * A home believes only in a lease that the part itself has reported: a node without the module, or
 * with an older one, has none, and its silence proves nothing.
 */
#ifndef STILLPOINT_LEASE_RULE_H
#define STILLPOINT_LEASE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define LEASE_MAX_MS	3600000
#define LEASE_MARGIN_MS	3000

/* A part's lease as its home knows it; {} at first. Times are of the home's CLOCK_BOOTTIME. */
struct lease_grant {
	int64_t until_ms;	/* the lease ends before that */
	int64_t length_ms;	/* longest that the part may hold */
	bool held;		/* the part reported last that it holds a lease */
};

/**
 * lease_grant_note() - a part has reported, and is granted a lease by the answer
 * @now_ms: not before the answer is sent
 * @held_ms: length of the lease that the part reported to hold; 0: none
 * @granted_ms: length that the answer grants; 0: none, and the part gives its lease up when it
 *	hears that
 */
void lease_grant_note(struct lease_grant *grant, int64_t now_ms, int64_t held_ms,
		      int64_t granted_ms);

/* True if the part's processes have surely been ended. */
bool lease_grant_is_over(const struct lease_grant *grant, int64_t now_ms);

#define LISTEN_GAP_MS	1000	/* between two ticks of a daemon that runs */

/*
 * Since when a daemon has listened without a break; {} at first. A daemon that stood still (a
 * file system that hung, a virtual machine that was paused) finds the words of others waiting,
 * but its timers first: it must not take its own silence for theirs.
 */
struct listening {
	int64_t tick_ms;	/* last tick; 0: none yet */
	int64_t since_ms;
};

/* Note a tick of the daemon's own timer, by a clock that also counts while it stands still. */
void listening_tick(struct listening *listening, int64_t now_ms);
/* How long a node last heard at @heard_ms has been silent while this one listened. */
int64_t listening_silence_ms(const struct listening *listening, int64_t now_ms, int64_t heard_ms);

#endif /* STILLPOINT_LEASE_RULE_H */
