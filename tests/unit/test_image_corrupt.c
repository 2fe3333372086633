// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whatever happens to an image on its storage is noticed and named: flipped
 * bits, truncation, foreign tails, chunks moved within and between images, files
 * of another generation, another key, another version, an old image in the place
 * of a new one.  Never a crash, never wrong data.
 *
 * A sample of places each time; IMAGE_TEST_LONG=1 tries 20 times as many.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/buffer.h"
#include "image/manifest.h"
#include "tests/unit/image_fixture.h"

static const char *const files[] = {
	"manifest", "state", "index", "pages", "blobs",
};

static const struct model_size small = {
	.mms = 2, .pages = 20, .records = 10, .blobs = 1,
};

/* three chunks of pages that do not compress */
static const struct model_size chunky = {
	.mms = 1, .pages = 900, .records = 1, .incompressible = 1,
};

/* Step through @len bytes in about @tries. */
static size_t stride(size_t len, size_t tries)
{
	return len / (tries * (getenv("IMAGE_TEST_LONG") ? 20 : 1)) + 1;
}

static void make_image(const struct scratch *s, const char *dir, uint64_t seed,
		       const struct model_size *size, uint64_t generation)
{
	struct model m;

	model_init(&m, seed, size);
	model_store(&m, s, dir, generation, "job", image_key_has_secret(s->key));
	model_done(&m);
}

/* Verification fails with one of these, and reading everything is harmless. */
static int judge(const struct scratch *s, const char *dir)
{
	struct ckpt_error error = {};
	struct image_reader *r;
	int err, walked = 0;

	err = image_verify(dir, s->key, NULL, true, NULL, NULL, &error);
	if (err && (!error.text[0] || strlen(error.text) > 250))
		fail_msg("no text for %d", err);
	if (!image_open(dir, s->key, NULL, &r, NULL)) {
		walked = walk_image(r);
		image_close(r);
	}
	if (!err && walked)
		fail_msg("reading finds what verification does not");
	switch (err) {
	case 0:
	case -EBADMSG:
	case -EKEYREJECTED:
	case -EPROTONOSUPPORT:
		return err;
	default:
		fail_msg("unexpected errno %d: %s", err, error.text);
		return err;
	}
}

static void flip_bits(const struct scratch *s, int encrypt)
{
	const char *dir = scratch_path(s, "image");
	struct model m;
	char path[512];
	size_t i, pos, len;

	model_init(&m, 4, &small);
	model_store(&m, s, dir, 1, "job", encrypt);
	model_done(&m);
	assert_int_equal(judge(s, dir), 0);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ uint8_t *buf = NULL;
		_cleanup_fd_ int fd = -1;
		size_t step;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		buf = load_file(path, &len);
		fd = open(path, O_WRONLY);
		step = stride(len, 120);
		for (pos = 0; pos < len; pos += step) {
			uint8_t byte = buf[pos] ^ (uint8_t)(1 << (pos / step % 8));

			assert_int_equal(pwrite(fd, &byte, 1, (off_t)pos), 1);
			if (!judge(s, dir))
				fail_msg("%s: bit flipped at %zu goes unnoticed",
					 files[i], pos);
			assert_int_equal(pwrite(fd, &buf[pos], 1, (off_t)pos), 1);
		}
	}
	assert_int_equal(judge(s, dir), 0);
}

static void flipped_bits(void **state)
{
	flip_bits(*state, 0);
}

static void flipped_bits_encrypted(void **state)
{
	flip_bits(*state, 1);
}

static void truncated_anywhere(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	char path[512];
	size_t i, len, cut;

	make_image(s, dir, 4, &small, 1);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ uint8_t *buf = NULL;
		size_t step;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		buf = load_file(path, &len);
		/* records and structures end at multiples of 8 */
		step = (stride(len, 50) + 7) & ~(size_t)7;
		for (cut = 0; cut < len; cut += step) {
			store_file(path, buf, cut);
			if (!judge(s, dir))
				fail_msg("%s cut at %zu goes unnoticed", files[i], cut);
			store_file(path, buf, cut ? cut - 1 : 0);
			assert_int_not_equal(judge(s, dir), 0);
		}
		buf[len] = 0;
		store_file(path, buf, len + 1);		/* and longer */
		assert_int_not_equal(judge(s, dir), 0);
		unlink(path);
		if (i)
			assert_int_equal(judge(s, dir), -EBADMSG);
		store_file(path, buf, len);
	}
	assert_int_equal(judge(s, dir), 0);
}

static void no_image_there(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "dir");
	struct ckpt_error error;
	struct image_reader *r;

	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), -ENOENT);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), -ENOENT);
	assert_non_null(strstr(error.text, "never committed"));
	assert_int_equal(mkdir(scratch_path(s, "dir/manifest"), 0700), 0);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), -EBADMSG);
	assert_int_equal(rmdir(scratch_path(s, "dir/manifest")), 0);
	/* neither a fifo, which would block, nor a symlink is followed */
	assert_int_equal(mkfifo(scratch_path(s, "dir/manifest"), 0600), 0);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), -EBADMSG);
	unlink(scratch_path(s, "dir/manifest"));
	assert_int_equal(symlink("/etc/passwd", scratch_path(s, "dir/manifest")), 0);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), -ELOOP);
}

static void another_key(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	uint8_t bytes[32] = { 9 };
	struct ckpt_error error;
	struct image_reader *r;
	struct image_key *key;

	make_image(s, dir, 4, &small, 1);
	assert_int_equal(image_key_from_bytes(bytes, &key), 0);
	assert_int_equal(image_open(dir, key, NULL, &r, &error), -EKEYREJECTED);
	assert_non_null(strstr(error.text, "another key"));
	image_key_destroy(key);
}

/* Files of a neighbour generation, written with the same key. */
static void mixed_generations(void **state)
{
	struct scratch *s = *state;
	const char *a = scratch_path(s, "a"), *b = scratch_path(s, "b");
	char from[512], to[512];
	struct ckpt_error error;
	size_t i, len, keep_len;

	make_image(s, a, 4, &small, 1);
	make_image(s, b, 4, &small, 2);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ void *theirs = NULL, *ours = NULL;

		snprintf(from, sizeof(from), "%s/%s", b, files[i]);
		snprintf(to, sizeof(to), "%s/%s", a, files[i]);
		theirs = load_file(from, &len);
		ours = load_file(to, &keep_len);
		store_file(to, theirs, len);
		assert_int_equal(image_verify(a, s->key, NULL, false, NULL, NULL, &error),
				 -EBADMSG);
		/* index lengths may differ by a byte, and then that is the finding */
		if (len == keep_len)
			assert_non_null(strstr(error.text, "belongs to another image"));
		/* the same with the header made to fit */
		if (i && len == keep_len) {
			memcpy(theirs, ours, sizeof(struct image_file_hdr));
			store_file(to, theirs, len);
			assert_int_equal(judge(s, a), -EBADMSG);
		}
		store_file(to, ours, keep_len);
	}
	assert_int_equal(judge(s, a), 0);
}

static void replayed(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	struct image_expect expect = { .generation = 5, .job = "job" };
	struct ckpt_error error;
	struct image_reader *r;
	uint8_t id[32] = { 1 };

	make_image(s, dir, 4, &small, 5);
	assert_int_equal(image_open(dir, s->key, &expect, &r, &error), 0);
	image_close(r);
	expect.generation = 6;
	assert_int_equal(image_open(dir, s->key, &expect, &r, &error), -ESTALE);
	assert_non_null(strstr(error.text, "generation 5 in the place of 6"));
	expect.generation = 0;
	expect.job = "other";
	assert_int_equal(image_open(dir, s->key, &expect, &r, &error), -ESTALE);
	expect.job = NULL;
	expect.id = id;		/* same job, same number, another dump */
	assert_int_equal(image_open(dir, s->key, &expect, &r, &error), -ESTALE);
}

/* Offsets of the first three chunks; they have the same length. */
static void find_chunks(const uint8_t *buf, size_t len, size_t at[3], size_t *ret_len)
{
	size_t pos = sizeof(struct image_file_hdr);
	int i;

	for (i = 0; i < 3; i++) {
		struct image_chunk_hdr hdr;

		assert_true(pos + sizeof(hdr) < len);
		memcpy(&hdr, buf + pos, sizeof(hdr));
		assert_int_equal(hdr.magic, IMAGE_MAGIC_CHUNK);
		at[i] = pos;
		*ret_len = sizeof(hdr) + hdr.stored_len + IMAGE_TAG_BYTES;
		pos += *ret_len;
	}
	assert_int_equal(at[1] - at[0], at[2] - at[1]);
}

static void moved_chunks(void **state)
{
	struct scratch *s = *state;
	const char *path = scratch_path(s, "a/pages");
	_cleanup_free_ uint8_t *a = NULL, *b = NULL, *keep = NULL;
	size_t a_len, b_len, len, at[3];

	make_image(s, scratch_path(s, "a"), 9, &chunky, 1);
	make_image(s, scratch_path(s, "b"), 9, &chunky, 2);
	a = load_file(path, &a_len);
	keep = load_file(path, &a_len);
	b = load_file(scratch_path(s, "b/pages"), &b_len);
	assert_int_equal(a_len, b_len);
	find_chunks(a, a_len, at, &len);
	/* from another image, same place */
	memcpy(a + at[1], b + at[1], at[1] - at[0]);
	store_file(path, a, a_len);
	assert_int_equal(judge(s, scratch_path(s, "a")), -EBADMSG);
	/* two chunks of the image exchanged */
	memcpy(a + at[1], keep + at[0], at[1] - at[0]);
	memcpy(a + at[0], keep + at[1], at[1] - at[0]);
	store_file(path, a, a_len);
	assert_int_equal(judge(s, scratch_path(s, "a")), -EBADMSG);
	/* and their numbers put right */
	memcpy(a + at[0] + 8, keep + at[0] + 8, 8);
	memcpy(a + at[1] + 8, keep + at[1] + 8, 8);
	store_file(path, a, a_len);
	assert_int_equal(judge(s, scratch_path(s, "a")), -EBADMSG);
	store_file(path, keep, a_len);
	assert_int_equal(judge(s, scratch_path(s, "a")), 0);
}

/* Every bad chunk is reported, with its place, not only the first. */
static void count_finding(const struct image_finding *finding, void *arg)
{
	int *count = arg;

	assert_string_equal(finding->file, "pages");
	assert_true(finding->offset >= sizeof(struct image_file_hdr));
	assert_int_equal(finding->err, -EBADMSG);
	(*count)++;
}

static void all_findings(void **state)
{
	struct scratch *s = *state;
	const char *path = scratch_path(s, "a/pages");
	_cleanup_free_ uint8_t *a = NULL;
	size_t a_len, len, at[3];
	struct ckpt_error error;
	int count = 0;

	make_image(s, scratch_path(s, "a"), 9, &chunky, 1);
	a = load_file(path, &a_len);
	find_chunks(a, a_len, at, &len);
	a[at[0] + 500] ^= 1;
	a[at[2] + 500] ^= 1;
	store_file(path, a, a_len);
	assert_int_equal(image_verify(scratch_path(s, "a"), s->key, NULL, true,
				      count_finding, &count, &error), -EBADMSG);
	assert_int_equal(count, 2);
	/* not deep: pages are not read */
	assert_int_equal(image_verify(scratch_path(s, "a"), s->key, NULL, false,
				      count_finding, &count, &error), 0);
}

/* ----------------------------------------------------- authentic but odd */

/* Put a manifest of our making, with a good MAC, into an image. */
static void reseal(const struct scratch *s, const char *path, uint8_t *buf, size_t len)
{
	struct image_manifest_hdr hdr;
	uint8_t subkey[32];

	memcpy(&hdr, buf, sizeof(hdr));
	hdr.len = len;
	memcpy(buf, &hdr, sizeof(hdr));
	image_key_manifest(s->key, hdr.id, subkey);
	crypto_generichash(buf + len - 32, 32, buf, len - 32, subkey, 32);
	store_file(path, buf, len);
}

static void versions(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	const char *path = scratch_path(s, "image/manifest");
	struct image_manifest_hdr *hdr;
	_cleanup_free_ uint8_t *buf = NULL;
	struct ckpt_error error;
	size_t len;

	make_image(s, dir, 4, &small, 1);
	buf = load_file(path, &len);
	hdr = (struct image_manifest_hdr *)buf;
	/* from the future, and we are too old */
	hdr->version = 99;
	hdr->version_reader = 99;
	reseal(s, path, buf, len);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error),
			 -EPROTONOSUPPORT);
	assert_non_null(strstr(error.text, "version 99"));
	/* even if nobody could have checked the MAC */
	store_file(path, buf, len - 1);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error),
			 -EPROTONOSUPPORT);
	/* nonsense */
	hdr->version = 0;
	hdr->version_reader = 0;
	reseal(s, path, buf, len);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error),
			 -EPROTONOSUPPORT);
	hdr->version = IMAGE_VERSION;
	hdr->version_reader = IMAGE_VERSION_READER;
	hdr->flags = 0x80;
	reseal(s, path, buf, len);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error),
			 -EPROTONOSUPPORT);
	hdr->flags = 0;
	reseal(s, path, buf, len);
	assert_int_equal(judge(s, dir), 0);
}

/* A later version's records: optional ones are skipped, others refused. */
static void unknown_records(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	const char *path = scratch_path(s, "image/manifest");
	static const uint16_t types[] = { 0x8777, 0x8001, 0x8002, 777, 0 };
	_cleanup_free_ uint8_t *keep = NULL, *buf = NULL;
	struct ckpt_error error;
	size_t len, i;

	make_image(s, dir, 4, &small, 1);
	keep = load_file(path, &len);
	buf = calloc(1, len + 16);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct image_rec_hdr hdr = { .type = types[i], .version = 5, .len = 16 };

		memcpy(buf, keep, len - 32);
		memcpy(buf + len - 32, &hdr, sizeof(hdr));
		reseal(s, path, buf, len + 16);
		assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error),
				 types[i] & 0x8000 ? 0 : -EPROTONOSUPPORT);
	}
}

/* Records with a good MAC and bad contents: lengths out of bounds, doubles, none. */
static void hostile_manifest(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	const char *path = scratch_path(s, "image/manifest");
	_cleanup_free_ uint8_t *keep = NULL, *buf = NULL;
	size_t len, pos;
	int noticed = 0;

	make_image(s, dir, 4, &small, 1);
	keep = load_file(path, &len);
	buf = malloc(2 * len);
	/* every 32-bit word of every record replaced by something nasty */
	for (pos = sizeof(struct image_manifest_hdr); pos < len - 32; pos += 4) {
		static const uint32_t nasty[] = { 0xffffffff, 7 };
		size_t i;

		for (i = 0; i < ARRAY_SIZE(nasty); i++) {
			memcpy(buf, keep, len);
			memcpy(buf + pos, &nasty[i], 4);
			reseal(s, path, buf, len);
			noticed += judge(s, dir) != 0;
		}
	}
	assert_true(noticed > 100);
	/* no records at all */
	memcpy(buf, keep, len);
	reseal(s, path, buf, sizeof(struct image_manifest_hdr) + 32);
	assert_int_equal(judge(s, dir), -EBADMSG);
	/* all of them twice */
	memcpy(buf, keep, len - 32);
	memcpy(buf + len - 32, keep + sizeof(struct image_manifest_hdr),
	       len - 32 - sizeof(struct image_manifest_hdr));
	reseal(s, path, buf, 2 * len - 32 - sizeof(struct image_manifest_hdr));
	assert_int_equal(judge(s, dir), -EBADMSG);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
#define E(f) { #f ", encrypted", f, scratch_setup_secret, scratch_teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(flipped_bits),
		T(flipped_bits_encrypted),
		T(truncated_anywhere),
		T(no_image_there),
		T(another_key),
		T(mixed_generations),
		T(replayed),
		T(moved_chunks),
		T(all_findings),
		T(versions),
		T(unknown_records),
		T(hostile_manifest),
		E(truncated_anywhere),
		E(another_key),
		E(mixed_generations),
		E(replayed),
		E(moved_chunks),
		E(all_findings),
		E(unknown_records),
		E(hostile_manifest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
