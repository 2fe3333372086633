/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of opening files share: an image of one process, made of records, whose
 * files are opened as a restore does it.
 */
#ifndef STILLPOINT_TESTS_REOPEN_FIXTURE_H
#define STILLPOINT_TESTS_REOPEN_FIXTURE_H

#include "base/error.h"
#include "engine/files/reopen.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/stream.h"

struct opening {
	const struct scratch *s;
	struct stream stream;
	struct image *img;
	uint64_t last_blob;
	struct image_reader *reader;
	struct state *state;
	struct reopen_options options;
	struct reopen r;
	struct ckpt_error error;
};

/* An image of that name with process 100, whose working directory is the root; then its files. */
void opening_begin(struct opening *f, const struct scratch *s, const char *name);
/* An open file of @flags; valid until the next record is added. */
struct ckpt_rec_file *opening_file(struct opening *f, uint32_t id, uint32_t kind,
				   const char *path, uint32_t flags);
/* Content of file @id or, with 0, of @path. */
void opening_blob(struct opening *f, uint32_t kind, uint32_t id, const char *path,
		  const char *content, uint64_t mtime_ns, uint32_t mode);
/* What a dump would record of file @id, which is @path now: its inode, too. */
void opening_track(struct opening *f, uint32_t id, const char *path, uint32_t flags);
/* Commit, and read it; then open all, or what the test wants. */
void opening_start(struct opening *f, const char *name);
void opening_all(struct opening *f);
void opening_end(struct opening *f);
int opening_fd(const struct opening *f, uint32_t id);	/* stays the opening's */

void fd_content_is(int fd, uint64_t offset, const char *text);
void fd_name(int fd, char *buf, size_t size);	/* what /proc says of it */
int fd_flags(int fd);		/* access mode, O_APPEND, O_NONBLOCK */

#endif /* STILLPOINT_TESTS_REOPEN_FIXTURE_H */
