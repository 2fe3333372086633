/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The asker of an operation (struct asker) as JSON, because it travels from ckptd to its shims and
 * to other nodes:
 *
 *	{"uid": N, "gid": N, "groups": [N, ...],
 *	 "limits": [soft, hard, ...] of all 16 resources, "oom_score_adj": N,
 *	 "sched": as of base/scheduling.h}
 *
 * A job's record has these names, too, but for "oom_score_adj", which a restore needs.
 */
#ifndef STILLPOINT_OP_ASKER_H
#define STILLPOINT_OP_ASKER_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/core/asker.h"
#include "engine/op/op.h"

/**
 * op_asker_take() - read who asks from the environment of an operation
 * @limits: all fields are needed, else only user and groups
 * @asker: filled; op_asker_done() frees what it holds, also after a failure
 * @ret_asker: @asker, or NULL: root asks
 *
 * Return: NULL, or an outcome: @env does not tell who asks, or not all of it.
 */
json_t *op_asker_take(const struct op_env *env, bool limits, struct asker *asker,
		      const struct asker **ret_asker);
void op_asker_done(struct asker *asker);

#endif /* STILLPOINT_OP_ASKER_H */
