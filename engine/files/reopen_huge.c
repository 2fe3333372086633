// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of huge pages, on a mounted hugetlbfs or a memfd: write(2) does not work on them,
 * so they are written through a mapping.
 *
 * The pages of a mapping are reserved when it is made: if the node lacks huge pages, mmap(2)
 * fails, and no store does.  Bytes that a file has already are not stored again, and no page
 * is taken out of it: that would take private pages of its mappings, too.
 */
#include "base/error.h"
#include "engine/files/reopen.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

bool reopen_is_huge(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

int reopen_check_huge(struct reopen *r, const struct state_file *file, int fd)
{
	if (file->rec->fs_magic != HUGETLBFS_MAGIC || reopen_is_huge(fd))
		return 0;
	return error_fail(r->error, -ENODEV,
			   "cannot restore %s: it was of huge pages; mount a hugetlbfs there",
			   file->path);
}

static bool reopen_huge_has(int fd, const char *buf, size_t len, uint64_t at)
{
	char have[4096];
	size_t n;

	for (; len; len -= n, buf += n, at += n) {
		n = len < sizeof(have) ? len : sizeof(have);
		if (pread(fd, have, n, (off_t)at) != (ssize_t)n || memcmp(have, buf, n))
			return false;
	}
	return true;
}

static ssize_t reopen_huge_store(int fd, const void *buf, size_t len, uint64_t at)
{
	struct statfs fs;
	uint64_t page, start;
	size_t size;
	char *map;

	if (fstatfs(fd, &fs) || fs.f_type != HUGETLBFS_MAGIC) {
		errno = EINVAL;
		return -1;
	}
	if (reopen_huge_has(fd, buf, len, at))
		return (ssize_t)len;
	page = (uint64_t)fs.f_bsize;
	start = at & ~(page - 1);
	size = (size_t)((at + len - start + page - 1) & ~(page - 1));
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)start);
	if (map == MAP_FAILED)
		return -1;
	memcpy(map + (at - start), buf, len);
	munmap(map, size);
	return (ssize_t)len;
}

ssize_t reopen_pwrite(int fd, const void *buf, size_t len, uint64_t at)
{
	ssize_t n = pwrite(fd, buf, len, (off_t)at);

	return n < 0 && errno == EINVAL ? reopen_huge_store(fd, buf, len, at) : n;
}

int reopen_pwrite_all(int fd, const void *buf, size_t len, uint64_t at)
{
	const char *from = buf;

	while (len) {
		ssize_t n = reopen_pwrite(fd, from, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}
