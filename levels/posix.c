// SPDX-License-Identifier: GPL-2.0-only
/*
 * A level in a directory.
 *
 * Owns the directory's descriptor and, unless it only reads, the lock on its marker.
 * copy.c copies and image_remove() deletes; this file checks before every operation
 * that the directory is the right one, because a file system may be unmounted under a
 * running daemon: then the path leads to the bare mount point, which has no marker, and
 * nothing is written there.
 *
 * Nothing is ever replaced or removed to make room: a level that is full says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/error.h"
#include "levels/arrival.h"
#include "levels/copy.h"
#include "levels/marker.h"
#include "levels/posix.h"
#include "levels/source.h"

#define SLACK_BYTES	(1U << 20)	/* directories and the file system's own blocks */
/* how often, and in how many ns, a marker that may be under way is looked for: 1 s in all */
#define MAKING_LOOKS	20
#define MAKING_NS	50000000L
#define OPEN_DIR	(O_RDONLY | O_DIRECTORY | O_CLOEXEC)

struct posix_level {
	struct level base;
	char *path;		/* where the images are */
	int lock;
	bool read_only;
	const struct image_key *key;
	struct marker marker;
};

static struct posix_level *to_posix(struct level *l)
{
	return (struct posix_level *)l;		/* base is the first member */
}

static char *path_of(const struct posix_level *p, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", p->path, name) < 0 ? NULL : path;
}

static int no_memory(struct ckpt_error *error)
{
	return error_set(error, -ENOMEM, "out of memory");
}

/* --------------------------------------------------- the right directory */

static int check_rights(int dir, const char *path, bool read_only,
			struct ckpt_error *error)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(dir, &st) < 0 || fstatvfs(dir, &fs) < 0)
		return error_set(error, -errno, "%.200s: %m", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(error, -EPERM,
				       "%.150s: belongs to uid %u, must be root's or this user's",
				       path, (unsigned int)st.st_uid);
	if (st.st_mode & 022)
		return error_set(error, -EPERM,
				       "%.150s: mode %04o lets others write, must be 0700 or 0755",
				       path, (unsigned int)st.st_mode & 07777);
	if (read_only)
		return 0;
	if (fs.f_flag & ST_RDONLY)
		return error_set(error, -EROFS, "%.180s: its file system is read-only",
				       path);
	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return error_set(error, -errno,
				       "%.150s: may not be written to by this user (uid %u): %m",
				       path, (unsigned int)geteuid());
	return 0;
}

static int posix_open_dir(const char *path, struct ckpt_error *error)
{
	int fd = open(path, OPEN_DIR);

	if (fd < 0 && errno == ENOENT)
		return error_set(error, -ENOENT,
				 "%.150s: there is no such directory; is it mounted? (it is not "
				 "made by itself)",
				 path);
	if (fd < 0)
		return error_set(error, -errno, "%.200s: %m", path);
	return fd;
}

/* Open the node's own directory in a directory that several nodes share. */
static int open_node_dir(const struct level_posix_options *o, const char *path,
			 struct ckpt_error *error)
{
	_cleanup_fd_ int top = posix_open_dir(o->dir, error);
	int fd;

	if (top < 0)
		return top;
	/* Make it on first use only: an id means that it was there before. */
	if (!o->read_only && !o->id && mkdirat(top, o->node, 0700) < 0 && errno != EEXIST)
		return error_set(error, -errno, "%.200s: cannot be made: %m", path);
	fd = openat(top, o->node, OPEN_DIR | O_NOFOLLOW);
	if (fd < 0)
		return error_set(error, errno == ENOENT && o->id ? -ESTALE : -errno,
				       "%.200s: %m", path);
	if (!o->read_only && fsync(top) < 0) {
		int err = -errno;

		close(fd);
		return error_set(error, err, "%.200s: %s", o->dir, strerror(-err));
	}
	return fd;
}

/* Read the marker of a directory whose node may be making both at this moment. */
static int posix_read_marker(struct posix_level *p, int dir, bool shared, struct ckpt_error *error)
{
	const struct timespec wait = { .tv_nsec = MAKING_NS };
	unsigned int looks = shared ? MAKING_LOOKS : 0;
	int err;

	while ((err = marker_read(dir, p->path, &p->marker, error)) == -ENOENT && looks--)
		nanosleep(&wait, NULL);
	return err;
}

static int posix_claim(struct posix_level *p, int dir, const struct level_posix_options *o,
		       struct ckpt_error *error)
{
	int err;

	if (o->read_only || o->id)
		err = posix_read_marker(p, dir, o->shared, error);
	else
		err = marker_make(dir, p->path, o->node, &p->marker, error);
	if (err == -ENOENT)
		return error_set(error, -ESTALE,
				 "%.120s: has no level's marker: not the directory it was; is its "
				 "file system mounted?",
				 p->path);
	if (!err)
		err = marker_check(&p->marker, p->path, o->node, o->id, error);
	if (!err && !o->read_only)
		err = marker_lock(dir, p->path, &p->lock, error);
	return err;
}

/* Check the directory before every operation.  @write: the operation changes something. */
static int still_ours(const struct posix_level *p, bool write, struct ckpt_error *error)
{
	_cleanup_fd_ int dir = -1;
	struct marker m;
	int err;

	if (write && p->read_only)
		return error_set(error, -EROFS, "%.200s: opened for reading only",
				       p->path);
	dir = posix_open_dir(p->path, error);
	if (dir < 0)
		return dir;
	err = marker_read(dir, p->path, &m, error);
	if (err == -ENOENT)
		return error_set(error, -ESTALE,
				       "%.150s: its marker is gone; was its file system unmounted?",
				       p->path);
	return err ? err : marker_check(&m, p->path, p->marker.node, p->marker.id, error);
}

/* ------------------------------------------------------------ operations */

/* Sync the directory: the process that renamed the image may have died before it did. */
static int make_durable(const struct posix_level *p, struct ckpt_error *error)
{
	_cleanup_fd_ int dir = posix_open_dir(p->path, error);

	if (dir < 0)
		return dir;
	return fsync(dir) ? error_set(error, -errno, "%.200s: %m", p->path) : 0;
}

/* The name is taken: 0 if by the very same image, else an error. */
static int already_there(const struct posix_level *p, const char *path,
			 const struct image_expect *expect, struct ckpt_error *error)
{
	struct ckpt_error why;
	int err = source_verify_any(path, p->key, expect, true, &why);

	if (!err)
		return make_durable(p, error);
	return error_set(error, -EEXIST, "name taken, %s: %.180s",
			       err == -ESTALE ? "by another image" :
			       "and what has it is no good (delete it first)", why.text);
}

static int posix_space(struct level *l, struct level_space *ret_space,
		       struct ckpt_error *error)
{
	struct statvfs fs;
	int err = still_ours(to_posix(l), false, error);

	if (err)
		return err;
	if (statvfs(l->where, &fs) < 0)
		return error_set(error, -errno, "%.200s: %m", l->where);
	ret_space->total = (uint64_t)fs.f_blocks * fs.f_frsize;
	ret_space->free = (uint64_t)fs.f_bavail * fs.f_frsize;
	return 0;
}

static int posix_check_room(struct level *l, uint64_t total, struct ckpt_error *error)
{
	struct level_space space;
	int err = posix_space(l, &space, error);

	if (err)
		return err;
	if (space.free < total + SLACK_BYTES)
		return error_set(error, -ENOSPC,
				 "%.120s: %llu MiB free, the image has %llu MiB: nothing was "
				 "written",
				 l->where, (unsigned long long)space.free >> 20,
				 (unsigned long long)total >> 20);
	return 0;
}

static int posix_put(struct level *l, const char *name, const char *image,
		     const struct level_options *o, struct ckpt_error *error)
{
	struct posix_level *p = to_posix(l);
	_cleanup_free_ char *path = path_of(p, name);
	struct source s;
	struct stat st;
	int err;

	if (!path)
		return no_memory(error);
	err = still_ours(p, true, error);
	if (err)
		return err;
	err = source_open_any(&s, image, p->key, o->expect, error);
	if (err)
		return err;
	if (lstat(path, &st) == 0) {
		struct image_expect expect = { .generation = s.generation, .id = s.id };

		err = already_there(p, path, &expect, error);
	} else {
		err = posix_check_room(l, s.layout.total, error);
		if (!err)
			err = level_copy(&s, path, p->key, o, error);
	}
	source_close(&s);
	return err;
}

static int posix_arrive(const struct posix_level *p, const char *path,
			const struct level_stream *stream, struct ckpt_error *error)
{
	struct image_expect expect = { .generation = stream->generation, .id = stream->id };
	struct arrival a;
	uint64_t pos = 0;
	int err;

	err = arrival_begin(&a, path, &stream->layout, stream->writers, error);
	while (!err) {
		const void *buf = NULL;
		size_t len = 0;

		err = stream->next(stream->arg, pos, &buf, &len, error);
		if (err || pos == stream->layout.total)
			break;
		err = arrival_append(&a, buf, len, error);
		pos += len;
	}
	if (!err)
		err = arrival_commit(&a, p->key, &expect, error);
	arrival_done(&a);
	return err;
}

int level_posix_take(struct level *l, const char *name, const struct level_stream *stream,
		     struct ckpt_error *error)
{
	struct image_expect expect = { .generation = stream->generation, .id = stream->id };
	struct posix_level *p = to_posix(l);
	_cleanup_free_ char *path = path_of(p, name);
	struct stat st;
	int err;

	if (!path)
		return no_memory(error);
	err = still_ours(p, true, error);
	if (err)
		return err;
	if (lstat(path, &st) == 0)
		return already_there(p, path, &expect, error);
	err = posix_check_room(l, stream->layout.total, error);
	return err ? err : posix_arrive(p, path, stream, error);
}

int level_posix_source(struct level *l, const char *name, const struct image_expect *expect,
		       struct source *ret_source, char **ret_path, struct ckpt_error *error)
{
	struct posix_level *p = to_posix(l);
	_cleanup_free_ char *path = path_of(p, name);
	int err;

	if (!path)
		return no_memory(error);
	err = still_ours(p, false, error);
	if (!err)
		err = source_open_any(ret_source, path, p->key, expect, error);
	if (!err)
		*ret_path = take_ptr(path);
	return err;
}

static int posix_get(struct level *l, const char *name, const char *image,
		     const struct level_options *o, struct ckpt_error *error)
{
	_cleanup_free_ char *path = NULL;
	struct source s;
	int err;

	err = level_posix_source(l, name, o->expect, &s, &path, error);
	if (err)
		return err;
	if (o->image_only && s.layout.parity)
		err = error_set(error, -ESTALE, "%.200s: parity, where an image is wanted", path);
	else
		err = level_copy(&s, image, to_posix(l)->key, o, error);
	source_close(&s);
	return err;
}

static int posix_verify(struct level *l, const char *name, bool deep,
			const struct level_options *o, struct ckpt_error *error)
{
	struct posix_level *p = to_posix(l);
	_cleanup_free_ char *path = path_of(p, name);
	int err;

	if (!path)
		return no_memory(error);
	err = still_ours(p, false, error);
	return err ? err : source_verify_any(path, p->key, o->expect, deep, error);
}

static int posix_delete(struct level *l, const char *name, struct ckpt_error *error)
{
	struct posix_level *p = to_posix(l);
	_cleanup_free_ char *path = path_of(p, name);
	int err;

	if (!path)
		return no_memory(error);
	err = still_ours(p, true, error);
	return err ? err : image_remove(path, error);
}

/* ------------------------------------------------------------------ list */

static int list_one(const struct posix_level *p, const char *name, level_item_fn fn,
		    void *arg)
{
	_cleanup_free_ char *path = path_of(p, name);
	struct level_item item = { .name = name, .text = "" };
	struct ckpt_error why;
	struct source s;
	struct stat st;
	int ret;

	if (!path)
		return -ENOMEM;
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;		/* gone meanwhile, or not a directory of ours */
	item.err = source_open_any(&s, path, p->key, NULL, &why);
	if (item.err) {
		item.text = why.text;
		return fn(&item, arg);
	}
	item.job = s.job;
	item.generation = s.generation;
	item.created_ns = s.created_ns;
	item.bytes = s.layout.bytes;
	memcpy(item.id, s.id, sizeof(item.id));
	item.header = s.header;
	item.header_len = s.header_len;
	ret = fn(&item, arg);
	source_close(&s);
	return ret;
}

static int posix_wanted(const struct dirent *e)
{
	return level_name_valid(e->d_name);
}

/* As strcmp(3), whatever the locale. */
static int posix_by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int posix_list(struct level *l, const char *prefix, level_item_fn fn, void *arg,
		      struct ckpt_error *error)
{
	struct posix_level *p = to_posix(l);
	size_t len = strlen(prefix);
	struct dirent **names;
	int i, n, err;

	err = still_ours(p, false, error);
	if (err)
		return err;
	n = scandir(p->path, &names, posix_wanted, posix_by_name);
	if (n < 0)
		return error_set(error, -errno, "%.200s: %m", p->path);
	for (i = 0; i < n; i++) {
		if (!err && !strncmp(names[i]->d_name, prefix, len))
			err = list_one(p, names[i]->d_name, fn, arg);
		free(names[i]);
	}
	free(names);
	if (err == -ENOMEM)
		return no_memory(error);
	return err;
}

/* --------------------------------------------------------- open and close */

static void posix_close(struct level *l)
{
	struct posix_level *p = to_posix(l);

	if (p->lock >= 0)
		close(p->lock);
	free(p->path);
	free(p);
}

static const struct level_ops posix_ops = {
	.kind = "posix",
	.put = posix_put,
	.get = posix_get,
	.verify = posix_verify,
	.delete = posix_delete,
	.list = posix_list,
	.space = posix_space,
	.close = posix_close,
};

static int open_level(struct posix_level *p, const struct level_posix_options *o,
		      struct ckpt_error *error)
{
	_cleanup_fd_ int dir = -1;
	int err;

	dir = o->shared ? open_node_dir(o, p->path, error) : posix_open_dir(p->path, error);
	if (dir < 0)
		return dir;
	err = check_rights(dir, p->path, o->read_only, error);
	if (!err)
		err = posix_claim(p, dir, o, error);
	if (!err && p->lock >= 0 && !o->no_sweep) {
		marker_sweep(dir);
		err = image_sweep(p->path, error);
		if (err > 0)
			err = 0;	/* how many */
	}
	return err;
}

int level_posix_open(const struct level_posix_options *o, struct level **ret_level,
		     struct ckpt_error *error)
{
	struct posix_level *p;
	int err;

	if (!marker_node_valid(o->node))
		return error_set(error, -EINVAL, "'%.80s' is no name of a node", o->node);
	p = calloc(1, sizeof(*p));
	if (!p)
		return no_memory(error);
	p->lock = -1;
	p->base.ops = &posix_ops;
	p->read_only = o->read_only;
	p->key = o->key;
	if (asprintf(&p->path, "%s%s%s", o->dir, o->shared ? "/" : "",
		     o->shared ? o->node : "") < 0) {
		p->path = NULL;
		err = no_memory(error);
	} else {
		err = open_level(p, o, error);
	}
	if (err) {
		posix_close(&p->base);
		return err;
	}
	p->base.where = p->path;
	*ret_level = &p->base;
	return 0;
}

const char *level_posix_id(const struct level *l)
{
	return ((const struct posix_level *)l)->marker.id;
}
