// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims and locks: which node restarts a job, and who removes or pins its generations; see
 * catalog.h.
 *
 * Both are files in the job's directory. A claim names its owner and outlives it, as a
 * restart that was cut off has to be seen; a lock ends with its descriptor.
 */
#include "supervisor/catalog/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Write the claim under another name first, so that whoever finds it can read its owner. */
static int catalog_claim_take(int dir, const char *node, bool force)
{
	_cleanup_fd_ int fd = -1;
	char name[96];
	int err = 0;

	snprintf(name, sizeof(name), CATALOG_CLAIM "-%s", node);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	/* Synced: a claim that lost its owner's name in a power cut would never be given back. */
	if (write(fd, node, strlen(node)) != (ssize_t)strlen(node))
		err = -ENOSPC;
	else if (fsync(fd))
		err = -errno;
	else if (force && renameat(dir, name, dir, CATALOG_CLAIM))
		err = -errno;
	else if (!force && linkat(dir, name, dir, CATALOG_CLAIM, 0))
		err = -errno;
	unlinkat(dir, name, 0);
	return err;
}

static void catalog_claim_read_holder(int dir, char *holder, size_t size)
{
	_cleanup_fd_ int fd = openat(dir, CATALOG_CLAIM,
				     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : read(fd, holder, size - 1);

	holder[n > 0 ? n : 0] = '\0';
}

int catalog_claim(const struct catalog *catalog, int64_t job, const char *node,
		  bool force, char *holder, size_t size)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_fd_ int dir = -1;
	int err;

	dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0)
		return path ? -errno : -ENOMEM;
	err = catalog_claim_take(dir, node, force);
	if (err != -EEXIST)
		return err;
	catalog_claim_read_holder(dir, holder, size);
	if (strcmp(holder, node))
		return -EBUSY;
	/*
	 * Whoever saw the old claim must see that it is in use now. If this fails, the
	 * restart goes on.
	 */
	utimensat(dir, CATALOG_CLAIM, NULL, AT_SYMLINK_NOFOLLOW);
	return 0;
}

int64_t catalog_claim_stamp(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_fd_ int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct stat st;

	if (dir < 0 || fstatat(dir, CATALOG_CLAIM, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
}

bool catalog_claimed(const struct catalog *catalog, int64_t job, char *holder, size_t size)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_fd_ int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	holder[0] = '\0';
	if (dir < 0 || faccessat(dir, CATALOG_CLAIM, F_OK, AT_SYMLINK_NOFOLLOW))
		return false;
	catalog_claim_read_holder(dir, holder, size);
	return true;
}

void catalog_unclaim(const struct catalog *catalog, int64_t job, const char *node)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_fd_ int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	char holder[80];

	if (dir < 0)
		return;
	catalog_claim_read_holder(dir, holder, sizeof(holder));
	/* A node that took this one for lost may have the claim now. */
	if (!strcmp(holder, node))
		unlinkat(dir, CATALOG_CLAIM, 0);
}

int catalog_lock(const struct catalog *catalog, int64_t job, int *ret_lock)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_fd_ int dir = -1, fd = -1;

	dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0)
		return path ? -errno : -ENOMEM;
	fd = openat(dir, CATALOG_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return -EBUSY;
	*ret_lock = take_fd(&fd);
	return 0;
}
