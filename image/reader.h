/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading an image.  Nothing read is believed before its authentication tag was
 * checked, and everything is bounds-checked after that as well.
 *
 * One thread at a time per reader; a reader and its clones (image_clone()) may be
 * used side by side, each by one thread.  All reads are positioned, so after
 * fork(2) parent and child may both go on with their copy.  Memory: the index (48
 * bytes per page run), and for each reader and clone a cache of four chunks and a
 * window of one.
 *
 * Errors are negative errno; image_reader_error() tells cause and place:
 *   -ENOENT    no image there (no manifest), or no such thing in it
 *   -EBADMSG   truncated, flipped, mixed from another image: the bytes read are
 *		not the bytes written
 *   -EKEYREJECTED  written with another key, or not with the key of its job (job_key.h)
 *   -ENOKEY    encrypted with a secret that the key does not have
 *   -EPROTONOSUPPORT  written by a version this one cannot read
 *   -ESTALE    authentic, but not the image that was expected (replayed)
 *   -EIO, -EUCLEAN, -EILSEQ  the disk does not give it back, or its file system is damaged
 */
#ifndef STILLPOINT_IMAGE_READER_H
#define STILLPOINT_IMAGE_READER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/format.h"
#include "image/key.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/writer.h"

struct image_reader;
/* True for errors of the disk (the last line above); a copy elsewhere may still be good. */
static inline bool image_is_unreadable(int err)
{
	return err == -EIO || err == -EUCLEAN || err == -EILSEQ;
}

/* Facts that the wanted image must match; zero or NULL: any. */
struct image_expect {
	uint64_t generation;
	const uint8_t *id;	/* 32 bytes */
	const char *job;
};

/* Open and check manifest, file lengths and index.  @expect may be NULL. */
int image_open(const char *dir, const struct image_key *key,
	       const struct image_expect *expect, struct image_reader **ret_reader,
	       struct ckpt_error *error);

/*
 * image_open_locked() - as image_open(), but also without the secret of an encrypted image
 *
 * A locked reader only gives the manifest, without keys and values; its index was not read.
 */
int image_open_locked(const char *dir, const struct image_key *key,
		      const struct image_expect *expect, struct image_reader **ret_reader,
		      struct ckpt_error *error);
void image_close(struct image_reader *r);	/* NULL is fine */

/*
 * image_clone() - another reader of an open image, for another thread
 *
 * It reads memory and blobs, and has errors and a cache of its own; not the state
 * stream.  To be closed before @r, which may be used meanwhile.
 */
int image_clone(const struct image_reader *r, struct image_reader **ret_clone);

/* Make image_remove() refuse the image (-EBUSY) until the reader is closed: for a restore. */
void image_hold(const struct image_reader *r);

const char *image_reader_error(const struct image_reader *r);

/* -------------------------------------------------------------- manifest */

struct image_file_info {
	const char *name;	/* NULL: the image has no such file */
	uint64_t len;
	uint64_t nr_chunks;
	uint64_t raw_len;
	uint8_t digest[32];
};

/* The image that wrote a base; the file itself is among files. */
struct image_base {
	uint8_t id[32];
	uint64_t generation;
	uint16_t version;
	bool encrypted;
};

/* Strings and arrays live as long as the reader. */
struct image_manifest {
	uint16_t version;
	bool encrypted;
	bool gaps;			/* there may be some between chunks; not read back */
	bool paged;			/* blobs are kept in pages; not read back */
	bool locked;			/* the secret is missing: no keys and values */
	uint8_t secret_id[16];		/* of the secret that encrypts it and all its bases */
	bool of_job;			/* that secret is the key of the job */
	struct image_recovery recovery;	/* of_job: the site's copy of the key */
	uint8_t id[32];
	uint64_t generation;
	const char *job;
	struct image_identity identity;
	struct image_timing timing;
	struct image_counts counts;	/* bytes_stored: all files with manifest, no bases */
	uint64_t nr_runs;
	const int32_t *roots;
	unsigned int nr_roots;
	const char *const *keys;
	const char *const *values;
	unsigned int nr_keyvals;
	struct image_base bases[IMAGE_BASES_MAX];	/* the latest first */
	unsigned int nr_bases;		/* 0: a full image */
	struct image_file_info files[IMAGE_FILES];	/* by enum image_file */
};

const struct image_manifest *image_manifest(const struct image_reader *r);
const char *image_get(const struct image_reader *r, const char *key);	/* NULL: not there */

/* ---------------------------------------------------------- state stream */

/* One record; valid until the next image_state_next() or image_state_rewind(). */
struct image_record {
	uint16_t type;
	uint16_t version;
	uint32_t len;		/* as in its header: header and padding included */
	const void *data;	/* the header, payload behind it; 8-byte aligned */
};

void image_state_rewind(struct image_reader *r);
/* 1: a record; 0: that was the last; negative errno */
int image_state_next(struct image_reader *r, struct image_record *ret_record);

/* ---------------------------------------------------------------- memory */

enum image_run_kind {
	IMAGE_RUN_DATA = 1,
	IMAGE_RUN_ZERO = 2,
	IMAGE_RUN_REF = 3,
};

struct image_run {
	uint64_t addr;
	uint64_t nr_pages;
	enum image_run_kind kind;
	uint64_t src_mm_id;	/* REF */
	uint64_t src_addr;
};

/* Memory maps that have pages, ascending: start with 0; 1, 0 or -errno. */
int image_mm_next(struct image_reader *r, uint64_t *mm_id);

/*
 * image_pages_next() - next run of a memory map in address order
 * @cursor: in: where to look on (first 0); out: end of the run
 *
 * Adjacent runs of a kind are joined; a run that starts before the cursor is
 * cut.  Return: 1, 0 (no more) or negative errno.
 */
int image_pages_next(struct image_reader *r, uint64_t mm_id, uint64_t *cursor,
		     struct image_run *ret_run);

/*
 * image_pages_read() - contents of pages that runs were reported for
 *
 * Zero runs and references are resolved.  -ENOENT if a page is not in the image.
 * Reading in ascending order decodes each chunk once.
 */
int image_pages_read(struct image_reader *r, uint64_t mm_id, uint64_t addr,
		     uint64_t nr_pages, void *buf);

/*
 * image_pages_peek() - as image_pages_read(), without a copy
 * @nr_pages: in: most wanted; out: pages at @ret_data, at least 1
 * @ret_data: valid until the next call on the reader
 */
int image_pages_peek(struct image_reader *r, uint64_t mm_id, uint64_t addr,
		     uint64_t *nr_pages, const void **ret_data);

/*
 * image_pages_chunk() - which chunk holds the contents; reads nothing
 * @nr_pages: in: most that matter; out: pages that it is true of, at least 1
 * @ret_chunk: IMAGE_NO_CHUNK: zeros
 */
#define IMAGE_NO_CHUNK	(~0ULL)
int image_pages_chunk(struct image_reader *r, uint64_t mm_id, uint64_t addr,
		      uint64_t *nr_pages, uint64_t *ret_chunk);

/*
 * Read no chunk of pages after @last in advance.  IMAGE_NO_CHUNK: no such limit.  @in_order: the
 * caller will read all chunks from its next one to @last in order: several may be read at once.
 */
void image_pages_until(struct image_reader *r, uint64_t last, bool in_order);

/* The memory map that the kernel has tracked under @token since this image; 0: none. */
uint64_t image_tracked(const struct image_reader *r, uint64_t token);

/* --------------------------------------------------------- file contents */

/* Blobs, ascending ids: start with 0; 1, 0 or -errno. */
int image_blob_next(struct image_reader *r, uint64_t *blob_id, uint64_t *ret_size);
int image_blob_size(struct image_reader *r, uint64_t blob_id, uint64_t *ret_size);

/* The next data extent in order; gaps between extents are holes; 1, 0 or -errno. */
int image_blob_extent(struct image_reader *r, uint64_t blob_id, uint64_t *cursor,
		      uint64_t *ret_offset, uint64_t *ret_len);

/* Is the blob kept in pages? (image_blob_in_pages()) */
bool image_blob_paged_in(const struct image_reader *r, uint64_t blob_id);

/* Exactly len bytes, holes are zeros; -ERANGE past the end. */
int image_blob_read(struct image_reader *r, uint64_t blob_id, uint64_t offset,
		    void *buf, size_t len);

/* ---------------------------------------------------------------- verify */

struct image_finding {
	int err;		/* negative errno as above; 0: a part could not be checked */
	const char *file;	/* "pages", "state", … */
	uint64_t offset;	/* in that file */
	const char *text;
};

typedef void (*image_finding_fn)(const struct image_finding *finding, void *arg);

/*
 * image_verify() - check an image that may be damaged
 * @deep: also read and authenticate every chunk; otherwise what image_open()
 *	checks, and the state stream's grammar
 * @report: called for every finding; may be NULL
 *
 * In a locked image every chunk is authenticated and none is decrypted; this is reported, but is
 * no failure.
 *
 * Return: 0, or the first finding's errno.
 */
int image_verify(const char *dir, const struct image_key *key,
		 const struct image_expect *expect, bool deep,
		 image_finding_fn report, void *arg, struct ckpt_error *error);

/* Read and authenticate contents of blobs that are not in pages; 0 or the first errno. */
int image_verify_blobs(struct image_reader *r);

#endif /* STILLPOINT_IMAGE_READER_H */
