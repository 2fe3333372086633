/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inventory: which images the levels have, as the levels themselves report. For workers
 * only, as a level may be slow. Nothing is remembered between two calls.
 */
#ifndef STILLPOINT_INVENTORY_H
#define STILLPOINT_INVENTORY_H

#include <jansson.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/storage/level_config.h"

/*
 * inventory_nodes() - the nodes whose images make up a generation of L1
 * @ret_nodes: names, a new reference; NULL: the generation is one image
 *
 * Return: NULL, or an outcome if that cannot be known.
 */
json_t *inventory_nodes(const struct catalog *catalog, int64_t job, int64_t generation,
		       json_t **ret_nodes);

/*
 * The number of images of @nodes on the level, each below its node; if it is not shared,
 * only ours count.
 */
int inventory_parts_on(const struct level_config *conf, const struct image_key *key,
		       const char *label, int64_t generation, const json_t *nodes);

/* Where to look, and for what. */
struct inventory_scope {
	const struct level_configs *levels;
	const struct image_key *key;
	const char *node;	/* this node */
	const char *label;	/* label of one job; NULL: all jobs */
	int64_t job;		/* only jobs of that number, whatever the label; 0: all */
	const json_t *nodes;	/* {NAME: anything}: nodes to ask beside ours; NULL: all */
	/* nodes to ask on a level that cannot list its nodes (level_config_nodes()) */
	const json_t *hosts;
	bool patient;		/* level_config.h */
	const char *state_dir;	/* level_config.h; used for our own directories */
};

/*
 * inventory_scan() - ask all levels
 *
 *	{"jobs": {LABEL: {"GENERATION": {LEVEL: [image, ...]}}}, "errors": {LEVEL: text},
 *	 "silent": {LEVEL: {NODE or "" (all): text}}}
 *	image	{"node", "part" (-1: one image), "bytes", "created", "name"}; an unusable image has
 *		"error" and "errno"; "short": true if some of its parity is missing. On an erasure
 *		level "node" is the coder, "coded" the number of images that the parity covers, and
 *		"holders" a bitmask of the coder's level_config_holder()s that have a piece
 *
 * A level that cannot be asked is in "errors". Return: a new reference.
 */
json_t *inventory_scan(const struct inventory_scope *scope);

/* The generations of one job: {N: inventory_of()}, borrowed; NULL: there are none. */
json_t *inventory_of_job(const json_t *scan, const char *label);
/* The images of one generation: {LEVEL: [...]}, borrowed; NULL: there are none. */
json_t *inventory_of(const json_t *scan, const char *label, int64_t generation);

/*
 * inventory_levels() - the state of a generation on every level, L1 first
 * @held: inventory_of()
 * @nodes: number of images of the generation; 0: one image; -1: not known
 * @in_l1: L1 has the generation
 *
 * [{"level", "state": "here" | "partial" | "damaged" | "missing" | "unknown", "have",
 * "of"}], with "have" and "of" for "partial" only.
 */
json_t *inventory_levels(const struct level_configs *levels, const json_t *scan, const json_t *held,
			int nodes, bool in_l1);

/* A good image of that part (-1: one image) in @images; NULL: there is none. */
json_t *inventory_find(const json_t *images, int part);

#endif /* STILLPOINT_INVENTORY_H */
