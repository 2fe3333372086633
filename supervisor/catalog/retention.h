/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which generations of a job may go.  A decision and nothing else: no disk, no clock.
 *
 * What never goes, whatever the rule: the newest that can be restarted from, and what is newer
 * than it; what is pinned, in use or waited for by a level; what is another job's, or of another key
 * or version, of which nobody here can say what it is worth; and anything at all when none can be
 * restarted from, for then it is not known what is left of the job.  Order is by number: clocks go
 * backwards.
 */
#ifndef STILLPOINT_RETENTION_H
#define STILLPOINT_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Of a job's generations are kept: the newest @keep that can be restarted from, and those whose
 * number is a multiple of @keep_every.  If they take more than @max_size bytes, the oldest go
 * until they do not.  0: no such rule.  @keep_every alone keeps the newest as well.
 */
struct retention_rule {
	unsigned int keep;
	unsigned int keep_every;
	uint64_t max_size;
};

#define RETENTION_GOOD		(1U << 0)	/* can be restarted from, as far as was looked */
#define RETENTION_PINNED	(1U << 1)
#define RETENTION_IN_USE	(1U << 2)	/* by a restore */
#define RETENTION_UNDECIDED	(1U << 3)	/* may still be given up: counts for nothing */
#define RETENTION_AWAITED	(1U << 4)	/* by a level that has yet to get it */
#define RETENTION_FOREIGN	(1U << 5)	/* not the job's, or not to be read by this ckptd */
/*
 * Not known to be good, and counted all the same among the newest that are kept: it may well be, and what is
 * older is then not needed.  It is never what a job is restarted from: others do not stand back for it.
 */
#define RETENTION_COUNTS	(1U << 6)

enum retention_verdict {
	RETENTION_UNTOUCHED,	/* no rule speaks against it */
	RETENTION_NEWEST,
	RETENTION_EVERY,
	RETENTION_KEPT_PINNED,
	RETENTION_KEPT_IN_USE,
	RETENTION_KEPT_UNDECIDED,
	RETENTION_KEPT_AWAITED,
	RETENTION_KEPT_FOREIGN,
	RETENTION_LAST,		/* the newest that can be restarted from */
	RETENTION_AFTER_LAST,	/* newer than that, and damaged */
	RETENTION_NONE_GOOD,	/* no other could be restarted from, either */
	RETENTION_GOES_COUNT,	/* the first that goes */
	RETENTION_GOES_SIZE,
};

/*
 * How many of the newest that can be restarted from, or count as that, the rule goes by, one that can be
 * restarted from among them: what is older is judged by its number and its size alone.
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

/* @items ascending by generation; sets their verdicts. */
void retention_decide(const struct retention_rule *rule, struct retention_item *items, size_t nr);

static inline bool retention_goes(const struct retention_item *item)
{
	return item->verdict >= RETENTION_GOES_COUNT;
}

static inline bool retention_is_rule(const struct retention_rule *rule)
{
	return rule->keep || rule->keep_every || rule->max_size;
}

/* Why, for people; half a sentence. */
const char *retention_text(enum retention_verdict verdict);

#endif /* STILLPOINT_RETENTION_H */
