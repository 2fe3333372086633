// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens images for a diagnosis; see saved_job.h. Owns what struct saved_job points to. The image is
 * authentic, but pages are the job's: every number in a page is bounded by the size of its blob
 * before it is used.
 */
#include "supervisor/diagnose/saved_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/foreign.h"
#include "shim/ranks.h"

#define STREAM_MAX	(1ull << 30)
#define PAGE_MAX	(64ull << 20)	/* bytes of a status page */

static int saved_job_stream(struct saved_job *s, size_t *ret_len)
{
	struct image_record record;
	size_t len = 0, room = 0;
	int ret;

	image_state_rewind(s->reader);
	while ((ret = image_state_next(s->reader, &record)) > 0) {
		if (record.len > STREAM_MAX - len)
			return -EFBIG;
		if (room - len < record.len) {
			void *more;

			room = (len + record.len) * 2;
			more = realloc(s->stream, room);
			if (!more)
				return -ENOMEM;
			s->stream = more;
		}
		memcpy((char *)s->stream + len, record.data, record.len);
		len += record.len;
	}
	*ret_len = len;
	return ret;
}

/* ------------------------------------------------------------------ pages */

/* The library whose calls the pages number, from the job's record, which the image carries. */
static unsigned int saved_job_mpi(const struct image_reader *reader)
{
	const char *text = image_get(reader, "record");
	json_t *record = text ? json_loads(text, 0, NULL) : NULL;
	const char *name = json_string_value(json_object_get(json_object_get(record, "ranks"),
							     "mpi"));
	enum ranks_mpi mpi = RANKS_NONE;

	if (name && !ranks_mpi_parse(name, &mpi))
		mpi = RANKS_NONE;
	json_decref(record);
	return mpi;
}

/* Make the reading of a page of @size bytes; -EPROTO: that is no page of this version. */
static int saved_job_read(struct status_page *page, uint64_t size, struct reading *out)
{
	struct status_comm *shown;

	if (size < sizeof(*page) || page->magic != STATUS_MAGIC ||
	    page->version != STATUS_VERSION || page->nr_ranks > size || page->max_comms > size ||
	    status_size(page->nr_ranks, page->max_comms) > size)
		return -EPROTO;
	out->comm = calloc(page->max_comms + 1, sizeof(*out->comm));
	if (!out->comm)
		return -ENOMEM;
	out->ring = malloc(STATUS_RINGS * sizeof(*out->ring));
	if (!out->ring)
		return -ENOMEM;
	memcpy(out->ring, status_rings(page), STATUS_RINGS * sizeof(*out->ring));
	out->head.state = page->answer.state;
	for (unsigned int i = 0; i < STATUS_THREADS; i++) {
		if (!page->thread[i].tid)
			continue;
		/* rings are by entry: put those of entries in use at the front, as the entries */
		if (i < STATUS_RINGS)
			out->ring[out->nr_rings++] = out->ring[i];
		out->thread[out->head.nr_threads++] = page->thread[i];
	}
	shown = status_shown(page);
	for (uint32_t k = 0; k < page->max_comms; k++)
		out->head.nr_comms += status_comm_read(&shown[k], &out->comm[out->head.nr_comms]);
	return 0;
}

static int saved_job_add(struct saved_job *s, const struct engine_rec_blob *blob,
			   uint32_t rank, unsigned int mpi)
{
	struct reading *r = &s->page[s->nr];
	_cleanup_free_ struct status_page *page = NULL;
	uint64_t size;
	int ret = image_blob_size(s->reader, blob->blob, &size);

	if (ret || size > PAGE_MAX)
		return ret ?: -EFBIG;
	page = aligned_alloc(64, (size + 63) & ~63ull);
	if (!page)
		return -ENOMEM;
	ret = image_blob_read(s->reader, blob->blob, 0, page, size) ?:
	      saved_job_read(page, size, r);
	if (ret) {
		reading_done(r);
		return ret == -EPROTO ? 0 : ret;
	}
	r->head.rank = rank;
	r->head.mpi = mpi;
	s->nr_ranks = page->nr_ranks;
	s->nr++;
	return 0;
}

/* Status pages are /dev/shm/stillpoint.JOB/RANK. */
static int saved_job_pages(struct saved_job *s)
{
	const unsigned int mpi = saved_job_mpi(s->reader);
	int ret = 0;

	s->page = calloc(s->state->nr_blobs + 1, sizeof(*s->page));
	if (!s->page)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->state->nr_blobs && !ret; i++) {
		const struct engine_rec_blob *blob = s->state->blobs[i];
		const char *path = state_blob_path(blob);
		unsigned int rank;
		int n = 0;

		if (blob->kind == ENGINE_BLOB_SHM_DIR && blob->blob && path &&
		    sscanf(path, "stillpoint.%*u/%u%n", &rank, &n) == 1 && !path[n])
			ret = saved_job_add(s, blob, rank, mpi);
	}
	return ret;
}

const struct reading *saved_job_page(const struct saved_job *s, uint32_t rank)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->page[i].head.rank == rank)
			return &s->page[i];
	}
	return NULL;
}

/* ------------------------------------------------------------------- open */

/*
 * The processes' clock when the checkpoint was ordered: from then on ranks were held for it, and
 * that is no wait of theirs.
 */
static uint64_t saved_job_now(const struct saved_job *s)
{
	const struct ckpt_rec_system *system = s->state->system;
	const char *text = image_get(s->reader, "note");
	json_t *note = text ? json_loads(text, 0, NULL) : NULL;
	const json_int_t held = json_integer_value(json_object_get(note, "quiesce_ns"));

	json_decref(note);
	return system->monotonic_ns + (uint64_t)system->timens_monotonic_ns - (uint64_t)held;
}

static int saved_job_check(struct saved_job *s, uid_t viewer, struct ckpt_error *error)
{
	pid_t pid = 0;
	int ret = viewer ? image_foreign(s->reader, viewer, &pid) : 0;

	if (ret > 0)
		return error_set(error, -EACCES, "process %d is not yours alone, and its places "
				 "are shown to root only", (int)pid);
	return ret;
}

static int saved_job_fill(struct saved_job *s, struct ckpt_error *error)
{
	struct state_error why = { 0 };
	size_t len = 0;
	int ret = saved_job_stream(s, &len);

	if (!ret) {
		ret = state_parse(s->stream, len, &s->state, &why);
		if (ret)
			return error_set(error, ret, "state stream, offset %zu: %s", why.offset,
					 why.text);
	}
	if (!ret)
		ret = image_files_new(s->state, &s->files) ?: saved_job_pages(s);
	if (ret)
		return ret;
	if (!s->nr)
		return error_set(error, -EOPNOTSUPP, "the image has no status page: its job had no "
				 "MPI ranks, or our MPI library was of another version");
	if (s->state->system)
		s->now_ns = saved_job_now(s);
	return 0;
}

int saved_job_open(const char *dir, const struct image_key *key, uid_t viewer,
		     struct saved_job *ret_state, struct ckpt_error *error)
{
	struct saved_job s = { 0 };
	int ret = image_open(dir, key, NULL, &s.reader, error);

	if (ret)
		return ret;
	ret = saved_job_check(&s, viewer, error) ?: saved_job_fill(&s, error);
	if (ret && !error->text[0])
		error_set(error, ret, "%s", image_reader_error(s.reader)[0] ?
			  image_reader_error(s.reader) : strerror(-ret));
	if (ret)
		saved_job_close(&s);
	else
		*ret_state = s;
	return ret;
}

void saved_job_close(struct saved_job *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		reading_done(&s->page[i]);
	free(s->page);
	image_files_free(s->files);
	state_free(s->state);
	free(s->stream);
	image_close(s->reader);
	*s = (struct saved_job){ 0 };
}
