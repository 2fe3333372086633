// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inotify descriptors.
 *
 * /proc/PID/fdinfo tells each watch with the handle of what is watched, which leads to its path.  A
 * restart adds the watches again, under their numbers and by their paths, last of all, so that few
 * of its own doings are events.  Events that nobody has read are not to be had without taking them,
 * so a descriptor with some is refused.
 */
#include "base/error.h"
#include "engine/core/state_parse.h"
#include "engine/dump/dump_run.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MASK		(IN_ALL_EVENTS | IN_EXCL_UNLINK | IN_ONESHOT)
#ifndef INOTIFY_IOC_SETNEXTWD
#define INOTIFY_IOC_SETNEXTWD	_IOW('I', 0, __s32)
#endif

/* ---------------------------------------------------------------- dump */

/* One line of fdinfo. */
struct watch {
	int wd;
	unsigned int mask, dev;		/* dev as the kernel counts: 20 bits of minor */
	unsigned long long ino;
	struct file_handle *handle;	/* malloc */
};

static bool watch_handle(const char *line, struct watch *w)
{
	unsigned int bytes, type;
	const char *at = strstr(line, "fhandle-bytes:");

	if (!at || sscanf(at, "fhandle-bytes:%x fhandle-type:%x", &bytes, &type) != 2 ||
	    bytes > MAX_HANDLE_SZ)
		return false;
	at = strstr(at, "f_handle:");
	w->handle = calloc(1, sizeof(*w->handle) + bytes);
	if (!at || !w->handle)
		return false;
	w->handle->handle_bytes = bytes;
	w->handle->handle_type = (int)type;
	at += strlen("f_handle:");
	for (unsigned int i = 0, byte; i < bytes; i++, at += 2) {
		if (sscanf(at, "%2x", &byte) != 1)
			return false;
		w->handle->f_handle[i] = (unsigned char)byte;
	}
	return true;
}

static bool watch_read(const char *line, struct watch *w)
{
	return sscanf(line, "inotify wd:%x ino:%llx sdev:%x mask:%x", (unsigned int *)&w->wd,
		      &w->ino, &w->dev, &w->mask) == 4 && watch_handle(line, w);
}

/* O_PATH of what is watched, by its handle on the file system that is mounted at @point. */
static int watch_open(pid_t pid, const char *point, struct watch *w)
{
	char path[PATH_MAX];
	_cleanup_fd_ int mount = -1;

	if (snprintf(path, sizeof(path), "/proc/%d/root%s", pid, point) >= (int)sizeof(path))
		return -1;
	mount = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return mount < 0 ? -1 : open_by_handle_at(mount, w->handle, O_PATH | O_CLOEXEC);
}

/* The path of @fd; false: it has none under which the process finds it. */
static bool watch_path(pid_t pid, int fd, char path[PATH_MAX], struct stat *ret_st)
{
	char link[64], seen[PATH_MAX + 32];
	struct stat st;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX - 1);
	if (len <= 0)
		return false;
	path[len] = 0;
	snprintf(seen, sizeof(seen), "/proc/%d/root%s", pid, path);
	return fstat(fd, ret_st) == 0 && lstat(seen, &st) == 0 && st.st_dev == ret_st->st_dev &&
	       st.st_ino == ret_st->st_ino;
}

/* Find the path of what is watched on one of the mounts that the process sees. */
static bool watch_find(pid_t pid, struct watch *w, char path[PATH_MAX], struct stat *ret_st)
{
	char name[40], point[PATH_MAX];
	_cleanup_free_ char *line = NULL;
	unsigned int maj, min;
	bool found = false;
	size_t room = 0;
	FILE *mounts;

	snprintf(name, sizeof(name), "/proc/%d/mountinfo", pid);
	mounts = fopen(name, "re");
	while (mounts && !found && getline(&line, &room, mounts) > 0) {
		_cleanup_fd_ int fd = -1;

		if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &maj, &min, point) != 3 ||
		    (maj << 20 | min) != w->dev)
			continue;
		fd = watch_open(pid, point, w);
		found = fd >= 0 && watch_path(pid, fd, path, ret_st);
	}
	if (mounts)
		fclose(mounts);
	return found;
}

/* Append the watch to the record's tail @buf of @len bytes; the new length; 0: no memory. */
static size_t watch_append(char **buf, size_t len, const struct watch *w, const char *path,
			   mode_t mode)
{
	struct engine_inotify_watch head = {
		.wd = w->wd, .mask = w->mask & MASK, .mode = mode & S_IFMT,
		.path_len = (uint32_t)strlen(path) + 1,
	};
	size_t more = (sizeof(head) + head.path_len + 7) & ~(size_t)7;
	char *to = realloc(*buf, len + more);

	if (!to)
		return 0;
	*buf = to;
	memset(to + len, 0, more);
	memcpy(to + len, &head, sizeof(head));
	memcpy(to + len + sizeof(head), path, head.path_len);
	return len + more;
}

/* Read the watches of @fd, which is the tree's; refuses what cannot be found. */
static int dump_watches(struct dump *d, const struct state_file *file, FILE *info)
{
	_cleanup_free_ char *line = NULL, *buf = NULL;
	struct engine_rec_inotify *rec;
	size_t room = 0, len = 0;
	char path[PATH_MAX];
	uint32_t nr = 0;
	struct stat st;

	while (getline(&line, &room, info) > 0) {
		struct watch w = { .handle = NULL };
		bool found;

		if (strncmp(line, "inotify ", 8))
			continue;
		found = watch_read(line, &w) && watch_find(file->rec->pid, &w, path, &st);
		free(w.handle);
		if (!found) {
			dump_refuse(d, file, CKPT_R_FD_INOTIFY,
				    "it watches a file whose path cannot be found:");
			continue;
		}
		len = watch_append(&buf, len, &w, path, st.st_mode);
		if (!len)
			return error_fail(d->error, -ENOMEM, "out of memory");
		nr++;
	}
	rec = dump_record_add(d, ENGINE_REC_INOTIFY, sizeof(*rec), buf, len);
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	rec->of.file = file->rec->id;
	rec->of.nr = nr;
	return 0;
}

static int inotify_dump(struct dump *d, const struct state_file *file)
{
	_cleanup_fd_ int fd = dump_file_fd(d, file);
	char name[64];
	int bytes = 0, ret;
	FILE *info;

	if (fd < 0)
		return fd;
	if (ioctl(fd, FIONREAD, &bytes) || bytes) {
		dump_refuse(d, file, CKPT_R_FD_INOTIFY, "it has events that nobody has read yet:");
		return 0;
	}
	snprintf(name, sizeof(name), "/proc/thread-self/fdinfo/%d", fd);
	info = fopen(name, "re");
	if (!info)
		return error_fail(d->error, -errno, "%s: %s", name, strerror(errno));
	ret = dump_watches(d, file, info);
	fclose(info);
	return ret;
}

/* ---------------------------------------------------------------- restore */

static int inotify_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_inotify *rec = (const void *)hdr;
	const char *at = (const char *)(rec + 1);
	size_t room = hdr->len - sizeof(*rec);

	for (uint32_t i = 0; i < rec->of.nr; i++) {
		const struct engine_inotify_watch *watch = (const void *)at;
		size_t len;

		if (room < sizeof(*watch))
			return state_fail(p, -EBADMSG, "watches of file %u too short",
					  rec->of.file);
		len = (sizeof(*watch) + (size_t)watch->path_len + 7) & ~(size_t)7;
		if (watch->wd <= 0 || watch->mask & ~(uint32_t)MASK || len > room ||
		    watch->path_len < 2 || at[sizeof(*watch)] != '/' ||
		    at[sizeof(*watch) + watch->path_len - 1])
			return state_fail(p, -EBADMSG, "bad watch %u of file %u", i, rec->of.file);
		room -= len;
		at += len;
	}
	return 0;
}

static int inotify_open(struct reopen *r, const struct state_file *file)
{
	int fd = inotify_init1(IN_CLOEXEC);

	if (fd >= 0 && !file->own) {
		close(fd);
		return error_fail(r->error, -EBADMSG, "the image has no watches of file %u",
				  file->rec->id);
	}
	return fd < 0 ? reopen_failed(r, file, -errno, "make") : kind_flags(r, file, fd);
}

static int watch_add(struct reopen *r, int fd, const struct engine_inotify_watch *watch)
{
	const char *path = (const char *)(watch + 1);
	uint32_t mask = watch->mask | IN_DONT_FOLLOW | (S_ISDIR(watch->mode) ? IN_ONLYDIR : 0);
	/* the path without links, so that root is not led elsewhere */
	_cleanup_fd_ int there = reopen_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	char name[40];
	int wd = -1;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", there);
	if (S_ISLNK(watch->mode))	/* a name in /proc leads beyond it */
		wd = there < 0 || ioctl(fd, INOTIFY_IOC_SETNEXTWD, watch->wd) ? -1 :
		     inotify_add_watch(fd, path, mask);
	else if (there >= 0 && !ioctl(fd, INOTIFY_IOC_SETNEXTWD, watch->wd))
		wd = inotify_add_watch(fd, name, mask & ~(uint32_t)IN_DONT_FOLLOW);
	if (wd == watch->wd)
		return 0;
	errno = there < 0 ? -there : wd >= 0 ? EEXIST : errno;
	return error_fail(r->error, -errno, "cannot watch %s (inotify): %s", path, strerror(errno));
}

/* Add all watches. The next one gets a number beyond them: a program may remember a removed one. */
static int inotify_watch(struct reopen *r, const struct state_file *file, int fd)
{
	const char *at = (const char *)file->own + sizeof(struct engine_rec_inotify);
	int last = 0, ret = 0;

	for (uint32_t k = 0; !ret && k < file->own->nr; k++) {
		const struct engine_inotify_watch *watch = (const void *)at;

		ret = watch_add(r, fd, watch);
		last = watch->wd > last ? watch->wd : last;
		at += (sizeof(*watch) + (size_t)watch->path_len + 7) & ~(size_t)7;
	}
	if (!ret && last && last < INT_MAX && ioctl(fd, INOTIFY_IOC_SETNEXTWD, last + 1))
		ret = reopen_failed(r, file, -errno, "number the watches of");
	return ret;
}

static int inotify_arm(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->rec->kind == CKPT_FILE_INOTIFY && r->fds[i] >= 0 && !file->external)
			ret = inotify_watch(r, file, r->fds[i]);
	}
	return ret;
}

/* The policy reads the watches, too: what cannot be found is refused like anything else. */
static void inotify_policy(struct dump *d, const struct state_file *file)
{
	inotify_dump(d, file);
}

const struct state_kind state_kind_inotify = {
	.name = "inotify descriptor",
	.records = {
		{ ENGINE_REC_INOTIFY, sizeof(struct engine_rec_inotify), STATE_OWNER_FILE,
		  inotify_parse },
	},
	.files = { CKPT_FILE_INOTIFY },
	.one_description = true,
	.policy = inotify_policy,
	.open = inotify_open,
	.arm = inotify_arm,
};
