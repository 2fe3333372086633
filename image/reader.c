// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening an image and getting at its chunks.
 *
 * The order is that of trust: manifest, with its MAC; lengths and headers of the
 * files it names; the index, read to its end and checked against the manifest.
 * After reader_open() succeeded nothing in memory is unchecked, and the contents
 * of chunks are authenticated as they are read.
 *
 * Files are opened below the image's directory without following symlinks, must
 * be regular, and are read by position only (so a fork may share them).  They
 * may change or shrink while they are open: every read is checked anew.  Chunks
 * are read through a window (window.h).
 *
 * Every failure leaves a fault that names file, offset and cause.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/reader_priv.h"
#include "image/stream.h"

struct image_reader *reader_new(void)
{
	struct image_reader *r = calloc(1, sizeof(*r));
	int i;

	if (!r)
		return NULL;
	r->dir = -1;
	for (i = 0; i < IMAGE_FILES; i++)
		r->fds[i] = -1;
	return r;
}

void image_close(struct image_reader *r)
{
	int i;

	if (!r)
		return;
	for (i = 0; i < CACHE_SLOTS + IMAGE_BASES_MAX; i++)
		free(r->cache[i].buf);
	chunk_decoder_destroy(r->dec);
	window_done(&r->window);
	for (i = 0; i < IMAGE_BASES_MAX; i++) {
		chunk_decoder_destroy(r->base_decs[i]);
		window_done(&r->base_windows[i]);
	}
	if (!r->original) {
		for (i = 0; i < IMAGE_FILES; i++)
			if (r->fds[i] >= 0)
				close(r->fds[i]);
		if (r->dir >= 0)
			close(r->dir);
		chunk_keys_destroy(r->keys);
		for (i = 0; i < IMAGE_BASES_MAX; i++)
			chunk_keys_destroy(r->base_keys[i]);
		record_source_done(&r->state);
		index_done(&r->index);
		manifest_destroy(r->manifest);
	}
	free(r);
}

int image_clone(const struct image_reader *r, struct image_reader **ret_clone)
{
	struct image_reader *c = calloc(1, sizeof(*c));
	unsigned int i;
	int err;

	if (!c)
		return -ENOMEM;
	c->original = r;
	c->dir = r->dir;
	memcpy(c->fds, r->fds, sizeof(c->fds));
	c->manifest = r->manifest;
	c->m = r->m;
	c->index = r->index;
	err = chunk_decoder_clone(r->dec, &c->dec);
	for (i = 0; !err && i < r->m->nr_bases; i++)
		err = chunk_decoder_clone(r->base_decs[i], &c->base_decs[i]);
	if (!err)
		err = window_init(&c->window);
	if (err) {
		image_close(c);
		return err;
	}
	*ret_clone = c;
	return 0;
}

void image_hold(const struct image_reader *r)
{
	/* A file system without locks on directories: then without. */
	flock(r->dir, LOCK_SH | LOCK_NB);
}

const char *image_reader_error(const struct image_reader *r)
{
	return r->fault.error.text;
}

const struct image_manifest *image_manifest(const struct image_reader *r)
{
	return r->m;
}

const char *image_get(const struct image_reader *r, const char *key)
{
	unsigned int i;

	for (i = 0; i < r->m->nr_keyvals; i++)
		if (!strcmp(r->m->keys[i], key))
			return r->m->values[i];
	return NULL;
}

/* ---------------------------------------------------------------- chunks */

/* Read all @len bytes, or set a fault. */
static int read_at(struct image_reader *r, int fd, const char *name,
		   uint64_t offset, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_set(&r->fault, -errno, name, offset,
					 "cannot read: %m");
		if (n == 0)
			return fault_set(&r->fault, -EBADMSG, name, offset,
					 "truncated");
		p += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

struct window *reader_window(struct image_reader *r, enum image_file file)
{
	struct window *w;

	if (file < IMAGE_FILE_BASE)
		return &r->window;
	w = &r->base_windows[file - IMAGE_FILE_BASE];
	return w->buf || !window_init(w) ? w : NULL;
}

/* Read @len bytes of the chunk at @offset into r->chunk. */
static int read_chunk(struct image_reader *r, enum image_file file, uint64_t offset,
		      size_t len)
{
	const char *name = r->m->files[file].name;
	struct window *w = reader_window(r, file);
	int err = w ? window_get(w, r->fds[file], offset, len, &r->chunk) : -ENOMEM;

	if (err == -ENODATA)
		return fault_set(&r->fault, -EBADMSG, name, offset, "truncated");
	if (err) {
		errno = -err;
		return fault_set(&r->fault, err, name, offset, "cannot read: %m");
	}
	return 0;
}

/* Skip a gap: it is all zeros, and a chunk's first byte is not zero. */
int reader_skip_gap(struct image_reader *r, enum image_file file, uint64_t *offset)
{
	const struct image_file_info *info = &r->m->files[file];
	uint64_t end = IMAGE_ALIGN_UP(*offset);
	int err;

	if (file == IMAGE_FILE_STATE || file == IMAGE_FILE_INDEX || end == *offset ||
	    end > info->len)
		return 0;
	err = read_chunk(r, file, *offset, (size_t)(end - *offset));
	if (err || r->chunk[0])
		return err;
	for (uint64_t i = 0; i < end - *offset; i++)
		if (r->chunk[i])
			return fault_set(&r->fault, -EBADMSG, info->name, *offset + i,
					 "a gap that is not empty (damaged)");
	*offset = end;
	return 0;
}

int reader_chunk(struct image_reader *r, enum image_file file, uint64_t seq,
		 uint64_t offset, void *room, struct chunk_read *ret_chunk)
{
	const struct image_file_info *info = &r->m->files[file];
	const bool of_base = file >= IMAGE_FILE_BASE;
	const enum image_file written_as = of_base ? IMAGE_FILE_PAGES : file;
	const size_t hdr_len = sizeof(struct image_chunk_hdr);
	struct chunk_decoder *dec = of_base ? r->base_decs[file - IMAGE_FILE_BASE] : r->dec;
	struct image_chunk_hdr hdr;
	uint32_t raw_len, stored;
	const char *why = "";
	size_t len;
	int err;

	if (offset > info->len || info->len - offset < hdr_len)
		return fault_set(&r->fault, -EBADMSG, info->name, offset,
				 "chunk %llu is beyond the end",
				 (unsigned long long)seq);
	err = read_chunk(r, file, offset, hdr_len);
	if (err)
		return err;
	memcpy(&hdr, r->chunk, hdr_len);
	err = chunk_parse(dec, &hdr, written_as, seq, &raw_len, &stored, &why);
	if (err)
		goto bad;
	len = hdr_len + stored + IMAGE_TAG_BYTES;
	if (len > info->len - offset)
		return fault_set(&r->fault, -EBADMSG, info->name, offset,
				 "chunk %llu is cut off",
				 (unsigned long long)seq);
	err = read_chunk(r, file, offset, len);
	if (err)
		return err;
	if (memcmp(&hdr, r->chunk, hdr_len)) {
		why = "its header changes while it is read";
		err = -EBADMSG;
		goto bad;
	}
	err = chunk_decode(dec, written_as, seq, r->chunk, len, r->m->locked ? NULL : room,
			   &ret_chunk->raw, &ret_chunk->raw_len, &why);
	window_drop(reader_window(r, file), offset + len);
	if (err)
		goto bad;
	ret_chunk->tag = r->chunk + len - IMAGE_TAG_BYTES;
	ret_chunk->len = len;
	return 0;
bad:
	if (of_base)
		return fault_set(&r->fault, err, info->name, offset,
				 "chunk %llu of the pages of generation %llu: %s",
				 (unsigned long long)seq,
				 (unsigned long long)r->m->bases[file - IMAGE_FILE_BASE].generation,
				 why);
	return fault_set(&r->fault, err, info->name, offset, "chunk %llu: %s",
			 (unsigned long long)seq, why);
}

/* ------------------------------------------------------------------ open */

static int open_file(struct image_reader *r, const char *name, int *ret_fd,
		     uint64_t *ret_len)
{
	_cleanup_fd_ int fd = -1;
	struct stat st;

	fd = openat(r->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
		    O_NONBLOCK);
	if (fd < 0)
		return fault_set(&r->fault, -errno, name, 0, "%m");
	if (fstat(fd, &st) < 0)
		return fault_set(&r->fault, -errno, name, 0, "%m");
	if (!S_ISREG(st.st_mode))
		return fault_set(&r->fault, -EBADMSG, name, 0,
				 "not a regular file");
	*ret_len = (uint64_t)st.st_size;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int load_manifest(struct image_reader *r, const struct image_key *key)
{
	_cleanup_free_ uint8_t *buf = NULL;
	_cleanup_fd_ int fd = -1;
	uint64_t len;
	int err;

	err = open_file(r, IMAGE_NAME_MANIFEST, &fd, &len);
	if (err == -ENOENT)
		return fault_set(&r->fault, err, IMAGE_NAME_MANIFEST, 0,
				 "there is none: not an image, or never committed");
	if (err)
		return err;
	if (len > IMAGE_MANIFEST_MAX)
		return fault_set(&r->fault, -EBADMSG, IMAGE_NAME_MANIFEST, len,
				 "too long to be one");
	buf = malloc(len + 1);
	if (!buf)
		return fault_set(&r->fault, -ENOMEM, IMAGE_NAME_MANIFEST, 0,
				 "out of memory");
	err = read_at(r, fd, IMAGE_NAME_MANIFEST, 0, buf, len);
	if (err)
		return err;
	err = manifest_decode(buf, len, key, &r->manifest, &r->fault);
	if (err)
		return err;
	(void)take_ptr(buf);
	r->m = manifest_info(r->manifest);
	return 0;
}

static int check_expected(struct image_reader *r,
			  const struct image_expect *expect)
{
	const struct image_manifest *m = r->m;

	if (!expect)
		return 0;
	if (expect->generation && expect->generation != m->generation)
		return fault_set(&r->fault, -ESTALE, IMAGE_NAME_MANIFEST, 0,
				 "generation %llu in the place of %llu (replayed or mixed up)",
				 (unsigned long long)m->generation,
				 (unsigned long long)expect->generation);
	if (expect->job && strcmp(expect->job, m->job))
		return fault_set(&r->fault, -ESTALE, IMAGE_NAME_MANIFEST, 0,
				 "image of job '%s', not of '%s'", m->job,
				 expect->job);
	if (expect->id && memcmp(expect->id, m->id, sizeof(m->id)))
		return fault_set(&r->fault, -ESTALE, IMAGE_NAME_MANIFEST, 0,
				 "another image of generation %llu than the one recorded "
				 "(replayed)",
				 (unsigned long long)m->generation);
	return 0;
}

static int check_file_hdr(struct image_reader *r, enum image_file file)
{
	const char *name = image_file_names[file];
	struct image_file_hdr want, got;
	int err;

	err = read_at(r, r->fds[file], name, 0, &got, sizeof(got));
	if (err)
		return err;
	manifest_file_hdr(r->m, file, &want);
	if (!memcmp(&got, &want, sizeof(got)))
		return 0;
	if (memcmp(got.magic, want.magic, sizeof(got.magic)))
		return fault_set(&r->fault, -EBADMSG, name, 0,
				 "not a file of an image (foreign or damaged)");
	if (memcmp(got.id, want.id, sizeof(got.id)))
		return fault_set(&r->fault, -EBADMSG, name, 0,
				 "belongs to another image (generation %llu): mixed or damaged",
				 (unsigned long long)le64toh(got.generation));
	return fault_set(&r->fault, -EBADMSG, name, 0,
			 "damaged header, or another file of this image");
}

static int open_data(struct image_reader *r, enum image_file file)
{
	const struct image_file_info *info = &r->m->files[file];
	uint64_t len;
	int err;

	if (!info->name)
		return 0;
	err = open_file(r, info->name, &r->fds[file], &len);
	if (err == -ENOENT && file >= IMAGE_FILE_BASE)
		return fault_set(&r->fault, -EBADMSG, info->name, 0,
				 "missing: the pages of generation %llu, which this one needs",
				 (unsigned long long)r->m->bases[file - IMAGE_FILE_BASE]
					 .generation);
	if (err == -ENOENT)
		return fault_set(&r->fault, -EBADMSG, info->name, 0, "missing");
	if (err)
		return err;
	if (len < info->len)
		return fault_set(&r->fault, -EBADMSG, info->name, len,
				 "truncated: %llu bytes were written",
				 (unsigned long long)info->len);
	if (len > info->len)
		return fault_set(&r->fault, -EBADMSG, info->name, info->len,
				 "has a foreign tail: %llu bytes were written",
				 (unsigned long long)info->len);
	err = check_file_hdr(r, file);
	if (!err && file >= IMAGE_FILE_PAGES)
		window_direct(r->fds[file]);
	return err;
}

static int load_index(struct image_reader *r)
{
	struct record_source src = {};
	struct ckpt_error why = {};
	struct image_record rec;
	int err;

	err = record_source_start(&src, IMAGE_FILE_INDEX);
	if (err)
		return fault_set(&r->fault, err, "index", 0, "out of memory");
	while ((err = record_source_next(r, &src, &rec)) == 1) {
		err = index_parse(&r->index, &rec, &why);
		if (err) {
			if (err == -EINVAL)
				err = -EBADMSG;
			fault_set(&r->fault, err, "index", src.cursor.offset,
				  "%s", why.text);
			break;
		}
	}
	record_source_done(&src);
	return err;
}

static int check_index(struct image_reader *r)
{
	struct index *ix = &r->index;
	struct extent_chunks pages[1 + IMAGE_BASES_MAX];
	struct extent_chunks blobs = {
		ix->chunks[IMAGE_FILE_BLOBS], ix->nr_chunks[IMAGE_FILE_BLOBS], 1,
	};
	struct ckpt_error why = {};
	int i, err = 0;

	for (i = IMAGE_FILE_PAGES; !err && i < IMAGE_FILES; i++)
		err = index_check_chunks(ix, (enum image_file)i, &r->m->files[i],
					 i < IMAGE_FILE_BASE ? r->m->encrypted :
					 r->m->bases[i - IMAGE_FILE_BASE].encrypted, &why);
	index_page_chunks(ix, ix->chunks[IMAGE_FILE_PAGES], ix->nr_chunks[IMAGE_FILE_PAGES],
			  r->m->nr_bases, pages);
	if (!err)
		err = index_check(ix, pages, &blobs, &why);
	if (err)
		return fault_set(&r->fault, -EBADMSG, "index", 0, "%s", why.text);
	return 0;
}

static int open_directory(struct image_reader *r, const char *dir)
{
	r->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir >= 0)
		return 0;
	return fault_set(&r->fault, -errno, ".", 0, "%m");
}

static int make_decoder(struct image_reader *r, const struct image_key *key)
{
	const struct image_manifest *m = r->m;
	unsigned int i;
	int err;

	err = image_key_chunk(key, m->id, m->encrypted ? m->secret_id : NULL, &r->keys);
	if (!err)
		err = chunk_decoder_create(r->keys, &r->dec);
	for (i = 0; !err && i < m->nr_bases; i++) {
		err = image_key_chunk(key, m->bases[i].id,
				      m->bases[i].encrypted ? m->secret_id : NULL,
				      &r->base_keys[i]);
		if (!err)
			err = chunk_decoder_create(r->base_keys[i], &r->base_decs[i]);
	}
	if (err || window_init(&r->window))
		return fault_set(&r->fault, -ENOMEM, ".", 0, "out of memory");
	return 0;
}

/* Refuse a locked image; the text names the needed secret and where one was looked for. */
static int check_unlocked(struct image_reader *r, const struct image_key *key)
{
	char needed[2 * IMAGE_KEY_ID_BYTES + 1], own[2 * IMAGE_KEY_ID_BYTES + 1];
	uint8_t id[IMAGE_KEY_ID_BYTES];

	if (!r->m->locked)
		return 0;
	sodium_bin2hex(needed, sizeof(needed), r->m->secret_id, sizeof(r->m->secret_id));
	if (r->m->of_job)
		return fault_set(&r->fault, -ENOKEY, IMAGE_NAME_MANIFEST, 0,
				 "encrypted with key %s, that of job %s, which is not on this "
				 "node: ckptctl keys wrap on a node of the job, then ckptctl keys "
				 "take here",
				 needed, r->m->job);
	if (image_key_has_secret(key)) {
		image_key_secret_id(key, id);
		sodium_bin2hex(own, sizeof(own), id, sizeof(id));
		return fault_set(&r->fault, -ENOKEY, IMAGE_NAME_MANIFEST, 0,
				 "encrypted with key %s, but %.70s is key %s", needed,
				 image_key_where(key), own);
	}
	if (image_key_where(key)[0])
		return fault_set(&r->fault, -ENOKEY, IMAGE_NAME_MANIFEST, 0,
				 "encrypted with key %s, which is not there: %.110s", needed,
				 image_key_where(key));
	return fault_set(&r->fault, -ENOKEY, IMAGE_NAME_MANIFEST, 0,
			 "encrypted with key %s, and none is named: set encryption_key in "
			 "ckptd.conf, or --encryption-key",
			 needed);
}

int reader_open(struct image_reader *r, const char *dir, const struct image_key *key,
		const struct image_expect *expect, bool locked)
{
	int i, err;

	err = open_directory(r, dir);
	if (!err)
		err = load_manifest(r, key);
	if (!err)
		err = check_expected(r, expect);
	if (!err)
		key = manifest_key(r->manifest, key);
	if (!err && !locked)
		err = check_unlocked(r, key);
	if (!err)
		err = make_decoder(r, key);
	for (i = 1; !err && i < IMAGE_FILES; i++)
		err = open_data(r, (enum image_file)i);
	if (err || r->m->locked)
		return err;
	err = load_index(r);
	if (!err)
		err = check_index(r);
	if (!err && record_source_start(&r->state, IMAGE_FILE_STATE))
		err = fault_set(&r->fault, -ENOMEM, "state", 0, "out of memory");
	return err;
}

static int open_as(const char *dir, const struct image_key *key,
		   const struct image_expect *expect, bool locked,
		   struct image_reader **ret_reader, struct ckpt_error *error)
{
	struct image_reader *r = reader_new();
	int err;

	if (!r)
		return error_set(error, -ENOMEM, "out of memory");
	err = reader_open(r, dir, key, expect, locked);
	if (err) {
		error_set(error, err, "%s/%s", error_path_tail(dir), r->fault.error.text);
		image_close(r);
		return err;
	}
	*ret_reader = r;
	return 0;
}

int image_open(const char *dir, const struct image_key *key,
	       const struct image_expect *expect, struct image_reader **ret_reader,
	       struct ckpt_error *error)
{
	return open_as(dir, key, expect, false, ret_reader, error);
}

int image_open_locked(const char *dir, const struct image_key *key,
		      const struct image_expect *expect, struct image_reader **ret_reader,
		      struct ckpt_error *error)
{
	return open_as(dir, key, expect, true, ret_reader, error);
}

/* ---------------------------------------------------------- state stream */

void image_state_rewind(struct image_reader *r)
{
	/* its memory is there already: cannot fail */
	record_source_start(&r->state, IMAGE_FILE_STATE);
}

int image_state_next(struct image_reader *r, struct image_record *ret_record)
{
	return record_source_next(r, &r->state, ret_record);
}
