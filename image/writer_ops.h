/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the bytes of an image go: the interface between the code that makes an
 * image and the writer that stores its files.
 *
 * Appends are sequential per file, 1 MiB or more and multiples of 4096 except for a
 * file's last one, from buffers aligned to 4096.  Every operation returns 0 or a negative
 * errno.
 */
#ifndef STILLPOINT_IMAGE_WRITER_OPS_H
#define STILLPOINT_IMAGE_WRITER_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct image_writer;
struct image_wfile;

#define IMAGE_LENT_BYTES	(1U << 20)
#define IMAGE_LENT_ALIGN	4096U	/* IMAGE_ALIGN */

struct image_writer_ops {
	/* about @bytes will be appended; may be NULL */
	void (*expect)(struct image_writer *w, uint64_t bytes);
	/* before any other call: have at most @pieces * IMAGE_LENT_BYTES of memory; may be NULL */
	void (*limit)(struct image_writer *w, unsigned int pieces);
	/* create the temporary directory; -EEXIST if the final one is in use */
	int (*begin)(struct image_writer *w);
	int (*open)(struct image_writer *w, const char *name,
		    struct image_wfile **ret_file);
	int (*append)(struct image_wfile *f, const void *buf, size_t len);
	/*
	 * NULL: append() returns when the bytes are written.  Otherwise append() takes any
	 * length from any address, and returns when the bytes are copied; the next append()
	 * or sync() of the file returns the error of a failed write.  written() says how much
	 * was written since its last call, and how long the device needed for it; 0 bytes:
	 * not known.
	 */
	void (*written)(struct image_wfile *f, uint64_t *ret_bytes, uint64_t *ret_ns);
	/*
	 * All three or none, and only with written(): data made in the writer's own memory need
	 * not be copied.  lend() gives IMAGE_LENT_BYTES, page aligned, or NULL if there are none
	 * left; reclaim() takes them back unused.  append_lent() takes them over, also if it
	 * fails.  In the file lent bytes begin at the next multiple of IMAGE_LENT_ALIGN, and
	 * so do the bytes appended after them.
	 */
	uint8_t *(*lend)(struct image_writer *w);
	void (*reclaim)(struct image_writer *w, uint8_t *lent);
	int (*append_lent)(struct image_wfile *f, uint8_t *lent, uint32_t len);
	/* the file is durable if this returns 0; append nothing afterwards */
	int (*sync)(struct image_wfile *f);
	int (*close)(struct image_wfile *f);		/* frees f in any case */
	int (*rename)(struct image_writer *w, const char *from, const char *to);
	int (*sync_dir)(struct image_writer *w);
	/* temporary directory → final name, durable */
	int (*publish)(struct image_writer *w);
	/* remove the temporary directory; harmless after publish */
	void (*discard)(struct image_writer *w);
	/* link(): give a durable file of an image another name; may be NULL */
	/* remove(): remove a name that link() made */
	int (*link)(struct image_writer *w, int dir, const char *from, const char *to);
	int (*remove)(struct image_writer *w, const char *name);
	/*
	 * after publish: exchange the names of this image and the one called @name beside it,
	 * durably; may be NULL
	 */
	int (*swap)(struct image_writer *w, const char *name);
	/* how the bytes are written, as text for people; may be NULL */
	const char *(*way)(const struct image_writer *w);
	void (*destroy)(struct image_writer *w);
};

struct image_writer {
	const struct image_writer_ops *ops;
	const char *name;	/* final path, for messages */
};

/**
 * image_writer_create() - make the best writer that this machine permits
 * @dir: final path of the image; must not exist or be empty, its parent must
 *	exist.  The temporary directory is .tmp-NAME beside it; a dead writer's is
 *	removed, a living writer's is -EBUSY.
 */
int image_writer_create(const char *dir, struct image_writer **ret_writer,
			struct ckpt_error *error);

/* Write by io_uring, several writes at a time; -EOPNOTSUPP if io_uring is not permitted. */
int image_writer_uring_create(const char *dir, struct image_writer **ret_writer,
			      struct ckpt_error *error);

/* Write by plain write(2) and fsync(2). */
int image_writer_posix_create(const char *dir, struct image_writer **ret_writer,
			      struct ckpt_error *error);

#endif /* STILLPOINT_IMAGE_WRITER_OPS_H */
