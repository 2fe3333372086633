// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deciding which image is copied to which level, and which is removed from it; see
 * flush_plan.h.
 *
 * Decides only; flush.c acts. Invariants, which tests/unit/test_flush_plan.c checks on
 * random histories: only what a level lacks is copied to it, and pruning never removes the
 * last image on a level from which a job can be restarted.
 */
#include "supervisor/storage/flush_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* ------------------------------------------------------------------- wanted */

static unsigned int flags_of(const struct flush_item *item, unsigned int bit, bool good)
{
	return (good ? RETENTION_GOOD : 0) | (item->pinned ? RETENTION_PINNED : 0) |
	       (item->counts & bit ? RETENTION_COUNTS : 0);
}

static bool is_due(const struct level_configs *levels, unsigned int t,
		   const struct flush_item *item)
{
	return item->source && level_configs_takes(levels, t, item->generation);
}

/*
 * Apply the level's rule as if all images due there had been copied; mark those that would
 * stay.
 */
static int want_on(const struct level_configs *levels, unsigned int t, struct flush_item *items,
		   size_t nr)
{
	const struct retention_rule *rule = &levels->conf[t].retain;
	const unsigned int bit = 1u << t;
	_cleanup_free_ struct retention_item *there = calloc(nr + 1, sizeof(*there));
	_cleanup_free_ size_t *index = calloc(nr + 1, sizeof(*index));
	size_t i, n = 0;

	if (!there || !index)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		bool due = is_due(levels, t, &items[i]);

		if (!due && !(items[i].here & bit))
			continue;
		there[n] = (struct retention_item) {
			.generation = items[i].generation, .bytes = items[i].bytes,
			.flags = flags_of(&items[i], bit, due || (items[i].whole & bit)),
		};
		index[n++] = i;
	}
	if (retention_is_rule(rule))
		retention_decide(rule, there, n);
	while (n--) {
		struct flush_item *item = &items[index[n]];

		if (!retention_goes(&there[n]) && is_due(levels, t, item))
			item->wanted |= bit;
	}
	return 0;
}

int flush_plan_want(const struct level_configs *levels, struct flush_item *items, size_t nr)
{
	unsigned int t;
	int err = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		items[i].wanted = 0;
	for (t = 0; t < levels->nr && !err; t++)
		err = want_on(levels, t, items, nr);
	return err;
}

/* --------------------------------------------------------------------- next */

static bool flush_plan_is_newer(const struct flush_item *a, const struct flush_item *b)
{
	if (a->job == b->job)
		return a->generation > b->generation;
	return a->taken_ns > b->taken_ns;
}

struct flush_choice flush_plan_next(const struct flush_item *items, size_t nr, unsigned int usable)
{
	struct flush_choice choice = { .item = FLUSH_NONE };
	size_t i;

	for (i = 0; i < nr; i++) {
		unsigned int missing = items[i].wanted & ~items[i].here & ~items[i].failed & usable;

		if (missing && items[i].source &&
		    (choice.item == FLUSH_NONE ||
		     flush_plan_is_newer(&items[i], &items[choice.item])))
			choice = (struct flush_choice) {
				.item = i, .level_nr = (unsigned int)__builtin_ctz(missing),
			};
	}
	return choice;
}

/* --------------------------------------------------------------------- goes */

int flush_plan_goes(const struct level_configs *levels, unsigned int level_nr,
		    const struct flush_item *items, size_t nr, bool *ret_goes)
{
	_cleanup_free_ struct retention_item *there = calloc(nr + 1, sizeof(*there));
	_cleanup_free_ size_t *index = calloc(nr + 1, sizeof(*index));
	const struct retention_rule *rule = &levels->conf[level_nr].retain;
	unsigned int bit = 1u << level_nr;
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

/* --------------------------------------------------------------------- look */

static bool could_go(const struct level_configs *levels, unsigned int level_nr,
		     const struct flush_item *items, size_t nr)
{
	_cleanup_free_ bool *goes = calloc(nr + 1, sizeof(*goes));
	size_t i;

	if (!goes || flush_plan_goes(levels, level_nr, items, nr, goes))
		return false;
	for (i = 0; i < nr; i++) {
		if (goes[i])
			return true;
	}
	return false;
}

/*
 * Fewer whole generations make fewer go: if none would go with all of them whole, none will
 * go.
 */
static bool is_to_be_asked(const struct level_configs *levels, unsigned int level_nr,
			   struct flush_item *items, size_t nr)
{
	unsigned int bit = 1u << level_nr;
	size_t i;

	for (i = 0; i < nr; i++)
		items[i].whole |= items[i].here & bit;
	return could_go(levels, level_nr, items, nr);
}

void flush_plan_look(const struct level_configs *levels, unsigned int level_nr,
		     struct flush_item *items, size_t nr, bool due, flush_whole_fn is_whole,
		     void *arg)
{
	const struct level_config *of = &levels->conf[level_nr];
	bool ask = retention_is_rule(&of->retain) &&
		   (due || is_to_be_asked(levels, level_nr, items, nr));
	unsigned int bit = 1u << level_nr, counted = 0;
	bool good = false;
	size_t i = nr;

	while (i--) {
		struct flush_item *item = &items[i];
		bool counts;

		item->whole &= ~bit;
		if (!ask || (good && counted >= retention_newest(&of->retain)))
			continue;
		counts = due && is_due(levels, level_nr, item);
		if (!counts && item->here & bit && is_whole(i, level_nr, arg)) {
			item->whole |= bit;
			counts = true;
		}
		good = good || counts;
		counted += counts || (item->here & item->counts & bit);
	}
}
