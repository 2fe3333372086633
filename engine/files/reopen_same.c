// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparing a file with the content that the image carries for it.
 *
 * Size and time of modification are proof only for a file on storage that the tree does
 * not write.  Stores through a shared mapping change the time only once: for a file in
 * memory, which is never written back, not again, and for others not before the next
 * write-back.  So files that the tree itself could write, and files in memory, are
 * compared byte by byte.  A file that cannot be read counts as different.
 */
#include "base/error.h"
#include "engine/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK	(256UL << 10)

struct comparison {
	struct reopen *r;
	const struct engine_rec_blob *blob;
	int fd;
	char *here, *there;	/* CHUNK bytes each: of the file, of the image */
};

static bool read_here(const struct comparison *c, uint64_t offset, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(c->fd, c->here + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* 1: the same; 0; -errno if the image cannot be read. */
static int same_data(const struct comparison *c, uint64_t offset, uint64_t end)
{
	while (offset < end) {
		size_t n = end - offset < CHUNK ? (size_t)(end - offset) : CHUNK;
		int ret = image_blob_read(c->r->reader, c->blob->blob, offset, c->there, n);

		if (ret)
			return error_fail(c->r->error, ret, "%s", image_reader_error(c->r->reader));
		if (!read_here(c, offset, n) || memcmp(c->here, c->there, n))
			return 0;
		offset += n;
	}
	return 1;
}

static bool zeros_here(const struct comparison *c, uint64_t offset, uint64_t end)
{
	while (offset < end) {
		size_t n = end - offset < CHUNK ? (size_t)(end - offset) : CHUNK;

		if (!read_here(c, offset, n) || c->here[0] || memcmp(c->here, c->here + 1, n - 1))
			return false;
		offset += n;
	}
	return true;
}

/* [start, end) is a hole in the image: has the file only holes and zeros there? */
static bool hole_here(const struct comparison *c, uint64_t start, uint64_t end)
{
	while (start < end) {
		off_t data = lseek(c->fd, (off_t)start, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(c->fd, data, SEEK_HOLE);

		if (data < 0 && errno == ENXIO)
			return true;
		if (data < 0)		/* the file system does not tell holes */
			data = (off_t)start;
		if (hole < 0 || (uint64_t)hole > end)
			hole = (off_t)end;
		if ((uint64_t)data >= end)
			return true;
		if (!zeros_here(c, (uint64_t)data, (uint64_t)hole))
			return false;
		start = (uint64_t)hole;
	}
	return true;
}

static int reopen_same_compare(const struct comparison *c)
{
	uint64_t cursor = 0, at = 0, offset, len;
	int ret = 1, more;

	while (c->blob->blob && ret > 0) {
		more = image_blob_extent(c->r->reader, c->blob->blob, &cursor, &offset, &len);
		if (more < 0)
			return error_fail(c->r->error, more, "%s",
					   image_reader_error(c->r->reader));
		if (!more)
			break;
		if (offset > c->blob->size || len > c->blob->size - offset)
			return 0;	/* reopen_blob() reports the bad extent */
		ret = hole_here(c, at, offset) ? same_data(c, offset, offset + len) : 0;
		at = offset + len;
	}
	return ret > 0 ? hole_here(c, at, c->blob->size) : ret;
}

static bool same_time(const struct stat *st, const struct engine_rec_blob *blob)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec ==
	       blob->mtime_ns;
}

int reopen_same_content(struct reopen *r, int fd, const struct engine_rec_blob *blob,
			bool time_tells)
{
	_cleanup_free_ char *here = NULL, *there = NULL;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != blob->size ||
	    !same_time(&st, blob))
		return 0;
	if (time_tells)
		return 1;
	here = malloc(CHUNK);
	there = malloc(CHUNK);
	if (!here || !there)
		return error_fail(r->error, -ENOMEM, "out of memory");
	return reopen_same_compare(&(struct comparison){ r, blob, fd, here, there });
}
