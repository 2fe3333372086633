/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A new file that is written with pwrite(2), past the page cache as long as the
 * file system and the alignment of the bytes allow it.
 */
#ifndef STILLPOINT_IMAGE_PLAIN_FILE_H
#define STILLPOINT_IMAGE_PLAIN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAIN_FILE_ALIGN	4096U	/* of memory, offset and length, to go direct */
#define PLAIN_FILE_ALIGN_UP(n)	(((n) + (PLAIN_FILE_ALIGN - 1)) & ~(PLAIN_FILE_ALIGN - 1ULL))

struct plain_file {
	int fd;
	bool direct;		/* O_DIRECT, now */
	bool refused;		/* the file system does not want it */
	uint64_t kicked;	/* writeback was started up to here */
};

/* Create @name in @dir, which must not have it. */
int plain_file_create(struct plain_file *f, int dir, const char *name);

/* All of it, or an error. */
int plain_file_write(struct plain_file *f, const void *buf, size_t len, uint64_t offset);

/* The file was written up to @len: start writeback now and then. */
void plain_file_kick(struct plain_file *f, uint64_t len);

#endif /* STILLPOINT_IMAGE_PLAIN_FILE_H */
