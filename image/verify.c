// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks an image that may be damaged, and reports everything that is wrong.
 *
 * If image_open() refuses the image, that is the only finding, as nothing else in the
 * image can be trusted then.  Otherwise each chunk is checked by itself: pages and
 * blobs are walked by the index, so one bad chunk does not hide the next.
 *
 * The index of a locked image cannot be read: each file is walked from its front, and the
 * walk ends at the file's first bad chunk.
 */
#include <endian.h>
#include <errno.h>

#include "base/error.h"
#include "image/reader_priv.h"
#include "image/stream.h"

struct verification {
	image_finding_fn report;
	void *arg;
	int first;		/* errno of the first finding */
	struct ckpt_error error;
};

static void verify_found(struct verification *v, int err, const struct fault *fault)
{
	struct image_finding finding = {
		.err = err,
		.file = fault->file,
		.offset = fault->offset,
		.text = fault->error.text,
	};

	if (err && !v->first) {
		v->first = err;
		v->error = fault->error;
	}
	if (v->report)
		v->report(&finding, v->arg);
}

static void verify_state(struct verification *v, struct image_reader *r)
{
	struct image_record rec;
	uint64_t nr = 0;
	int err;

	image_state_rewind(r);
	while ((err = image_state_next(r, &rec)) == 1)
		nr++;
	if (!err && nr != r->m->counts.nr_records)
		err = fault_set(&r->fault, -EBADMSG, "state", 0,
				"%llu records, the manifest says %llu",
				(unsigned long long)nr,
				(unsigned long long)r->m->counts.nr_records);
	if (err)
		verify_found(v, err, &r->fault);
}

/*
 * Compare the index's numbers of pages with the manifest's.  Only the numbers tell pages that
 * share their data from pages that do not.
 */
static void verify_pages(struct verification *v, struct image_reader *r)
{
	const struct image_counts *c = &r->m->counts;
	const struct image_file_info *info = &r->m->files[IMAGE_FILE_PAGES];
	uint64_t bytes = 0, base = 0;
	size_t i;

	for (i = 0; i < r->index.memory.nr; i++) {
		const struct extent *e = &r->index.memory.v[i];

		if (e->kind != IMAGE_EXTENT_DATA)
			continue;
		bytes += e->len;
		base += e->src ? e->len : 0;
	}
	if (bytes / IMAGE_PAGE_SIZE == c->pages_data && base / IMAGE_PAGE_SIZE == c->pages_base &&
	    c->pages_same <= c->pages_data && c->pages_base <= c->pages_data - c->pages_same &&
	    info->raw_len / IMAGE_PAGE_SIZE == c->pages_data - c->pages_same - c->pages_base)
		return;
	verify_found(v,
		     fault_set(&r->fault, -EBADMSG, "index", 0,
			       "%llu pages of data, %llu stored, %llu in bases; the manifest says "
			       "%llu, %llu of them with others, %llu in bases",
			       (unsigned long long)(bytes / IMAGE_PAGE_SIZE),
			       (unsigned long long)(info->raw_len / IMAGE_PAGE_SIZE),
			       (unsigned long long)(base / IMAGE_PAGE_SIZE),
			       (unsigned long long)c->pages_data, (unsigned long long)c->pages_same,
			       (unsigned long long)c->pages_base),
		     &r->fault);
}

static void verify_chunks(struct verification *v, struct image_reader *r,
			  enum image_file file, uint8_t *raw)
{
	const struct image_file_info *info = &r->m->files[file];
	uint64_t pos = sizeof(struct image_file_hdr), i;
	crypto_generichash_state digest;
	uint8_t sum[IMAGE_DIGEST_BYTES];
	bool whole = true;

	crypto_generichash_init(&digest, NULL, 0, sizeof(sum));
	for (i = 0; i < info->nr_chunks; i++) {
		const struct image_ix_chunk *entry = &r->index.chunks[file][i];
		struct chunk_read chunk;
		int err = pos == le64toh(entry->offset) ? 0 : reader_skip_gap(r, file, &pos);

		if (!err && pos != le64toh(entry->offset))
			err = fault_set(&r->fault, -EBADMSG, info->name, pos,
					"a gap that is not empty (damaged)");
		if (err)
			verify_found(v, err, &r->fault);
		pos = le64toh(entry->offset) + sizeof(struct image_chunk_hdr) +
		      le32toh(entry->stored_len) + IMAGE_TAG_BYTES;
		err = reader_chunk(r, file, i, le64toh(entry->offset), raw, &chunk);
		if (!err && chunk.raw_len != le32toh(entry->raw_len))
			err = fault_set(&r->fault, -EBADMSG, info->name,
					le64toh(entry->offset),
					"chunk %llu has another length than in the index",
					(unsigned long long)i);
		if (err) {
			verify_found(v, err, &r->fault);
			whole = false;
			continue;
		}
		crypto_generichash_update(&digest, chunk.tag, IMAGE_TAG_BYTES);
	}
	crypto_generichash_final(&digest, sum, sizeof(sum));
	if (whole && info->name && sodium_memcmp(sum, info->digest, sizeof(sum)))
		verify_found(v, fault_set(&r->fault, -EBADMSG, info->name, info->len,
					  "the chunks are not those of the manifest"),
		      &r->fault);
}

static int verify_deep(struct verification *v, struct image_reader *r)
{
	uint8_t *raw = malloc(IMAGE_CHUNK_MAX);
	unsigned int i;

	if (!raw)
		return -ENOMEM;
	verify_chunks(v, r, IMAGE_FILE_PAGES, raw);
	verify_chunks(v, r, IMAGE_FILE_BLOBS, raw);
	for (i = 0; i < r->m->nr_bases; i++)
		verify_chunks(v, r, (enum image_file)(IMAGE_FILE_BASE + i), raw);
	free(raw);
	return 0;
}

/* Check all that needs only the node's key: manifest, lengths, each chunk's tag, chunk order. */
static void verify_locked(struct verification *v, struct image_reader *r)
{
	char id[2 * IMAGE_KEY_ID_BYTES + 1];
	struct cursor c = {};
	int i, err;

	for (i = 1; i < IMAGE_FILES; i++) {
		if (!r->m->files[i].name)
			continue;
		err = cursor_start(&c, (enum image_file)i);
		if (err)
			fault_set(&r->fault, err, image_file_names[i], 0, "out of memory");
		while (!err && (err = cursor_next_chunk(r, &c)) == 1)
			err = 0;
		if (err)
			verify_found(v, err, &r->fault);
	}
	cursor_done(&c);
	sodium_bin2hex(id, sizeof(id), r->m->secret_id, sizeof(r->m->secret_id));
	fault_set(&r->fault, 0, IMAGE_NAME_MANIFEST, 0,
		  "encrypted with key %s, which is not here: that nothing was changed since it was "
		  "written was checked, what is in it was not",
		  id);
	verify_found(v, 0, &r->fault);
}

int image_verify(const char *dir, const struct image_key *key,
		 const struct image_expect *expect, bool deep,
		 image_finding_fn report, void *arg, struct ckpt_error *error)
{
	struct verification v = { .report = report, .arg = arg };
	struct image_reader *r = reader_new();
	int err;

	if (!r)
		return error_set(error, -ENOMEM, "out of memory");
	err = reader_open(r, dir, key, expect, true);
	if (err) {
		verify_found(&v, err, &r->fault);
	} else if (r->m->locked) {
		verify_locked(&v, r);
	} else {
		verify_state(&v, r);
		verify_pages(&v, r);
		if (deep && verify_deep(&v, r))
			verify_found(&v, fault_set(&r->fault, -ENOMEM, ".", 0,
						   "out of memory"), &r->fault);
	}
	image_close(r);
	if (v.first)
		error_set(error, v.first, "%s/%.170s", error_path_tail(dir), v.error.text);
	return v.first;
}

int image_verify_blobs(struct image_reader *r)
{
	struct verification v = {};
	uint8_t *raw = malloc(IMAGE_CHUNK_MAX);

	if (!raw)
		return fault_set(&r->fault, -ENOMEM, ".", 0, "out of memory");
	verify_chunks(&v, r, IMAGE_FILE_BLOBS, raw);
	free(raw);
	return v.first;
}
