/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hashes of the pages of files that are kept, so that the next image need not have those pages
 * that the base has.
 *
 * Only for dumps with a base, or that may be one.  The tables of the base are loaded before the
 * freeze.  Files are hashed before the freeze, too; if a file is then as it was, only the pages
 * that differ from the base are read in the pause.  Otherwise all of it is read and hashed there.
 * A file that nobody wrote since the base is not read at all.
 */
#ifndef STILLPOINT_FILE_HASHES_H
#define STILLPOINT_FILE_HASHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "engine/core/engine_records.h"

struct dump;

struct file_hash {
	uint64_t low, high;	/* both 0: a page of zeros, or a hole */
};

/**
 * struct file_hashes - one file
 * @dev, @ino: of fstat(2)
 * @base_blob, @was, @nr_was: its blob in the base and the hashes there; @was is NULL without one
 * @base: the record of the base
 * @now, @nr: hashes of the file's pages
 * @seen: the file before @now was read ahead of the freeze; st_ino 0: it was not
 * @fresh: in the pause the file was as @seen, so @now is true
 * @blob, @size: what it became in this image; @blob is 0 for nothing but holes
 */
struct file_hashes {
	struct file_hashes *next;
	uint64_t dev, ino;
	uint64_t base_blob, nr_was;
	struct file_hash *was;
	struct engine_rec_blob_hashes base;
	uint64_t nr;
	struct file_hash *now;
	struct stat seen;
	bool fresh;
	uint64_t blob, size;
};

/* Before the freeze: load the tables of the base, if there is one. */
void dump_hashes_open(struct dump *d);
void dump_hashes_done(struct dump *d);
/* Before the freeze: hash the file, unless it has just been written. */
void dump_hashes_read(struct dump *d, int fd);
/* In the pause: the file's hashes, for @size bytes; NULL: it has none. Notes if they are fresh. */
struct file_hashes *dump_hashes_of(struct dump *d, int fd, uint64_t size);
/* Hash one page, of which @len bytes are there; has the base the same one? */
bool file_hashes_put(struct file_hashes *h, uint64_t page, const char *data, unsigned int len);
/* The next run of pages from *@page on that the base has not, of fresh hashes; false: none. */
bool file_hashes_differ(const struct file_hashes *h, uint64_t *page, uint64_t *ret_nr);
/* Has the file anything but zeros, as far as it was hashed? */
bool file_hashes_any(const struct file_hashes *h);
/* When all contents are in the image: take pages of the base, and store the tables. */
int dump_hashes_store(struct dump *d);

#endif /* STILLPOINT_FILE_HASHES_H */
