// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a committed image as a stream.
 *
 * Owns the descriptors of the image's directory and files.  The manifest is decoded,
 * checked and then forgotten: memory does not depend on the size of the image.
 * Large files are read past the page cache where the file system can do that: a copy
 * is read once, and the job needs the memory.
 *
 * The directory is locked with flock(2) against image_remove(), which takes the same
 * lock exclusively; a file system without locks is no reason not to read.
 *
 * Must not judge chunks, nor keep more than the caller's buffer.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/manifest.h"
#include "image/window.h"
#include "levels/parity.h"
#include "levels/source.h"

#define DIRECT_BYTES	(1U << 20)	/* a file from this size on is read directly */

static int source_open_dir(struct source *s, struct ckpt_error *error)
{
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0)
		return error_set(error, -errno, "%.200s: %m", s->dir);
	if (flock(s->dirfd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return error_set(error, -EBUSY, "%.200s: being written or deleted",
				       s->dir);
	return 0;
}

static int source_open_file(struct source *s, unsigned int i, struct ckpt_error *error)
{
	struct stat st;
	int fd;

	fd = openat(s->dirfd, layout_name(&s->layout, i),
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	s->fds[i] = fd;
	if (fd < 0 && errno == ENOENT && i == LAYOUT_MANIFEST)
		return error_set(error, -ENOENT,
				       "%.200s: no manifest: not an image, or never committed",
				       s->dir);
	if (fd < 0)
		return error_set(error, errno == ENOENT ? -EBADMSG : -errno,
				       "%.200s/%s: %m", s->dir, layout_name(&s->layout, i));
	if (fstat(fd, &st) < 0)
		return error_set(error, -errno, "%.200s/%s: %m", s->dir,
				       layout_name(&s->layout, i));
	if (!S_ISREG(st.st_mode))
		return error_set(error, -EBADMSG, "%.200s/%s: not a regular file",
				       s->dir, layout_name(&s->layout, i));
	s->layout.len[i] = (uint64_t)st.st_size;
	return 0;
}

/* Read the whole manifest into *ret_buf, to be freed. */
static int read_manifest(struct source *s, uint8_t **ret_buf, struct ckpt_error *error)
{
	size_t len = s->layout.len[LAYOUT_MANIFEST], done = 0;
	_cleanup_free_ uint8_t *buf = NULL;

	if (len > IMAGE_MANIFEST_MAX)
		return error_set(error, -EBADMSG, "%.200s/manifest: too long to be one",
				       s->dir);
	buf = malloc(len + 1);
	if (!buf)
		return error_set(error, -ENOMEM, "out of memory");
	while (done < len) {
		ssize_t n = pread(s->fds[LAYOUT_MANIFEST], buf + done, len - done,
				  (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set(error, n ? -errno : -EBADMSG,
					       "%.200s/manifest: cannot read it", s->dir);
		done += (size_t)n;
	}
	*ret_buf = take_ptr(buf);
	return 0;
}

static int check_expected(const struct source *s, const struct image_manifest *m,
			  const struct image_expect *expect, struct ckpt_error *error)
{
	if (!expect)
		return 0;
	if (expect->generation && expect->generation != m->generation)
		return error_set(error, -ESTALE,
				       "%.150s: generation %llu in the place of %llu", s->dir,
				       (unsigned long long)m->generation,
				       (unsigned long long)expect->generation);
	if (expect->job && strcmp(expect->job, m->job))
		return error_set(error, -ESTALE,
				       "%.100s: image of job '%s', not of '%.63s'", s->dir,
				       m->job, expect->job);
	if (expect->id && memcmp(expect->id, m->id, sizeof(m->id)))
		return error_set(error, -ESTALE,
				 "%.150s: another image of generation %llu than the one recorded",
				 s->dir, (unsigned long long)m->generation);
	return 0;
}

/* Decode and check the manifest, and keep what a source needs; @lens: of the data files. */
static int load_manifest(struct source *s, const struct image_key *key,
			 const struct image_expect *expect,
			 uint64_t lens[LAYOUT_FILES], struct ckpt_error *error)
{
	_cleanup_free_ uint8_t *buf = NULL;
	const struct image_manifest *m;
	struct manifest *man;
	struct fault fault;
	unsigned int i;
	int err;

	err = source_open_file(s, LAYOUT_MANIFEST, error);
	if (!err)
		err = read_manifest(s, &buf, error);
	if (err)
		return err;
	lens[LAYOUT_MANIFEST] = s->layout.len[LAYOUT_MANIFEST];
	err = manifest_decode(buf, lens[LAYOUT_MANIFEST], key, &man, &fault);
	if (err)
		return error_set(error, err, "%s/%.170s", error_path_tail(s->dir),
				       fault.error.text);
	(void)take_ptr(buf);
	m = manifest_info(man);
	err = check_expected(s, m, expect, error);
	if (!err && m->nr_bases)
		err = error_set(error, -EOPNOTSUPP,
				"%.150s: stands on the pages of %u earlier images; only full ones "
				"can be copied: ckptctl merge makes it one",
				s->dir, m->nr_bases);
	for (i = 0; i < LAYOUT_MANIFEST; i++)
		lens[i] = m->files[i + 1].name ? m->files[i + 1].len : 0;
	memcpy(s->id, m->id, sizeof(s->id));
	s->generation = m->generation;
	s->created_ns = m->identity.created_ns;
	strncpy(s->job, m->job, sizeof(s->job) - 1);
	manifest_destroy(man);
	return err;
}

static int open_files(struct source *s, const struct image_key *key,
		      const struct image_expect *expect, struct ckpt_error *error)
{
	uint64_t lens[LAYOUT_FILES];
	unsigned int i;
	int err;

	err = load_manifest(s, key, expect, lens, error);
	for (i = 0; !err && i < LAYOUT_MANIFEST; i++) {
		if (!lens[i])
			continue;
		err = source_open_file(s, i, error);
		if (err)
			break;
		if (s->layout.len[i] != lens[i])
			err = error_set(error, -EBADMSG,
					      "%.150s/%s: %llu bytes long, %llu were written",
					      s->dir, layout_name(&s->layout, i),
					      (unsigned long long)s->layout.len[i],
					      (unsigned long long)lens[i]);
		else if (lens[i] >= DIRECT_BYTES)
			window_direct(s->fds[i]);
	}
	if (!err && layout_init(&s->layout, lens))
		err = error_set(error, -EBADMSG, "%.200s: impossible lengths", s->dir);
	return err;
}

int source_open(struct source *s, const char *dir, const struct image_key *key,
		const struct image_expect *expect, struct ckpt_error *error)
{
	unsigned int i;
	int err;

	*s = (struct source){ .dir = dir, .dirfd = -1 };
	for (i = 0; i < LAYOUT_FILES; i++)
		s->fds[i] = -1;
	err = source_open_dir(s, error);
	if (!err)
		err = open_files(s, key, expect, error);
	if (err)
		source_close(s);
	return err;
}

void source_close(struct source *s)
{
	unsigned int i;

	if (!s->dir)
		return;
	for (i = 0; i < LAYOUT_FILES; i++)
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->header);
	s->header = NULL;
	s->dir = NULL;
}

/* ---------------------------------------------------------------- parity */

static int check_piece(const struct parity *p, const struct image_expect *expect,
		       struct ckpt_error *error)
{
	if (!expect || ((!expect->generation || expect->generation == p->set.generation) &&
			(!expect->job || !strcmp(expect->job, p->set.job)) &&
			(!expect->id || !memcmp(expect->id, p->id, sizeof(p->id)))))
		return 0;
	return error_set(error, -ESTALE,
			       "%.100s: parity %u of generation %llu of '%s', not the one expected",
			       p->dir, p->index, (unsigned long long)p->set.generation,
			       p->set.job);
}

/* Make @p the source: its descriptors become the source's. */
static int take_piece(struct source *s, struct parity *p, struct ckpt_error *error)
{
	uint64_t lens[LAYOUT_FILES] = {};
	struct stat st;
	int err;

	if (fstat(p->fd, &st) < 0)
		return error_set(error, -errno, "%.200s: %m", p->dir);
	lens[0] = (uint64_t)st.st_size;
	if (layout_init_kind(&s->layout, lens, true))
		return error_set(error, -EBADMSG, "%.200s: impossible length", p->dir);
	err = parity_header(p, &s->header, error);
	if (err)
		return err;
	s->header_len = p->hdr_len;
	s->dir = p->dir;
	s->generation = p->set.generation;
	s->created_ns = p->created_ns;
	memcpy(s->id, p->id, sizeof(s->id));
	memcpy(s->job, p->set.job, sizeof(s->job));
	s->fds[0] = p->fd;
	s->dirfd = p->dirfd;
	p->fd = p->dirfd = -1;
	return 0;
}

static int open_piece(struct source *s, const char *dir, const struct image_key *key,
		      const struct image_expect *expect, struct ckpt_error *error)
{
	_cleanup_free_ struct parity *p = malloc(sizeof(*p));
	unsigned int i;
	int err;

	*s = (struct source){ .dirfd = -1 };
	for (i = 0; i < LAYOUT_FILES; i++)
		s->fds[i] = -1;
	if (!p)
		return error_set(error, -ENOMEM, "out of memory");
	err = parity_open(p, dir, true, key, error);
	if (err)
		return err;
	err = check_piece(p, expect, error);
	if (!err)
		err = take_piece(s, p, error);
	parity_close(p);
	return err;
}

static bool is_parity(const char *dir)
{
	_cleanup_fd_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && !faccessat(fd, IMAGE_NAME_PARITY, F_OK, AT_SYMLINK_NOFOLLOW);
}

int source_open_any(struct source *s, const char *dir, const struct image_key *key,
		    const struct image_expect *expect, struct ckpt_error *error)
{
	return is_parity(dir) ? open_piece(s, dir, key, expect, error) :
				source_open(s, dir, key, expect, error);
}

int source_verify_any(const char *dir, const struct image_key *key,
		      const struct image_expect *expect, bool deep, struct ckpt_error *error)
{
	_cleanup_free_ struct parity *p = NULL;
	_cleanup_free_ uint8_t *frame = NULL;
	int err;

	if (!is_parity(dir))
		return image_verify(dir, key, expect, deep, NULL, NULL, error);
	p = malloc(sizeof(*p));
	frame = aligned_alloc(PARITY_FRAME_HDR, PARITY_FRAME_HDR + PARITY_UNIT_MAX);
	if (!p || !frame)
		return error_set(error, -ENOMEM, "out of memory");
	/* Do not lock: the caller has just written the file and holds the lock. */
	err = parity_open(p, dir, false, key, error);
	if (err)
		return err;
	err = check_piece(p, expect, error);
	if (!err && deep)
		err = parity_verify(p, frame, error);
	parity_close(p);
	return err;
}

/* ------------------------------------------------------------------ read */

/*
 * @want bytes of a file; @room (whole blocks) may be written.  A direct read asks for
 * whole blocks, also at the end of the file.
 */
static int read_file(const struct source *s, unsigned int i, uint64_t offset,
		     uint8_t *buf, size_t want, size_t room, struct ckpt_error *error)
{
	size_t done = 0;

	while (done < want) {
		ssize_t n = pread(s->fds[i], buf + done, room - done, (off_t)(offset + done));
		int flags;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL) {		/* wants more alignment */
			flags = fcntl(s->fds[i], F_GETFL);
			if (flags >= 0 && (flags & O_DIRECT) &&
			    !fcntl(s->fds[i], F_SETFL, flags & ~O_DIRECT))
				continue;
			errno = EINVAL;
		}
		if (n < 0)
			return error_set(error, -errno, "%.200s/%s: cannot read: %m",
					       s->dir, layout_name(&s->layout, i));
		if (n == 0)
			return error_set(error, -EBADMSG, "%.200s/%s: truncated at %llu",
					       s->dir, layout_name(&s->layout, i),
					       (unsigned long long)(offset + done));
		done += (size_t)n;
	}
	return 0;
}

int source_read(const struct source *s, uint64_t offset, void *buf, size_t len,
		struct ckpt_error *error)
{
	uint64_t end = offset + len;
	uint64_t filled = offset;	/* of the stream: what buf has already */
	uint8_t *p = buf;
	unsigned int i;
	int err;

	for (i = 0; i < LAYOUT_FILES && filled < end; i++) {
		uint64_t start = s->layout.start[i], stop = layout_end(&s->layout, i);
		uint64_t to, room;

		if (stop <= filled || !s->layout.len[i])
			continue;
		if (start >= end)
			break;
		if (start < filled)
			start = filled;
		memset(p + (filled - offset), 0, start - filled);
		to = stop < end ? stop : end;
		room = (to - start + LAYOUT_ALIGN - 1) & ~(uint64_t)(LAYOUT_ALIGN - 1);
		err = read_file(s, i, start - s->layout.start[i], p + (start - offset),
				to - start, room, error);
		if (err)
			return err;
		filled = to;
	}
	memset(p + (filled - offset), 0, end - filled);
	return 0;
}
