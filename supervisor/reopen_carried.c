// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents that the image carries for paths: the job's /dev/shm, files in memory
 * file systems, and files of a dump that was asked to carry them.
 *
 * A file that is there with the recorded size and time is left alone: this node
 * still has it.  Otherwise it gets the recorded content, in place, because
 * others may have it open.  Paths of /dev/shm never lead out of that directory.
 */
#include "supervisor/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHM_DIR		"/dev/shm"

static uint64_t mtime_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec;
}

static bool unchanged(int fd, const struct engine_rec_blob *blob)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == blob->size && mtime_of(&st) == blob->mtime_ns;
}

/* Owner and group if that is allowed: the owner's own files have them already. */
static int set_attributes(int fd, const struct engine_rec_blob *blob)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(blob->mtime_ns / 1000000000),
		  .tv_nsec = (long)(blob->mtime_ns % 1000000000) },
	};

	if (fchown(fd, blob->uid, blob->gid) && errno != EPERM)
		return -errno;
	if (fchmod(fd, blob->mode & 07777) || futimens(fd, times))
		return errno == EPERM ? 0 : -errno;
	return 0;
}

static int put_content(struct reopen *r, int fd, const struct engine_rec_blob *blob)
{
	int ret;

	if (ftruncate(fd, 0) || ftruncate(fd, (off_t)blob->size))
		return -errno;
	ret = reopen_blob(r, blob, fd, NULL);
	return ret ? ret : set_attributes(fd, blob);
}

/* ---------------------------------------------------------------- /dev/shm */

static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC | O_NOFOLLOW),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int shm_remember(struct reopen *r, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s/%s",
		     r->options->shm_dir ? r->options->shm_dir : SHM_DIR, path) >=
	    (int)sizeof(full))
		return -ENAMETOOLONG;
	return reopen_created(r, full);
}

static int shm_file(struct reopen *r, int dir, const struct engine_rec_blob *blob)
{
	const char *path = state_blob_path(blob);
	_cleanup_fd_ int fd = open_beneath(dir, path, O_RDWR | O_CREAT | O_EXCL, 0600);
	int ret;

	if (fd == -EEXIST)
		fd = open_beneath(dir, path, O_RDWR | O_NONBLOCK, 0);
	else if (fd >= 0) {
		ret = shm_remember(r, path);
		if (ret)
			return ret;
	}
	if (fd < 0)
		return fd;
	return unchanged(fd, blob) ? 0 : put_content(r, fd, blob);
}

/* The directory that holds @path, and the last component. */
static int shm_parent(int dir, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if ((size_t)(slash - path) >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = 0;
	return open_beneath(dir, parent, O_PATH | O_DIRECTORY, 0);
}

static int shm_node(struct reopen *r, int dir, const struct engine_rec_blob *blob)
{
	const char *path = state_blob_path(blob), *name;
	_cleanup_fd_ int parent = shm_parent(dir, path, &name);
	int ret;

	if (parent < 0)
		return parent;
	if (!strcmp(name, "..") || !strcmp(name, ".") || !name[0])
		return -EBADMSG;
	if (S_ISDIR(blob->mode))
		ret = mkdirat(parent, name, blob->mode & 07777);
	else if (S_ISLNK(blob->mode))
		ret = symlinkat(state_blob_target(blob) ? state_blob_target(blob) : "", parent,
				name);
	else if (S_ISFIFO(blob->mode))
		ret = mknodat(parent, name, blob->mode & (S_IFMT | 07777), 0);
	else
		return 0;	/* a socket's name is nothing without the socket */
	if (ret)
		return errno == EEXIST ? 0 : -errno;
	ret = shm_remember(r, path);
	if (ret || S_ISLNK(blob->mode))
		return ret;
	if (fchownat(parent, name, blob->uid, blob->gid, AT_SYMLINK_NOFOLLOW) && errno != EPERM)
		return -errno;
	return fchmodat(parent, name, blob->mode & 07777, 0) ? -errno : 0;
}

int reopen_shm_dir(struct reopen *r)
{
	const char *path = r->options->shm_dir ? r->options->shm_dir : SHM_DIR;
	_cleanup_fd_ int dir = -1;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_blobs; i++) {
		const struct engine_rec_blob *blob = r->state->blobs[i];

		if (blob->kind != ENGINE_BLOB_SHM_DIR)
			continue;
		if (dir < 0)
			dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return engine_fail(r->error, -errno, "cannot open %s: %s", path,
					   strerror(errno));
		if (!state_blob_path(blob))
			continue;
		if (S_ISREG(blob->mode))
			ret = shm_file(r, dir, blob);
		else
			ret = shm_node(r, dir, blob);
		if (ret)
			engine_fail(r->error, ret, "cannot restore %s/%s: %s", path,
				    state_blob_path(blob), strerror(-ret));
	}
	return ret;
}

/* ---------------------------------------------------------------- files */

static int carry_file(struct reopen *r, const struct state_file *file)
{
	const struct engine_rec_blob *blob = file->blob;
	int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	_cleanup_fd_ int fd = reopen_path(file, O_RDONLY | flags, 0);
	bool keep = r->options->files == ENGINE_FILES_IGNORE;
	int ret;

	if (fd >= 0 && (keep || unchanged(fd, blob)))
		return 0;
	if (fd >= 0)
		close(take_fd(&fd));
	fd = reopen_path(file, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
	if (fd >= 0) {
		ret = reopen_created(r, file->path);
		if (ret)
			return ret;
	} else if (fd == -EEXIST) {
		fd = reopen_path(file, O_RDWR | flags, 0);
	}
	if (fd < 0)
		return reopen_failed(r, file, fd, "write");
	ret = put_content(r, fd, blob);
	return ret ? reopen_failed(r, file, ret, "write") : 0;
}

int reopen_carried(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->blob && file->blob->kind == ENGINE_BLOB_FILE &&
		    r->first[i] == i && !file->external)
			ret = carry_file(r, file);
	}
	return ret;
}
