// SPDX-License-Identifier: GPL-2.0-only
/*
 * Erasure levels in ckptd; see level_config_group.h.
 *
 * Owns nothing. Groups are computed from the hosts file each time, so every node computes
 * the same ones; existing pieces name their images in their own headers, whatever the
 * groups are now. Other nodes are reached by tickets (ticket.h), both for the copies that
 * they keep and for their own image directories.
 */
#include "supervisor/storage/level_config_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "levels/groups.h"
#include "levels/rs.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/storage/group_level.h"

#define KIND		"erasure:"
#define BUSY_NS		100000000L
#define BUSY_LOOKS	20

bool level_config_group_parse(const char *place, unsigned int *ret_k, unsigned int *ret_m)
{
	char again[sizeof(KIND) + 24];
	unsigned int k, m;

	if (sscanf(place, KIND "%2u+%2u", &k, &m) != 2 || !k || k > RS_DATA_MAX || !m ||
	    m > RS_PARITY_MAX)
		return false;
	snprintf(again, sizeof(again), KIND "%u+%u", k, m);
	if (strcmp(again, place))
		return false;
	*ret_k = k;
	*ret_m = m;
	return true;
}

/* ------------------------------------------------------------------- groups */

static const struct levels_group *group_of(const struct level_config *conf,
					   const struct levels_grouping *all, const char *node)
{
	unsigned int i, j;

	for (i = 0; i < all->nr_groups; i++) {
		const struct levels_group *g = &all->groups[i];

		for (j = 0; j < g->nr_members; j++) {
			if (!strcmp(conf->site->nodes[g->members[j]].name, node))
				return g;
		}
	}
	return NULL;
}

/* The caller calls levels_groups_done() in any case. */
static int find_group(const struct level_config *conf, const char *node,
		      struct levels_grouping *ret_all, const struct levels_group **ret_group,
		      struct ckpt_error *error)
{
	const struct level_site *site = conf->site;
	int err;

	*ret_all = (struct levels_grouping) {};
	if (!site || !site->nr_nodes)
		return error_set(error, -ENOENT,
				 "there is no hosts file, so there are no groups of nodes: see "
				 "stillpoint-hosts(5)");
	err = levels_groups(site->nodes, site->nr_nodes, conf->k, conf->m, ret_all, error);
	if (err)
		return err;
	*ret_group = group_of(conf, ret_all, node);
	return *ret_group ? 0 :
	       error_set(error, -ENOENT, "node %.63s is not in the hosts file", node);
}

int level_config_group_check(const struct level_config *conf, struct ckpt_error *error)
{
	const struct levels_group *group;
	struct levels_grouping all;
	int err = find_group(conf, conf->site ? conf->site->node : "", &all, &group, error);

	levels_groups_done(&all);
	return err;
}

static bool is_in(const struct level_config *conf, const struct levels_group *group,
		  const char *node)
{
	unsigned int j;

	for (j = 0; j < group->nr_members; j++) {
		if (!strcmp(conf->site->nodes[group->members[j]].name, node))
			return true;
	}
	return false;
}

const char *level_config_owner(const struct level_config *conf, const json_t *nodes, size_t part)
{
	const char *node = json_string_value(json_array_get(nodes, part)), *owner = NULL;
	const struct levels_group *group;
	struct ckpt_error unread;
	struct levels_grouping all;
	const json_t *name;
	size_t i;

	if (!node || !level_config_is_group(conf))
		return node;
	if (!find_group(conf, node, &all, &group, &unread)) {
		json_array_foreach(nodes, i, name) {
			if (!owner && is_in(conf, group, json_string_value(name) ?: ""))
				owner = json_string_value(name);
		}
	}
	levels_groups_done(&all);
	return owner;
}

const char *level_config_group_holder(const struct level_config *conf, const char *coder,
				      unsigned int i)
{
	const struct levels_group *group;
	const char *name = NULL;
	struct ckpt_error unread;
	struct levels_grouping all;

	if (i < conf->m && !find_group(conf, coder, &all, &group, &unread))
		name = conf->site->nodes[group->holders[i]].name;
	if (i < conf->m)
		levels_groups_done(&all);
	return name;
}

/* --------------------------------------------------------------------- ways */

/* Wait for another user of the store, as level_config_open_patiently() does. */
static int open_store(const char *holder, const char *owner, bool read_only,
		      const struct image_key *key, const void *arg, struct level **ret_level,
		      struct ckpt_error *error)
{
	const struct timespec wait = { .tv_nsec = BUSY_NS };
	unsigned int looks = BUSY_LOOKS;
	int err;

	while ((err = level_config_open_store(arg, holder, owner, read_only, key, ret_level,
				      error)) == -EBUSY && looks--)
		nanosleep(&wait, NULL);
	return err;
}

/* This node's own images are in its image directory or nowhere. */
static int open_images(const char *node, const struct image_key *key, const void *arg,
		       struct level **ret_level, struct ckpt_error *error)
{
	const struct level_site *site = arg;
	int err;

	if (!strcmp(node, site->node))
		return error_set(error, -ENOENT, "not in " LEVEL_CONFIG_L1);
	err = open_store(node, node, true, key, site, ret_level, error);
	/*
	 * No image was asked for yet: a node that does not serve tells nothing about its
	 * images.
	 */
	return err == -ENOENT || err == -EOPNOTSUPP ? -EHOSTUNREACH : err;
}

static char *find_image(const char *job, uint64_t generation, int part, const void *arg)
{
	const struct level_site *site = arg;

	return level_image_dir(site->catalog, job, (int64_t)generation, part);
}

char *level_image_dir(const struct catalog *catalog, const char *label, int64_t generation,
		      int part)
{
	int64_t job = strtoll(label, NULL, 10);

	return part < 0 ? catalog_image_dir(catalog, job, generation) :
			  catalog_part_dir(catalog, job, generation, (unsigned int)part);
}

/* -------------------------------------------------------------- open, encode */

int level_config_group_open(const struct level_config *conf, const struct level_user *user,
		    struct level **ret_level, struct ckpt_error *error)
{
	const struct level_site *site = conf->site;
	struct group_level_options options = {
		.coder = user->node, .nr_holders = conf->m, .key = user->key,
		.read_only = user->read_only,
		.ways = { open_store, open_images, find_image, site },
	};
	_cleanup_free_ char *scratch = NULL;
	const char *holders[RS_PARITY_MAX];
	const struct levels_group *group;
	struct levels_grouping all;
	unsigned int i;
	int err = find_group(conf, user->node, &all, &group, error);

	if (!err && asprintf(&scratch, "%s/.erasure-%s", site->catalog->dir, site->node) < 0) {
		scratch = NULL;
		err = error_set(error, -ENOMEM, "out of memory");
	}
	if (!err) {
		for (i = 0; i < conf->m; i++)
			holders[i] = site->nodes[group->holders[i]].name;
		options.holders = holders;
		options.scratch = scratch;
		err = group_level_open(&options, ret_level, error);
	}
	levels_groups_done(&all);
	return err;
}

int level_config_group_encode(const struct level_config *conf, struct level *level,
			      const char *coder, const char *label, int64_t generation,
			      const json_t *nodes, const struct level_options *options,
			      uint64_t *ret_bytes, struct ckpt_error *error)
{
	struct group_member members[RS_DATA_MAX] = { { coder, -1 } };
	unsigned int nr = nodes ? 0 : 1;
	const struct levels_group *group;
	struct levels_grouping all;
	const json_t *name;
	size_t i;
	int err = find_group(conf, coder, &all, &group, error);

	json_array_foreach(nodes, i, name) {
		const char *node = json_string_value(name);

		if (!err && node && nr < RS_DATA_MAX && is_in(conf, group, node))
			members[nr++] = (struct group_member) { node, (int)i };
	}
	levels_groups_done(&all);
	return err ? err : group_level_encode(level, label, (uint64_t)generation, members, nr,
					      options, ret_bytes, error);
}
