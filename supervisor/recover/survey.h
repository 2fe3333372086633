/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The survey: makes the failure topology (topology.h) of a job from what the catalog records and
 * what the levels have reported. For workers, as reading the catalog may be slow; no level and no
 * other node is asked here.
 *
 * The nodes of a generation are those of its parts.json. A generation that this node's image
 * directory does not have is of the nodes of the job's present run, if it is newer than the
 * generation from which that run was restarted; of older ones nobody here knows the nodes, so they
 * cannot be used. An image in another node's image directory is believed to be there if that node
 * answers, and this node's image directory has anything of that generation.
 */
#ifndef STILLPOINT_SURVEY_H
#define STILLPOINT_SURVEY_H

#include <jansson.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/recover/topology.h"
#include "supervisor/storage/level_config.h"

/**
 * struct survey - what is surveyed
 * @node: this node
 * @shared: all nodes have one image directory
 * @label: the job's (job_label())
 * @tombstones: of the job's record (tombstone.h), or NULL
 * @nodes: names of the nodes of the job's present run, by part; NULL: it has one node
 * @since: the generation from which the present run was restarted; 0: none
 * @silent: {NAME: anything} of the nodes that do not answer, or NULL
 * @scan: inventory_scan() of the job on @levels
 */
struct survey {
	const struct catalog *catalog;
	const struct level_configs *levels;
	const char *node;
	bool shared;
	int64_t job;
	const char *label;
	const json_t *tombstones;
	const json_t *nodes;
	int64_t since;
	const json_t *silent;
	const json_t *scan;
};

/*
 * survey_make() - make the topology; no node in it is lost
 *
 * Its level 0 is L1, level n is the n-th of @survey's levels. Generations are in no order.
 *
 * Return: 0, or -ENOMEM; topology_done() frees @ret_topology
 */
int survey_make(const struct survey *survey, struct topology *ret_topology);

#endif /* STILLPOINT_SURVEY_H */
