/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels of the kind erasure:K+M (level_config.h): which nodes are a group, who codes what of it, and how
 * they are reached.
 *
 * Groups are of the nodes of the hosts file, and the same on every node.  Of a generation the images
 * of one group are coded by the first of its nodes that has one, in the order of the job's
 * nodes: its coder.  What an erasure level of node N has is what N has coded.
 *
 * Parity is no copy: it is worth something as long as most of what it is of is in image directories.
 */
#ifndef STILLPOINT_LEVEL_CONFIG_GROUP_H
#define STILLPOINT_LEVEL_CONFIG_GROUP_H

#include "base/error.h"
#include "supervisor/storage/level_config.h"

/* "erasure:K+M": true, and the numbers, if they are possible. */
bool level_config_group_parse(const char *place, unsigned int *ret_k, unsigned int *ret_m);

static inline bool level_config_is_group(const struct level_config *conf)
{
	return conf->m > 0;
}

/*
 * level_config_group_check() - can groups be formed?
 *
 * -ERANGE: too few nodes; -ENOENT: our node is not in the hosts file, or there is none.
 */
int level_config_group_check(const struct level_config *conf, struct ckpt_error *error);

/* Where an image of that label is in an image directory, to be freed. */
char *level_image_dir(const struct catalog *catalog, const char *label, int64_t generation, int part);

/* For level_config_open(). */
int level_config_group_open(const struct level_config *conf, const struct level_user *user,
		    struct level **ret_level, struct ckpt_error *error);

/*
 * level_config_owner() - as whose the image of a generation is on the level
 * @nodes: names of the nodes it is of, by part
 *
 * That node's own; on an erasure level its coder's.  NULL: none.
 */
const char *level_config_owner(const struct level_config *conf, const json_t *nodes, size_t part);

/*
 * level_config_group_encode() - make what is missing of the parity of a generation; for its coder
 * @nodes: as for level_config_owner(); NULL: it is one image, of @coder
 */
int level_config_group_encode(const struct level_config *conf, struct level *level, const char *coder,
		      const char *label, int64_t generation, const json_t *nodes,
		      const struct level_options *options, uint64_t *ret_bytes,
		      struct ckpt_error *error);

#endif /* STILLPOINT_LEVEL_CONFIG_GROUP_H */
