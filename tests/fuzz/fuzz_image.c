// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target of the image reader.
 *
 * An input is a flag byte and five parts, each a le32 length and that many bytes
 * (the last may be short): manifest, state, index, pages, blobs.
 *
 *   plain (flag 0)   the parts are the files as they are
 *   sealed (flag 1)  the parts are what the files hold, as if an attacker had
 *		      the key: state, index, pages and blobs are raw bytes that
 *		      become authentic chunks, the manifest part is the records
 *		      that replace the right ones (none: the right ones stay)
 *
 * Sealing is what gets past authentication into the parsers behind it.  The
 * input is written to a scratch directory, opened, read in all ways, described.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "image/chunk.h"
#include "image/manifest.h"
#include "image/reader.h"
#include "image/show.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus = "tests/fuzz/corpus/image";

#define FLAG_SEALED	1
#define CHUNK_BYTES	2048	/* small chunks, so that there are several */
#define PEEK_MAX	4096	/* pages of one run that are looked at */

struct part {
	const uint8_t *p;
	size_t len;
};

struct target {
	char dir[64];
	struct image_key *key;
	struct part parts[IMAGE_FILE__COUNT];	/* 0: manifest */
};

static const char *const names[IMAGE_FILE__COUNT] = {
	"manifest", "state", "index", "pages", "blobs",
};

static const uint8_t key_bytes[IMAGE_KEY_BYTES] = "the key of every fuzzed image...";

static void store(const struct target *t, int file, const void *data, size_t len)
{
	_cleanup_fd_ int fd = -1;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", t->dir, names[file]);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
}

static void split(struct target *t, const uint8_t *data, size_t size)
{
	int i;

	for (i = 0; i < IMAGE_FILE__COUNT; i++) {
		uint32_t len = 0;

		if (size >= sizeof(len)) {
			memcpy(&len, data, sizeof(len));
			len = le32toh(len);
			data += sizeof(len);
			size -= sizeof(len);
		} else {
			size = 0;
		}
		if (len > size)
			len = (uint32_t)size;
		t->parts[i] = (struct part){ data, len };
		data += len;
		size -= len;
	}
}

/* Raw bytes as a file of authentic chunks; what the manifest must say of it. */
static void seal_file(const struct target *t, struct image_manifest *m, int file)
{
	const struct part *part = &t->parts[file];
	struct image_file_info *info = &m->files[file];
	crypto_generichash_state digest;
	struct image_file_hdr hdr;
	struct chunk_encoder *enc;
	uint8_t *out, *chunk, *raw = chunk_buffer(), *packed = chunk_buffer();
	struct chunk_keys *keys;
	size_t pos, len;

	if (image_key_chunk(t->key, m->id, NULL, &keys) || chunk_encoder_create(keys, 1, &enc))
		abort();
	out = malloc(sizeof(hdr) + 2 * part->len + 2 * CHUNK_BOUND);
	if (!out || !raw || !packed)
		abort();
	manifest_file_hdr(m, (enum image_file)file, &hdr);
	memcpy(out, &hdr, sizeof(hdr));
	info->name = names[file];
	info->len = sizeof(hdr);
	crypto_generichash_init(&digest, NULL, 0, IMAGE_DIGEST_BYTES);
	for (pos = 0; pos < part->len; pos += CHUNK_BYTES) {
		size_t n = part->len - pos;

		if (n > CHUNK_BYTES)
			n = CHUNK_BYTES;
		memcpy(chunk_payload(raw), part->p + pos, n);
		if (chunk_encode(enc, (enum image_file)file, info->nr_chunks,
				 true, raw, (uint32_t)n, packed, &chunk, &len))
			abort();
		memcpy(out + info->len, chunk, len);
		info->len += len;
		crypto_generichash_update(&digest, out + info->len - IMAGE_TAG_BYTES,
					  IMAGE_TAG_BYTES);
		info->nr_chunks++;
		info->raw_len += n;
	}
	crypto_generichash_final(&digest, info->digest, IMAGE_DIGEST_BYTES);
	store(t, file, out, info->len);
	chunk_encoder_destroy(enc);
	chunk_keys_destroy(keys);
	free(out);
	chunk_buffer_free(raw);
	chunk_buffer_free(packed);
}

static void seal_manifest(const struct target *t, const struct image_manifest *m)
{
	const struct part *part = &t->parts[0];
	struct image_manifest_hdr hdr;
	uint8_t *right, *buf, subkey[32];
	size_t len;

	if (manifest_encode(m, t->key, &right, &len))
		abort();
	if (!part->len) {
		store(t, 0, right, len);
		free(right);
		return;
	}
	memcpy(&hdr, right, sizeof(hdr));
	free(right);
	len = sizeof(hdr) + part->len + IMAGE_DIGEST_BYTES;
	buf = malloc(len);
	if (!buf)
		abort();
	hdr.len = htole64(len);
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), part->p, part->len);
	image_key_manifest(t->key, m->id, subkey);
	crypto_generichash(buf + len - IMAGE_DIGEST_BYTES, IMAGE_DIGEST_BYTES, buf,
			   len - IMAGE_DIGEST_BYTES, subkey, sizeof(subkey));
	store(t, 0, buf, len);
	free(buf);
}

static void seal(const struct target *t)
{
	struct image_manifest m = {
		.version = IMAGE_VERSION,
		.generation = 1,
		.job = "fuzz",
		.identity = { .hostname = "h", .release = "r", .machine = "m" },
	};
	int i;

	for (i = 1; i < IMAGE_FILE__COUNT; i++)
		seal_file(t, &m, i);
	seal_manifest(t, &m);
}

static void read_memory(struct image_reader *r)
{
	uint64_t mm = 0;

	while (image_mm_next(r, &mm) == 1) {
		struct image_run run;
		uint64_t cursor = 0;

		while (image_pages_next(r, mm, &cursor, &run) == 1) {
			uint64_t left = run.nr_pages < PEEK_MAX ? run.nr_pages : PEEK_MAX;
			uint64_t addr = run.addr;

			while (left) {
				uint64_t n = left;
				const void *data;

				if (image_pages_peek(r, mm, addr, &n, &data))
					break;
				fuzz_touch(data, n * IMAGE_PAGE_SIZE);
				addr += n * IMAGE_PAGE_SIZE;
				left -= n;
			}
		}
	}
}

static void read_blobs(struct image_reader *r)
{
	uint64_t id = 0, size;
	uint8_t buf[5000];

	while (image_blob_next(r, &id, &size) == 1) {
		uint64_t cursor = 0, offset, len;

		while (image_blob_extent(r, id, &cursor, &offset, &len) == 1)
			if (!image_blob_read(r, id, offset, buf,
					     len < sizeof(buf) ? len : sizeof(buf)))
				fuzz_touch(buf, len < sizeof(buf) ? len : sizeof(buf));
		if (size > sizeof(buf))
			image_blob_read(r, id, size - sizeof(buf), buf, sizeof(buf));
	}
}

/* Pages of all memory maps, as far as the index claims them. */
static uint64_t claimed_pages(struct image_reader *r)
{
	uint64_t mm = 0, sum = 0;

	while (image_mm_next(r, &mm) == 1) {
		struct image_run run;
		uint64_t cursor = 0;

		while (image_pages_next(r, mm, &cursor, &run) == 1)
			if (__builtin_add_overflow(sum, run.nr_pages, &sum))
				return UINT64_MAX;
	}
	return sum;
}

static void diff_with_itself(const struct target *t, struct image_reader *r)
{
	struct image_reader *again;
	json_t *json;

	/* comparing exabytes of shared zeros takes its time */
	if (claimed_pages(r) > 1U << 16 || image_open(t->dir, t->key, NULL, &again, NULL))
		return;
	if (!image_diff_json(r, again, &json, NULL)) {
		if (!json_is_true(json_object_get(json, "equal")))
			abort();
		json_decref(json);
	}
	image_close(again);
}

static void read_all(const struct target *t)
{
	struct image_reader *r;
	struct image_record rec;
	struct ckpt_error error;
	json_t *json = NULL;

	image_verify(t->dir, t->key, NULL, true, NULL, NULL, &error);
	if (image_open(t->dir, t->key, NULL, &r, &error)) {
		fuzz_touch(error.text, strlen(error.text));
		return;
	}
	while (image_state_next(r, &rec) == 1)
		fuzz_touch(rec.data, rec.len);
	read_memory(r);
	read_blobs(r);
	if (!image_show_json(r, IMAGE_SHOW_RECORDS | IMAGE_SHOW_RUNS, &json, &error))
		json_decref(json);
	diff_with_itself(t, r);
	image_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target t;
	char path[128];
	int i;

	if (!size)
		return 0;
	snprintf(t.dir, sizeof(t.dir), "/tmp/fuzz-image.XXXXXX");
	if (!mkdtemp(t.dir) || image_key_from_bytes(key_bytes, &t.key))
		abort();
	image_key_secret_from_bytes(t.key, key_bytes, "fuzz");
	split(&t, data + 1, size - 1);
	if (data[0] & FLAG_SEALED) {
		seal(&t);
	} else {
		for (i = 0; i < IMAGE_FILE__COUNT; i++)
			if (t.parts[i].len)
				store(&t, i, t.parts[i].p, t.parts[i].len);
	}
	read_all(&t);
	for (i = 0; i < IMAGE_FILE__COUNT; i++) {
		snprintf(path, sizeof(path), "%s/%s", t.dir, names[i]);
		unlink(path);
	}
	rmdir(t.dir);
	image_key_destroy(t.key);
	return 0;
}
