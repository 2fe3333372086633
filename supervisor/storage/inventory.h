/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is on the levels, as the levels say it.  For workers: a level may be slow.
 */
#ifndef STILLPOINT_INVENTORY_H
#define STILLPOINT_INVENTORY_H

#include <jansson.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/storage/level_config.h"

/*
 * inventory_nodes() - of which nodes a generation of L1 is
 * @ret_nodes: names, a new reference; NULL: it is of one image
 *
 * NULL, or an outcome: it cannot be known.
 */
json_t *inventory_nodes(const struct catalog *catalog, int64_t job, int64_t generation,
		       json_t **ret_nodes);

/* How many images of @nodes are on the level, each below its node; of one that is not shared ours. */
int inventory_parts_on(const struct level_config *conf, const struct image_key *key, const char *label,
		      int64_t generation, const json_t *nodes);

/* Where to look. */
struct inventory_scope {
	const struct level_configs *levels;
	const struct image_key *key;
	const char *node;	/* ours */
	const char *label;	/* of one job; NULL: of all */
	int64_t job;		/* of that number, whatever its label; 0: of all */
	const json_t *nodes;	/* {NAME: anything}: beside our own these; NULL: all there are, */
	const json_t *hosts;	/* or, of a level that cannot tell, these (level_config_nodes()) */
	bool patient;		/* level_config.h */
	const char *state_dir;	/* level_config.h; of our own directories */
};

/*
 * inventory_scan() - ask all levels
 *
 *	{"jobs": {LABEL: {"GENERATION": {LEVEL: [image, ...]}}}, "errors": {LEVEL: text},
 *	 "silent": {LEVEL: {NODE or "" (all): text}}}
 *	image	{"node", "part" (-1: one image), "bytes", "created", "name"}, or with "error" and
 *		"errno" for what cannot be used; with "short": true if some of its parity is missing
 *
 * A level that cannot be asked is among the errors.  A new reference.
 */
json_t *inventory_scan(const struct inventory_scope *scope);

/* The images of one generation: {LEVEL: [...]}; NULL: there are none. */
json_t *inventory_of(const json_t *scan, const char *label, int64_t generation);

/*
 * inventory_levels() - the state of a generation on every level, L1 first
 * @held: inventory_of()
 * @nodes: how many images it is of; 0: one image; -1: not known
 * @in_l1: it is there
 *
 * [{"level", "state": "here" | "partial" | "damaged" | "missing" | "unknown", "have", "of"}], the
 * counts with "partial" only.
 */
json_t *inventory_levels(const struct level_configs *levels, const json_t *scan, const json_t *held,
			int nodes, bool in_l1);

/* Of @images one of that part (-1: one image) in good order; NULL. */
json_t *inventory_find(const json_t *images, int part);

#endif /* STILLPOINT_INVENTORY_H */
