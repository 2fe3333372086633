// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files whose opened name is gone, and that have another name.
 *
 * If a restart made a copy of such a file, writes to the copy would not reach readers of
 * the other name.  So the other name is searched: in the job's /dev/shm, in the directory
 * of the name that is gone, among the files that the tree has open, and in the rest of a
 * file system in memory.  If it is not found, a handle leads to the file.  That does not
 * help for a file in memory: its handle is void after a reboot of the node, and in the
 * /dev/shm that a restart makes.
 *
 * Looks, and changes nothing; the number of entries that are looked at is bounded.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX	16384	/* entries looked at for one file */
#define DEPTH_MAX	16	/* directories below the first */
#define SHM_DIR		"/dev/shm"

/* ---------------------------------------------------------------- directories */

struct search {
	const struct ckpt_rec_file *rec;
	char *path;		/* PATH_MAX bytes: the entry that is looked at; the result */
	unsigned int left;	/* entries that may still be looked at */
	unsigned int depth;	/* directories that may still be entered */
};

static bool search_in(struct search *s, int fd, size_t len);

/* Search the directory in s->path, which is @name in @dir, if it is on the file's file system. */
static bool search_below(struct search *s, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool found;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) || st.st_dev != s->rec->dev) {
		close(fd);
		return false;
	}
	s->depth--;
	found = search_in(s, fd, strlen(s->path));
	s->depth++;
	return found;
}

/* Search the directory @fd, whose path is the first @len bytes of s->path; takes @fd over. */
static bool search_in(struct search *s, int fd, size_t len)
{
	_cleanup_dir_ DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		close(fd);
		return false;
	}
	while (s->left && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		bool maybe = (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
			     !state_name_silly(name);

		s->left--;
		if (!strcmp(name, ".") || !strcmp(name, "..") || len + strlen(name) + 2 > PATH_MAX)
			continue;
		sprintf(s->path + len, "/%s", name);
		if (maybe && dump_is_at(s->rec, dirfd(dir), name))
			return true;
		if (entry->d_type == DT_DIR && s->depth && search_below(s, dirfd(dir), name))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- places */

/* Search the job's /dev/shm, which we see elsewhere; the path found is the job's. */
static bool find_in_shm(const struct dump *d, const struct ckpt_rec_file *rec, char *path)
{
	struct search s = { rec, path, ENTRIES_MAX, DEPTH_MAX };
	struct stat st;
	int fd;

	if (!d->options->shm_dir || stat(d->options->shm_dir, &st) || st.st_dev != rec->dev)
		return false;
	fd = open(d->options->shm_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	strcpy(path, SHM_DIR);
	return fd >= 0 && search_in(&s, fd, strlen(SHM_DIR));
}

/*
 * Search the directory of the name that is gone, which is in @path.  On a file system in
 * memory, which is fast, search all its other directories, too, the nearest first.
 */
static bool find_near(const struct state_file *file, char *path)
{
	bool all = state_file_in_memory(file);
	struct search s = { file->rec, path, ENTRIES_MAX, all ? DEPTH_MAX : 0 };
	char *slash = strrchr(path, '/');
	struct stat st;
	int fd;

	for (; slash; slash = all ? strrchr(path, '/') : NULL) {
		*slash = 0;
		fd = open(slash == path ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (fstat(fd, &st) || st.st_dev != file->rec->dev) {
			close(fd);
			return false;
		}
		if (search_in(&s, fd, (size_t)(slash - path)))
			return true;
		*slash = 0;
	}
	return false;
}

/* Look for another open file of the same inode whose name is still there. */
static bool find_open(struct dump_probe *p, const struct ckpt_rec_file *rec, char *path)
{
	const struct state *state = p->d->cap.state;

	for (unsigned int i = 0; i < state->nr_files; i++) {
		const struct state_file *other = &state->files[i];

		if (other->rec->dev == rec->dev && other->rec->ino == rec->ino &&
		    !state_file_deleted(other) && other->path[0] == '/' &&
		    dump_probe_path(p, other, path, PATH_MAX) == 0 &&
		    dump_is_at(rec, AT_FDCWD, path))
			return true;
	}
	return false;
}

/* Find another name of the file than @gone, into @path. */
static bool find_name(struct dump_probe *p, const struct state_file *file, const char *gone,
		      char *path)
{
	if (find_in_shm(p->d, file->rec, path))
		return true;
	strcpy(path, gone);
	return find_near(file, path) || find_open(p, file->rec, path);
}

/* ---------------------------------------------------------------- files */

static bool can_write(const struct dump *d, const struct ckpt_rec_file *rec)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_files; i++) {
		const struct ckpt_rec_file *other = state->files[i].rec;

		if (other->dev != rec->dev || other->ino != rec->ino)
			continue;
		if (other->flags & CKPT_FILE_MAPPED_SHARED_WRITE ||
		    (other->flags & CKPT_FILE_OPEN && (other->f_flags & O_ACCMODE) != O_RDONLY))
			return true;
	}
	return false;
}

union any_handle {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static int get_handle(int fd, union any_handle *ret_handle)
{
	int mount;

	ret_handle->handle.handle_bytes = MAX_HANDLE_SZ;
	return name_to_handle_at(fd, "", &ret_handle->handle, &mount, AT_EMPTY_PATH) ?
	       -errno : 0;
}

/*
 * The search for the other name may take long.  It can wait for the thaw if a handle shows
 * that the file can be found, and if the file stays in its place whether it has a name or
 * not (it is not carried).
 */
int dump_probe_link(struct dump_probe *p, const struct state_file *file)
{
	struct dump *d = p->d;
	bool in_memory = state_file_in_memory(file);
	struct dump_place *place = dump_place(d, file);
	char gone[PATH_MAX], path[PATH_MAX];
	union any_handle h;
	int ret = dump_probe_path(p, file, gone, sizeof(gone)), no_handle;

	if (ret || gone[0] != '/')
		return ret;
	_cleanup_fd_ int fd = dump_file_fd(d, file);

	if (fd < 0)
		return fd;
	no_handle = in_memory ? -EOPNOTSUPP : get_handle(fd, &h);
	if (!no_handle && d->options->files != ENGINE_FILES_CARRY) {
		place->link = true;
		place->handle = true;
		place->gone = strdup(gone);
		return place->gone ? 0 : error_fail(d->error, -ENOMEM, "out of memory");
	}
	if (find_name(p, file, gone, path))
		return dump_place_add(d, file, ENGINE_PLACE_LINK, path, NULL);
	if (!no_handle)
		return dump_place_add(d, file, ENGINE_PLACE_LINK, gone, &h.handle);
	if (can_write(d, file->rec))
		dump_refuse(d, file, CKPT_R_FILE_LINK, "has another name that cannot be found:");
	return 0;
}

/* The search after the thaw: by now the other name may have changed again, or be gone. */
static int find_link(struct dump_probe *p, const struct state_file *file)
{
	struct dump *d = p->d;
	struct dump_inode *inode = dump_inode(d, file);
	const char *gone = dump_place(d, file)->gone;
	char path[PATH_MAX];
	union any_handle h;
	int ret;

	if (find_name(p, file, gone, path))
		return dump_place_add(d, file, ENGINE_PLACE_LINK, path, NULL);
	ret = inode ? get_handle(inode->fd, &h) : -EBADF;
	if (ret)
		return error_fail(d->error, ret, "%s: %s", gone, strerror(-ret));
	return dump_place_add(d, file, ENGINE_PLACE_LINK, gone, &h.handle);
}

int dump_probe_links(struct dump *d)
{
	struct dump_probe p = { .d = d };
	int ret = 0;

	for (unsigned int i = 0; !ret && i < d->nr_places; i++)
		if (d->places[i].gone)
			ret = find_link(&p, &d->cap.state->files[i]);
	return ret;
}
