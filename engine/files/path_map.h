/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths of an image that lie elsewhere by now: the caller of a restore names a file or a
 * directory of the image and where it is today (--map-path OLD=NEW).
 *
 * OLD is a path as the image has it: absolute, without symbolic links. It covers itself and
 * everything below it; of several that cover a path the longest counts. Whatever is opened
 * then is looked for at the new path alone, with the same checks, but never with more rights
 * than the owner's: the caller chose that path, not the tree.
 */
#ifndef STILLPOINT_PATH_MAP_H
#define STILLPOINT_PATH_MAP_H

#include "base/error.h"
#include "engine/core/state.h"

struct path_map;
struct write_since;

/* An empty map; NULL without memory. */
struct path_map *path_map_create(void);
void path_map_destroy(struct path_map *map);

/**
 * path_map_add() - @old lies at @new now
 *
 * Return: 0; -EINVAL, described in @error: one is not absolute, has a component "..", @old is
 * the root, or @old was added before with another @new; -ENAMETOOLONG; -ENOMEM.
 */
int path_map_add(struct path_map *map, const char *old, const char *new,
		 struct ckpt_error *error);

/**
 * path_map_find() - the new path of @path
 * @ret_path: malloc'd; NULL if nothing covers @path
 *
 * Return: 0, -ENAMETOOLONG, -ENOMEM.
 */
int path_map_find(const struct path_map *map, const char *path, char **ret_path);

/**
 * path_map_apply() - give all files of the state that are covered their new paths
 * @since: names that the tree changed after the dump, likewise; or NULL
 *
 * Files of /proc, objects without a path and externals keep theirs. The map owns the new paths:
 * it must outlive the state.
 */
int path_map_apply(struct path_map *map, struct state *state, struct write_since *since,
		   struct ckpt_error *error);

#endif /* STILLPOINT_PATH_MAP_H */
