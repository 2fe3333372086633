// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths of the image on this node.
 *
 * All paths, those of files in a changed root too, begin at the root that the
 * dump saw; here that is our own.  A file whose opened name is gone and that has
 * another one is found by that or by its handle.
 *
 * Files are opened with the owner's rights.  What a process had open may be
 * closed to its owner by now (it gave rights up, or the mode was changed): that
 * is opened with more, but only if what is there is what was there, by inode,
 * type, owner and mode, and no symbolic link leads to it.  So nobody gets a file
 * that he had not, whatever he does to the path meanwhile: what is checked is
 * what is opened.
 */
#include "supervisor/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/rights.h"

static int open_plainly(const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags, mode);

	/*
	 * Only a file's owner may ask for O_NOATIME; overlayfs has it on every
	 * file that it maps, whoever opened it.
	 */
	if (fd < 0 && errno == EPERM && flags & O_NOATIME)
		fd = open(path, flags & ~O_NOATIME, mode);
	return fd < 0 ? -errno : fd;
}

static int open_descriptor(int fd, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open_plainly(path, flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL), 0);
}

/* ---------------------------------------------------------------- as recorded */

bool reopen_is_recorded(const struct state_file *file, int fd)
{
	const struct ckpt_rec_file *rec = file->rec;
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_mode == rec->mode && st.st_uid == rec->uid &&
	       st.st_gid == rec->gid && st.st_ino == rec->ino;
}

static int find_by_path(const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Any directory of the file system will do, and the file's own may be gone. */
static int open_near(const struct state_file *file)
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

/* The handle says which inode, and which use of its number. */
static int find_by_handle(const struct state_file *file)
{
	const struct engine_rec_file_place *place = file->place;
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = place->handle_len,
		.handle.handle_type = place->handle_type };
	_cleanup_fd_ int dir = open_near(file);
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

	if (rights_raise(RIGHTS_FILES, &before))
		return -EACCES;
	found = by_handle ? find_by_handle(file) : find_by_path(file->path);
	if (found < 0)
		fd = found == -ESTALE ? -ENOENT : found;
	else if (reopen_is_recorded(file, found))
		fd = open_descriptor(found, flags);
	else
		fd = by_handle ? -ENOENT : -EACCES;
	rights_lower(before);
	return fd;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The descriptor may have come through a symbolic link, which only the owner's rights may follow. */
bool reopen_had_closed(const struct state_file *file, int fd)
{
	_cleanup_fd_ int found = -1;
	uint64_t before;

	if (file->external || state_file_deleted(file) || !reopen_is_recorded(file, fd) ||
	    faccessat(fd, ".", X_OK, AT_EACCESS) == 0 || errno != EACCES ||
	    rights_raise(RIGHTS_FILES, &before))
		return false;
	found = find_by_path(file->path);
	rights_lower(before);
	return found >= 0 && is_same(fd, found);
}

/* ---------------------------------------------------------------- all */

int reopen_path(const struct state_file *file, int flags, mode_t mode)
{
	return open_plainly(file->path, flags, mode);
}

int reopen_had(const struct state_file *file, int flags)
{
	int fd = -EACCES;

	if (!state_file_handle(file))
		fd = open_plainly(file->path, flags, 0);
	return fd == -EACCES ? open_recorded(file, flags) : fd;
}

int reopen_dir(const struct state_file *file, const char **ret_name)
{
	const char *slash = strrchr(file->path, '/');
	char dir[PATH_MAX];
	size_t len;
	int fd;

	if (!slash || !slash[1])
		return -ENOENT;
	len = slash == file->path ? 1 : (size_t)(slash - file->path);
	if (len >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, file->path, len);
	dir[len] = 0;
	*ret_name = slash + 1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
