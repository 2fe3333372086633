/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A level: a place where committed images of one node are kept, and the way there
 * and back; also parity over images (parity.h), to which all that is said of images here
 * applies.  An image is image/format.h's: directory { manifest state index
 * [pages] [blobs] }; this room copies it as it is and never looks inside a chunk.
 *
 *	level_posix_open(&options, &level, error);	posix.h; others likewise
 *	level_put(level, "12.gen-3", "/…/12/gen-3", &options, error);
 *	level_get(level, "12.gen-3", "/…/12/gen-3", &options, error);
 *	level_close(level);
 *
 * What holds for every level, whatever happens to the process, the machine or the
 * device in between:
 *
 *   - When put or get returns 0, the copy is durable under its name, and every
 *     chunk of it was read back and authenticated with the image's own tags and
 *     manifest.
 *   - Before that nobody sees it: list, get and verify know committed images only,
 *     and an image is committed by one rename.
 *   - A put, get or delete that fails leaves nothing of its own behind and
 *     everything else as it was; one that dies leaves a name that the next open of
 *     the level removes.
 *   - A put never replaces: neither another image nor an older generation is touched,
 *     before or after.  Removing is delete's, and delete is somebody's decision.
 *   - After delete returned 0 the image does not come back; a crash leaves either
 *     the whole image or none.
 *
 * Names: one path component of letters, digits, ".", "_", "-", at most 200 bytes,
 * not beginning with ".".  A name is the caller's affair (see level_name()).
 *
 * Errors are negative errno with a text that names directory, cause and, where
 * there is one, what to do.  Those of the image are reader.h's (-EBADMSG damaged,
 * -EKEYREJECTED another key, -ESTALE not the image expected, …); beside them
 *   -EEXIST	the name is taken, by another image or a damaged one
 *   -ENOENT	there is no such image
 *   -ENOSPC	no room; found out before anything is written where that can be
 *   -EBUSY	being written, read or deleted by somebody else
 *   -ECANCELED	the caller asked for that
 *
 * One thread at a time per level.  Sizes are bytes, times nanoseconds.
 */
#ifndef STILLPOINT_LEVELS_LEVEL_H
#define STILLPOINT_LEVELS_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/reader.h"
#include "levels/bucket.h"

#define LEVEL_NAME_MAX	200

struct level;

/* Where time comes from.  NULL: CLOCK_MONOTONIC, clock_nanosleep(2). */
struct level_clock {
	uint64_t (*now_ns)(void *arg);
	void (*sleep_ns)(void *arg, uint64_t ns);
	void *arg;
};

/* Where bytes go.  NULL: image_writer_posix_create(). */
struct level_writers {
	int (*create)(const char *dir, struct image_writer **ret_writer,
		      struct ckpt_error *error, void *arg);
	void *arg;
};

/**
 * struct level_options - how to move an image; all of it may be NULL or 0
 * @expect: the image that it must be; else -ESTALE, before anything is written
 * @image_only: get: parity under that name is not what is wanted (-ESTALE)
 * @progress: called after each buffer; done and total bytes of the copy
 * @cancelled: asked before each buffer and every tenth of a second of a wait; true
 *	ends the operation with -ECANCELED.  Not while the copy is read back.
 * @arg: of both
 * @bucket: limit on bytes a second; reading back is not counted
 * @clock: the bucket's
 * @writers: for tests
 */
struct level_options {
	const struct image_expect *expect;
	bool image_only;
	void (*progress)(uint64_t done, uint64_t total, void *arg);
	bool (*cancelled)(void *arg);
	void *arg;
	struct level_bucket *bucket;
	const struct level_clock *clock;
	const struct level_writers *writers;
};

/* One name of a level.  Strings live until the callback returns. */
struct level_item {
	const char *name;
	int err;		/* 0: committed and its manifest authentic */
	const char *text;	/* what is wrong, else "" */
	/* only without an error: */
	const char *job;
	uint64_t generation;
	uint8_t id[32];
	uint64_t created_ns;	/* CLOCK_REALTIME */
	uint64_t bytes;		/* of all files, the manifest too */
	const uint8_t *header;	/* of parity (parity_parse()); NULL: it is an image */
	size_t header_len;
	/* of a level that has images as parity: pieces that there are, of how many; else 0 */
	unsigned int have, of;
	/* then also: how many images were coded, and bit i: the i-th holder has a piece */
	unsigned int coded, holders;
};

/* Return: 0 to go on; anything else ends the listing and is returned */
typedef int (*level_item_fn)(const struct level_item *item, void *arg);

struct level_space {
	uint64_t total;
	uint64_t free;		/* for this caller */
};

/*
 * The operations of a kind of level. Call them by level_put() and so on, which check the arguments
 * for all kinds: an operation gets valid names, and options, prefix and error that are not NULL.
 */
struct level_ops {
	const char *kind;	/* "posix", … */
	int (*put)(struct level *l, const char *name, const char *image,
		   const struct level_options *options, struct ckpt_error *error);
	int (*get)(struct level *l, const char *name, const char *image,
		   const struct level_options *options, struct ckpt_error *error);
	int (*verify)(struct level *l, const char *name, bool deep,
		      const struct level_options *options, struct ckpt_error *error);
	int (*delete)(struct level *l, const char *name, struct ckpt_error *error);
	int (*list)(struct level *l, const char *prefix, level_item_fn fn, void *arg,
		    struct ckpt_error *error);
	int (*space)(struct level *l, struct level_space *ret_space,
		     struct ckpt_error *error);
	void (*close)(struct level *l);
};

struct level {
	const struct level_ops *ops;
	const char *where;	/* for messages; the level's own */
};

/**
 * level_put() - copy a committed image to the level
 * @name: what it will be called there
 * @image: directory of the image; stays the caller's and is only read
 *
 * Repeating it is harmless: if the very image is there already (same id, and whole
 * when it is read), the answer is 0.
 */
int level_put(struct level *l, const char *name, const char *image,
	      const struct level_options *options, struct ckpt_error *error);

/**
 * level_get() - copy an image from the level
 * @image: directory that it becomes; its parent exists and it does not (or is empty)
 *
 * A copy in the level that is damaged is never handed out: -EBADMSG.
 */
int level_get(struct level *l, const char *name, const char *image,
	      const struct level_options *options, struct ckpt_error *error);

/* Check one image where it is; @deep: every chunk, not only manifest and index. */
int level_verify(struct level *l, const char *name, bool deep,
		 const struct level_options *options, struct ckpt_error *error);

/* Remove an image for ever. */
int level_delete(struct level *l, const char *name, struct ckpt_error *error);

/*
 * level_list() - the names of the level that begin with @prefix, in strcmp(3) order
 * @prefix: the beginning of a name; NULL or "": of every name
 *
 * Names that hold no good image are reported with their error, not left out:
 * "newest" is then never decided by a name alone.  Only what is reported is opened: a level
 * of many jobs is not gone through for one.
 */
int level_list(struct level *l, const char *prefix, level_item_fn fn, void *arg,
	       struct ckpt_error *error);

int level_space(struct level *l, struct level_space *ret_space,
		struct ckpt_error *error);

void level_close(struct level *l);	/* NULL is fine */

bool level_name_valid(const char *name);
/* JOB.gen-GENERATION, or -ENAMETOOLONG or -EINVAL if that is no name. */
int level_name(const char *job, uint64_t generation, char ret_name[LEVEL_NAME_MAX + 1]);

/*
 * level_pace() - before @bytes are moved: is it to end, or to wait?
 *
 * For levels.  Return: 0 or -ECANCELED
 */
int level_pace(const struct level_options *options, uint64_t bytes,
	       struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_LEVEL_H */
