/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels of the kind erasure:K+M (level_config.h): which nodes form a group, which node
 * codes, and how the nodes are reached.
 *
 * Groups are made of the nodes of the hosts file, and are the same on every node. Within a
 * group, the images of a generation are coded by the group's first node that has one, in
 * the order of the job's nodes: the coder. The erasure level of node N holds what N has
 * coded.
 *
 * Parity is no copy: it is useful only while most of the images it covers are in image
 * directories.
 */
#ifndef STILLPOINT_LEVEL_CONFIG_GROUP_H
#define STILLPOINT_LEVEL_CONFIG_GROUP_H

#include "base/error.h"
#include "supervisor/storage/level_config.h"

/* Parse "erasure:K+M"; true if the numbers are possible. */
bool level_config_group_parse(const char *place, unsigned int *ret_k, unsigned int *ret_m);

static inline bool level_config_is_group(const struct level_config *conf)
{
	return conf->m > 0;
}

/*
 * level_config_group_check() - check that groups can be formed
 *
 * -ERANGE: too few nodes; -ENOENT: this node is not in the hosts file, or there is none.
 */
int level_config_group_check(const struct level_config *conf, struct ckpt_error *error);

/* The path in an image directory of the image of that label; the caller frees it. */
char *level_image_dir(const struct catalog *catalog, const char *label, int64_t generation,
		      int part);

/* level_config_holder() of an erasure level. */
const char *level_config_group_holder(const struct level_config *conf, const char *coder,
				      unsigned int i);

/* Called by level_config_open() for erasure levels. */
int level_config_group_open(const struct level_config *conf, const struct level_user *user,
		    struct level **ret_level, struct ckpt_error *error);

/*
 * level_config_owner() - the node below whose name the level keeps an image
 * @nodes: names of the generation's nodes, by part
 *
 * Return: the image's own node; on an erasure level, the coder; NULL: there is none.
 */
const char *level_config_owner(const struct level_config *conf, const json_t *nodes, size_t part);

/*
 * level_config_group_encode() - make the missing parity of a generation; called on its
 *	coder
 * @nodes: as for level_config_owner(); NULL: the generation is one image, of @coder
 */
int level_config_group_encode(const struct level_config *conf, struct level *level,
			      const char *coder, const char *label, int64_t generation,
			      const json_t *nodes, const struct level_options *options,
			      uint64_t *ret_bytes, struct ckpt_error *error);

#endif /* STILLPOINT_LEVEL_CONFIG_GROUP_H */
