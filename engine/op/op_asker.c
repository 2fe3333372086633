// SPDX-License-Identifier: GPL-2.0-only
/*
 * The asker of an operation, read from JSON; see op_asker.h.
 *
 * Nothing is taken for granted: a field that is missing or of another type is an error, because
 * a default would be a right that nobody gave.
 */
#include "engine/op/op_asker.h"

#include <errno.h>
#include <stdlib.h>

#include "base/outcome.h"

static int asker_groups(struct asker *asker, const json_t *groups)
{
	const json_t *group;
	size_t i;

	asker->groups = calloc(json_array_size(groups) + 1, sizeof(*asker->groups));
	if (!asker->groups)
		return -ENOMEM;
	json_array_foreach(groups, i, group) {
		if (!json_is_integer(group))
			return -EINVAL;
		asker->groups[asker->nr_groups++] = (gid_t)json_integer_value(group);
	}
	return 0;
}

static int asker_limits(struct asker *asker, const json_t *json)
{
	const json_t *limits = json_object_get(json, "limits");
	unsigned int i;

	if (json_array_size(limits) != 2 * (size_t)ASKER_LIMITS ||
	    json_unpack((json_t *)json, "{s:i, s:{s:i, s:i, s:i, s:i}}", "oom_score_adj",
			&asker->oom_score_adj, "sched", "policy", &asker->policy, "priority",
			&asker->priority, "nice", &asker->nice, "ioprio", &asker->ioprio))
		return -EINVAL;
	for (i = 0; i < ASKER_LIMITS; i++) {
		const json_t *hard = json_array_get(limits, 2 * (size_t)i + 1);

		if (!json_is_integer(hard))
			return -EINVAL;
		/* RLIM64_INFINITY is -1 in JSON, which knows no unsigned numbers */
		asker->hard[i] = (uint64_t)json_integer_value(hard);
	}
	asker->has_limits = true;
	return 0;
}

static int asker_parse(const json_t *json, bool limits, struct asker *asker)
{
	json_int_t uid = 0, gid = 0;
	json_t *groups = NULL;
	int err;

	if (json_unpack((json_t *)json, "{s:I, s:I, s:o}", "uid", &uid, "gid", &gid, "groups",
			&groups) ||
	    !json_is_array(groups) || uid <= 0 || uid >= UINT32_MAX || gid < 0 ||
	    gid >= UINT32_MAX)
		return -EINVAL;
	asker->uid = (uid_t)uid;
	asker->gid = (gid_t)gid;
	err = asker_groups(asker, groups);
	return err || !limits ? err : asker_limits(asker, json);
}

json_t *op_asker_take(const struct op_env *env, bool limits, struct asker *asker,
		      const struct asker **ret_asker)
{
	int err;

	*ret_asker = NULL;
	if (env->any_rights)
		return NULL;
	err = asker_parse(env->asker, limits, asker);
	if (err == -ENOMEM)
		return outcome_error(err, "out of memory");
	if (err)
		return outcome_error(err, "the request does not tell who asks, or not all of it: "
				     "install the same version of Stillpoint on all nodes");
	*ret_asker = asker;
	return NULL;
}

void op_asker_done(struct asker *asker)
{
	free(asker->groups);
	asker->groups = NULL;
	asker->nr_groups = 0;
}
