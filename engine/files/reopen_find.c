// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding the recorded inode of a file; see reopen_find.h.
 *
 * A number alone proves little: a file system gives it to a later file. Beside the number the
 * mark must agree (file_mark.h). Where a mark tells nothing, the recorded name is believed, as
 * it always was; under another name the recorded end of the content must be there as well.
 *
 * All looking is done with the owner's rights. Only whether a handle still leads to the inode
 * is asked with more, by a descriptor that nothing is opened through. The search is bounded.
 */
#include "engine/files/reopen_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/file_identity.h"
#include "engine/core/file_mark.h"
#include "engine/core/rights.h"

#define ENTRIES_MAX	16384	/* entries looked at for one file */
#define DEPTH_MAX	2	/* directories below the first */

/* ---------------------------------------------------------------- identity */

static bool reopen_find_has_inodes(const struct ckpt_rec_file *rec)
{
	switch (rec->fs_magic) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
		return false;
	default:
		return true;
	}
}

static bool reopen_find_is_for(const struct reopen *r, const struct state_file *file)
{
	return file->rec->kind == CKPT_FILE_REG && file->track && !file->external &&
	       !(file->track->flags & ENGINE_TRACK_EXEC) && !state_file_deleted(file) &&
	       !state_file_handle(file) && reopen_find_has_inodes(file->rec) &&
	       (!(file->blob && file->blob->kind == ENGINE_BLOB_FILE) ||
		file->track->flags & ENGINE_TRACK_KEPT) && !reopen_is_late(r, file);
}

static enum file_mark_verdict reopen_find_compare(const struct state_file *file, int fd)
{
	const struct engine_rec_file_mark *rec = file->mark;
	struct file_mark was = { 0 }, here;

	if (!rec)
		return FILE_MARK_TELLS_NOTHING;
	was.btime_ns = rec->btime_ns;
	was.handle_type = rec->handle_type;
	was.handle_len = rec->handle_len;
	memcpy(was.handle, rec + 1, rec->handle_len);
	file_mark_read(fd, &here);
	return file_mark_compare(&was, &here);
}

/* Has the file the recorded end at the recorded place? */
static bool reopen_find_has_tail(const struct state_file *file, int base)
{
	const struct engine_rec_file_track *track = file->track;
	_cleanup_fd_ int fd = reopen_again(base, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t hash[32];

	return fd >= 0 && track->flags & ENGINE_TRACK_TAIL && track->tail_len &&
	       file_identity_tail(fd, track->tail_start, track->tail_len, hash) == 0 &&
	       memcmp(hash, track->tail_hash, sizeof(hash)) == 0;
}

/* Is @fd the recorded inode? @named: it was found under its recorded name. */
static bool reopen_find_is_it(const struct state_file *file, int fd, bool named)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != file->rec->ino)
		return false;
	switch (reopen_find_compare(file, fd)) {
	case FILE_MARK_SAME:
		return true;
	case FILE_MARK_OTHER:
		return false;
	default:
		return named || (st.st_dev == file->rec->dev && reopen_find_has_tail(file, fd));
	}
}

/* ---------------------------------------------------------------- search */

struct finding {
	const struct state_file *file;
	struct reopen_found *found;
	char path[PATH_MAX];	/* of the entry that is looked at */
	dev_t dev;		/* the file system that is searched */
	unsigned int left;	/* entries that may still be looked at */
};

/* Is the entry, whose path is in f->path, the inode? Then keep it. */
static bool reopen_find_take(struct finding *f, int dir, const char *name)
{
	_cleanup_fd_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || !reopen_find_is_it(f->file, fd, false))
		return false;
	f->found->path = strdup(f->path);
	f->found->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (!f->found->path || f->found->dir < 0)
		return false;
	f->found->fd = take_fd(&fd);
	f->found->at = REOPEN_AT_OTHER_NAME;
	return true;
}

static bool reopen_find_in(struct finding *f, int fd, size_t len, unsigned int depth);

static bool reopen_find_below(struct finding *f, int dir, const char *name, unsigned int depth)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && reopen_find_in(f, fd, strlen(f->path), depth);
}

/* Look at all entries of @dir: at its files, or with @depth into its directories. */
static bool reopen_find_pass(struct finding *f, DIR *dir, size_t len, unsigned int depth)
{
	struct dirent *entry;

	while (f->left && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		f->left--;
		if (!strcmp(name, ".") || !strcmp(name, "..") || state_name_silly(name) ||
		    len + strlen(name) + 2 > sizeof(f->path))
			continue;
		sprintf(f->path + len, "/%s", name);
		if (depth && entry->d_type == DT_DIR &&
		    reopen_find_below(f, dirfd(dir), name, depth - 1))
			return true;
		if (!depth && entry->d_ino == f->file->rec->ino &&
		    (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
		    reopen_find_take(f, dirfd(dir), name))
			return true;
	}
	return false;
}

/* Search the directory @fd, whose path is the first @len bytes of f->path; takes @fd over. */
static bool reopen_find_in(struct finding *f, int fd, size_t len, unsigned int depth)
{
	_cleanup_dir_ DIR *dir = fdopendir(fd);
	struct stat st;

	if (!dir) {
		close(fd);
		return false;
	}
	if (fstat(fd, &st) || st.st_dev != f->dev)
		return false;
	if (reopen_find_pass(f, dir, len, 0))
		return true;
	if (!depth)
		return false;
	rewinddir(dir);
	return reopen_find_pass(f, dir, len, depth);
}

/*
 * Search the directory in f->path, of which @len bytes count; *@ret_there: it is there. Only the
 * recorded directory may be on another file system than at the checkpoint: looking around
 * elsewhere might mount things.
 */
static bool reopen_find_from(struct finding *f, size_t len, bool recorded, unsigned int depth,
			     bool *ret_there)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%.*s", len ? (int)len : 1, len ? f->path : "/");
	fd = reopen_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	*ret_there = fd >= 0 || fd != -ENOENT;
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || (!recorded && st.st_dev != f->dev)) {
		close(fd);
		return false;
	}
	f->dev = st.st_dev;
	f->left = ENTRIES_MAX;
	return reopen_find_in(f, fd, len, depth);
}

/*
 * Search the recorded directory, or the nearest one on the path that is there, and what is
 * below it; then what is beside it.
 */
static bool reopen_find_near(struct finding *f)
{
	bool there = false;
	char *slash;

	if (strlen(f->file->path) >= sizeof(f->path))
		return false;
	for (unsigned int i = 0, here = 0; i < PATH_MAX && here < 2; i++) {
		strcpy(f->path, f->file->path);
		for (unsigned int up = 0; up <= i; up++) {
			slash = strrchr(f->path, '/');
			if (!slash)
				return false;
			*slash = 0;
		}
		if (reopen_find_from(f, strlen(f->path), !i, here ? 1 : DEPTH_MAX, &there))
			return true;
		here += there;
		if (!slash || slash == f->path)
			return false;
	}
	return false;
}

/* Ask by the handle whether the inode is still there, and what name it has. */
static bool reopen_find_by_handle(struct finding *f)
{
	const struct engine_rec_file_mark *rec = f->file->mark;
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { 0 };
	_cleanup_fd_ int near = reopen_near(f->file), fd = -1;
	uint64_t before;
	struct stat st;

	if (!rec || !rec->handle_len || near < 0 || rights_raise(RIGHTS_FILES, &before))
		return false;
	h.handle.handle_bytes = rec->handle_len;
	h.handle.handle_type = rec->handle_type;
	memcpy(h.room + sizeof(h.handle), rec + 1, rec->handle_len);
	fd = open_by_handle_at(near, &h.handle, O_PATH | O_CLOEXEC);
	rights_lower(before);
	return fd >= 0 && !fstat(fd, &st) && st.st_nlink &&
	       reopen_find_compare(f->file, fd) == FILE_MARK_SAME;
}

/* ---------------------------------------------------------------- all */

/* The content is in the image, so the recorded name may lead to another inode: @named does. */
static void reopen_find_forget(struct reopen_found *found, bool named)
{
	close(found->fd);
	close(found->dir);
	free(found->path);
	*found = (struct reopen_found){
		.looked = true, .fd = -1, .dir = -1,
		.at = named ? REOPEN_AT_OTHER_FILE : REOPEN_AT_NOWHERE,
	};
}

static void reopen_find_look(struct reopen *r, const struct state_file *file,
			     struct reopen_found *found)
{
	_cleanup_fd_ int fd = reopen_had(file, O_PATH | O_CLOEXEC);
	struct finding *f;

	*found = (struct reopen_found){ .looked = true, .fd = -1, .dir = -1 };
	if (fd >= 0 && reopen_find_is_it(file, fd, true)) {
		found->at = REOPEN_AT_NAME;
		found->fd = take_fd(&fd);
		return;
	}
	found->at = fd >= 0 ? REOPEN_AT_OTHER_FILE : REOPEN_AT_NOWHERE;
	f = file->mapped ? NULL : calloc(1, sizeof(*f));
	if (!f)
		return;
	f->file = file;
	f->found = found;
	f->dev = file->rec->dev;
	if (reopen_find_near(f)) {
		reopen_names_plan(r, file, found);
		if (found->stuck && file->track->flags & ENGINE_TRACK_KEPT)
			reopen_find_forget(found, fd >= 0);
	} else {
		found->exists = reopen_find_by_handle(f);
	}
	free(f);
}

/* The first file of the same inode that was opened by the same name. */
static unsigned int reopen_find_first(const struct reopen *r, const struct state_file *file)
{
	unsigned int index = (unsigned int)(file - r->state->files);

	for (unsigned int i = r->first[index]; i < index; i++)
		if (r->first[i] == r->first[index] &&
		    reopen_find_is_for(r, &r->state->files[i]) &&
		    !strcmp(r->state->files[i].path, file->path))
			return i;
	return index;
}

struct reopen_found *reopen_find(struct reopen *r, const struct state_file *file)
{
	struct reopen_found *found;

	if (!reopen_find_is_for(r, file))
		return NULL;
	found = &r->found[reopen_find_first(r, file)];
	if (!found->looked)
		reopen_find_look(r, file, found);
	return found;
}

void reopen_find_done(struct reopen *r)
{
	for (unsigned int i = 0; i < r->state->nr_files; i++) {
		struct reopen_found *found = &r->found[i];

		if (!found->looked)
			continue;
		if (found->fd >= 0)
			close(found->fd);
		if (found->dir >= 0)
			close(found->dir);
		free(found->path);
	}
}

int reopen_find_open(struct reopen *r, const struct state_file *file, int flags)
{
	const struct reopen_found *found = reopen_find(r, file);
	int fd;

	if (found && found->anew)
		return reopen_other_make(r, file, flags);
	if (!found || found->fd < 0)
		return reopen_had(file, flags);
	fd = reopen_again(found->fd, flags);
	if (fd == -EPERM && flags & O_NOATIME)
		fd = reopen_again(found->fd, flags & ~O_NOATIME);
	/* closed to its owner by now: reopen_had() knows when it is opened all the same */
	return fd == -EACCES && found->at == REOPEN_AT_NAME ? reopen_had(file, flags) : fd;
}

bool reopen_writes(const struct reopen *r, const struct state_file *file, bool *ret_appends)
{
	unsigned int first = r->first[file - r->state->files];
	bool writes = false, appends = true;

	for (unsigned int i = first; i < r->state->nr_files; i++) {
		const struct ckpt_rec_file *rec = r->state->files[i].rec;
		bool maps = rec->flags & CKPT_FILE_MAPPED_SHARED_WRITE;

		if (r->first[i] != first ||
		    (!maps && (!(rec->flags & CKPT_FILE_OPEN) ||
			       (rec->f_flags & O_ACCMODE) == O_RDONLY)))
			continue;
		writes = true;
		appends = appends && !maps && rec->f_flags & O_APPEND;
	}
	*ret_appends = writes && appends;
	return writes;
}
