/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building an image.
 *
 *	image_writer_create(dir, &writer, error);
 *	image_create(writer, key, &options, &img, error);
 *	image_state_append(img, …)  image_pages_add(img, …)  image_blob_…(img, …)
 *	image_set_…(img, …)
 *	image_commit(img, error);	the only way to make it visible
 *	image_destroy(img);		before commit: removes every trace
 *
 * The first failure sticks: every later call on the image returns the same
 * errno, image_error_text() describes the failure, and the image can only be
 * destroyed.  One thread at a time per image; the image encodes chunks on up to four
 * threads of its own.  Memory: 28 MiB for chunks and writes on their way, 4 MiB and for each
 * thread 3 MiB, and up to 16 MiB for data other than pages and contents, if there is so much
 * (plain writer: 3 MiB for each file, 8 MiB and for each thread 5 MiB, the rooms of pages);
 * 3.3 MiB to find equal pages.  image_options.memory covers all that, but not the 48 bytes per
 * page run (adjacent pages of one kind are one run per MiB).
 */
#ifndef STILLPOINT_IMAGE_WRITER_H
#define STILLPOINT_IMAGE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/key.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/writer_ops.h"

/* --------------------------------------------------------------- image */

struct image;

/*
 * Read again pages of a memory map that were added before, exactly as they were
 * then.  The function may fail; the pages are then stored anew.
 */
typedef int (*image_reread_fn)(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
			       void *buf);

#define IMAGE_MEMORY_DEFAULT	(64U << 20)
#define IMAGE_MEMORY_MIN	(32U << 20)

struct image_options {
	uint64_t generation;
	const char *job;	/* name, at most 63 bytes; may be NULL */
	/* with the key's secret; -ENOKEY without one.  True if the job has a key (job_key.h). */
	bool encrypt;
	int zstd_level;		/* 0: level 1, and only where it pays (see pace.h) */
	uint64_t memory;	/* bytes, at least IMAGE_MEMORY_MIN; 0: IMAGE_MEMORY_DEFAULT */
	/* NULL: do not look for equal pages; each added page is stored */
	image_reread_fn reread;
	void *reread_arg;
};

/* Takes over @writer, also on failure.  @key must live as long as the image. */
int image_create(struct image_writer *writer, const struct image_key *key,
		 const struct image_options *options, struct image **ret_img,
		 struct ckpt_error *error);

/*
 * Announce that about @bytes will be added; fewer may be stored in the end.  A large image then
 * has its memory in large pages from the beginning.
 */
void image_expect(struct image *img, uint64_t bytes);

/* Free @img.  Commits nothing: without image_commit() before, every trace is removed. */
void image_destroy(struct image *img);

/* Sync, write the manifest, rename into place.  Afterwards only image_destroy() is allowed. */
int image_commit(struct image *img, struct ckpt_error *error);

/* Remove all that was written so far, but keep @img; image_destroy() removes it as well. */
void image_abort(struct image *img);

/* The text of the first failure; "" if there was none. */
const char *image_error_text(const struct image *img);

/* ---------------------------------------------------------- state stream */

/* Append whole records, {type, version, len} each, a multiple of 8 bytes. */
int image_state_append(struct image *img, const void *records, size_t len);

/* Append one record from its parts; adds header and padding. */
int image_state_add(struct image *img, uint16_t type, uint16_t version,
		    const void *payload, size_t len);

/* ---------------------------------------------------------------- memory */

/*
 * image_pages_add() - store pages of a memory map
 *
 * Pages may come in any order (ascending is fastest to restore), but each only once: a
 * page that was added twice fails the commit with -EEXIST.  mm_id is not 0.  Zero pages
 * are found and stored as such.  With options.reread, a stretch that equals an earlier
 * one is not stored again; it is restored as pages of its own.
 */
int image_pages_add(struct image *img, uint64_t mm_id, uint64_t addr,
		    uint64_t nr_pages, const void *data);

/*
 * Memory to read pages into.  Pages added from it are not copied, if they fill most of
 * it.
 *
 *	image_room_get(img, &room);
 *	… read pages into room.p …			on any thread, during other calls
 *	image_room_use(img, &room);
 *	image_pages_add(img, …)				data within it, ascending
 *	image_room_put(img, &room);			or reuse it, if room.p is not NULL
 */
struct image_room {
	void *p;		/* NULL: no memory; the image may have kept it */
	size_t len;		/* in bytes, whole pages */
	bool lent;		/* for the image only */
};

/* Return: 0 or -ENOMEM */
int image_room_get(struct image *img, struct image_room *ret_room);
int image_room_use(struct image *img, struct image_room *room);
void image_room_put(struct image *img, struct image_room *room);

/* Add pages that hold zeros, without passing their data. */
int image_pages_zero(struct image *img, uint64_t mm_id, uint64_t addr,
		     uint64_t nr_pages);

/*
 * image_pages_ref() - add pages that share the physical pages of stored ones
 *
 * The source pages must have been added with image_pages_add() or _zero() by the time of
 * the commit (else the commit fails with -EINVAL); they must not be references themselves.
 */
int image_pages_ref(struct image *img, uint64_t mm_id, uint64_t addr,
		    uint64_t nr_pages, uint64_t src_mm_id, uint64_t src_addr);

/* --------------------------------------------------------- file contents */

/*
 * Add contents of deleted files, memfds, shared memory, one blob at a time.  The caller
 * chooses the ids: unique, not 0, in any order.  Offsets must ascend; gaps are holes, and
 * aligned pages of zeros become holes.
 */
int image_blob_begin(struct image *img, uint64_t blob_id);
/*
 * image_blob_in_pages() - keep the blob that was just begun in pages, as memory is
 *
 * Then later images can take unchanged pages of it from this one (image_blob_base()), and this
 * one can take them from its base.  Offsets are those of pages; only the last append may end
 * within a page.
 */
int image_blob_in_pages(struct image *img);
int image_blob_append(struct image *img, uint64_t offset, const void *data,
		      size_t len);
int image_blob_end(struct image *img, uint64_t size);

/* -------------------------------------------------------------- manifest */

struct image_identity {
	uint64_t created_ns;	/* 0: now */
	uint64_t xfeatures;
	uint32_t xstate_size;
	uint32_t uid, gid;	/* owner of the tree */
	uint32_t nr_procs, nr_threads;
	const char *hostname;	/* NULL: this node's, likewise release, machine */
	const char *release;
	const char *machine;
};

struct image_timing {
	uint64_t pause_ns;
	uint64_t freeze_ns;
	uint64_t collect_ns;
	uint64_t clone_ns;
	uint64_t dump_ns;
};

int image_set_identity(struct image *img, const struct image_identity *identity);
int image_set_timing(struct image *img, const struct image_timing *timing);
int image_set_roots(struct image *img, const int32_t *pids, unsigned int nr);
/* free-form text: "cpu.flags", "command", …; a second value replaces the first */
int image_set(struct image *img, const char *key, const char *value);

/* {"pages": N, "wrong": N, "at": [...]}: unwritten pages that were compared with the base */
#define IMAGE_KEY_SCRUB		"scrub"
/* {"untouched": N, "file": N}: numbers of pages that the caller neither added nor excluded */
#define IMAGE_KEY_SKIPPED	"pages.skipped"

/* ---------------------------------------------------------------- counts */

struct image_counts {
	uint64_t bytes_raw;	/* state, page data, blob data */
	uint64_t bytes_stored;	/* in files so far */
	uint64_t pages_data;	/* pages that hold data */
	uint64_t pages_same;	/* of pages_data: pages that share the stored data of others */
	uint64_t pages_base;	/* of pages_data: pages whose data a base has */
	uint64_t pages_zero;
	uint64_t pages_ref;
	uint64_t blob_bytes;	/* sizes of blobs */
	uint64_t blob_data;	/* of blob_bytes: bytes that are not holes */
	uint64_t nr_blobs;
	uint64_t nr_records;
};

void image_get_counts(const struct image *img, struct image_counts *ret_counts);
/* the random id: together with the generation it names this image for ever */
void image_get_id(const struct image *img, uint8_t ret_id[32]);

/* ----------------------------------------------------------- housekeeping */

/*
 * image_sweep() - remove what dead writers left under @parent (.tmp-*, .rm-*)
 *
 * Images that are being written now are left alone.  Return: number removed or -errno.
 */
int image_sweep(const char *parent, struct ckpt_error *error);

/*
 * image_remove() - delete a committed image
 *
 * The image is renamed first, so that a crash leaves no half image.  Refuses
 * (-ENOTEMPTY) a directory that holds any file not of an image.
 */
int image_remove(const char *dir, struct ckpt_error *error);

/*
 * image_in_use() - is @dir an image, or a temporary or dying one, that somebody holds?
 *
 * A writer holds its image, and a reader after image_hold().  Without @dir: not in use.
 */
bool image_in_use(const char *dir);

#endif /* STILLPOINT_IMAGE_WRITER_H */
