// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job's history on disk; see history.h.
 *
 * One write() appends a line, after a line end if the last line has none: a line that a
 * crash tore stays alone. When the file is full, its newer half is written to a new file
 * that takes its name; a crash leaves the one or the other. Only the job's home writes.
 *
 * The file may contain anything: reading is bounded, and rows whose figures are no numbers,
 * or negative, do not get past history_read().
 */
#include "supervisor/catalog/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Figures of a checkpoint: integers, none negative. */
static const char *const figures[] = {
	"quiesce_ns", "freeze_ns", "collect_ns", "clone_ns", "thaw_ns", "pause_ns", "pages_ns",
	"contents_ns", "sync_ns", "commit_ns", "total_ns", "bytes_mapped", "bytes_raw",
	"bytes_stored", "pages_data", "pages_zero", "pages_shared", "pages_same", "pages_base",
	"pages_excluded", "pages_untouched", "pages_file", "processes", "threads",
};

/* Figures of a restart, integers as well (restart_times.h). */
static const char *const restart_figures[] = {
	"total_ns", "fetch_ns", "try_ns", "restore_ns", "ranks_ns",
};

static const char *const flags[] = { "killed", "in_place", "auto" };

static bool good_figures(const json_t *row, const char *const *names, size_t nr)
{
	const json_t *value;
	size_t i;

	for (i = 0; i < nr; i++) {
		value = json_object_get(row, names[i]);
		if (value && (!json_is_integer(value) || json_integer_value(value) < 0))
			return false;
	}
	return true;
}

static bool history_good(const json_t *row)
{
	if (!json_is_object(row) || !json_is_integer(json_object_get(row, "taken")))
		return false;
	if (!json_is_integer(json_object_get(row, "generation")) &&
	    !json_is_integer(json_object_get(row, "restart")))
		return false;
	return good_figures(row, figures, ARRAY_SIZE(figures)) &&
	       good_figures(row, restart_figures, ARRAY_SIZE(restart_figures));
}

static void copy_figures(json_t *row, const json_t *from, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		json_t *value = json_object_get(from, names[i]);

		if (json_is_integer(value) && json_integer_value(value) >= 0 &&
		    !json_object_get(row, names[i]))
			json_object_set(row, names[i], value);
	}
}

void history_complete(json_t *row, const json_t *from)
{
	size_t i;

	copy_figures(row, from, figures, ARRAY_SIZE(figures));
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (json_is_true(json_object_get(from, flags[i])))
			json_object_set_new(row, flags[i], json_true());
	}
	if (json_is_array(json_object_get(from, "nodes")) && !json_object_get(row, "nodes"))
		json_object_set_new(row, "nodes",
			json_integer((json_int_t)json_array_size(json_object_get(from, "nodes"))));
}

json_t *history_row(const json_t *result, int64_t generation, int64_t taken)
{
	json_t *row = json_pack("{s:I, s:I}", "taken", (json_int_t)taken,
				"generation", (json_int_t)generation);

	history_complete(row, result);
	return row;
}

json_t *history_restart_row(const json_t *result, int64_t generation, int64_t taken)
{
	json_t *row = json_pack("{s:I, s:I}", "taken", (json_int_t)taken,
				"restart", (json_int_t)generation);

	copy_figures(row, result, restart_figures, ARRAY_SIZE(restart_figures));
	return row;
}

/* --------------------------------------------------------------- the file */

static int open_dir(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (dir >= 0)
		return dir;
	return path ? -errno : -ENOMEM;
}

/*
 * Read at most the last HISTORY_MAX bytes, with a NUL behind them, which @ret_len does not
 * count.
 */
static char *read_tail(int fd, size_t *ret_len)
{
	char *text = malloc(HISTORY_MAX + 1);
	struct stat st;
	off_t at = 0;
	ssize_t n;

	if (!text || fstat(fd, &st)) {
		free(text);
		return NULL;
	}
	if (st.st_size > (off_t)HISTORY_MAX)
		at = st.st_size - (off_t)HISTORY_MAX;
	n = pread(fd, text, HISTORY_MAX, at);
	*ret_len = n > 0 ? (size_t)n : 0;
	text[*ret_len] = '\0';
	return text;
}

static int write_whole(int fd, const char *text, size_t len)
{
	ssize_t n = write(fd, text, len);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOSPC;
}

/* Replace the file by whole lines of its newer half. */
static int history_shorten(int dir, int old)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_fd_ int fd = -1;
	const char *from;
	size_t len = 0;
	int err;

	text = read_tail(old, &len);
	if (!text)
		return -ENOMEM;
	from = len > HISTORY_MAX / 2 ? strchr(text + len - HISTORY_MAX / 2, '\n') : NULL;
	from = from ? from + 1 : text + len;
	fd = openat(dir, HISTORY_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = write_whole(fd, from, len - (size_t)(from - text));
	/* Synced before the rename: else a power cut could leave the file empty. */
	if (!err && fsync(fd))
		err = -errno;
	if (!err && renameat(dir, HISTORY_NEW, dir, HISTORY_FILE))
		err = -errno;
	if (err)
		unlinkat(dir, HISTORY_NEW, 0);
	return err;
}

static int history_open_file(int dir)
{
	int fd = openat(dir, HISTORY_FILE,
			O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	return fd < 0 ? -errno : fd;
}

/* True if the last line has no line end, because a crash tore it. */
static bool history_torn(int fd, off_t size)
{
	char last = '\n';

	return size && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

int history_append(const struct catalog *catalog, int64_t job, const json_t *row)
{
	_cleanup_free_ char *text = json_dumps(row, JSON_COMPACT);
	_cleanup_fd_ int dir = open_dir(catalog, job);
	_cleanup_fd_ int fd = dir < 0 ? dir : history_open_file(dir);
	char line[HISTORY_LINE];
	struct stat st;
	size_t len;
	int err;

	if (!text)
		return -ENOMEM;
	if (fd < 0)
		return fd;
	if (strlen(text) + 3 > sizeof(line))
		return -E2BIG;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	len = (size_t)snprintf(line, sizeof(line), "%s%s\n",
			       history_torn(fd, st.st_size) ? "\n" : "", text);
	if (st.st_size + (off_t)len > (off_t)HISTORY_MAX) {
		err = history_shorten(dir, fd);
		if (err)
			return err;
		close(fd);
		fd = history_open_file(dir);
		if (fd < 0)
			return fd;
	}
	return write_whole(fd, line, len);
}

json_t *history_read(const struct catalog *catalog, int64_t job)
{
	_cleanup_fd_ int dir = open_dir(catalog, job);
	_cleanup_fd_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	json_t *rows = json_array(), *row;
	char *line, *end;
	size_t len = 0;

	if (dir >= 0)
		fd = openat(dir, HISTORY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	text = fd >= 0 ? read_tail(fd, &len) : NULL;
	for (line = text; line && (end = memchr(line, '\n', len - (size_t)(line - text)));
	     line = end + 1) {
		row = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);
		if (history_good(row))
			json_array_append(rows, row);
		json_decref(row);
	}
	return rows;
}
