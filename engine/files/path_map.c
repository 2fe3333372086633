// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping paths of an image to where they lie today; see path_map.h.
 *
 * Works on text alone and looks at no file: whether the new path fits is for reopen_check.c.
 * Both paths of an entry are kept in one spelling: no empty component, no ".", no slash at
 * the end. The root as a new path is the empty string.
 */
#include "engine/files/path_map.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/core/write_journal.h"
#include "engine/core/write_log.h"

struct path_map_entry {
	char *old;
	char *new;
};

struct path_map {
	struct path_map_entry *entries;
	unsigned int nr;
	char **given;		/* new paths that files of a state have */
	unsigned int nr_given;
};

struct path_map *path_map_create(void)
{
	return calloc(1, sizeof(struct path_map));
}

void path_map_destroy(struct path_map *map)
{
	if (!map)
		return;
	for (unsigned int i = 0; i < map->nr; i++) {
		free(map->entries[i].old);
		free(map->entries[i].new);
	}
	for (unsigned int i = 0; i < map->nr_given; i++)
		free(map->given[i]);
	free(map->entries);
	free(map->given);
	free(map);
}

/* The one spelling of an absolute path, "" for the root; NULL: it has "..", or is not absolute. */
static char *path_map_spell(const char *path)
{
	_cleanup_free_ char *out = malloc(strlen(path) + 1);
	size_t len = 0, n;

	if (!out || path[0] != '/')
		return NULL;
	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		n = strcspn(path, "/");
		if (n == 2 && !strncmp(path, "..", 2))
			return NULL;
		if (n != 1 || path[0] != '.') {
			out[len++] = '/';
			memcpy(out + len, path, n);
			len += n;
		}
		path += n;
	}
	out[len] = 0;
	return take_ptr(out);
}

int path_map_add(struct path_map *map, const char *old, const char *new,
		 struct ckpt_error *error)
{
	_cleanup_free_ char *from = NULL, *to = NULL;
	struct path_map_entry *more;

	if (strlen(old) >= PATH_MAX || strlen(new) >= PATH_MAX)
		return error_set(error, -ENAMETOOLONG, "map-path: a path is longer than %d bytes",
				 PATH_MAX - 1);
	from = path_map_spell(old);
	to = path_map_spell(new);
	if (!from || !to)
		return error_set(error, -EINVAL,
				 "map-path: %s is no absolute path without \"..\"",
				 from ? new : old);
	if (!from[0])
		return error_set(error, -EINVAL,
				 "map-path: the root cannot lie elsewhere; name a directory below "
				 "it");
	for (unsigned int i = 0; i < map->nr; i++)
		if (!strcmp(map->entries[i].old, from) && strcmp(map->entries[i].new, to) != 0)
			return error_set(error, -EINVAL, "map-path: %s is given two new paths",
					 from);
	more = reallocarray(map->entries, map->nr + 1, sizeof(*more));
	if (!more)
		return error_set(error, -ENOMEM, "out of memory");
	map->entries = more;
	more[map->nr++] = (struct path_map_entry){ take_ptr(from), take_ptr(to) };
	return 0;
}

static bool path_map_covers(const char *old, const char *path)
{
	size_t len = strlen(old);

	return !strncmp(old, path, len) && (path[len] == '/' || !path[len]);
}

int path_map_find(const struct path_map *map, const char *path, char **ret_path)
{
	const struct path_map_entry *best = NULL;
	char *found;
	int len;

	for (unsigned int i = 0; i < map->nr; i++)
		if (path_map_covers(map->entries[i].old, path) &&
		    (!best || strlen(map->entries[i].old) > strlen(best->old)))
			best = &map->entries[i];
	if (!best) {
		*ret_path = NULL;
		return 0;
	}
	path += strlen(best->old);
	len = asprintf(&found, "%s%s", best->new, best->new[0] || path[0] ? path : "/");
	if (len < 0)
		return -ENOMEM;
	if (len >= PATH_MAX) {
		free(found);
		return -ENAMETOOLONG;
	}
	*ret_path = found;
	return 0;
}

static bool path_map_is_for(const struct state_file *file)
{
	if (file->external || file->path[0] != '/' || file->rec->fs_magic == PROC_SUPER_MAGIC)
		return false;
	switch (file->rec->kind) {
	case CKPT_FILE_REG:
	case CKPT_FILE_DIR:
	case CKPT_FILE_FIFO:
	case CKPT_FILE_CHR:
	case CKPT_FILE_PATH:
	case CKPT_FILE_SYMLINK:
		return true;
	default:
		return false;
	}
}

/* The new path of @path, which the map owns, or NULL. */
static int path_map_give(struct path_map *map, const char *path, char **ret_path,
			 struct ckpt_error *error)
{
	int ret = path_map_find(map, path, ret_path);

	if (ret)
		return error_fail(error, ret, "the new path of %s: %s", path, strerror(-ret));
	if (*ret_path)
		map->given[map->nr_given++] = *ret_path;
	return 0;
}

int path_map_apply(struct path_map *map, struct state *state, struct write_since *since,
		   struct ckpt_error *error)
{
	unsigned int nr_since = since ? since->nr : 0;
	size_t room = map->nr_given + state->nr_files + state->nr_closed + nr_since + 1;
	char **more = reallocarray(map->given, room, sizeof(*more)), *path;
	int ret = 0;

	if (!more)
		return error_fail(error, -ENOMEM, "out of memory");
	map->given = more;
	for (unsigned int i = 0; i < state->nr_files && !ret; i++) {
		struct state_file *file = &state->files[i];

		path = NULL;
		if (path_map_is_for(file))
			ret = path_map_give(map, file->path, &path, error);
		if (path) {
			file->path = path;
			file->mapped = true;
		}
	}
	for (unsigned int i = 0; i < state->nr_closed && !ret; i++) {
		path = NULL;
		ret = path_map_give(map, state->closed[i].path, &path, error);
		if (path)
			state->closed[i].path = path;
	}
	for (unsigned int i = 0; i < nr_since && !ret; i++) {
		path = NULL;
		ret = path_map_give(map, since->names[i].path, &path, error);
		if (path)
			since->names[i].path = path;
	}
	return ret;
}
