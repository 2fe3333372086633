// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the first inputs of the image fuzz target: real images, taken apart
 * the way fuzz_image.c puts them together.
 *
 *	image_seeds DIRECTORY
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "image/index.h"
#include "image/writer.h"

static const uint8_t key_bytes[IMAGE_KEY_BYTES] = "the key of every fuzzed image...";

struct part {
	uint8_t bytes[20000];
	size_t len;
};

static void add(struct part *p, const void *data, size_t len)
{
	if (len > sizeof(p->bytes) - p->len)
		abort();
	memcpy(p->bytes + p->len, data, len);
	p->len += len;
}

static void write_seed(const char *dir, const char *name, uint8_t flag,
		       const struct part parts[5])
{
	char path[512];
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f)
		abort();
	fputc(flag, f);
	for (i = 0; i < 5; i++) {
		uint32_t len = htole32((uint32_t)parts[i].len);

		fwrite(&len, sizeof(len), 1, f);
		fwrite(parts[i].bytes, parts[i].len, 1, f);
	}
	fclose(f);
}

/* --------------------------------------------------- what the files hold */

static void put_state(struct part *p)
{
	struct ckpt_rec_proc proc = {
		.hdr = { CKPT_REC_PROC, 1, sizeof(proc) },
		.pid = 10, .ppid = 1, .state = CKPT_PROC_RUNNING, .mm_id = 1,
		.nr_threads = 1, .comm = "seed",
	};
	struct ckpt_rec_mm mm = {
		.hdr = { CKPT_REC_MM, 1, sizeof(mm) }, .mm_id = 1, .pid = 10,
		.nr_vmas = 1,
	};
	struct ckpt_rec_vma vma = {
		.hdr = { CKPT_REC_VMA, 1, sizeof(vma) }, .mm_id = 1,
		.start = 0x1000, .end = 0x9000,
	};
	struct ckpt_rec_hdr other = { 0x1001, 1, sizeof(other) };

	add(p, &proc, sizeof(proc));
	add(p, &mm, sizeof(mm));
	add(p, &vma, sizeof(vma));
	add(p, &other, sizeof(other));
}

/* Sealed files have chunks of 2048 bytes; positions count by IMAGE_CHUNK_MAX. */
static void put_chunks(struct part *p, uint32_t file, uint32_t nr)
{
	struct image_ix_chunks rec = {
		.hdr = { IMAGE_IX_CHUNKS, 1, (uint32_t)(sizeof(rec) + nr * 16) },
		.file = file, .nr = nr,
	};
	uint32_t i;

	add(p, &rec, sizeof(rec));
	for (i = 0; i < nr; i++) {
		/* 2048 random bytes are stored as they are */
		struct image_ix_chunk c = {
			.offset = 64 + i * (2048 + 48),
			.stored_len = 2048, .raw_len = 2048,
		};

		add(p, &c, sizeof(c));
	}
}

static void put_extents(struct part *p, uint32_t file,
			const struct image_ix_extent *v, uint32_t nr)
{
	struct image_ix_extents rec = {
		.hdr = { IMAGE_IX_EXTENTS, 1,
			 (uint32_t)(sizeof(rec) + nr * sizeof(*v)) },
		.file = file, .nr = nr,
	};

	add(p, &rec, sizeof(rec));
	add(p, v, nr * sizeof(*v));
}

static void put_index(struct part *p)
{
	static const struct image_ix_extent memory[] = {
		{ 1, 0x1000, 0x3000, 0, 0, IMAGE_EXTENT_ZERO, 0 },
		{ 2, 0x8000, 0x2000, 0x1000, 1, IMAGE_EXTENT_REF, 0 },
	};
	static const struct image_ix_extent blobs[] = {
		{ 7, 100, 2000, 48, 0, IMAGE_EXTENT_DATA, 0 },
		{ 7, 3000, 2048, IMAGE_CHUNK_MAX, 0, IMAGE_EXTENT_DATA, 0 },
	};
	struct image_ix_blob blob = {
		.hdr = { IMAGE_IX_BLOB, 1, sizeof(blob) }, .id = 7, .size = 9000,
	};

	put_chunks(p, IMAGE_FILE_BLOBS, 2);
	put_extents(p, IMAGE_FILE_PAGES, memory, ARRAY_SIZE(memory));
	put_extents(p, IMAGE_FILE_BLOBS, blobs, ARRAY_SIZE(blobs));
	add(p, &blob, sizeof(blob));
}

static void put_random(struct part *p, size_t len)
{
	uint64_t x = 88172645463325252ULL;

	while (len) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		add(p, &x, 8);
		len -= 8;
	}
}

/* ---------------------------------------------------------- a real image */

static void fill_image(struct image *img, const struct part *state)
{
	uint8_t pages[3 * 4096] = { 1 };
	int32_t root = 10;

	pages[9000] = 2;
	image_state_append(img, state->bytes, state->len);
	image_pages_add(img, 1, 0x1000, 3, pages);
	image_pages_zero(img, 1, 0x7000, 5);
	image_pages_ref(img, 2, 0x1000, 2, 1, 0x2000);
	image_blob_begin(img, 3);
	image_blob_append(img, 5000, "contents", 8);
	image_blob_end(img, 100000);
	image_set_roots(img, &root, 1);
	image_set(img, "key", "value");
}

static void read_part(struct part *p, const char *dir, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		abort();
	p->len = fread(p->bytes, 1, sizeof(p->bytes), f);
	fclose(f);
}

enum seed { PLAIN, ENCRYPTED, OF_JOB };

static void real_image(const char *dir, const struct part *state, enum seed seed,
		       struct part parts[5])
{
	static const char *const names[] = {
		"manifest", "state", "index", "pages", "blobs",
	};
	struct image_options options = { .generation = 1, .encrypt = seed == ENCRYPTED };
	struct image_key *own;
	struct image_writer *w;
	struct image_key *key;
	struct image *img;
	char path[400];
	int i;

	snprintf(path, sizeof(path), "%s/.image", dir);
	if (image_key_from_bytes(key_bytes, &key))
		abort();
	image_key_secret_from_bytes(key, key_bytes, "seeds");
	if (seed == OF_JOB) {
		/* any bytes are a public key of the site */
		if (image_key_own(key, key_bytes, key_bytes, &own))
			abort();
		image_key_destroy(key);
		key = own;
	}
	if (image_writer_posix_create(path, &w, NULL) ||
	    image_create(w, key, &options, &img, NULL))
		abort();
	fill_image(img, state);
	if (image_commit(img, NULL))
		abort();
	image_destroy(img);
	for (i = 0; i < 5; i++)
		read_part(&parts[i], path, names[i]);
	image_remove(path, NULL);
	image_key_destroy(key);
}

int main(int argc, char **argv)
{
	static struct part parts[5], real[5], records[5];

	if (argc != 2)
		return 2;
	put_state(&parts[1]);
	write_seed(argv[1], "sealed-state", 1, parts);
	put_index(&parts[2]);
	put_random(&parts[4], 4096);
	write_seed(argv[1], "sealed-all", 1, parts);
	real_image(argv[1], &parts[1], PLAIN, real);
	write_seed(argv[1], "plain", 0, real);
	/* records of the manifest, to be sealed again */
	records[0] = real[0];
	records[0].len = real[0].len - sizeof(struct image_manifest_hdr) - 32;
	memmove(records[0].bytes, real[0].bytes + sizeof(struct image_manifest_hdr),
		records[0].len);
	records[1] = parts[1];
	write_seed(argv[1], "sealed-manifest", 1, records);
	real_image(argv[1], &parts[1], ENCRYPTED, real);
	write_seed(argv[1], "plain-encrypted", 0, real);
	real_image(argv[1], &parts[1], OF_JOB, real);
	write_seed(argv[1], "plain-of-job", 0, real);
	return 0;
}
