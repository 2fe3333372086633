// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths of the image on this node.
 *
 * All paths begin at the root that the dump saw, which here is our own; also those of
 * files in a changed root.  A file whose opened name is gone and that has another name
 * is found by that name or by its handle.
 *
 * Files are opened with the owner's rights.  A file that a process had open may be closed
 * to its owner by now (the process gave rights up, or the mode was changed).  Such a file
 * is opened with raised rights, but only if its inode, type, owner and mode are as
 * recorded, and no symbolic link leads to it.  The checked descriptor is the one that is
 * opened again, so that nobody gets a file that he did not have, whatever he does to the
 * path meanwhile.
 *
 * A tree of root's may have processes of other users, whose files are then opened with
 * root's rights.  So that these users cannot redirect a path, symbolic links that are not
 * root's are not followed, in any component, whatever is renamed meanwhile.
 */
#include "engine/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/core/rights.h"

#define LINKS_MAX	40	/* the kernel's limit */

/* Open a path without following any symbolic link. */
static int open_once(const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags, .mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (flags & O_PATH)	/* openat2(2) refuses what open(2) ignores */
		how.flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

/*
 * Replace the first symbolic link in @path, which has PATH_MAX bytes, by its target.  The path in
 * front of the first link has no links, so that ".." in the target keeps its meaning.
 * -ELOOP: no link is left to follow, or the link is not root's.
 */
static int follow_first(char *path, bool last_too)
{
	char target[PATH_MAX], all[2 * PATH_MAX];
	size_t len = 0, start;
	struct stat st;

	for (;;) {
		start = len + strspn(path + len, "/");
		len = start + strcspn(path + start, "/");
		if (len == start || (!last_too && !path[len + strspn(path + len, "/")]))
			return -ELOOP;
		snprintf(all, sizeof(all), "%.*s", (int)len, path);
		_cleanup_fd_ int fd = open_once(all, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
		ssize_t n;

		if (fd < 0 || fstat(fd, &st))
			return fd < 0 ? fd : -errno;
		if (!S_ISLNK(st.st_mode))
			continue;
		if (st.st_uid)
			return -ELOOP;
		n = readlinkat(fd, "", target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = 0;
		if (snprintf(all, sizeof(all), "%.*s%s%s", target[0] == '/' ? 0 : (int)start, path,
			     target, path + len) >= PATH_MAX)
			return -ENAMETOOLONG;
		strcpy(path, all);
		return 0;
	}
}

static int open_for_root(const char *path, int flags, mode_t mode)
{
	char now[PATH_MAX];
	int fd = -ELOOP, ret = 0;

	if (strlen(path) >= sizeof(now))
		return -ENAMETOOLONG;
	strcpy(now, path);
	for (int links = 0; fd == -ELOOP && !ret && links <= LINKS_MAX; links++) {
		fd = open_once(now, flags, mode);
		if (fd == -ELOOP)
			ret = follow_first(now, !(flags & (O_NOFOLLOW | O_EXCL)));
	}
	return ret ? ret : fd;
}

static int open_as_owner(const char *path, int flags, mode_t mode)
{
	int fd;

	if (!geteuid())
		return open_for_root(path, flags, mode);
	fd = open(path, flags, mode);
	return fd < 0 ? -errno : fd;
}

int reopen_open(const char *path, int flags, mode_t mode)
{
	int fd = open_as_owner(path, flags, mode);

	/*
	 * Only a file's owner may ask for O_NOATIME; but overlayfs sets it on every
	 * file that it maps, whoever opened the file.
	 */
	if (fd == -EPERM && flags & O_NOATIME)
		fd = open_as_owner(path, flags & ~O_NOATIME, mode);
	return fd;
}

int reopen_strictly(const char *path, int flags)
{
	return open_once(path, flags, 0);
}

static int open_descriptor(int base, int flags)
{
	int fd;

	flags &= ~(O_NOFOLLOW | O_CREAT | O_EXCL);
	fd = reopen_again(base, flags);
	return fd == -EPERM && flags & O_NOATIME ? reopen_again(base, flags & ~O_NOATIME) : fd;
}

/* ---------------------------------------------------------------- as recorded */

bool reopen_is_recorded(const struct state_file *file, int fd)
{
	const struct ckpt_rec_file *rec = file->rec;
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_mode == rec->mode && st.st_uid == rec->uid &&
	       st.st_gid == rec->gid && st.st_ino == rec->ino;
}

/* Open a directory of the file's file system: the nearest one on its path that still exists. */
int reopen_near(const struct state_file *file)
{
	char path[PATH_MAX], *slash;
	int fd;

	if (strlen(file->path) >= sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, file->path);
	do {
		slash = strrchr(path, '/');
		if (!slash)
			return -ENOENT;
		slash[slash == path] = 0;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} while (fd < 0 && errno == ENOENT && path[1]);
	return fd < 0 ? -errno : fd;
}

/* Open the file by its handle, which names the inode and the generation of its number. */
static int find_by_handle(const struct state_file *file)
{
	const struct engine_rec_file_place *place = file->place;
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = place->handle_len,
		.handle.handle_type = place->handle_type };
	_cleanup_fd_ int dir = reopen_near(file);
	int fd;

	if (dir < 0)
		return dir;
	memcpy(h.room + sizeof(h.handle), state_file_handle(file), place->handle_len);
	fd = open_by_handle_at(dir, &h.handle, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_recorded(const struct state_file *file, int flags)
{
	bool by_handle = state_file_handle(file);
	_cleanup_fd_ int found = -1;
	uint64_t before;
	int fd;

	/* the caller chose a mapped path, not the tree */
	if (file->mapped || rights_raise(RIGHTS_FILES, &before))
		return -EACCES;
	found = by_handle ? find_by_handle(file) :
		reopen_strictly(file->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0)
		fd = found == -ESTALE ? -ENOENT : found;
	else if (reopen_is_recorded(file, found))
		fd = open_descriptor(found, flags);
	else
		fd = by_handle ? -ENOENT : -EACCES;
	rights_lower(before);
	return fd;
}

static bool reopen_path_is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Looks the path up strictly: @fd may have been opened through a link, with the owner's rights. */
bool reopen_had_closed(const struct state_file *file, int fd)
{
	_cleanup_fd_ int found = -1;
	uint64_t before;

	if (file->external || file->mapped || state_file_deleted(file) ||
	    !reopen_is_recorded(file, fd) ||
	    faccessat(fd, ".", X_OK, AT_EACCESS) == 0 || errno != EACCES ||
	    rights_raise(RIGHTS_FILES, &before))
		return false;
	found = reopen_strictly(file->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	rights_lower(before);
	return found >= 0 && reopen_path_is_same(fd, found);
}

/* ---------------------------------------------------------------- all */

int reopen_path(const struct state_file *file, int flags, mode_t mode)
{
	return reopen_open(file->path, flags, mode);
}

int reopen_had(const struct state_file *file, int flags)
{
	int fd = -EACCES;

	if (!state_file_handle(file))
		fd = reopen_open(file->path, flags, 0);
	return fd == -EACCES ? open_recorded(file, flags) : fd;
}

int reopen_name(const struct state_file *file)
{
	bool is_dir = S_ISDIR(file->rec->mode) || file->rec->kind == CKPT_FILE_DIR;

	return reopen_had(file, O_PATH | O_CLOEXEC | (is_dir ? O_DIRECTORY : O_NOFOLLOW));
}

int reopen_parent(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len;

	if (!slash || !slash[1])
		return -ENOENT;
	len = slash == path ? 1 : (size_t)(slash - path);
	if (len >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, path, len);
	dir[len] = 0;
	*ret_name = slash + 1;
	return reopen_open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

void reopen_remove(const char *path)
{
	const char *name;
	_cleanup_fd_ int dir = reopen_parent(path, &name);

	if (dir >= 0 && unlinkat(dir, name, 0) && errno == EISDIR)
		unlinkat(dir, name, AT_REMOVEDIR);
}
