/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plan of a recovery: from which generation, and from which level for each of its groups, if
 * certain nodes are lost. It only decides: nothing is fetched, claimed or changed.
 */
#ifndef STILLPOINT_RECOVERY_H
#define STILLPOINT_RECOVERY_H

#include <jansson.h>

#include "supervisor/storage/common.h"

/**
 * struct recovery_options - all of it stays the caller's
 * @label: the job's (job_label())
 * @tombstones: of the job's record, or NULL
 * @nodes: names of the nodes of the job's present run, by part; NULL: it has one node
 * @since: the generation from which the present run was restarted; 0: none
 * @lost: names of the lost nodes; NULL: none
 * @silent: {NAME: anything} of the nodes that do not answer; NULL: all answer
 */
struct recovery_options {
	const struct common *common;
	int64_t job;
	const char *label;
	const json_t *tombstones;
	const json_t *nodes;
	int64_t since;
	const json_t *lost;
	const json_t *silent;
};

/*
 * recovery_plan() - ask the levels, and decide; for workers
 *
 * Result: {"job", "lost": [name, ...], "generation": N, "groups": [group, ...], "passed":
 * [{"generation": N, "why": text} or {"generation": N, "groups": [group, ...]}, ...]}
 *	group	{"part" (-1: the generation is one image), "node", "level": name (absent: none
 *		works), "levels": [{"level", "works": bool, "why": text}, ...], cheapest first}
 *
 * "passed" has the newer generations that some group cannot provide, newest first, with these
 * groups alone. Return: an outcome; -ENODATA: no generation is left that all groups can provide;
 * its error has "passed". -EINVAL: a lost node is not known.
 */
json_t *recovery_plan(const struct recovery_options *options);

#endif /* STILLPOINT_RECOVERY_H */
