// SPDX-License-Identifier: GPL-2.0-only
/*
 * One ckptd for each node name in an image directory; see name_lock.h.
 *
 * The lock ends with its descriptor, so a dead ckptd leaves none. The file is opened for
 * writing, because NFS has exclusive locks only on such descriptors. It is never removed:
 * another process may have it open.
 */
#include "supervisor/catalog/name_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/cleanup.h"

static bool is_still(int lock, const char *path)
{
	struct stat is, was;

	return lock >= 0 && !fstat(lock, &was) && !lstat(path, &is) && is.st_dev == was.st_dev &&
	       is.st_ino == was.st_ino;
}

static int name_lock_refuse(int fd, const char *image_dir, const char *node,
			    struct ckpt_error *error)
{
	char holder[128];
	ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);

	holder[n > 0 ? n : 0] = '\0';
	holder[strcspn(holder, "\n")] = '\0';
	error_set(error, -EBUSY,
		  "another ckptd (%s) has jobs in %s as node %s: end that one, or give each its "
		  "own name (node = NAME in ckptd.conf)",
		  holder[0] ? holder : "it is not known where", image_dir, node);
	return -EBUSY;
}

/* Write who has the lock, for people only; the lock itself decides. */
static void name_lock_sign(int fd)
{
	char host[65] = "", text[128];
	int n;

	gethostname(host, sizeof(host) - 1);
	n = snprintf(text, sizeof(text), "pid %d on host %s\n", (int)getpid(), host);
	if (!ftruncate(fd, 0) && pwrite(fd, text, (size_t)n, 0) != n)
		(void)!ftruncate(fd, 0);
}

int name_lock_take(const char *image_dir, const char *node, int *lock, struct ckpt_error *error)
{
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/.ckptd-%s", image_dir, node);
	if (is_still(*lock, path))
		return 0;
	/*
	 * The old lock is in a directory that is gone or renamed; closing it lets that be
	 * unmounted.
	 */
	if (*lock >= 0)
		close(*lock);
	*lock = -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? name_lock_refuse(fd, image_dir, node, error) : 0;
	name_lock_sign(fd);
	*lock = take_fd(&fd);
	return 0;
}
