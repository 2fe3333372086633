// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limit of a store, over the images of all owners.
 *
 * Stored images are counted on the disk each time, so no count is ever out of date.  A session
 * first announces an incoming image, in memory that all sessions share, and then counts
 * everything: of two sessions that come at once at least one sees the other.  So the limit
 * holds, but both may be refused where only one image would have fitted.  When a session dies,
 * the process that started it sets its announcement to 0.
 *
 * An incoming image whose session was killed takes room, although it is not counted, until its
 * owner writes here again; so such leftovers are also swept by partner_room_sweep().  A session
 * that still writes an image has it locked (image/place.c); the sweep does not lock the owner's
 * directory, so that no owner is refused meanwhile.
 */
#include "levels/partner_room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "image/writer.h"
#include "levels/marker.h"

static uint64_t image_bytes(int owner, const char *name)
{
	_cleanup_dir_ DIR *dir = NULL;
	int fd = openat(owner, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t sum = 0;
	struct dirent *e;
	struct stat st;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	while (dir && (e = readdir(dir))) {
		if (!fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	}
	return sum;
}

/* Bytes of one owner's images; incoming ones are counted by their announcements. */
static uint64_t owner_bytes(int store, const char *name)
{
	_cleanup_dir_ DIR *dir = NULL;
	int fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t sum = 0;
	struct dirent *e;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	while (dir && (e = readdir(dir))) {
		if (level_name_valid(e->d_name))
			sum += image_bytes(dirfd(dir), e->d_name);
	}
	return sum;
}

static int store_bytes(const char *store, uint64_t *ret_bytes, struct ckpt_error *error)
{
	_cleanup_dir_ DIR *dir = opendir(store);
	struct dirent *e;
	uint64_t sum = 0;

	if (!dir)
		return error_set(error, -errno, "%.200s: %m", store);
	while ((e = readdir(dir))) {
		if (e->d_name[0] != '.')
			sum += owner_bytes(dirfd(dir), e->d_name);
	}
	*ret_bytes = sum;
	return 0;
}

static uint64_t others_coming(const struct partner_coming *c)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; c && i < c->nr; i++)
		sum += i == c->self ? 0 : atomic_load(&c->bytes[i]);
	return sum;
}

int partner_room_take(const char *store, uint64_t max, const struct partner_coming *coming,
		      uint64_t bytes, struct ckpt_error *error)
{
	uint64_t have, others;
	int err;

	if (!max)
		return 0;
	if (coming)
		atomic_store(&coming->bytes[coming->self], bytes);
	err = store_bytes(store, &have, error);
	if (err)
		return err;
	others = others_coming(coming);
	if (bytes <= max && have + others <= max - bytes)
		return 0;
	return error_set(error, -EDQUOT,
			 "its store has %llu of %llu MiB (store_max), the image has %llu MiB: "
			 "nothing was written",
			 (unsigned long long)(have + others) >> 20, (unsigned long long)max >> 20,
			 (unsigned long long)bytes >> 20);
}

void partner_room_give(const struct partner_coming *coming)
{
	if (coming)
		atomic_store(&coming->bytes[coming->self], 0);
}

int partner_room_space(const char *store, uint64_t max, const struct partner_coming *coming,
		       struct level_space *space, struct ckpt_error *error)
{
	uint64_t used;
	int err;

	if (!max)
		return 0;
	err = store_bytes(store, &used, error);
	if (err)
		return err;
	used += others_coming(coming);
	space->total = space->total < max ? space->total : max;
	max = used < max ? max - used : 0;
	space->free = space->free < max ? space->free : max;
	return 0;
}

/* Sweep one owner's directory.  -ENOENT: @name is no owner's directory. */
static int sweep_owner(const char *store, int dir, const char *name, struct ckpt_error *error)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_free_ char *path = NULL;
	struct marker marker;
	int err;

	if (fd < 0)
		return -ENOENT;
	if (asprintf(&path, "%s/%s", store, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	err = marker_read(fd, path, &marker, error);
	if (err || strcmp(marker.node, name))
		return -ENOENT;
	return image_sweep(path, error);
}

int partner_room_sweep(const char *store, struct ckpt_error *error)
{
	_cleanup_dir_ DIR *dir = opendir(store);
	struct ckpt_error why = {};
	int removed = 0, failed = 0, n;
	struct dirent *e;

	if (!dir)
		return error_set(error, -errno, "%.200s: %m", store);
	while ((e = readdir(dir))) {
		if (!marker_node_valid(e->d_name))
			continue;
		n = sweep_owner(store, dirfd(dir), e->d_name, &why);
		if (n >= 0)
			removed += n;
		else if (n != -ENOENT && !failed)
			failed = error_set(error, n, "%s", why.text);
	}
	return failed ? failed : removed;
}
