// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files written with pwrite(2).
 *
 * Past the page cache where the file system can do that (O_DIRECT): an image is
 * not read soon, and the job wants its memory.  What is not aligned goes through
 * the cache, and so does all that follows.
 *
 * Must not know who writes, nor in which order.
 */
#include "image/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define KICK_BYTES	(8U << 20)	/* start writeback this often */

int plain_file_create(struct plain_file *f, int dir, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;

	*f = (struct plain_file){ .fd = openat(dir, name, flags | O_DIRECT, 0600) };
	f->direct = f->fd >= 0;
	if (f->fd < 0 && errno == EINVAL) {
		/* some file systems create the file before they refuse */
		unlinkat(dir, name, 0);
		f->fd = openat(dir, name, flags, 0600);
		f->refused = true;
	}
	return f->fd < 0 ? -errno : 0;
}

/* Write through the page cache from here on. */
static int leave_direct(struct plain_file *f, uint64_t offset)
{
	int flags = fcntl(f->fd, F_GETFL);

	if (flags < 0 || fcntl(f->fd, F_SETFL, flags & ~O_DIRECT) < 0)
		return -errno;
	f->direct = false;
	f->kicked = offset;
	return 0;
}

int plain_file_write(struct plain_file *f, const void *buf, size_t len, uint64_t offset)
{
	const char *p = buf;
	int err;

	while (len) {
		ssize_t n;

		if (f->direct && ((uintptr_t)p | offset | len) % PLAIN_FILE_ALIGN) {
			err = leave_direct(f, offset);
			if (err)
				return err;
		}
		n = pwrite(f->fd, p, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && f->direct) {	/* wants more alignment */
			f->refused = true;
			err = leave_direct(f, offset);
			if (err)
				return err;
			continue;
		}
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

void plain_file_kick(struct plain_file *f, uint64_t len)
{
	if (f->direct || len < f->kicked + KICK_BYTES)
		return;
	/* a hint: the fsync at the end then finds little to do */
	sync_file_range(f->fd, (off_t)f->kicked, (off_t)(len - f->kicked),
			SYNC_FILE_RANGE_WRITE);
	f->kicked = len;
}
