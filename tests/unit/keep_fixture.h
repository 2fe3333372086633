/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of pins, pruning, the index and fsck share: an image directory with a job whose
 * generations are real images, written by the image writer.
 */
#ifndef STILLPOINT_TESTS_KEEP_FIXTURE_H
#define STILLPOINT_TESTS_KEEP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/catalog/listing.h"

#define LABEL	"1-0123456789abcdef"

struct disk {
	char dir[64];
	char images[80];
	char key[80];
	char index[96];
	struct catalog catalog;
	struct op_env env;	/* its secret: what images are encrypted with; NULL: they are not */
	int64_t job;
	const char *label;	/* of another job than LABEL's; NULL: of that one */
	const char *record;	/* what images get as the record of their job; NULL: none */
	const char *note;	/* and as what its checkpoint left there; NULL: none of a job */
};

int disk_setup(void **state);		/* with job 1 */
int disk_teardown(void **state);

/* In IMAGE_DIR, of any number of calls. */
const char *disk_path(const struct disk *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool disk_has(const struct disk *d, const char *name);
void disk_file(const struct disk *d, const char *name, const char *text);
void disk_flip(const struct disk *d, const char *name, long offset);
/* Reading this file fails with EIO from now on, whatever it is called; NULL: none does. */
void disk_break(const struct disk *d, const char *name);
/* Before this file is read next; once. */
void disk_before_read(const struct disk *d, const char *name, void (*fn)(const struct disk *d));
void disk_run(const struct disk *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A generation of one image; of two nodes, committed or not. */
void disk_store(const struct disk *d, int64_t generation);
/* On top of the generation before: its page, and one more. */
void disk_store_upon(const struct disk *d, int64_t generation);
void disk_store_parts(const struct disk *d, int64_t generation, bool commit);
/* Of one image, or of two nodes, committed. */
void disk_store_either(const struct disk *d, int64_t generation, bool one);
/* Numbers of the generations there are, "1 2 5". */
const char *disk_generations(const struct disk *d);

/* Without an index; the caller opens one. */
struct listing disk_listing(const struct disk *d);

#endif /* STILLPOINT_TESTS_KEEP_FIXTURE_H */
