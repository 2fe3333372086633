/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deciding which generations of a job may be removed. Decisions only: no disk, no clock.
 *
 * Never removed, whatever the rule: the newest generation that can be restarted from, and
 * all newer ones; the newest of these whose memory is not doubted; the newest two that a vote has
 * found right, as an error may be found late; generations that are pinned, in use, or waited for
 * by a level; those of another job, key or version, whose worth nobody here can judge; and all, if
 * none can be restarted from, as it is then not known what is left of the job. The order is by
 * number: clocks go backwards.
 */
#ifndef STILLPOINT_RETENTION_H
#define STILLPOINT_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The rule keeps the newest @keep generations that can be restarted from, and those whose
 * number is a multiple of @keep_every. If they take more than @max_size bytes, the oldest
 * are removed until they do not. 0: no such rule. @keep_every alone keeps the newest as
 * well.
 */
struct retention_rule {
	unsigned int keep;
	unsigned int keep_every;
	uint64_t max_size;
};

#define RETENTION_GOOD		(1U << 0)	/* can be restarted from, as far as was checked */
#define RETENTION_PINNED	(1U << 1)
#define RETENTION_IN_USE	(1U << 2)	/* by a restore */
#define RETENTION_UNDECIDED	(1U << 3)	/* may still be abandoned: counts for nothing */
#define RETENTION_AWAITED	(1U << 4)	/* a level has yet to get it */
/* not this job's, or not readable by this ckptd */
#define RETENTION_FOREIGN	(1U << 5)
/*
 * Not known to be good, but counted among the newest to keep: it may well be good, and
 * older ones are then not needed. It never stands in for the newest generation that can be
 * restarted from, which is kept besides.
 */
#define RETENTION_COUNTS	(1U << 6)
#define RETENTION_DOUBTED	(1U << 7)	/* suspect or rejected: trust.h */
#define RETENTION_VERIFIED	(1U << 8)	/* verified or repaired by a vote */

#define RETENTION_NR_VERIFIED	2	/* of the newest verified ones are kept */

enum retention_verdict {
	RETENTION_UNTOUCHED,	/* no rule applies */
	RETENTION_NEWEST,
	RETENTION_EVERY,
	RETENTION_KEPT_PINNED,
	RETENTION_KEPT_IN_USE,
	RETENTION_KEPT_UNDECIDED,
	RETENTION_KEPT_AWAITED,
	RETENTION_KEPT_FOREIGN,
	RETENTION_KEPT_UNDOUBTED,	/* the newest not doubted; all are: the oldest */
	RETENTION_KEPT_VERIFIED,	/* among the newest that a vote has found right */
	RETENTION_LAST,		/* the newest that can be restarted from */
	RETENTION_AFTER_LAST,	/* newer than RETENTION_LAST, and damaged */
	RETENTION_NONE_GOOD,	/* no generation is known that could be restarted from */
	RETENTION_GOES_COUNT,	/* this and higher values: remove */
	RETENTION_GOES_SIZE,
};

/*
 * The number of newest generations, good or counted as good, that the rule depends on, at
 * least one good one among them. Older ones are judged by their number and size alone.
 */
static inline unsigned int retention_newest(const struct retention_rule *rule)
{
	return rule->keep ? rule->keep : 1;
}

struct retention_item {
	int64_t generation;
	uint64_t bytes;
	unsigned int flags;	/* RETENTION_* */
	enum retention_verdict verdict;
};

/*
 * The rule of a job whose owner wants no more than @keep of the newest generations: that of the
 * site, unless it keeps more. @keep: 0 and below: the owner has said nothing.
 */
struct retention_rule retention_of_owner(const struct retention_rule *site, int64_t keep);

/* Set the verdicts of @items, which are ascending by generation. */
void retention_decide(const struct retention_rule *rule, struct retention_item *items, size_t nr);

static inline bool retention_goes(const struct retention_item *item)
{
	return item->verdict >= RETENTION_GOES_COUNT;
}

static inline bool retention_is_rule(const struct retention_rule *rule)
{
	return rule->keep || rule->keep_every || rule->max_size;
}

/* The reason for people; half a sentence. */
const char *retention_text(enum retention_verdict verdict);

#endif /* STILLPOINT_RETENTION_H */
