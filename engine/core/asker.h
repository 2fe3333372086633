/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The asker: who asks for a dump or a restore, as the kernel told it of the caller, and the bounds
 * that this sets: nobody gets more than he has.
 *
 * An image is data. It may take rights away from a tree that is made again, and never adds one to
 * those of who asks. Ids, groups, capabilities and securebits beyond his are refused, because a
 * program that runs without them is another program. Resource limits, nice values, OOM scores,
 * real-time policies and I/O priorities beyond his are lowered to his, and the restore says so.
 * Root, who may have anything, is no asker: callers pass NULL then.
 *
 * This file decides; it touches no process and no file.
 */
#ifndef STILLPOINT_ASKER_H
#define STILLPOINT_ASKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/core/engine.h"
#include "engine/core/state.h"

#define ASKER_LIMITS	16	/* RLIM_NLIMITS: RLIMIT_CPU to RLIMIT_RTTIME */

/**
 * struct asker - the user who asks, and what his process has
 * @uid: real user of the caller; never 0
 * @gid: his group
 * @groups: @nr_groups supplementary groups that he has now
 * @has_limits: the fields below are known; a restore needs them, a dump does not
 * @hard: hard resource limits, RLIM64_INFINITY: none
 * @nice: nice value
 * @oom_score_adj: OOM score adjustment
 * @policy: scheduling policy; @priority: its real-time priority, 0: none
 * @ioprio: I/O priority as of ioprio_get(2)
 */
struct asker {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	unsigned int nr_groups;
	bool has_limits;
	uint64_t hard[ASKER_LIMITS];
	int nice;
	int oom_score_adj;
	int policy;
	int priority;
	int ioprio;
};

/**
 * asker_check() - add a refusal for each thread with rights beyond those of @asker
 *
 * Users and groups of all kinds, supplementary groups, capabilities (an asker has none), and
 * securebits other than SECBIT_KEEP_CAPS, which is the only one that needs no capability.
 */
void asker_check(const struct asker *asker, const struct state *state, struct ckpt_error *error);

/**
 * asker_lower() - lower what the records of @state ask for to what @asker may set himself
 * @state: its THREAD and PROC records change in place, in memory
 * @note: told of each kind of value that was lowered, with the first process; or NULL
 *
 * As setrlimit(2), setpriority(2), sched_setattr(2) and ioprio_set(2) would decide for a process
 * of his without capabilities, whose hard limits are @asker->hard.
 */
void asker_lower(const struct asker *asker, struct state *state, engine_note_fn note, void *arg);

/*
 * The rules of asker_lower(), one by one. Each changes a value that @asker may not set himself
 * to the nearest one that he may, and returns true if it did. A soft limit is lowered with its
 * hard limit, and does not count.
 */
bool asker_lower_limit(const struct asker *asker, unsigned int i, uint64_t *soft, uint64_t *hard);
bool asker_lower_nice(const struct asker *asker, int *nice);
bool asker_lower_policy(const struct asker *asker, uint32_t *policy, uint32_t *priority);
bool asker_lower_ioprio(const struct asker *asker, uint32_t *ioprio);

/* Words for the resource limit @i, below ASKER_LIMITS: "locked memory". */
const char *asker_limit_name(unsigned int i);

#endif /* STILLPOINT_ASKER_H */
