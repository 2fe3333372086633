// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deciding which generations of a job may be removed; see retention.h.
 *
 * Decides only; prune.c acts. Invariants, which tests/unit/test_retention.c checks on
 * random histories: a protected generation is never removed; the newest generation that can
 * be restarted from stays; deciding again on what is left changes nothing.
 */
#include "supervisor/catalog/retention.h"

#include <limits.h>

static bool retention_is_good(const struct retention_item *item)
{
	return (item->flags & (RETENTION_GOOD | RETENTION_UNDECIDED)) == RETENTION_GOOD;
}

/* Index of the newest generation that can be restarted from; @nr: there is none. */
static size_t find_last(const struct retention_item *items, size_t nr)
{
	size_t i = nr;

	while (i--) {
		if (retention_is_good(&items[i]))
			return i;
	}
	return nr;
}

static enum retention_verdict by_count(const struct retention_rule *rule,
				       const struct retention_item *item, unsigned int newer)
{
	if (!rule->keep && !rule->keep_every)
		return RETENTION_UNTOUCHED;
	if (newer < retention_newest(rule))
		return RETENTION_NEWEST;
	if (rule->keep_every && item->generation % rule->keep_every == 0)
		return RETENTION_EVERY;
	return RETENTION_GOES_COUNT;
}

/* The newest good generation without a doubt; if all are doubted the oldest; @nr: none is good. */
static size_t retention_undoubted(const struct retention_item *items, size_t nr)
{
	size_t oldest = nr, i = nr;

	while (i--) {
		if (!retention_is_good(&items[i]))
			continue;
		if (!(items[i].flags & RETENTION_DOUBTED))
			return i;
		oldest = i;
	}
	return oldest;
}

/* Is @i among the newest good generations that a vote has found right? */
static bool retention_is_verified(const struct retention_item *items, size_t nr, size_t i)
{
	const unsigned int flags = RETENTION_VERIFIED;
	unsigned int newer = 0;

	if (!retention_is_good(&items[i]) || !(items[i].flags & flags))
		return false;
	while (++i < nr)
		newer += retention_is_good(&items[i]) && items[i].flags & flags;
	return newer < RETENTION_NR_VERIFIED;
}

/* Why the generation is protected; RETENTION_UNTOUCHED: it is not. */
static enum retention_verdict retention_protection(const struct retention_item *items, size_t nr,
						   size_t i, size_t last)
{
	if (items[i].flags & RETENTION_FOREIGN)
		return RETENTION_KEPT_FOREIGN;
	if (items[i].flags & RETENTION_PINNED)
		return RETENTION_KEPT_PINNED;
	if (items[i].flags & RETENTION_IN_USE)
		return RETENTION_KEPT_IN_USE;
	if (items[i].flags & RETENTION_UNDECIDED)
		return RETENTION_KEPT_UNDECIDED;
	if (items[i].flags & RETENTION_AWAITED)
		return RETENTION_KEPT_AWAITED;
	if (i == last)
		return RETENTION_LAST;
	if (i > last)
		return RETENTION_AFTER_LAST;
	if (i == retention_undoubted(items, nr))
		return RETENTION_KEPT_UNDOUBTED;
	return retention_is_verified(items, nr, i) ? RETENTION_KEPT_VERIFIED : RETENTION_UNTOUCHED;
}

/* Remove until the size fits, the oldest first. */
static void by_size(uint64_t max_size, struct retention_item *items, size_t nr, size_t last)
{
	unsigned __int128 total = 0;	/* sizes come from disk: the sum must not wrap */
	size_t i;

	for (i = 0; i < nr; i++)
		total += retention_goes(&items[i]) ? 0 : items[i].bytes;
	for (i = 0; i < last && total > max_size; i++) {
		if (retention_goes(&items[i]) ||
		    retention_protection(items, nr, i, last) != RETENTION_UNTOUCHED)
			continue;
		items[i].verdict = RETENTION_GOES_SIZE;
		total -= items[i].bytes;
	}
}

struct retention_rule retention_of_owner(const struct retention_rule *site, int64_t keep)
{
	const bool bounded = site->keep || site->keep_every;
	const unsigned int most = bounded ? retention_newest(site) : UINT_MAX;
	struct retention_rule rule = *site;

	if (keep > 0 && keep < most)
		rule.keep = (unsigned int)keep;
	return rule;
}

void retention_decide(const struct retention_rule *rule, struct retention_item *items, size_t nr)
{
	size_t last = find_last(items, nr), i = nr;
	unsigned int newer = 0;	/* newer ones that are good, or count as good */

	while (i--) {
		enum retention_verdict why = last == nr ? RETENTION_NONE_GOOD :
					     retention_protection(items, nr, i, last);

		items[i].verdict = by_count(rule, &items[i], newer);
		if (why != RETENTION_UNTOUCHED)
			items[i].verdict = why;
		if (retention_is_good(&items[i]) || items[i].flags & RETENTION_COUNTS)
			newer++;
	}
	if (rule->max_size && last < nr)
		by_size(rule->max_size, items, nr, last);
}

const char *retention_text(enum retention_verdict verdict)
{
	static const char *const texts[] = {
		[RETENTION_UNTOUCHED] = "no rule speaks against it",
		[RETENTION_NEWEST] = "among the newest",
		[RETENTION_EVERY] = "its number is a multiple of keep_every",
		[RETENTION_KEPT_PINNED] = "pinned",
		[RETENTION_KEPT_IN_USE] = "in use by a restore",
		[RETENTION_KEPT_UNDECIDED] = "its checkpoint is not decided yet",
		[RETENTION_KEPT_AWAITED] = "a level waits for it: the newest it takes, and not "
					   "known to be there yet",
		[RETENTION_KEPT_FOREIGN] = "another job's, or of another key or version: ckptctl "
					   "list says which",
		[RETENTION_KEPT_UNDOUBTED] = "the least in doubt: newer ones are suspect or "
					     "rejected",
		[RETENTION_KEPT_VERIFIED] = "one of the last two that a vote has found right",
		[RETENTION_LAST] = "the last that the job can be restarted from",
		[RETENTION_AFTER_LAST] = "newer than the last that the job can be restarted from",
		[RETENTION_NONE_GOOD] = "no generation is known that the job can be restarted from",
		[RETENTION_GOES_COUNT] = "older than those to be kept",
		[RETENTION_GOES_SIZE] = "over the size limit, and the oldest",
	};

	return texts[verdict];
}
