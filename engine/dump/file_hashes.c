// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hashes of the pages of kept files; see file_hashes.h.
 *
 * A page counts as the base's if 128 bits of XXH3 agree: two pages of a file that differ have the
 * same hash by accident once in 2^128.  Whoever makes such pages on purpose harms his own job.
 *
 * Hashes that were read before the freeze are true if nothing was written since.  Every write
 * gives the file new times, a store to a shared mapping too, if the page was written back before.
 * So the order is: note the times, write back, read; and the times must be older than a tick.  On
 * a file system whose times another node makes, hashes are never taken for true.  If they are true
 * at a freeze, they are so until the file gets new times: then the next dump need not read it.
 */
#include "engine/dump/file_hashes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "engine/dump/dump_in_place.h"
#include "image/base.h"
#include "image/reader.h"

#define PAGE	4096ULL
#define PIECE	(1UL << 20)
#define TICK_NS	12000000	/* longer than a tick at 100 Hz, the step of files' times */

static bool hash_is_zero(const struct file_hash *h)
{
	return !h->low && !h->high;
}

static bool page_is_zero(const char *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

bool file_hashes_put(struct file_hashes *h, uint64_t page, const char *data, unsigned int len)
{
	struct file_hash *now = &h->now[page];
	char padded[PAGE];
	XXH128_hash_t hash;

	*now = (struct file_hash){ 0 };
	if (page_is_zero(data, len))
		return true;
	if (len < PAGE) {
		memset(padded, 0, sizeof(padded));
		data = memcpy(padded, data, len);
	}
	hash = XXH3_128bits(data, PAGE);
	*now = (struct file_hash){ hash.low64, hash.high64 };
	return page < h->nr_was && !memcmp(now, &h->was[page], sizeof(*now));
}

bool file_hashes_differ(const struct file_hashes *h, uint64_t *page, uint64_t *ret_nr)
{
	uint64_t i = *page, from;

	while (i < h->nr && (hash_is_zero(&h->now[i]) ||
			     (i < h->nr_was && !memcmp(&h->now[i], &h->was[i], sizeof(*h->now)))))
		i++;
	from = i;
	while (i < h->nr && !hash_is_zero(&h->now[i]) &&
	       (i >= h->nr_was || memcmp(&h->now[i], &h->was[i], sizeof(*h->now))))
		i++;
	*page = from;
	*ret_nr = i - from;
	return i > from;
}

bool file_hashes_any(const struct file_hashes *h)
{
	for (uint64_t i = 0; i < h->nr; i++)
		if (!hash_is_zero(&h->now[i]))
			return true;
	return false;
}

static struct file_hashes *hashes_find(struct dump *d, uint64_t dev, uint64_t ino)
{
	struct file_hashes *h = d->hashes;

	while (h && (h->dev != dev || h->ino != ino))
		h = h->next;
	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->dev = dev;
	h->ino = ino;
	h->next = d->hashes;
	d->hashes = h;
	return h;
}

/* Make room for the hashes of @size bytes, all zero. */
static bool hashes_room(struct file_hashes *h, uint64_t size)
{
	h->nr = 0;
	free(h->now);
	h->now = calloc(size / PAGE + 1, sizeof(*h->now));
	if (h->now)
		h->nr = (size + PAGE - 1) / PAGE;
	return h->now;
}

/* ---------------------------------------------------------------- the base */

/* Has the base each page that the hashes tell of? */
static bool hashes_backed(struct image_reader *base, const struct file_hashes *h)
{
	uint64_t cursor = 0, offset = 0, len = 0;

	if (!image_blob_paged_in(base, h->base_blob))
		return false;
	for (uint64_t i = 0; i < h->nr_was; i++) {
		if (hash_is_zero(&h->was[i]))
			continue;
		while (offset + len <= i * PAGE)
			if (image_blob_extent(base, h->base_blob, &cursor, &offset, &len) != 1)
				return false;
		if (offset > i * PAGE)
			return false;
	}
	return true;
}

static void hashes_load(struct dump *d, const struct engine_rec_blob_hashes *rec)
{
	struct image_reader *base = image_base_reader(d->img);
	struct file_hashes *h;
	uint64_t size;

	if (image_blob_size(base, rec->hashes, &size) || size % sizeof(*h->was) ||
	    size / sizeof(*h->was) != (rec->size + PAGE - 1) / PAGE)
		return;
	h = hashes_find(d, rec->dev, rec->ino);
	if (!h || h->was)
		return;
	h->was = malloc(size + 1);
	h->base_blob = rec->blob;
	h->base = *rec;
	h->nr_was = size / sizeof(*h->was);
	if (h->was && !image_blob_read(base, rec->hashes, 0, h->was, size) &&
	    hashes_backed(base, h))
		return;
	free(h->was);
	h->was = NULL;
	h->nr_was = 0;
}

void dump_hashes_open(struct dump *d)
{
	struct image_reader *base = d->img ? image_base_reader(d->img) : NULL;
	struct image_record rec;

	d->hashing = d->options->files == ENGINE_FILES_KEEP && d->options->nr_nodes < 2 &&
		     (base || d->options->track);
	if (!d->hashing || !base)
		return;
	image_state_rewind(base);
	while (image_state_next(base, &rec) == 1)
		if (rec.type == (ENGINE_REC_BLOB_HASHES | CKPT_REC_OPTIONAL) &&
		    rec.len >= sizeof(struct engine_rec_blob_hashes))
			hashes_load(d, rec.data);
}

void dump_hashes_done(struct dump *d)
{
	while (d->hashes) {
		struct file_hashes *h = d->hashes;

		d->hashes = h->next;
		free(h->was);
		free(h->now);
		free(h);
	}
}

/* ---------------------------------------------------------------- the file */

/* Does a write give the file a new time, of this node's clock? Memory is never written back. */
static bool hashes_timed(int fd)
{
	struct statfs fs;
	struct ckpt_rec_file rec = { 0 };

	if (fstatfs(fd, &fs) || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return false;
	rec.fs_magic = (uint32_t)fs.f_type;
	return !dump_shared_may(&rec);
}

/* Is the time so old that the next write makes a later one? */
static bool hashes_settled(const struct timespec *time)
{
	struct timespec now;
	int64_t ago;

	if (clock_gettime(CLOCK_REALTIME_COARSE, &now))
		return false;
	ago = (now.tv_sec - time->tv_sec) * 1000000000LL + now.tv_nsec - time->tv_nsec;
	return ago >= TICK_NS;
}

static uint64_t time_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ULL + (uint64_t)time->tv_nsec;
}

/* Is the file as it was at the freeze of the base? Then its hashes are known. */
static bool hashes_unwritten(struct file_hashes *h)
{
	if (!h->was || !h->base.mtime_ns || h->base.size != (uint64_t)h->seen.st_size ||
	    h->base.mtime_ns != time_ns(&h->seen.st_mtim) ||
	    h->base.ctime_ns != time_ns(&h->seen.st_ctim))
		return false;
	memcpy(h->now, h->was, h->nr * sizeof(*h->now));
	return true;
}

/* Read the data between holes. */
static int hashes_read_data(struct file_hashes *h, int fd, uint64_t at, uint64_t end, char *buf)
{
	while (at < end) {
		ssize_t n = pread(fd, buf, PIECE, (off_t)at);

		if (n <= 0 || (n % (ssize_t)PAGE && at + (uint64_t)n < (uint64_t)h->seen.st_size))
			return -EAGAIN;
		for (ssize_t i = 0; i < n; i += (ssize_t)PAGE)
			if ((at + (uint64_t)i) / PAGE < h->nr)
				file_hashes_put(h, (at + (uint64_t)i) / PAGE, buf + i,
						n - i < (ssize_t)PAGE ? (unsigned int)(n - i) :
						(unsigned int)PAGE);
		at += (uint64_t)n;
	}
	return 0;
}

static int hashes_read_all(struct file_hashes *h, int fd)
{
	_cleanup_free_ char *buf = malloc(PIECE);
	uint64_t at = 0, size = (uint64_t)h->seen.st_size;
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && at < size) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		/* whole pages, whatever the blocks of the file system are */
		data &= ~(off_t)(PAGE - 1);
		ret = hashes_read_data(h, fd, (uint64_t)data > at ? (uint64_t)data : at,
				       (uint64_t)hole, buf);
		at = ((uint64_t)hole + PAGE - 1) & ~(PAGE - 1);
	}
	return ret;
}

void dump_hashes_read(struct dump *d, int fd)
{
	struct file_hashes *h;
	struct stat st;

	if (!d->hashing || fstat(fd, &st) || !hashes_timed(fd) || !hashes_settled(&st.st_mtim) ||
	    !hashes_settled(&st.st_ctim))
		return;
	h = hashes_find(d, st.st_dev, st.st_ino);
	if (!h || h->seen.st_ino || !hashes_room(h, (uint64_t)st.st_size))
		return;
	h->seen = st;
	if (hashes_unwritten(h))
		return;
	if (sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			    SYNC_FILE_RANGE_WAIT_AFTER) || hashes_read_all(h, fd))
		h->seen.st_ino = 0;
}

static bool time_is(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

struct file_hashes *dump_hashes_of(struct dump *d, int fd, uint64_t size)
{
	struct file_hashes *h;
	struct stat st;

	if (!d->hashing || fstat(fd, &st))
		return NULL;
	h = hashes_find(d, st.st_dev, st.st_ino);
	if (!h)
		return NULL;
	h->fresh = h->seen.st_ino && (uint64_t)st.st_size == size &&
		   st.st_size == h->seen.st_size && time_is(&st.st_mtim, &h->seen.st_mtim) &&
		   time_is(&st.st_ctim, &h->seen.st_ctim);
	if (!h->fresh && !hashes_room(h, size))
		return NULL;
	return h;
}

/* ---------------------------------------------------------------- the image */

/* Take the run of pages from the base. */
static int hashes_refer_run(struct dump *d, const struct file_hashes *h, uint64_t page, uint64_t nr)
{
	uint64_t done = 0;
	int ret = 0;

	for (; nr && !ret; page += done, nr -= done) {
		ret = image_blob_base(d->img, h->blob, page * PAGE, nr, h->base_blob, &done);
		/* hashes_backed() has found each of them */
		if (!ret && !done)
			return error_fail(d->error, -EUCLEAN, "the image before has lost a page of "
					  "a file");
	}
	return ret ? dump_image_failed(d, ret) : 0;
}

static int hashes_refer(struct dump *d, const struct file_hashes *h)
{
	uint64_t most = h->nr < h->nr_was ? h->nr : h->nr_was, from;
	int ret = 0;

	for (uint64_t i = 0; i < most && !ret;) {
		from = i;
		while (i < most && !hash_is_zero(&h->now[i]) &&
		       !memcmp(&h->now[i], &h->was[i], sizeof(*h->now)))
			i++;
		if (i > from)
			ret = hashes_refer_run(d, h, from, i - from);
		else
			i++;
	}
	return ret;
}

static int hashes_store_table(struct dump *d, const struct file_hashes *h)
{
	struct engine_rec_blob_hashes *rec;
	uint64_t blob = ++d->last_blob;
	int ret = image_blob_begin(d->img, blob);

	if (!ret)
		ret = image_blob_append(d->img, 0, h->now, h->nr * sizeof(*h->now));
	if (!ret)
		ret = image_blob_end(d->img, h->nr * sizeof(*h->now));
	if (ret)
		return dump_image_failed(d, ret);
	rec = dump_record_add(d, ENGINE_REC_BLOB_HASHES | CKPT_REC_OPTIONAL, sizeof(*rec), NULL,
			      0);
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	rec->blob = h->blob;
	rec->hashes = blob;
	rec->dev = h->dev;
	rec->ino = h->ino;
	rec->size = h->size;
	if (h->fresh) {
		rec->mtime_ns = time_ns(&h->seen.st_mtim);
		rec->ctime_ns = time_ns(&h->seen.st_ctim);
	}
	return 0;
}

int dump_hashes_store(struct dump *d)
{
	int ret = 0;

	for (const struct file_hashes *h = d->hashes; h && !ret; h = h->next) {
		if (!h->blob)
			continue;
		ret = hashes_refer(d, h);
		if (!ret)
			ret = hashes_store_table(d, h);
	}
	return ret;
}
