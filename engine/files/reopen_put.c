// SPDX-License-Identifier: GPL-2.0-only
/*
 * Putting back contents of existing files: output that grew is cut to its recorded length,
 * files that the image carries get the recorded content.
 *
 * This is done last, when nothing but the commit itself can still fail, and in two steps.
 * First every content that will be replaced is copied to a file beside its file.  Then
 * the files are changed in place, because others may have them open.  If a step or the
 * commit fails, everything is taken back (reopen_undo()).  If even that is cut short, by
 * a kill or a power cut, the copy still lies beside the file.  After the commit the copies
 * of tails that were cut off stay, and those of files that were kept because the tree could write
 * them in place; the other copies are removed.
 *
 * The tree's memory is there already: no file may be shorter than its final size, not even
 * for a moment, or private pages of its mappings would be lost.  Only a program that the
 * tree executes is written earlier: nobody may have it open for writing when it runs.
 */
#include "base/error.h"
#include "engine/files/reopen_find.h"
#include "engine/files/reopen_mqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/rights.h"

#define NAMES		10000	/* names tried for a copy: copies of tails stay for good */
#define CHUNK		(1UL << 16)

struct reopen_put {
	char *path;
	const struct state_file *file;		/* the file to be cut; NULL if @blob */
	const struct engine_rec_blob *blob;	/* the new content; NULL: cut the file */
	uint64_t start;				/* everything behind it is replaced */
	int fd;
	bool raised;				/* opened with more rights than the owner's */
	struct stat old;
	const struct state_file *newer;		/* the file; its copy stays: the user may want
						 * that content; NULL: it does not
						 */
	int kept;				/* copy of the replaced content; -1: none yet */
	char *kept_path;			/* of the copy; NULL: it lies in memory */
	bool extended;				/* given its size early, because it is mapped */
	bool changed;
	bool done;				/* written early, a program; @fd is for reading */
};

static int put_failed(struct reopen *r, const struct reopen_put *put, int err, const char *what)
{
	return error_fail(r->error, err, "cannot %s %s: %s", what, put->path, strerror(-err));
}

/* ---------------------------------------------------------------- adding */

static struct reopen_put *reopen_put_add(struct reopen *r, const char *path)
{
	struct reopen_put *put = reallocarray(r->puts, r->nr_puts + 1, sizeof(*put));

	if (!put)
		return NULL;
	r->puts = put;
	put += r->nr_puts;
	*put = (struct reopen_put){ .path = strdup(path), .fd = -1, .kept = -1 };
	if (!put->path)
		return NULL;
	r->nr_puts++;
	return put;
}

int reopen_put_cut(struct reopen *r, const struct state_file *file, uint64_t len)
{
	struct reopen_put *put = reopen_put_add(r, file->path);

	if (!put)
		return error_fail(r->error, -ENOMEM, "out of memory");
	put->start = len;
	put->file = file;
	return 0;
}

/* Does the tree map the file? A page of a mapping beyond the file's end could not be filled. */
static bool is_mapped(const struct reopen *r, const struct engine_rec_blob *blob)
{
	for (unsigned int i = 0; i < r->state->nr_vmas; i++) {
		const struct state_file *file = r->state->vmas[i].file;

		if (file && file->rec->dev == blob->dev && file->rec->ino == blob->ino)
			return true;
	}
	return false;
}

/*
 * The file of @blob if its content was kept at the dump, because the tree could write the file in
 * place: what the tree wrote after the dump is then kept beside the file. NULL: the content was
 * carried for another reason, or the caller does not want the newer one.
 */
static const struct state_file *newer_file(const struct reopen *r,
					  const struct engine_rec_blob *blob)
{
	const struct state *state = r->state;

	if (r->options->files != ENGINE_FILES_KEEP || !state->tree ||
	    state->tree->files != ENGINE_FILES_KEEP || blob->kind != ENGINE_BLOB_FILE)
		return NULL;
	for (unsigned int i = 0; i < state->nr_files; i++)
		if (state->files[i].blob == blob)
			return state_file_in_memory(&state->files[i]) ? NULL : &state->files[i];
	return NULL;
}

static int reopen_put_keep(struct reopen *r, struct reopen_put *put);

static void keep_failed(struct reopen *r, const struct reopen_put *put, int err)
{
	if (put->newer)
		error_fail(r->error, err, "cannot keep the newer content of %s beside it: %s; make "
			   "room, or give it up (--files carry)", put->path, strerror(-err));
	else
		put_failed(r, put, err, "keep a copy of the old content of");
}

static int put_program(struct reopen *r, struct reopen_put *put)
{
	int ret = reopen_put_keep(r, put), fd;

	if (ret)
		return put_failed(r, put, ret, "keep a copy of the old content of");
	put->changed = true;
	ret = reopen_write_content(r, put->fd, put->blob, 0);
	fd = ret ? ret : reopen_again(put->fd, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return put_failed(r, put, fd, "put back");
	close(put->fd);
	put->fd = fd;
	put->done = true;
	return 0;
}

int reopen_put_content(struct reopen *r, const char *path, int fd, bool raised,
		       const struct engine_rec_blob *blob)
{
	struct reopen_put *put = reopen_put_add(r, path);

	if (!put) {
		close(fd);
		return error_fail(r->error, -ENOMEM, "out of memory");
	}
	put->blob = blob;
	put->fd = fd;
	put->raised = raised;
	put->newer = newer_file(r, blob);
	if (fstat(fd, &put->old))
		return put_failed(r, put, -errno, "use");
	if (reopen_is_program(r, blob->dev, blob->ino))
		return put_program(r, put);
	if ((uint64_t)put->old.st_size >= blob->size || !is_mapped(r, blob))
		return 0;
	put->extended = true;
	return ftruncate(fd, (off_t)blob->size) ? put_failed(r, put, -errno, "size") : 0;
}

int reopen_put_closed(struct reopen *r, const struct state_file *file, int fd,
		      const struct engine_rec_blob *blob)
{
	int ret = reopen_put_content(r, file->path, fd, false, blob);

	if (!ret && r->options->files == ENGINE_FILES_KEEP)
		r->puts[r->nr_puts - 1].newer = file;
	return ret;
}

/* ---------------------------------------------------------------- bytes */

static bool reopen_put_has_nothing(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && !st.st_blocks && reopen_is_huge(fd);
}

static int reopen_put_clear(int fd, uint64_t start, uint64_t end)
{
	static const char zeros[4096];
	size_t n;
	int ret;

	if (start >= end || reopen_put_has_nothing(fd))
		return 0;
	if (!reopen_is_huge(fd) && !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					      (off_t)start, (off_t)(end - start)))
		return 0;
	for (; start < end; start += n) {
		n = end - start < sizeof(zeros) ? (size_t)(end - start) : sizeof(zeros);
		ret = reopen_pwrite_all(fd, zeros, n, start);
		if (ret)
			return ret;
	}
	return 0;
}

static int reopen_put_copy_data(int from, uint64_t start, uint64_t end, int to, uint64_t shift,
				char *buf)
{
	while (start < end) {
		size_t want = end - start < CHUNK ? (size_t)(end - start) : CHUNK;
		ssize_t n = pread(from, buf, want, (off_t)start);
		int ret;

		if (n <= 0)
			return n ? -errno : -EIO;
		ret = reopen_pwrite_all(to, buf, (size_t)n, start + shift);
		if (ret)
			return ret;
		start += (uint64_t)n;
	}
	return 0;
}

/* Copy [start, end) of @from to the same range of @to, moved by @shift; holes stay holes. */
static int reopen_put_copy(int from, uint64_t start, uint64_t end, int to, uint64_t shift)
{
	_cleanup_free_ char *buf = malloc(CHUNK);
	int ret = buf ? 0 : -ENOMEM;

	while (start < end && !ret) {
		off_t data = lseek(from, (off_t)start, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);

		if (data < 0)
			data = errno == ENXIO ? (off_t)end : (off_t)start;
		if (hole < 0 || (uint64_t)hole > end)
			hole = (off_t)end;
		if ((uint64_t)data > end)
			data = (off_t)end;
		ret = reopen_put_clear(to, start + shift, (uint64_t)data + shift);
		if (!ret)
			ret = reopen_put_copy_data(from, (uint64_t)data, (uint64_t)hole, to, shift,
						   buf);
		start = (uint64_t)hole;
	}
	return ret;
}

/* ---------------------------------------------------------------- keeping */

/*
 * Name of the copy: @base with a suffix; @base is cut if the name would be too long. The dot in
 * front keeps it out of patterns: a program that reads NAME* must not read what was cut off.
 */
static void name_beside(const struct reopen *r, const struct reopen_put *put, const char *base,
			int try, char *buf, size_t size)
{
	unsigned long long generation = r->state->tree ? r->state->tree->generation : 0;
	char tail[64];
	int len = snprintf(tail, sizeof(tail), ".stillpoint-%s-%llu",
			   put->newer ? "newer" : put->blob ? "old" : "cut", generation);

	if (try)
		len += snprintf(tail + len, sizeof(tail) - (size_t)len, ".%d", try);
	snprintf(buf, size, ".%.*s%s", (int)size - 2 - len, base, tail);
}

/* Does @dir hold the file? With raised rights a copy is put only into the file's own directory. */
static bool reopen_put_holds(int dir, const char *base, const struct reopen_put *put)
{
	struct stat st;

	if (put->file && state_file_handle(put->file))
		return true;
	return fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == put->old.st_dev && st.st_ino == put->old.st_ino;
}

static int create_beside(struct reopen *r, struct reopen_put *put)
{
	const char *slash = strrchr(put->path, '/');
	char path[PATH_MAX], name[NAME_MAX + 1];
	_cleanup_fd_ int dir = -1;
	int fd = -EEXIST;

	if (!slash || slash - put->path + 2 > (int)sizeof(path))
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%.*s/", (int)(slash - put->path), put->path);
	dir = put->raised ? reopen_strictly(path, O_PATH | O_DIRECTORY | O_CLOEXEC) :
			    reopen_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir >= 0 && put->raised && !reopen_put_holds(dir, slash + 1, put))
		return -EACCES;
	for (int i = 0; dir >= 0 && i < NAMES && fd == -EEXIST; i++) {
		name_beside(r, put, slash + 1, i, name, sizeof(name));
		fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			fd = -errno;
	}
	if (dir < 0 || fd < 0)
		return dir < 0 ? dir : fd;
	if (asprintf(&put->kept_path, "%s%s", path, name) < 0)
		put->kept_path = NULL;
	return fd;
}

/*
 * Give the copy, which is still empty, the mode and owner of the file, so that only those can
 * read it who could read the file.  The mode comes first: after the file was given away, only
 * its new owner may set the mode.
 */
static int reopen_put_give(const struct reopen_put *put, int fd)
{
	int ret = 0;

	if (fchmod(fd, put->old.st_mode & 0777) ||
	    fchown(fd, put->old.st_uid, put->old.st_gid))
		ret = -errno;
	return put->raised ? ret : 0;
}

static int keep_beside(struct reopen *r, struct reopen_put *put)
{
	uint64_t before = 0;
	int ret;

	if (put->raised && rights_raise(RIGHTS_FILES, &before))
		return -EACCES;
	put->kept = reopen_is_huge(put->fd) ? -EINVAL : create_beside(r, put);
	ret = put->kept < 0 ? put->kept : reopen_put_give(put, put->kept);
	if (put->raised)
		rights_lower(before);
	return ret;
}

static int reopen_put_keep(struct reopen *r, struct reopen_put *put)
{
	int ret = keep_beside(r, put);

	/* the owner may not write to the directory, but what stays can be kept nowhere else */
	if ((ret == -EACCES || ret == -EPERM) && (!put->blob || put->newer) && !put->raised &&
	    reopen_is_recorded(put->blob ? put->newer : put->file, put->fd)) {
		put->raised = true;
		ret = keep_beside(r, put);
	}
	/* no room beside the file: memory suffices until the commit, but not for what stays */
	if (put->kept < 0 && put->blob && !put->newer)
		put->kept = reopen_memory("kept");
	else if (ret)
		return ret;
	if (put->kept < 0)
		return ret;
	if (!put->start && !ioctl(put->kept, FICLONE, put->fd))
		return fsync(put->kept) ? -errno : 0;
	ret = reopen_put_copy(put->fd, put->start, (uint64_t)put->old.st_size, put->kept,
			      -put->start);
	if (!ret && ftruncate(put->kept, put->old.st_size - (off_t)put->start))
		ret = -errno;
	return ret ? ret : fsync(put->kept) ? -errno : 0;
}

/* ---------------------------------------------------------------- putting */

/* EPERM of fchown() is ignored: files of the owner have the right owner already. */
static int set_attributes(int fd, const struct engine_rec_blob *blob, mode_t mode)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(blob->mtime_ns / 1000000000),
		  .tv_nsec = (long)(blob->mtime_ns % 1000000000) },
	};

	if (fchown(fd, blob->uid, blob->gid) && errno != EPERM)
		return -errno;
	if (fchmod(fd, mode) || futimens(fd, times))
		return errno == EPERM ? 0 : -errno;
	return 0;
}

int reopen_write_content(struct reopen *r, int fd, const struct engine_rec_blob *blob, mode_t more)
{
	uint64_t cursor = 0, offset, len, at = 0;
	int ret = ftruncate(fd, (off_t)blob->size) ? -errno : 0;

	while (!ret && blob->blob &&
	       (ret = image_blob_extent(r->reader, blob->blob, &cursor, &offset, &len)) > 0) {
		ret = offset > blob->size ? -EBADMSG : reopen_put_clear(fd, at, offset);
		at = offset + len;
	}
	if (!ret)
		ret = reopen_put_clear(fd, at, blob->size);
	if (!ret)
		ret = reopen_blob(r, blob, fd, NULL);
	return ret ? ret : set_attributes(fd, blob, (blob->mode & 07777) | more);
}

static int open_cut(struct reopen *r, struct reopen_put *put)
{
	/* if only a handle leads to the file, its old name may be another file's by now */
	put->fd = state_file_handle(put->file) ? -EACCES :
		  reopen_path(put->file, O_RDWR | O_CLOEXEC, 0);
	put->raised = put->fd == -EACCES;
	if (put->raised)
		put->fd = reopen_had(put->file, O_RDWR | O_CLOEXEC);
	if (put->fd < 0 || fstat(put->fd, &put->old))
		return put_failed(r, put, put->fd < 0 ? put->fd : -errno, "open");
	return 0;
}

static bool is_needed(const struct reopen_put *put)
{
	return put->blob || (uint64_t)put->old.st_size > put->start;
}

int reopen_put_back(struct reopen *r)
{
	int ret = reopen_names_back(r);

	if (!ret)
		ret = reopen_closed_put(r);
	if (!ret)
		ret = reopen_since_put(r);
	for (unsigned int i = 0; !ret && i < r->nr_puts; i++) {
		struct reopen_put *put = &r->puts[i];

		if (!put->blob)
			ret = open_cut(r, put);
		if (ret || put->done || !is_needed(put))
			continue;
		ret = reopen_put_keep(r, put);
		if (ret)
			keep_failed(r, put, ret);
	}
	for (unsigned int i = 0; !ret && i < r->nr_puts; i++) {
		struct reopen_put *put = &r->puts[i];

		if (put->done || !is_needed(put))
			continue;
		put->changed = true;
		if (put->blob)
			ret = reopen_write_content(r, put->fd, put->blob, 0);
		else if (ftruncate(put->fd, (off_t)put->start))
			ret = -errno;
		if (ret)
			put_failed(r, put, ret, "put back");
	}
	return ret;
}

/* ---------------------------------------------------------------- the end */

/* Open a program for writing again: the tree that executed it is dead by now. */
static int open_program(struct reopen_put *put)
{
	uint64_t before = 0;
	bool raised = put->raised && !rights_raise(RIGHTS_FILES, &before);
	int fd = reopen_again(put->fd, O_RDWR | O_CLOEXEC);

	if (raised)
		rights_lower(before);
	if (fd < 0)
		return fd;
	close(put->fd);
	put->fd = fd;
	return 0;
}

/* Give a file its old content, owner and mode back. If this fails, the copy stays beside it. */
static int take_back(struct reopen_put *put)
{
	const struct timespec times[2] = { put->old.st_atim, put->old.st_mtim };
	uint64_t size = (uint64_t)put->old.st_size;
	int ret = put->done ? open_program(put) : 0;

	if (!ret && ftruncate(put->fd, put->old.st_size))
		ret = -errno;
	if (!ret && put->changed)
		ret = reopen_put_copy(put->kept, 0, size - put->start, put->fd, put->start);
	if (ret)
		return ret;
	if (put->blob && fchown(put->fd, put->old.st_uid, put->old.st_gid) && errno != EPERM)
		return -errno;
	if (put->blob && fchmod(put->fd, put->old.st_mode & 07777) && errno != EPERM)
		return -errno;
	futimens(put->fd, times);
	return 0;
}

/*
 * Remove the copy with raised rights.  The owner of a directory on the way may have put another
 * one in its place, so only the very inode of the copy is removed.
 */
static void drop_raised(const struct reopen_put *put)
{
	const char *name = strrchr(put->kept_path, '/') + 1;
	_cleanup_free_ char *path = strndup(put->kept_path, (size_t)(name - put->kept_path));
	_cleanup_fd_ int dir = -1;
	struct stat kept, here;

	dir = path ? reopen_strictly(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -ENOMEM;
	if (dir >= 0 && !fstat(put->kept, &kept) &&
	    !fstatat(dir, name, &here, AT_SYMLINK_NOFOLLOW) &&
	    kept.st_dev == here.st_dev && kept.st_ino == here.st_ino)
		unlinkat(dir, name, 0);
}

static void drop_kept(const struct reopen_put *put)
{
	uint64_t before;

	if (!put->kept_path)
		return;
	if (put->raised && !rights_raise(RIGHTS_FILES, &before)) {
		drop_raised(put);
		rights_lower(before);
	} else {
		reopen_remove(put->kept_path);
	}
}

static void put_done(struct reopen_put *put)
{
	if (put->fd >= 0)
		close(put->fd);
	if (put->kept >= 0)
		close(put->kept);
	free(put->kept_path);
	free(put->path);
}

void reopen_put_undo(struct reopen *r)
{
	while (r->nr_puts) {
		struct reopen_put *put = &r->puts[--r->nr_puts];

		if ((!put->changed && !put->extended) || take_back(put) == 0)
			drop_kept(put);
		put_done(put);
	}
}

static void put_tell_newer(const struct reopen *r, const struct reopen_put *put)
{
	char text[2 * PATH_MAX];

	if (!r->options->note || !put->kept_path)
		return;
	snprintf(text, sizeof(text), "%s is as it was at the checkpoint; its newer content is kept "
		 "as %s", put->path, put->kept_path);
	r->options->note(text, r->options->note_arg);
}

void reopen_settle(struct reopen *r)
{
	for (unsigned int i = 0; i < r->nr_puts; i++)
		if (r->puts[i].newer)
			put_tell_newer(r, &r->puts[i]);
	for (unsigned int i = 0; i < r->nr_puts; i++)
		if (r->puts[i].blob && !r->puts[i].newer)
			drop_kept(&r->puts[i]);
	reopen_names_settle(r);
	reopen_ttys_settle(r);
	reopen_mqueue_close(r);
}

void reopen_put_done(struct reopen *r)
{
	while (r->nr_puts)
		put_done(&r->puts[--r->nr_puts]);
	free(r->puts);
	r->puts = NULL;
}
