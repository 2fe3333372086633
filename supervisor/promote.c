// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is copied to which level, and what goes from it; see promote.h.
 *
 * Deciding only: acting is promotion.c's.  Invariants, which tests/unit/test_promote.c tries on
 * random histories: only what is missing is copied; and of what a level has, what can be restarted
 * from does not become nothing.
 */
#include "supervisor/promote.h"

#include <errno.h>
#include <stdlib.h>

#include "image/util.h"

/* ------------------------------------------------------------------- wanted */

static unsigned int flags_of(const struct promote_item *item, unsigned int bit, bool good)
{
	return (good ? RETENTION_GOOD : 0) | (item->pinned ? RETENTION_PINNED : 0) |
	       (item->counts & bit ? RETENTION_COUNTS : 0);
}

/* What the level would have if all that is due were there, by its rule. */
static int want_on(const struct tier *tier, unsigned int bit, struct promote_item *items, size_t nr)
{
	_cleanup_free_ struct retention_item *there = calloc(nr + 1, sizeof(*there));
	_cleanup_free_ size_t *index = calloc(nr + 1, sizeof(*index));
	size_t i, n = 0;

	if (!there || !index)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		bool due = items[i].source && tier_takes(tier, items[i].generation);

		if (!due && !(items[i].here & bit))
			continue;
		there[n] = (struct retention_item) {
			.generation = items[i].generation, .bytes = items[i].bytes,
			.flags = flags_of(&items[i], bit, due || (items[i].whole & bit)),
		};
		index[n++] = i;
	}
	if (retention_is_rule(&tier->retain))
		retention_decide(&tier->retain, there, n);
	while (n--) {
		struct promote_item *item = &items[index[n]];

		if (!retention_goes(&there[n]) && item->source && tier_takes(tier, item->generation))
			item->wanted |= bit;
	}
	return 0;
}

int promote_want(const struct tiers *tiers, struct promote_item *items, size_t nr)
{
	unsigned int t;
	int err = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		items[i].wanted = 0;
	for (t = 0; t < tiers->nr && !err; t++)
		err = want_on(&tiers->tier[t], 1u << t, items, nr);
	return err;
}

/* --------------------------------------------------------------------- next */

static bool is_newer(const struct promote_item *a, const struct promote_item *b)
{
	if (a->job == b->job)
		return a->generation > b->generation;
	return a->taken_ns > b->taken_ns;
}

struct promote_choice promote_next(const struct promote_item *items, size_t nr, unsigned int usable)
{
	struct promote_choice choice = { .item = PROMOTE_NONE };
	size_t i;

	for (i = 0; i < nr; i++) {
		unsigned int missing = items[i].wanted & ~items[i].here & ~items[i].failed & usable;

		if (missing && items[i].source &&
		    (choice.item == PROMOTE_NONE || is_newer(&items[i], &items[choice.item])))
			choice = (struct promote_choice) {
				.item = i, .tier = (unsigned int)__builtin_ctz(missing),
			};
	}
	return choice;
}

/* --------------------------------------------------------------------- goes */

int promote_goes(const struct tiers *tiers, unsigned int tier, const struct promote_item *items,
		 size_t nr, bool *ret_goes)
{
	_cleanup_free_ struct retention_item *there = calloc(nr + 1, sizeof(*there));
	_cleanup_free_ size_t *index = calloc(nr + 1, sizeof(*index));
	const struct retention_rule *rule = &tiers->tier[tier].retain;
	unsigned int bit = 1u << tier;
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		ret_goes[i] = false;
	if (!there || !index)
		return -ENOMEM;
	if (!retention_is_rule(rule))
		return 0;
	for (i = 0; i < nr; i++) {
		if (!(items[i].here & bit))
			continue;
		there[n] = (struct retention_item) {
			.generation = items[i].generation, .bytes = items[i].bytes,
			.flags = flags_of(&items[i], bit, items[i].whole & bit),
		};
		index[n++] = i;
	}
	retention_decide(rule, there, n);
	for (i = 0; i < n; i++)
		ret_goes[index[i]] = retention_goes(&there[i]);
	return 0;
}
