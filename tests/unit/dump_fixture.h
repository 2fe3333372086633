/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the dump engine share: dumps of process 100 of the made-up kernel, and
 * their images as states.
 */
#ifndef STILLPOINT_TESTS_DUMP_FIXTURE_H
#define STILLPOINT_TESTS_DUMP_FIXTURE_H

#include "tests/unit/image_fixture.h"

#include "engine/dump/dump_run.h"
#include "tests/unit/fake_kernel.h"

/*
 * fake_file(), and how it is open; @fd is closed by fake_close_files().  The record is valid until
 * the next one.
 */
struct ckpt_rec_file *fake_file_of(uint32_t id, uint32_t kind, const char *path, int fd,
				   uint32_t flags, uint32_t f_flags, uint64_t pos);
/* The end of a tree: its descriptors, and the kernel's state. */
void fake_close_files(void);

/* Of one dump into "image"; their directory is valid until the next call. */
struct dump_options dump_options_for(const struct scratch *s);
void dump_ok(const struct dump_options *options, struct dump_stats *stats);
/* It fails so, for @reason unless that is 0, and leaves nothing. */
void dump_fails(const struct scratch *s, const struct dump_options *options, int err,
		uint32_t reason);
/* The state stream of the image as one buffer, which is the caller's, as is the state. */
struct state *dump_load_state(struct image_reader *r, struct stream *s);

#endif /* STILLPOINT_TESTS_DUMP_FIXTURE_H */
