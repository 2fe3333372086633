// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents of inodes, and of the job's private /dev/shm.
 *
 * Reads data and skips holes; a blob holds the first size bytes as they were at
 * the freeze.  In the pause contents go to memory, up to dump->hold_limit; what
 * does not fit is written to the image while the tree waits, because a longer
 * pause is better than a wrong image or an out-of-memory kill.
 *
 * A file that somebody else changes while it is read behind the tree's back
 * fails the dump (-EAGAIN) rather than tear it.
 */
#include "supervisor/dump_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE	4096ULL

struct blob_source {
	int fd;			/* our own description */
	const char *name;
	uint64_t size;
};

/* In the pause to the hold while it has room, else to the image. */
static struct content *place_for(struct dump *d, enum dump_when when, int fd)
{
	struct stat st;

	if (when != DUMP_IN_PAUSE || !d->hold)
		return d->image;
	if (fstat(fd, &st) == 0 &&
	    d->hold->bytes + (uint64_t)st.st_blocks * 512 > d->hold_limit)
		return d->image;
	return d->hold;
}

static int source_failed(struct dump *d, const struct blob_source *source, int err)
{
	return engine_fail(d->error, err, "cannot read the content of %s: %s", source->name,
			   strerror(-err));
}

/* The sink's failure: the image knows why, the hold can only lack memory. */
static int sink_failed(struct dump *d, const struct content *to, int err)
{
	if (to == d->image)
		return dump_image_failed(d, err);
	return engine_fail(d->error, err, "no memory to hold contents during the pause");
}

/* [offset, end) is data: copy it.  Begins the blob when the first byte comes. */
static int copy_data(struct dump *d, const struct blob_source *source, struct content *to,
		     uint64_t offset, uint64_t end, uint64_t *blob)
{
	size_t room;
	ssize_t n;
	void *buf;
	int ret = 0;

	while (offset < end && !ret) {
		uint64_t want = (end - offset + PAGE - 1) & ~(PAGE - 1);

		if (want > CONTENT_ROOM)
			want = CONTENT_ROOM;
		ret = content_room(to, (size_t)want, &buf, &room);
		if (ret)
			return sink_failed(d, to, ret);
		if (room > end - offset)
			room = (size_t)(end - offset);
		n = pread(source->fd, buf, room, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return source_failed(d, source, -errno);
		if (n == 0)
			return source_failed(d, source, -EAGAIN);	/* shrank */
		if (!*blob) {
			*blob = ++d->last_blob;
			ret = content_begin(to, *blob);
		}
		if (!ret)
			ret = content_data(to, offset, buf, (size_t)n);
		offset += (uint64_t)n;
	}
	return ret ? sink_failed(d, to, ret) : 0;
}

/* *ret_blob: 0 if there is nothing but holes. */
static int copy_blob(struct dump *d, const struct blob_source *source, struct content *to,
		     uint64_t *ret_blob)
{
	uint64_t blob = 0, offset = 0;
	int ret = 0;

	while (offset < source->size && !ret) {
		off_t data = lseek(source->fd, (off_t)offset, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(source->fd, data, SEEK_HOLE);

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)		/* knows no holes */
			data = (off_t)offset;
		if (hole < 0 || (uint64_t)hole > source->size)
			hole = (off_t)source->size;
		if ((uint64_t)data >= source->size)
			break;
		ret = copy_data(d, source, to, (uint64_t)data, (uint64_t)hole, &blob);
		offset = (uint64_t)hole;
	}
	if (!ret && blob) {
		ret = content_end(to, source->size);
		if (ret)
			ret = sink_failed(d, to, ret);
	}
	*ret_blob = blob;
	return ret;
}

static bool changed_since(int fd, const struct ckpt_rec_file *rec)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       ((uint64_t)st.st_size != rec->size ||
		(uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec !=
		rec->mtime_ns);
}

static int dump_inode_content(struct dump *d, struct dump_inode *inode, enum dump_when when)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	struct blob_source source = { .name = inode->file->path, .size = rec->size };
	struct engine_rec_blob *blob;
	uint64_t number = 0;
	_cleanup_fd_ int fd = dump_reopen(inode->fd);
	int ret;

	if (!source.name[0])
		source.name = "a shared memory object";
	if (fd < 0)
		return source_failed(d, &source, fd);
	source.fd = fd;
	ret = copy_blob(d, &source, place_for(d, when, fd), &number);
	if (!ret && when == DUMP_AFTER && !d->frozen_to_end && !inode->writes &&
	    changed_since(fd, rec))
		ret = engine_fail(d->error, -EAGAIN,
				  "%s changed while it was read although the tree does not write it: try again",
				  source.name);
	if (ret)
		return ret;
	blob = dump_record_add(d, ENGINE_REC_BLOB, sizeof(*blob), inode->file->path,
			       strlen(inode->file->path) + 1);
	if (!blob)
		return engine_fail(d->error, -ENOMEM, "out of memory");
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
		return engine_fail(d->error, -ENOMEM, "out of memory");
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

static int shm_file(struct dump *d, int dir, const char *name, const char *path)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct blob_source source = { .fd = fd, .name = path };
	uint64_t number = 0;
	struct stat st;
	int ret;

	if (fd < 0 || fstat(fd, &st))
		return source_failed(d, &source, -errno);
	source.size = (uint64_t)st.st_size;
	ret = copy_blob(d, &source, place_for(d, DUMP_IN_PAUSE, fd), &number);
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
		       engine_fail(d->error, -errno, "/dev/shm/%s: %s", path, strerror(errno));
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return dump_is_left_out(d, &st) ? 0 : shm_file(d, dir, name, path);
	case S_IFDIR:
		ret = shm_record(d, path, NULL, &st, 0);
		fd = ret ? -1 : openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (ret)
			return ret;
		if (fd < 0)
			return engine_fail(d->error, -errno, "/dev/shm/%s: %s", path,
					   strerror(errno));
		return shm_walk(d, fd, path, depth + 1);
	case S_IFLNK:
		len = readlinkat(dir, name, target, sizeof(target) - 1);
		if (len < 0)
			return engine_fail(d->error, -errno, "/dev/shm/%s: %s", path,
					   strerror(errno));
		target[len] = 0;
		return shm_record(d, path, target, &st, 0);
	default:
		return shm_record(d, path, NULL, &st, 0);
	}
}

/* Takes over fd. */
static int shm_walk(struct dump *d, int fd, const char *path, unsigned int depth)
{
	_cleanup_dir_ DIR *dir = fdopendir(fd);
	char child[SHM_PATH_MAX];
	struct dirent *entry;
	int ret = 0;

	if (!dir) {
		close(fd);
		return engine_fail(d->error, -ENOMEM, "out of memory");
	}
	if (depth > SHM_DEPTH)
		return engine_fail(d->error, -ELOOP, "/dev/shm/%s: directories too deep", path);
	while (!ret && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(child, sizeof(child), "%s%s%s", path, path[0] ? "/" : "",
			     entry->d_name) >= (int)sizeof(child))
			return engine_fail(d->error, -ENAMETOOLONG, "/dev/shm/%s: path too long",
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
		return engine_fail(d->error, -errno, "%s: %s", d->options->shm_dir,
				   strerror(errno));
	return shm_walk(d, fd, "", 0);
}
