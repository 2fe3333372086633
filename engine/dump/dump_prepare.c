// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files' data made ready before the freeze, so that the pause waits for less.
 *
 * A clone writes back the file first, and a copy is read in the pause.  So for every regular
 * file that a process of the tree has open or mapped for writing, or that the write log names,
 * write-back is begun and waited for, and what is not in memory is read.  The tree runs
 * meanwhile: it may open other files and write more.  That costs time in the pause and nothing
 * else, so errors are ignored here, and at most FILES_READY files are made ready.
 *
 * A magic link of /proc is opened as O_PATH first: only a regular file is opened for real.
 */
#include "base/error.h"
#include "engine/core/write_log.h"
#include "engine/dump/dump_run.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_READY	256U
#define DEPTH_MAX	64U	/* generations of processes below a root */

struct prepare {
	struct dump *d;
	uint64_t max;			/* bytes of a file that may be kept */
	uint64_t room;			/* bytes that may be read ahead: it is not known which */
	unsigned int nr;
	struct { dev_t dev; ino_t ino; } seen[FILES_READY];
};

static bool prepare_is_new(struct prepare *p, const struct stat *st)
{
	for (unsigned int i = 0; i < p->nr; i++)
		if (p->seen[i].dev == st->st_dev && p->seen[i].ino == st->st_ino)
			return false;
	p->seen[p->nr].dev = st->st_dev;
	p->seen[p->nr++].ino = st->st_ino;
	return true;
}

/* Make the file behind a link of /proc ready. */
static void prepare_file(struct prepare *p, const char *link)
{
	_cleanup_fd_ int path = open(link, O_PATH | O_CLOEXEC), fd = -1;
	char again[40];
	struct stat st;

	if (path < 0 || fstat(path, &st) || !S_ISREG(st.st_mode) || !st.st_blocks ||
	    p->nr == FILES_READY || !prepare_is_new(p, &st))
		return;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", path);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOATIME);
	if (fd < 0)
		return;
	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	if ((uint64_t)st.st_size > p->max || (uint64_t)st.st_size > p->room)
		return;
	p->room -= (uint64_t)st.st_size;
	posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
	dump_hashes_read(p->d, fd);
}

/* Is the descriptor open for writing, and not only for appending? */
static bool prepare_writes(const char *info)
{
	FILE *file = fopen(info, "re");
	unsigned int flags = 0;
	char line[80];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "flags: %o", &flags) == 1)
			break;
	if (file)
		fclose(file);
	return (flags & O_ACCMODE) != O_RDONLY && !(flags & (O_APPEND | O_PATH));
}

static void prepare_descriptors(struct prepare *p, pid_t pid)
{
	char path[64], link[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	_cleanup_dir_ DIR *dir = opendir(path);

	while (dir && p->nr < FILES_READY && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(link, sizeof(link), "/proc/%d/fdinfo/%.16s", pid, entry->d_name);
		if (!prepare_writes(link))
			continue;
		snprintf(link, sizeof(link), "/proc/%d/fd/%.16s", pid, entry->d_name);
		prepare_file(p, link);
	}
}

static void prepare_maps(struct prepare *p, pid_t pid)
{
	unsigned long long start, end, ino;
	char path[96], line[PATH_MAX + 128], mode[5];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	while (file && p->nr < FILES_READY && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx %4s %*s %*s %llu", &start, &end, mode, &ino) != 4 ||
		    !ino || mode[1] != 'w' || mode[3] != 's')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, start, end);
		prepare_file(p, path);
	}
	if (file)
		fclose(file);
}

static void prepare_process(struct prepare *p, pid_t pid, unsigned int depth);

static void prepare_children(struct prepare *p, pid_t pid, const char *tid, unsigned int depth)
{
	char path[80];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, tid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		prepare_process(p, child, depth + 1);
	if (file)
		fclose(file);
}

static void prepare_process(struct prepare *p, pid_t pid, unsigned int depth)
{
	struct dirent *entry;
	char path[40];

	if (depth > DEPTH_MAX || p->nr == FILES_READY)
		return;
	prepare_descriptors(p, pid);
	prepare_maps(p, pid);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	_cleanup_dir_ DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			prepare_children(p, pid, entry->d_name, depth);
}

/* Files that the tree has closed, the last ones first: those may not be on storage yet. */
static void prepare_closed(struct prepare *p, const struct dump *d)
{
	pid_t pid = d->options->roots[0];
	char path[PATH_MAX + 32];
	struct write_log log;

	if (write_log_read(d->cap.dev, pid, 0, &log))
		return;
	for (unsigned int i = log.nr; i-- > 0 && p->nr < FILES_READY;) {
		if (log.names[i].flags & (CKPT_WRITE_GONE | CKPT_WRITE_DIR))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/root%s", pid, log.names[i].path);
		prepare_file(p, path);
	}
	write_log_done(&log);
}

void dump_prepare_files(struct dump *d)
{
	const struct dump_options *o = d->options;
	struct prepare *p;

	if (o->dry_run || d->frozen_to_end || o->files == ENGINE_FILES_IGNORE)
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->d = d;
	dump_hashes_open(d);
	p->max = o->files != ENGINE_FILES_KEEP ? 0 : o->files_max ? o->files_max : DUMP_FILES_MAX;
	p->room = 2 * p->max;
	for (unsigned int i = 0; i < o->nr_roots; i++)
		prepare_process(p, o->roots[i], 0);
	prepare_closed(p, d);
	free(p);
}
