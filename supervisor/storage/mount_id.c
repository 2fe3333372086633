// SPDX-License-Identifier: GPL-2.0-only
/*
 * Remembering the id of a directory; see mount_id.h.
 *
 * The file has one line, "PLACE ID". It is ignored if it names another place, as after a
 * change of the configuration. It appears by one rename. Losing it loses only the guard
 * against an admin's mistake: the next process that opens the place writes it anew.
 */
#include "supervisor/storage/mount_id.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

void mount_id_read(const char *path, const char *place, char ret_id[MARKER_ID_CHARS + 1])
{
	FILE *f = fopen(path, "re");
	size_t len = strlen(place);
	char line[PATH_MAX];

	if (f && fgets(line, sizeof(line), f) && !strncmp(line, place, len) && line[len] == ' ' &&
	    strlen(line) >= len + 1 + MARKER_ID_CHARS)
		snprintf(ret_id, MARKER_ID_CHARS + 1, "%s", line + len + 1);
	if (f)
		fclose(f);
}

static int write_file(const char *path, const char *place, const char *id)
{
	FILE *f = fopen(path, "we");
	int err;

	if (!f)
		return -errno;
	/* A power cut that lost it would let the bare mount point pass for the place. */
	err = fprintf(f, "%s %s\n", place, id) < 0 || fflush(f) || fsync(fileno(f)) ? -errno : 0;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}

static int sync_parent(const char *path)
{
	_cleanup_free_ char *parent = strdup(path);
	_cleanup_fd_ int dir = -1;

	if (!parent)
		return -ENOMEM;
	if (!strrchr(parent, '/'))
		return 0;
	*strrchr(parent, '/') = '\0';
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 || fsync(dir) ? -errno : 0;
}

static int mount_id_replace(const char *path, const char *place, const char *id)
{
	_cleanup_free_ char *tmp = NULL;
	int err;

	/* Two workers may write at the same time. */
	if (asprintf(&tmp, "%s.new-%d", path, (int)getpid()) < 0) {
		tmp = NULL;
		return -ENOMEM;
	}
	err = write_file(tmp, place, id);
	if (!err && rename(tmp, path))
		err = -errno;
	if (err) {
		unlink(tmp);
		return err;
	}
	return sync_parent(path);
}

void mount_id_write(const char *path, const char *place, const char *id, const struct log *log)
{
	int err = mount_id_replace(path, place, id);

	if (err && log)
		log_warning(log,
			    "%s: cannot be written: %s; until it is, a mount point whose file "
			    "system is not mounted would be taken for %s, and filled: make it "
			    "writable, or make room there; the next copy tries again",
			    path, strerror(-err), place);
}

/* Mark a store that is new, or older than marks. */
static int mount_id_mark(int dir, const char *store, const char *node, const char *memo,
			 const struct log *log, struct ckpt_error *error)
{
	struct marker marker;
	int err = marker_make(dir, store, node, &marker, error);

	/* A read-only store can be read, and nothing is written to it by mistake. */
	if (err == -EROFS)
		return 0;
	if (!err)
		mount_id_write(memo, store, marker.id, log);
	return err;
}

int mount_id_check(const char *store, const char *node, const char *state_dir,
		      const struct log *log, struct ckpt_error *error)
{
	_cleanup_fd_ int dir = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char id[MARKER_ID_CHARS + 1] = "", memo[PATH_MAX];
	struct marker marker;
	int err;

	if (dir < 0)
		return error_set(error, -errno, "its store %.150s: %m; is it mounted?", store);
	snprintf(memo, sizeof(memo), "%s/store", state_dir);
	mount_id_read(memo, store, id);
	if (!id[0])
		return mount_id_mark(dir, store, node, memo, log, error);
	err = marker_read(dir, store, &marker, error);
	if (!err && !strcmp(marker.id, id))
		return 0;
	if (err && err != -ENOENT)
		return err;
	return error_set(error, -ESTALE,
			 "its store %.100s is not the directory it was: is its file system "
			 "mounted? If it was replaced, remove %.80s there",
			 store, memo);
}
