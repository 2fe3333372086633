// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lowers what a job's record and a restart ask for; see part_bounds.h.
 *
 * The rules for one value are those of a restart on one node (engine/core/asker.h). A field of
 * another type than expected is refused, because a later reader might understand it otherwise.
 */
#include "supervisor/parts/part_bounds.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/outcome.h"
#include "engine/core/asker.h"
#include "engine/op/op_asker.h"

static void part_bounds_tell(char *told, const char *name)
{
	size_t len = strlen(told);

	snprintf(told + len, PART_BOUNDS_TOLD - len, "%s%s", len ? ", " : "", name);
}

/* RLIM_INFINITY is -1 in JSON, which knows no unsigned numbers. */
static int part_bounds_limits(const struct asker *asker, json_t *limits, char *told)
{
	unsigned int i;

	if (json_array_size(limits) != 2 * (size_t)ASKER_LIMITS)
		return -EBADMSG;
	for (i = 0; i < ASKER_LIMITS; i++) {
		const json_t *first = json_array_get(limits, 2 * (size_t)i);
		const json_t *second = json_array_get(limits, 2 * (size_t)i + 1);
		uint64_t soft = (uint64_t)json_integer_value(first);
		uint64_t hard = (uint64_t)json_integer_value(second);

		if (!json_is_integer(first) || !json_is_integer(second))
			return -EBADMSG;
		if (asker_lower_limit(asker, i, &soft, &hard))
			part_bounds_tell(told, asker_limit_name(i));
		json_array_set_new(limits, 2 * (size_t)i, json_integer((json_int_t)soft));
		json_array_set_new(limits, 2 * (size_t)i + 1, json_integer((json_int_t)hard));
	}
	return 0;
}

static int part_bounds_sched(const struct asker *asker, json_t *sched, char *told)
{
	int policy, priority, nice, ioprio;
	uint32_t its_policy, its_priority, io;

	if (json_unpack(sched, "{s:i, s:i, s:i, s:i}", "policy", &policy, "priority", &priority,
			"nice", &nice, "ioprio", &ioprio))
		return -EBADMSG;
	its_policy = (uint32_t)policy;
	its_priority = (uint32_t)priority;
	io = (uint32_t)ioprio;
	if (asker_lower_nice(asker, &nice))
		part_bounds_tell(told, "nice value");
	if (asker_lower_policy(asker, &its_policy, &its_priority))
		part_bounds_tell(told, "scheduling policy");
	if (asker_lower_ioprio(asker, &io))
		part_bounds_tell(told, "I/O priority");
	json_object_set_new(sched, "policy", json_integer(its_policy));
	json_object_set_new(sched, "priority", json_integer(its_priority));
	json_object_set_new(sched, "nice", json_integer(nice));
	json_object_set_new(sched, "ioprio", json_integer((int)io));
	return 0;
}

/*
 * Lower "limits" and "sched" of a record or an asker. The JSON may share parts with another one,
 * so both are copied first.
 */
static int part_bounds_object(const struct asker *asker, const json_t *bounds, json_t *object,
			      char *told)
{
	json_t *limits = json_object_get(object, "limits"), *sched;
	int err = 0;

	limits = json_deep_copy(limits ? limits : json_object_get(bounds, "limits"));
	json_object_set_new(object, "limits", limits);
	err = part_bounds_limits(asker, limits, told);
	sched = json_object_get(object, "sched");
	if (err || !sched)
		return err;
	sched = json_deep_copy(sched);
	json_object_set_new(object, "sched", sched);
	return part_bounds_sched(asker, sched, told);
}

static json_t *part_bounds_damaged(const char *what)
{
	return outcome_error(-EBADMSG,
			     "limits or scheduling of the %s are damaged: install the same version "
			     "of Stillpoint on all nodes", what);
}

/* The asker of a restart: the job's owner, within the bounds. */
static json_t *part_bounds_asker(const struct asker *asker, json_t *bounds, json_t *how)
{
	json_t *asks = json_object_get(how, "asker");
	char told[PART_BOUNDS_TOLD] = "";
	json_int_t adj;

	if (!asks) {
		json_object_set(how, "asker", bounds);
		return NULL;
	}
	if (json_integer_value(json_object_get(asks, "uid")) != (json_int_t)asker->uid)
		return outcome_error(-EPERM,
				     "user %lld asks for the restart, and the job is user %u's",
				     (long long)json_integer_value(json_object_get(asks, "uid")),
				     asker->uid);
	if (part_bounds_object(asker, bounds, asks, told) ||
	    !json_is_integer(json_object_get(asks, "oom_score_adj")))
		return part_bounds_damaged("user who asks");
	adj = json_integer_value(json_object_get(asks, "oom_score_adj"));
	if (adj < asker->oom_score_adj)
		json_object_set_new(asks, "oom_score_adj", json_integer(asker->oom_score_adj));
	return NULL;
}

json_t *part_bounds_lower(json_t *record, json_t *how, json_t *bounds, char *ret_told)
{
	struct op_env env = { .asker = bounds };
	struct asker parsed = { 0 };
	const struct asker *asker;
	json_t *outcome;

	*ret_told = '\0';
	outcome = op_asker_take(&env, true, &parsed, &asker);
	if (!outcome && part_bounds_object(asker, bounds, record, ret_told))
		outcome = part_bounds_damaged("job's record");
	if (!outcome && how)
		outcome = part_bounds_asker(asker, bounds, how);
	op_asker_done(&parsed);
	return outcome;
}
