// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents of inodes, and of the job's private /dev/shm.
 *
 * Reads data and skips holes; a blob holds the first size bytes as they were at
 * the freeze.  In the pause contents go to memory, up to dump->hold_limit.  Contents that
 * do not fit are written to the image while the tree waits, because a longer pause is
 * better than a wrong image or an out-of-memory kill.  A file system does not always tell
 * the size of a content before (pages of zeros are not stored): when a content turns out
 * to be too large, it goes to the image together with all that was held so far.
 *
 * Pages of a kept file that the base of the image has are not handed over (file_hashes.h).
 *
 * A file that somebody else changes while it is read after the thaw fails the dump
 * (-EAGAIN), rather than get a torn copy; so does a log that the tree cuts.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define PAGE	4096ULL
#define ASK	(16ULL << 20)	/* bytes read between two checks of the pause */

struct blob_source {
	int fd;			/* a description of our own */
	const char *name;
	uint64_t size;
	struct file_hashes *hashes;	/* of its pages; NULL: none */
};

/* One blob under way. */
struct copy {
	struct dump *d;
	const struct blob_source *source;
	bool in_pause;
	struct content *to;
	uint64_t blob;		/* 0: nothing but holes so far */
	uint64_t unasked;	/* bytes read since the last check of the pause */
};

/* The sink for a content: in the pause the hold, while it has room, else the image. */
static struct content *place_for(struct dump *d, enum dump_when when, const struct stat *st,
				 const struct file_hashes *hashes)
{
	if (when != DUMP_IN_PAUSE || !d->hold)
		return d->image;
	if (hashes && hashes->fresh)	/* only what has changed is read */
		return d->hold;
	if (d->hold->bytes + (uint64_t)st->st_blocks * 512 > d->hold_limit)
		return d->image;
	return d->hold;
}

static int source_failed(struct dump *d, const struct blob_source *source, int err)
{
	return error_fail(d->error, err, "cannot read the content of %s: %s", source->name,
			   strerror(-err));
}

/* Describe a failure of the sink: the image has a text, the hold can only lack memory. */
static int sink_failed(struct dump *d, const struct content *to, int err)
{
	if (to == d->image)
		return dump_image_failed(d, err);
	return error_fail(d->error, err, "no memory to hold contents during the pause");
}

/* Move all held contents into the image, and free their memory. */
int dump_hold_empty(struct dump *d)
{
	int ret;

	if (d->hold->bytes > d->stats.bytes_held)
		d->stats.bytes_held = d->hold->bytes;
	ret = content_hold_replay(d->hold, d->image);
	return ret ? dump_image_failed(d, ret) : 0;
}

/* Before @want bytes are read: is the tree still frozen, and may so much be held? */
static int copy_may_go_on(struct copy *c, uint64_t want)
{
	struct dump *d = c->d;
	int ret = 0;

	if (c->in_pause && c->unasked >= ASK) {
		c->unasked = 0;
		ret = capture_check(&d->cap, d->error);
	}
	if (!ret && c->to == d->hold && d->hold->bytes + want > d->hold_limit) {
		ret = dump_hold_empty(d);	/* a begun blob moves, too, and goes on there */
		c->to = d->image;
	}
	return ret;
}

static size_t page_len(size_t at, size_t len)
{
	return len - at < PAGE ? len - at : PAGE;
}

static bool is_zero(const char *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

/* Need the page not be stored: is it a hole, or does the base have it? */
static bool copy_skips(struct copy *c, uint64_t offset, const char *page, size_t len)
{
	struct file_hashes *hashes = c->source->hashes;

	if (hashes && hashes->fresh)		/* copy_changed() knows */
		return false;
	return hashes ? file_hashes_put(hashes, offset / PAGE, page, (unsigned int)len) :
			is_zero(page, len);
}

static int copy_begin(struct copy *c)
{
	if (c->blob)
		return 0;
	c->blob = ++c->d->last_blob;
	return content_begin(c->to, c->blob, c->source->hashes);
}

/* Hand over the bytes read, without pages to skip; gaps are closed, as a hold keeps them, too. */
static int copy_pages(struct copy *c, uint64_t offset, char *buf, size_t len)
{
	size_t from = 0, at = 0, n, room = 0;
	int ret = 0;

	while (at < len && !ret) {
		n = page_len(at, len);
		if (!copy_skips(c, offset + at, buf + at, n)) {
			at += n;
			if (at < len)
				continue;
			n = 0;
		}
		if (at > from) {
			ret = copy_begin(c);
			if (from != room)
				memmove(buf + room, buf + from, at - from);
			if (!ret)
				ret = content_data(c->to, offset + from, buf + room, at - from);
			room += (at - from + PAGE - 1) & ~(PAGE - 1);
		}
		at += n;
		from = at;
	}
	return ret;
}

/* Copy the data in [offset, end).  The blob is begun when its first byte comes. */
static int dump_content_copy_data(struct copy *c, uint64_t offset, uint64_t end)
{
	size_t room;
	ssize_t n;
	void *buf;
	int ret = 0;

	while (offset < end && !ret) {
		uint64_t want = (end - offset + PAGE - 1) & ~(PAGE - 1);

		if (want > CONTENT_ROOM)
			want = CONTENT_ROOM;
		ret = copy_may_go_on(c, want);
		if (ret)
			return ret;
		ret = content_room(c->to, (size_t)want, &buf, &room);
		if (ret)
			return sink_failed(c->d, c->to, ret);
		if (room > end - offset)
			room = (size_t)(end - offset);
		n = pread(c->source->fd, buf, room, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return source_failed(c->d, c->source, -errno);
		if (c->source->hashes && offset + (uint64_t)n < c->source->size)
			n -= n % (ssize_t)PAGE;		/* hashes are of whole pages */
		if (n == 0)
			return source_failed(c->d, c->source, -EAGAIN);	/* shrank */
		ret = copy_pages(c, offset, buf, (size_t)n);
		offset += (uint64_t)n;
		c->unasked += (uint64_t)n;
	}
	return ret ? sink_failed(c->d, c->to, ret) : 0;
}

/* Is it a file of hugetlbfs without a page? hugetlbfs does not tell holes, but counts pages. */
static bool dump_content_has_nothing(int fd, const struct stat *st)
{
	struct statfs fs;

	return !st->st_blocks && fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

/* Copy the data between holes.  A page or less is not worth a look for holes, if it has blocks. */
static int copy_data(struct copy *c, const struct stat *st)
{
	const struct blob_source *source = c->source;
	uint64_t offset = dump_content_has_nothing(source->fd, st) ? source->size : 0;
	int ret = 0;

	if (source->size && source->size <= PAGE && st->st_blocks)
		return dump_content_copy_data(c, 0, source->size);

	while (offset < source->size && !ret) {
		off_t data = lseek(source->fd, (off_t)offset, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(source->fd, data, SEEK_HOLE);

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)		/* the file system does not tell holes */
			data = (off_t)offset;
		/* whole pages, whatever the blocks of the file system are */
		data &= ~(off_t)(PAGE - 1);
		if ((uint64_t)data < offset)
			data = (off_t)offset;
		if (hole >= 0)
			hole = (off_t)(((uint64_t)hole + PAGE - 1) & ~(PAGE - 1));
		if (hole < 0 || (uint64_t)hole > source->size)
			hole = (off_t)source->size;
		if ((uint64_t)data >= source->size)
			break;
		ret = dump_content_copy_data(c, (uint64_t)data, (uint64_t)hole);
		offset = (uint64_t)hole;
	}
	return ret;
}

/* Copy what the base has not, as the hashes say. */
static int copy_changed(struct copy *c)
{
	uint64_t page = 0, nr = 0, end;
	int ret = 0;

	while (!ret && file_hashes_differ(c->source->hashes, &page, &nr)) {
		end = (page + nr) * PAGE;
		ret = dump_content_copy_data(c, page * PAGE,
					     end < c->source->size ? end : c->source->size);
		page += nr;
	}
	return ret;
}

/* Copy a file into a blob; *ret_blob is 0 if there is nothing but holes. */
static int copy_blob(struct dump *d, const struct blob_source *source, enum dump_when when,
		     uint64_t *ret_blob)
{
	struct copy c = { .d = d, .source = source, .in_pause = when == DUMP_IN_PAUSE };
	struct stat st;
	int ret;

	if (fstat(source->fd, &st))
		return source_failed(d, source, -errno);
	c.to = place_for(d, when, &st, source->hashes);
	ret = source->hashes && source->hashes->fresh ? copy_changed(&c) : copy_data(&c, &st);

	/* all of its pages may be those of the base */
	if (!ret && source->hashes && file_hashes_any(source->hashes) && copy_begin(&c))
		ret = sink_failed(d, c.to, -ENOMEM);
	if (!ret && c.blob) {
		ret = content_end(c.to, source->size);
		if (ret)
			ret = sink_failed(d, c.to, ret);
	}
	*ret_blob = c.blob;
	return ret;
}

int dump_content_blob(struct dump *d, int fd, const char *name, uint64_t size,
		      enum dump_when when, uint64_t *ret_blob)
{
	const struct blob_source source = { .fd = fd, .name = name, .size = size };

	return copy_blob(d, &source, when, ret_blob);
}

/* Is it read while the tree appends to it? Then only a cut can change its first bytes. */
static bool only_appended(const struct dump *d, const struct dump_inode *inode)
{
	return inode->content == DUMP_AFTER && inode->writes && !d->frozen_to_end;
}

static int ends_hash_read(int fd, uint64_t size, uint8_t ret_hash[2][32])
{
	uint64_t len = size < FILE_TAIL_WRITTEN ? size : FILE_TAIL_WRITTEN;
	int ret = file_identity_tail(fd, 0, len, ret_hash[0]);

	return ret ? ret : file_identity_tail(fd, size - len, len, ret_hash[1]);
}

/* Hash files that the tree only appends to, so that a cut during the copy is noticed. */
int dump_contents_mark(struct dump *d)
{
	int ret = 0;

	for (unsigned int i = 0; i < d->nr_inodes && !ret; i++) {
		struct dump_inode *inode = &d->inodes[i];
		struct blob_source source = { .name = inode->file->path };

		if (only_appended(d, inode)) {
			_cleanup_fd_ int fd = dump_reopen(inode);

			ret = fd < 0 ? fd : ends_hash_read(fd, inode->file->rec->size,
							       inode->ends_hash);
			if (ret)
				ret = source_failed(d, &source, ret);
		}
	}
	return ret;
}

/* After a content was read after the thaw: has nobody changed it meanwhile? */
static int still_the_same(struct dump *d, const struct dump_inode *inode, int fd)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	uint8_t now[2][32];

	if (only_appended(d, inode) && (ends_hash_read(fd, rec->size, now) ||
					memcmp(now, inode->ends_hash, sizeof(now))))
		return error_fail(d->error, -EAGAIN,
				   "%s was cut and written anew while it was read: try again",
				   inode->file->path);
	if (inode->content == DUMP_AFTER && !d->frozen_to_end && !inode->writes && !inode->kept &&
	    dump_changed_since(fd, rec))
		return error_fail(d->error, -EAGAIN,
				   "%s changed while it was read although the tree does not write "
				   "it: try again", inode->file->path);
	return 0;
}

static int dump_inode_content(struct dump *d, struct dump_inode *inode, enum dump_when when)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	struct blob_source source = { .name = inode->file->path, .size = rec->size };
	struct engine_rec_blob *blob;
	uint64_t number = 0;
	_cleanup_fd_ int fd = inode->clone >= 0 ? take_fd(&inode->clone) : dump_reopen(inode);
	int ret;

	if (!source.name[0])
		source.name = "a shared memory object";
	if (fd < 0)
		return source_failed(d, &source, fd);
	source.fd = fd;
	source.hashes = inode->hashes;
	ret = copy_blob(d, &source, when, &number);
	if (!ret && inode->hashes) {
		inode->hashes->blob = number;
		inode->hashes->size = rec->size;
	}
	if (!ret)
		dump_track_content(d, inode, fd);
	if (!ret)
		ret = still_the_same(d, inode, fd);
	if (ret)
		return ret;
	blob = dump_record_add(d, ENGINE_REC_BLOB, sizeof(*blob), inode->file->path,
			       strlen(inode->file->path) + 1);
	if (!blob)
		return error_fail(d->error, -ENOMEM, "out of memory");
	blob->kind = inode->blob_kind;
	blob->file_id = rec->id;
	blob->blob = number;
	blob->size = rec->size;
	blob->dev = rec->dev;
	blob->ino = rec->ino;
	blob->mtime_ns = rec->mtime_ns;
	blob->mode = rec->mode;
	blob->uid = rec->uid;
	blob->gid = rec->gid;
	blob->path_len = (uint32_t)strlen(inode->file->path) + 1;
	return 0;
}

int dump_contents(struct dump *d, enum dump_when when)
{
	int ret = 0;

	for (unsigned int i = 0; i < d->nr_inodes && !ret; i++)
		if (d->inodes[i].content == when)
			ret = dump_inode_content(d, &d->inodes[i], when);
	if (!ret && when == DUMP_AFTER)
		ret = dump_hashes_store(d);
	return ret;
}

/* ---------------------------------------------------------------- /dev/shm */

#define SHM_DEPTH	16
#define SHM_PATH_MAX	4096

static int shm_record(struct dump *d, const char *path, const char *target,
		      const struct stat *st, uint64_t number)
{
	size_t path_len = strlen(path) + 1, target_len = target ? strlen(target) + 1 : 0;
	char tail[2 * SHM_PATH_MAX];
	struct engine_rec_blob *blob;

	memcpy(tail, path, path_len);
	if (target)
		memcpy(tail + path_len, target, target_len);
	blob = dump_record_add(d, ENGINE_REC_BLOB, sizeof(*blob), tail, path_len + target_len);
	if (!blob)
		return error_fail(d->error, -ENOMEM, "out of memory");
	blob->kind = ENGINE_BLOB_SHM_DIR;
	blob->blob = number;
	blob->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	blob->dev = st->st_dev;
	blob->ino = st->st_ino;
	blob->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000ULL +
			 (uint64_t)st->st_mtim.tv_nsec;
	blob->mode = st->st_mode;
	blob->uid = st->st_uid;
	blob->gid = st->st_gid;
	blob->path_len = (uint32_t)path_len;
	blob->target_len = (uint32_t)target_len;
	return 0;
}

static int dump_content_shm_file(struct dump *d, int dir, const char *name, const char *path)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct blob_source source = { .fd = fd, .name = path };
	uint64_t number = 0;
	struct stat st;
	int ret;

	if (fd < 0 || fstat(fd, &st))
		return source_failed(d, &source, -errno);
	source.size = (uint64_t)st.st_size;
	ret = copy_blob(d, &source, DUMP_IN_PAUSE, &number);
	return ret ? ret : shm_record(d, path, NULL, &st, number);
}

static int shm_walk(struct dump *d, int fd, const char *path, unsigned int depth);

static int shm_entry(struct dump *d, int dir, const char *name, const char *path,
		     unsigned int depth)
{
	char target[SHM_PATH_MAX];
	struct stat st;
	ssize_t len;
	int fd, ret;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 :
		       error_fail(d->error, -errno, "/dev/shm/%s: %s", path, strerror(errno));
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return dump_is_excluded(d, &st) ? 0 : dump_content_shm_file(d, dir, name, path);
	case S_IFDIR:
		ret = shm_record(d, path, NULL, &st, 0);
		fd = ret ? -1 : openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (ret)
			return ret;
		if (fd < 0)
			return error_fail(d->error, -errno, "/dev/shm/%s: %s", path,
					   strerror(errno));
		return shm_walk(d, fd, path, depth + 1);
	case S_IFLNK:
		len = readlinkat(dir, name, target, sizeof(target) - 1);
		if (len < 0)
			return error_fail(d->error, -errno, "/dev/shm/%s: %s", path,
					   strerror(errno));
		target[len] = 0;
		return shm_record(d, path, target, &st, 0);
	default:
		return shm_record(d, path, NULL, &st, 0);
	}
}

/* Record all entries below the directory @fd; takes @fd over. */
static int shm_walk(struct dump *d, int fd, const char *path, unsigned int depth)
{
	_cleanup_dir_ DIR *dir = fdopendir(fd);
	char child[SHM_PATH_MAX];
	struct dirent *entry;
	int ret = 0;

	if (!dir) {
		close(fd);
		return error_fail(d->error, -ENOMEM, "out of memory");
	}
	if (depth > SHM_DEPTH)
		return error_fail(d->error, -ELOOP, "/dev/shm/%s: directories too deep", path);
	while (!ret && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(child, sizeof(child), "%s%s%s", path, path[0] ? "/" : "",
			     entry->d_name) >= (int)sizeof(child))
			return error_fail(d->error, -ENAMETOOLONG, "/dev/shm/%s: path too long",
					   path);
		ret = shm_entry(d, dirfd(dir), entry->d_name, child, depth);
	}
	return ret;
}

int dump_shm_dir(struct dump *d)
{
	int fd;

	if (!d->options->shm_dir)
		return 0;
	fd = open(d->options->shm_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_fail(d->error, -errno, "%s: %s", d->options->shm_dir,
				   strerror(errno));
	return shm_walk(d, fd, "", 0);
}
