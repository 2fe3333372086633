/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A level in a directory: a local disk (L1), or any file system that several nodes
 * mount (L4).  For every image of every node a few large files are written in
 * sequence, and one directory is made and renamed; nothing else touches its metadata.
 *
 *	DIR/.stillpoint-level		whose directory it is (marker.h)
 *	DIR/NAME/			an image
 *	DIR/.tmp-NAME/ DIR/.rm-NAME/	one that is being written or deleted
 *
 * With @shared the same below DIR/NODE/, which is made on first use, so that nodes do
 * not meet in one directory.
 */
#ifndef STILLPOINT_LEVELS_POSIX_H
#define STILLPOINT_LEVELS_POSIX_H

#include "base/error.h"
#include "levels/layout.h"
#include "levels/level.h"

struct source;

/**
 * struct level_posix_options
 * @dir: is never made: a mount point without its file system must not be filled
 * @node: this node; when reading another one's images, that one
 * @id: level_posix_id() of last time, or NULL if there was none.  A directory with another id
 *	is refused
 * @key: must live as long as the level
 * @shared: several nodes have @dir
 * @read_only: makes no marker, takes no lock, removes no leftovers
 * @no_sweep: removes no leftovers: another node, whose it is, may be writing them
 */
struct level_posix_options {
	const char *dir;
	const char *node;
	const char *id;
	const struct image_key *key;
	bool shared;
	bool read_only;
	bool no_sweep;
};

/**
 * level_posix_open() - open a directory as a level and remove leftovers
 *
 * Leftovers stay on a file system without locks: there they look like images being written.
 *
 *   -ENOENT	there is no such directory (@read_only: nor such a node's)
 *   -ENOTDIR	it is something else
 *   -EROFS	its file system is read-only
 *   -EPERM	it belongs to neither root nor the caller, or others may write to it
 *   -EACCES	this user may not write there (a server that squashes root, too)
 *   -ENOTUNIQ	it is another node's
 *   -ESTALE	it is not the directory of @id; or has lost its marker
 *   -EBUSY	another process has the level open for writing
 *   -EBADMSG	its marker is no marker
 */
int level_posix_open(const struct level_posix_options *options, struct level **ret_level,
		     struct ckpt_error *error);

/* The directory's permanent id; the string lives as long as the level. */
const char *level_posix_id(const struct level *l);

/*
 * An image that arrives as a stream (layout.h) and not as a directory: for partner_serve.h,
 * in place of put and get.
 */
struct level_stream {
	struct layout layout;
	uint64_t generation;
	const uint8_t *id;	/* 32 bytes */
	/*
	 * The next bytes, as arrival_append() takes them, in *ret_buf until the next call.
	 * Called first when there is room for the image and nothing under its name, and at
	 * the end once more (@pos is layout.total; @ret_len is to be 0), before all is read back.
	 */
	int (*next)(void *arg, uint64_t pos, const void **ret_buf, size_t *ret_len,
		    struct ckpt_error *error);
	void *arg;
	const struct level_writers *writers;	/* for tests; may be NULL */
};

/* As level_put(); an image that is there already is no error, and next is not called. */
int level_posix_take(struct level *l, const char *name, const struct level_stream *stream,
		     struct ckpt_error *error);

/*
 * The image as a source, as level_get() reads it; @ret_path is to be freed after
 * source_close().
 */
int level_posix_source(struct level *l, const char *name, const struct image_expect *expect,
		       struct source *ret_source, char **ret_path,
		       struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_POSIX_H */
