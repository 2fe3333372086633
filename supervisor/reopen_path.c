// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths of the image on this node.
 *
 * All paths, those of files in a changed root too, begin at the root that the
 * dump saw; here that is our own.
 */
#include "supervisor/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

int reopen_path(const struct state_file *file, int flags, mode_t mode)
{
	int fd = open(file->path, flags, mode);

	/*
	 * Only a file's owner may ask for O_NOATIME; overlayfs has it on every
	 * file that it maps, whoever opened it.
	 */
	if (fd < 0 && errno == EPERM && flags & O_NOATIME)
		fd = open(file->path, flags & ~O_NOATIME, mode);
	return fd < 0 ? -errno : fd;
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
