// SPDX-License-Identifier: GPL-2.0-only
/*
 * Building an image: its life from create to commit, the state stream, the
 * manifest.  Pages and blobs are in writer_data.c.
 *
 * Owns the writer, the four streams and the index.  Invariants: nothing is
 * visible under the final name before the last step of image_commit(); the first
 * failure sticks (img->err) and makes every later call fail alike, so that a
 * caller may check late; an image destroyed without a commit is discarded.
 *
 * Order of a commit: chunks, index, fsync of each file, manifest under another
 * name, fsync, rename, fsync of the directory, rename of the directory.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/error.h"
#include "image/budget.h"
#include "image/job_key.h"
#include "image/writer_priv.h"

#define TEXT_MAX	(1U << 20)	/* bytes of one free-form value */
#define ROOTS_MAX	65536U

int image_fail(struct image *img, int err, const char *fmt, ...)
{
	va_list ap;

	if (!img->err) {
		img->err = err;
		va_start(ap, fmt);
		vsnprintf(img->error.text, sizeof(img->error.text), fmt, ap);
		va_end(ap);
	}
	return img->err;
}

const char *image_error_text(const struct image *img)
{
	return img->error.text;
}

/* ---------------------------------------------------------------- create */

static int image_init(struct image *img, const struct image_key *key,
		      const struct image_options *options)
{
	int err, workers = image_budget_share(options->memory, img->writer);
	struct image_manifest *m = &img->manifest;
	const char *job = options->job ? options->job : "";
	struct ckpt_error why = {};

	if (workers < 0)
		return image_fail(img, workers, "less memory than %u MiB", IMAGE_MEMORY_MIN >> 20);
	err = image_key_of_job(key, job, &img->own, &why);
	if (err)
		return image_fail(img, err, "the key of job %s: %.150s", job, why.text);
	if (img->own)
		key = img->own;
	if (options->encrypt && !image_key_has_secret(key))
		return image_fail(img, -ENOKEY, "no key to encrypt it with");
	if (strlen(job) >= sizeof(((struct image_man_identity *)0)->job))
		return image_fail(img, -EINVAL, "the job's name is longer than 63 bytes");
	img->job = strdup(job);
	if (!img->job)
		return image_fail(img, -ENOMEM, "out of memory");
	img->key = key;
	m->version = IMAGE_VERSION;
	m->of_job = image_key_is_own(key);
	m->encrypted = options->encrypt || m->of_job;
	image_key_recovery(key, &m->recovery);
	m->generation = options->generation;
	m->job = img->job;
	randombytes_buf(m->id, sizeof(m->id));
	if (m->encrypted)
		image_key_secret_id(key, m->secret_id);
	err = image_key_chunk(key, m->id, m->encrypted ? m->secret_id : NULL, &img->chunk_keys);
	if (!err)
		err = pipeline_create(img->chunk_keys, &img->pool, options->zstd_level,
				      (unsigned int)workers, &img->pipeline);
	if (err)
		return image_fail(img, err, "cannot set up the encoder");
	if (options->reread)
		img->same = same_create(options->reread, options->reread_arg);
	return options->reread && !img->same ? image_fail(img, -ENOMEM, "out of memory") : 0;
}

static int image_begin(struct image *img)
{
	const char *name = img->writer->name;
	int err = img->writer->ops->begin(img->writer);

	switch (err) {
	case 0:
		return 0;
	case -EEXIST:
		return image_fail(img, err,
				  "%s: exists and is not an empty directory", name);
	case -EBUSY:
		return image_fail(img, err, "%s: is being written already", name);
	case -ENOTEMPTY:
		return image_fail(img, err,
				  "%s: its temporary directory holds foreign files", name);
	default:
		return image_fail(img, err, "%s: cannot create it: %s", name,
				  strerror(-err));
	}
}

int image_create(struct image_writer *writer, const struct image_key *key,
		 const struct image_options *options, struct image **ret_img,
		 struct ckpt_error *error)
{
	struct image *img = calloc(1, sizeof(*img));
	int err;

	if (!img) {
		writer->ops->destroy(writer);
		return error_set(error, -ENOMEM, "out of memory");
	}
	img->writer = writer;
	chunk_pool_init(&img->pool, writer);
	err = image_init(img, key, options);
	if (!err)
		err = image_begin(img);
	if (!err && !image_stream(img, IMAGE_FILE_STATE))
		err = img->err;
	if (err) {
		if (error)
			*error = img->error;
		image_destroy(img);
		return err;
	}
	*ret_img = img;
	return 0;
}

void image_expect(struct image *img, uint64_t bytes)
{
	if (img->writer->ops->expect)
		img->writer->ops->expect(img->writer, bytes);
}

struct stream *image_stream(struct image *img, enum image_file file)
{
	struct stream *s = &img->streams[file];
	struct image_file_hdr hdr;
	int err;

	if (s->writer)
		return s;
	manifest_file_hdr(&img->manifest, file, &hdr);
	err = stream_open(s, &img->pool, img->pipeline, file, &hdr);
	if (err) {
		image_fail(img, err, "%s/%s: %s", img->writer->name,
			   image_file_names[file], strerror(-err));
		return NULL;
	}
	return s;
}

int image_stream_failed(struct image *img, enum image_file file, int err)
{
	return image_fail(img, err, "%s/%s: cannot write: %s",
			  img->writer->name, image_file_names[file],
			  strerror(-err));
}

void image_abort(struct image *img)
{
	int i;

	if (img->committed || img->aborted)
		return;
	for (i = 0; i < IMAGE_FILE__COUNT; i++)
		stream_close(&img->streams[i]);
	img->writer->ops->discard(img->writer);
	img->aborted = true;
	image_fail(img, -ECANCELED, "the image was given up");
}

void image_destroy(struct image *img)
{
	unsigned int i;

	if (!img)
		return;
	image_abort(img);
	for (i = 0; i < IMAGE_FILE__COUNT; i++)
		stream_close(&img->streams[i]);
	pipeline_destroy(img->pipeline);	/* first: chunks may lie in the writer's memory */
	chunk_pool_done(&img->pool);
	img->writer->ops->destroy(img->writer);
	chunk_keys_destroy(img->chunk_keys);
	same_destroy(img->same);
	image_close(img->base);
	index_done(&img->index);
	for (i = 0; i < img->nr_keyvals; i++) {
		free(img->keys[i]);
		free(img->values[i]);
	}
	free(img->keys);
	free(img->values);
	free(img->roots);
	free(img->hostname);
	free(img->release);
	free(img->machine);
	image_key_destroy(img->own);
	free(img->job);
	free(img);
}

/* ---------------------------------------------------------- state stream */

int image_state_append(struct image *img, const void *records, size_t len)
{
	const uint8_t *p = records;
	uint64_t nr = 0;
	size_t pos = 0;
	int err;

	if (img->err)
		return img->err;
	while (pos < len) {
		struct image_rec_hdr hdr;
		uint32_t rec_len;

		if (len - pos < sizeof(hdr))
			return image_fail(img, -EINVAL, "state: torn record");
		memcpy(&hdr, p + pos, sizeof(hdr));
		rec_len = le32toh(hdr.len);
		if (rec_len < sizeof(hdr) || rec_len % 8 ||
		    rec_len > IMAGE_RECORD_MAX || rec_len > len - pos)
			return image_fail(img, -EINVAL,
					  "state: record of type %u has impossible length %u",
					  le16toh(hdr.type), rec_len);
		pos += rec_len;
		nr++;
	}
	err = stream_write(&img->streams[IMAGE_FILE_STATE], records, len);
	if (err)
		return image_stream_failed(img, IMAGE_FILE_STATE, err);
	img->manifest.counts.nr_records += nr;
	return 0;
}

int image_state_add(struct image *img, uint16_t type, uint16_t version,
		    const void *payload, size_t len)
{
	static const uint8_t zeros[8];
	struct stream *s = &img->streams[IMAGE_FILE_STATE];
	struct image_rec_hdr hdr;
	size_t padding = -len & 7;
	int err;

	if (img->err)
		return img->err;
	if (len > IMAGE_RECORD_MAX - sizeof(hdr) - padding)
		return image_fail(img, -EINVAL,
				  "state: record of type %u is too long", type);
	hdr.type = htole16(type);
	hdr.version = htole16(version);
	hdr.len = htole32((uint32_t)(sizeof(hdr) + len + padding));
	err = stream_write(s, &hdr, sizeof(hdr));
	if (!err)
		err = stream_write(s, payload, len);
	if (!err)
		err = stream_write(s, zeros, padding);
	if (err)
		return image_stream_failed(img, IMAGE_FILE_STATE, err);
	img->manifest.counts.nr_records++;
	return 0;
}

/* -------------------------------------------------------------- manifest */

/* Replace the owned string *@field; do nothing if @value is NULL. */
static int set_string(struct image *img, char **field, const char *value)
{
	char *copy;

	if (!value)
		return 0;
	copy = strdup(value);
	if (!copy)
		return image_fail(img, -ENOMEM, "out of memory");
	free(*field);
	*field = copy;
	return 0;
}

int image_set_identity(struct image *img, const struct image_identity *identity)
{
	struct image_manifest *m = &img->manifest;
	int err;

	if (img->err)
		return img->err;
	err = set_string(img, &img->hostname, identity->hostname);
	if (!err)
		err = set_string(img, &img->release, identity->release);
	if (!err)
		err = set_string(img, &img->machine, identity->machine);
	if (err)
		return err;
	m->identity = *identity;
	return 0;
}

int image_set_timing(struct image *img, const struct image_timing *timing)
{
	if (img->err)
		return img->err;
	img->manifest.timing = *timing;
	return 0;
}

int image_set_roots(struct image *img, const int32_t *pids, unsigned int nr)
{
	int32_t *copy;

	if (img->err)
		return img->err;
	if (nr > ROOTS_MAX)
		return image_fail(img, -EINVAL, "%u roots are too many", nr);
	copy = calloc(nr ? nr : 1, sizeof(*copy));
	if (!copy)
		return image_fail(img, -ENOMEM, "out of memory");
	memcpy(copy, pids, nr * sizeof(*copy));
	free(img->roots);
	img->roots = copy;
	img->manifest.roots = copy;
	img->manifest.nr_roots = nr;
	return 0;
}

static int add_keyval(struct image *img, const char *key, const char *value)
{
	unsigned int n = img->nr_keyvals;
	char **v;

	v = reallocarray(img->keys, n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	img->keys = v;
	v = reallocarray(img->values, n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	img->values = v;
	img->keys[n] = strdup(key);
	img->values[n] = strdup(value);
	if (!img->keys[n] || !img->values[n]) {
		free(img->keys[n]);
		free(img->values[n]);
		return -ENOMEM;
	}
	img->nr_keyvals++;
	return 0;
}

int image_set(struct image *img, const char *key, const char *value)
{
	unsigned int i;

	if (img->err)
		return img->err;
	if (!*key || strlen(key) > 255 || strlen(value) > TEXT_MAX)
		return image_fail(img, -EINVAL, "manifest: bad key or long value");
	for (i = 0; i < img->nr_keyvals; i++)
		if (!strcmp(img->keys[i], key))
			return set_string(img, &img->values[i], value);
	if (add_keyval(img, key, value))
		return image_fail(img, -ENOMEM, "out of memory");
	return 0;
}

void image_get_id(const struct image *img, uint8_t ret_id[32])
{
	memcpy(ret_id, img->manifest.id, sizeof(img->manifest.id));
}

void image_get_counts(const struct image *img, struct image_counts *ret_counts)
{
	struct image_counts c = img->manifest.counts;
	int i;

	c.bytes_raw = 0;
	c.bytes_stored = 0;
	for (i = 1; i < IMAGE_FILE__COUNT; i++) {
		c.bytes_stored += img->streams[i].len;
		if (i != IMAGE_FILE_INDEX)
			c.bytes_raw += img->streams[i].raw_len +
				       img->streams[i].raw_used;
	}
	*ret_counts = c;
}

/* ---------------------------------------------------------------- commit */

static int finish_stream(struct image *img, enum image_file file)
{
	struct stream *s = &img->streams[file];
	struct image_file_info *info = &img->manifest.files[file];
	int err;

	if (!s->writer)
		return 0;
	err = stream_finish(s, info->digest);
	if (err)
		return image_stream_failed(img, file, err);
	info->name = image_file_names[file];
	info->len = s->len;
	info->nr_chunks = s->nr_chunks;
	info->raw_len = s->raw_len;
	img->manifest.gaps |= s->padded;
	return 0;
}

static int finish_index(struct image *img)
{
	const struct stream *pages = &img->streams[IMAGE_FILE_PAGES];
	const struct stream *blobs = &img->streams[IMAGE_FILE_BLOBS];
	struct extent_chunks page_chunks[1 + IMAGE_BASES_MAX];
	struct extent_chunks blob_chunks = { blobs->chunks, blobs->nr_chunks, 1 };
	struct ckpt_error error;
	struct stream *ix;
	int err = image_bases_settle(img);

	if (err)
		return err;
	index_page_chunks(&img->index, pages->chunks, pages->nr_chunks, img->manifest.nr_bases,
			  page_chunks);
	err = index_check(&img->index, page_chunks, &blob_chunks, &error);
	if (err)
		return image_fail(img, err == -ENOENT ? -EINVAL : err,
				  "index: %s", error.text);
	ix = image_stream(img, IMAGE_FILE_INDEX);
	if (!ix)
		return img->err;
	err = index_write(&img->index, pages, blobs, ix);
	if (err)
		return image_stream_failed(img, IMAGE_FILE_INDEX, err);
	img->manifest.nr_runs = img->index.memory.nr;
	return finish_stream(img, IMAGE_FILE_INDEX);
}

static int sync_streams(struct image *img)
{
	int i, err;

	for (i = 1; i < IMAGE_FILE__COUNT; i++) {
		struct stream *s = &img->streams[i];

		if (!s->writer)
			continue;
		err = stream_sync(s);
		if (!err)
			err = s->writer->ops->close(take_ptr(s->wfile));
		if (err)
			return image_stream_failed(img, (enum image_file)i, err);
	}
	return 0;
}

/* Fill in what the caller did not set: this node's names, and the time. */
static int fill_identity(struct image *img)
{
	struct image_identity *id = &img->manifest.identity;
	struct utsname uts;
	int err = 0;

	if (uname(&uts) < 0)
		return image_fail(img, -errno, "uname: %m");
	if (!img->hostname)
		err = set_string(img, &img->hostname, uts.nodename);
	if (!err && !img->release)
		err = set_string(img, &img->release, uts.release);
	if (!err && !img->machine)
		err = set_string(img, &img->machine, uts.machine);
	if (err)
		return err;
	id->hostname = img->hostname;
	id->release = img->release;
	id->machine = img->machine;
	if (!id->created_ns)
		id->created_ns = clock_realtime_ns();
	return 0;
}

/* Write the manifest file; it is complete once it has its name. */
static int store_manifest(struct image_writer *w, const void *buf, size_t len)
{
	struct image_wfile *f = NULL;
	int err, close_err;

	err = w->ops->open(w, IMAGE_NAME_MANIFEST_TMP, &f);
	if (err)
		return err;
	err = w->ops->append(f, buf, len);
	if (!err)
		err = w->ops->sync(f);
	close_err = w->ops->close(f);
	if (!err)
		err = close_err;
	if (!err)
		err = w->ops->rename(w, IMAGE_NAME_MANIFEST_TMP, IMAGE_NAME_MANIFEST);
	if (!err)
		err = w->ops->sync_dir(w);
	return err;
}

static int write_manifest(struct image *img)
{
	const struct image_writer *w = img->writer;
	struct image_manifest *m = &img->manifest;
	_cleanup_free_ uint8_t *aligned = NULL;
	_cleanup_free_ uint8_t *buf = NULL;
	size_t len;
	int err;

	err = fill_identity(img);
	if (!err && w->ops->way)
		err = image_set(img, "writer", w->ops->way(w));
	if (err)
		return err;
	m->keys = (const char *const *)img->keys;
	m->values = (const char *const *)img->values;
	m->nr_keyvals = img->nr_keyvals;
	err = manifest_encode(m, img->key, &buf, &len);
	if (err)
		return image_fail(img, err, "manifest: cannot encode it: %s",
				  strerror(-err));
	/* allocate whole pages, for writers that need alignment */
	aligned = aligned_alloc(4096, (len + 4095) & ~(size_t)4095);
	if (!aligned)
		return image_fail(img, -ENOMEM, "out of memory");
	memcpy(aligned, buf, len);
	err = store_manifest(img->writer, aligned, len);
	if (err)
		return image_fail(img, err, "%s/" IMAGE_NAME_MANIFEST ": cannot write: %s",
				  img->writer->name, strerror(-err));
	return 0;
}

static int writer_publish(struct image *img)
{
	int err = img->writer->ops->publish(img->writer);

	if (err == -EEXIST)
		return image_fail(img, err, "%s: somebody else created it meanwhile",
				  img->writer->name);
	if (err)
		return image_fail(img, err, "%s: cannot move it into place: %s",
				  img->writer->name, strerror(-err));
	return 0;
}

static int writer_commit(struct image *img)
{
	int err;

	if (img->err)
		return img->err;
	if (img->blob_open)
		return image_fail(img, -EINVAL, "blob %llu was not ended",
				  (unsigned long long)img->blob_id);
	err = finish_stream(img, IMAGE_FILE_STATE);
	if (!err)
		err = finish_stream(img, IMAGE_FILE_PAGES);
	if (!err)
		err = finish_stream(img, IMAGE_FILE_BLOBS);
	if (!err)
		err = finish_index(img);
	if (!err)
		err = sync_streams(img);
	if (!err)
		err = write_manifest(img);
	if (!err)
		err = writer_publish(img);
	return err;
}

int image_commit(struct image *img, struct ckpt_error *error)
{
	int err;

	if (img->committed)
		return error_set(error, -EALREADY, "committed already");
	err = writer_commit(img);
	if (err) {
		if (error)
			*error = img->error;
		image_abort(img);
		return err;
	}
	img->committed = true;
	image_fail(img, -EALREADY, "committed already");
	return 0;
}
