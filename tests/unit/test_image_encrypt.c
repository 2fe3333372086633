// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encrypted images: nothing of what they hold is in their files, nobody reads them
 * without the secret or with another one, and who has the node's key alone can tell damage and
 * cannot forge.  Flipped bits, truncation, moved chunks and faults while writing are
 * those of plain images, in their tests.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "image/base.h"
#include "image/manifest.h"
#include "tests/unit/image_fixture.h"

#define MARKER "the marker that nobody may find 7f3a"

static const char *const files[] = { "manifest", "state", "index", "pages", "blobs" };

/* The node's key of the scratch, without a secret or with one of @byte. */
static struct image_key *other_key(const struct scratch *s, int byte)
{
	static const uint8_t bytes[IMAGE_KEY_BYTES] = "a key for tests, thirty-two long";
	uint8_t secret[IMAGE_KEY_BYTES];
	struct image_key *key;

	assert_non_null(s);
	assert_int_equal(image_key_from_bytes(bytes, &key), 0);
	memset(secret, byte, sizeof(secret));
	if (byte)
		image_key_secret_from_bytes(key, secret, "/etc/other");
	return key;
}

/* Three chunks of pages, two maps, a record, a blob, a text, all of them with the marker. */
static void make(const struct scratch *s, const char *dir, uint64_t generation, bool encrypt)
{
	struct image_options options = { .generation = generation, .job = "job",
		.encrypt = encrypt };
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;
	uint8_t page[PAGE];
	uint64_t rng = 5;
	int i;

	assert_int_equal(image_writer_posix_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	for (i = 0; i < 700; i++) {
		for (size_t k = 0; k < PAGE; k += 8) {
			uint64_t x = rng_next(&rng);

			memcpy(page + k, &x, 8);
		}
		memcpy(page + 100, MARKER, strlen(MARKER));
		assert_int_equal(image_pages_add(img, 1, (uint64_t)i * PAGE, 1, page), 0);
	}
	assert_int_equal(image_state_add(img, 0x1234, 1, MARKER, strlen(MARKER)), 0);
	assert_int_equal(image_blob_begin(img, 1), 0);
	assert_int_equal(image_blob_append(img, 0, MARKER, strlen(MARKER)), 0);
	assert_int_equal(image_blob_end(img, strlen(MARKER)), 0);
	assert_int_equal(image_set(img, "environment", MARKER), 0);
	assert_int_equal(image_set(img, MARKER, "a name may tell as well"), 0);
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
}

/* In how many of its files the marker is. */
static int count_marked(const struct scratch *s, const char *image)
{
	char name[64];
	size_t i, len;
	int nr = 0;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ void *buf = NULL;

		snprintf(name, sizeof(name), "%s/%s", image, files[i]);
		buf = load_file(scratch_path(s, name), &len);
		nr += memmem(buf, len, MARKER, strlen(MARKER)) != NULL;
	}
	return nr;
}

static void nothing_can_be_read(void **state)
{
	struct scratch *s = *state;
	struct ckpt_error error;
	struct image_reader *r;
	uint8_t page[PAGE];

	make(s, scratch_path(s, "plain"), 1, false);
	assert_int_equal(count_marked(s, "plain"),
			 4); /* all but the index: the marker can be found */
	make(s, scratch_path(s, "secret"), 1, true);
	assert_int_equal(count_marked(s, "secret"), 0);
	assert_int_equal(image_open(scratch_path(s, "secret"), s->key, NULL, &r, &error), 0);
	assert_true(image_manifest(r)->encrypted && !image_manifest(r)->locked);
	assert_string_equal(image_get(r, "environment"), MARKER);
	assert_int_equal(image_pages_read(r, 1, 690 * PAGE, 1, page), 0);
	assert_memory_equal(page + 100, MARKER, strlen(MARKER));
	image_close(r);
}

/* The same contents, twice: nothing tells that they are the same. */
static void no_two_are_alike(void **state)
{
	struct scratch *s = *state;
	_cleanup_free_ uint8_t *a = NULL, *b = NULL;
	size_t a_len, b_len, i, same = 0;

	make(s, scratch_path(s, "a"), 1, true);
	make(s, scratch_path(s, "b"), 1, true);
	a = load_file(scratch_path(s, "a/pages"), &a_len);
	b = load_file(scratch_path(s, "b/pages"), &b_len);
	assert_int_equal(a_len, b_len);
	for (i = 200; i + 8 < a_len; i += 8)
		same += !memcmp(a + i, b + i, 8);
	assert_true(same < 20);		/* headers of chunks */
}

/* Every way to have the wrong secret; the image stays what it is. */
static void without_the_secret(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	struct image_key *none = other_key(s, 0), *wrong = other_key(s, 9);
	char id[33], hex[2 * IMAGE_KEY_BYTES + 1];
	struct ckpt_error error;
	struct image_reader *r;
	uint8_t bytes[16];

	make(s, dir, 1, true);
	image_key_secret_id(s->key, bytes);
	sodium_bin2hex(id, sizeof(id), bytes, sizeof(bytes));
	sodium_bin2hex(hex, sizeof(hex), (const uint8_t *)"a secret of tests, thirty-two as",
		       IMAGE_KEY_BYTES);
	assert_int_equal(image_open(dir, none, NULL, &r, &error), -ENOKEY);
	assert_non_null(strstr(error.text, id));
	assert_non_null(strstr(error.text, "encryption_key"));
	assert_int_equal(image_key_secret(none, scratch_path(s, "gone"), &error), -ENOENT);
	assert_int_equal(image_open(dir, none, NULL, &r, &error), -ENOKEY);
	assert_non_null(strstr(error.text, id));
	assert_non_null(strstr(error.text, "/gone"));
	assert_int_equal(image_open(dir, wrong, NULL, &r, &error), -ENOKEY);
	assert_non_null(strstr(error.text, id));
	assert_non_null(strstr(error.text, "/etc/other"));
	assert_null(strstr(error.text, hex));
	/* not even to go on with it */
	make(s, scratch_path(s, "plain"), 2, false);
	assert_int_equal(image_open(scratch_path(s, "plain"), none, NULL, &r, &error), 0);
	image_close(r);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), 0);
	assert_int_equal(walk_image(r), 0);
	image_close(r);
	image_key_destroy(none);
	image_key_destroy(wrong);
}

static void no_secret_no_image(void **state)
{
	struct scratch *s = *state;
	struct image_options options = { .generation = 1, .encrypt = true };
	struct image_key *none = other_key(s, 0);
	struct ckpt_error error = {};
	struct image_writer *w;
	struct image *img;

	assert_int_equal(image_writer_create(scratch_path(s, "image"), &w, &error), 0);
	assert_int_equal(image_create(w, none, &options, &img, &error), -ENOKEY);
	assert_true(error.text[0]);
	assert_int_equal(count_entries(s->root), 0);
	image_key_destroy(none);
}

/* What stays readable, and no more. */
static void locked_image(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	struct image_key *none = other_key(s, 0);
	const struct image_manifest *m;
	struct ckpt_error error;
	struct image_reader *r;

	make(s, dir, 3, true);
	assert_int_equal(image_open_locked(dir, none, NULL, &r, &error), 0);
	m = image_manifest(r);
	assert_true(m->encrypted && m->locked);
	assert_int_equal(m->generation, 3);
	assert_string_equal(m->job, "job");
	assert_int_equal(m->counts.pages_data, 700);
	assert_int_equal(m->nr_keyvals, 0);
	assert_null(image_get(r, "environment"));
	image_close(r);
	image_key_destroy(none);
}

struct findings {
	int bad, unchecked;
	char text[256];
};

static void count(const struct image_finding *finding, void *arg)
{
	struct findings *f = arg;

	if (finding->err) {
		f->bad++;
		return;
	}
	f->unchecked++;
	snprintf(f->text, sizeof(f->text), "%s", finding->text);
}

/*
 * With the node's key alone every flipped bit is found, and that something could not be seen
 * is said.
 */
static void verified_without(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	struct image_key *none = other_key(s, 0);
	struct findings f = { 0 };
	size_t i, pos, len;
	char name[64];

	make(s, dir, 1, true);
	assert_int_equal(image_verify(dir, none, NULL, true, count, &f, NULL), 0);
	assert_int_equal(f.bad, 0);
	assert_int_equal(f.unchecked, 1);
	assert_non_null(strstr(f.text, "encrypted with key "));
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ uint8_t *buf = NULL;
		const char *path;

		snprintf(name, sizeof(name), "image/%s", files[i]);
		path = scratch_path(s, name);
		buf = load_file(path, &len);
		for (pos = 0; pos < len; pos += len / 20 + 1) {
			buf[pos] ^= 4;
			store_file(path, buf, len);
			if (!image_verify(dir, none, NULL, true, NULL, NULL, NULL))
				fail_msg("%s: bit flipped at %zu goes unnoticed", files[i], pos);
			buf[pos] ^= 4;
		}
		store_file(path, buf, len);
	}
	assert_int_equal(image_verify(dir, none, NULL, true, NULL, NULL, NULL), 0);
	image_key_destroy(none);
}

/* ------------------------------------------- forged with the node's key */

static void reseal(const struct scratch *s, const char *path, uint8_t *buf, size_t len)
{
	struct image_manifest_hdr hdr;
	uint8_t subkey[32];

	memcpy(&hdr, buf, sizeof(hdr));
	image_key_manifest(s->key, hdr.id, subkey);
	crypto_generichash(buf + len - 32, 32, buf, len - 32, subkey, 32);
	store_file(path, buf, len);
}

/* Each chunk of @pages gets the tag, and the manifest the digest and MAC, that belong there. */
static void forge(const struct scratch *s, uint8_t *pages, size_t len)
{
	const char *path = scratch_path(s, "a/manifest");
	size_t man_len, pos = sizeof(struct image_file_hdr);
	_cleanup_free_ uint8_t *man = load_file(path, &man_len);
	crypto_generichash_state digest;
	struct image_chunk_hdr hdr;
	struct image_man_file *rec;
	struct chunk_keys *keys;
	uint8_t id[32];

	memcpy(id, man + offsetof(struct image_manifest_hdr, id), sizeof(id));
	assert_int_equal(image_key_chunk(s->key, id, NULL, &keys), 0);
	crypto_generichash_init(&digest, NULL, 0, IMAGE_DIGEST_BYTES);
	while (pos < len) {
		memcpy(&hdr, pages + pos, sizeof(hdr));
		assert_int_equal(hdr.magic, IMAGE_MAGIC_CHUNK);
		crypto_shorthash_siphashx24(pages + pos + sizeof(hdr) + hdr.stored_len, pages + pos,
					    sizeof(hdr) + hdr.stored_len, keys->tag);
		pos += sizeof(hdr) + hdr.stored_len;
		crypto_generichash_update(&digest, pages + pos, IMAGE_TAG_BYTES);
		pos += IMAGE_TAG_BYTES;
	}
	chunk_keys_destroy(keys);
	for (pos = sizeof(struct image_manifest_hdr); ; pos += rec->hdr.len) {
		rec = (struct image_man_file *)(man + pos);
		if (rec->hdr.type == IMAGE_MAN_FILE && rec->file == IMAGE_FILE_PAGES)
			break;
	}
	crypto_generichash_final(&digest, rec->digest, sizeof(rec->digest));
	reseal(s, path, man, man_len);
	store_file(scratch_path(s, "a/pages"), pages, len);
}

static void expect_forged(const struct scratch *s)
{
	struct image_key *none = other_key(s, 0);
	const char *dir = scratch_path(s, "a");
	struct ckpt_error error;

	/* that the forgery is good enough for who has only the node's key is no accident */
	assert_int_equal(image_verify(dir, none, NULL, true, NULL, NULL, &error), 0);
	assert_int_equal(image_verify(dir, s->key, NULL, true, NULL, NULL, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "cannot be decrypted"));
	image_key_destroy(none);
}

/* Who has the node's key and not the secret exchanges, replaces and flips what he cannot read. */
static void forged(void **state)
{
	struct scratch *s = *state;
	_cleanup_free_ uint8_t *a = NULL, *b = NULL, *keep = NULL;
	size_t len, b_len, first = sizeof(struct image_file_hdr) + sizeof(struct image_chunk_hdr);
	size_t next = IMAGE_CHUNK_MAX + IMAGE_SEAL_BYTES + IMAGE_TAG_BYTES +
		      sizeof(struct image_chunk_hdr);
	struct ckpt_error error;

	make(s, scratch_path(s, "a"), 1, true);
	make(s, scratch_path(s, "b"), 2, true);
	a = load_file(scratch_path(s, "a/pages"), &len);
	keep = load_file(scratch_path(s, "a/pages"), &len);
	b = load_file(scratch_path(s, "b/pages"), &b_len);
	assert_int_equal(len, b_len);
	forge(s, a, len);
	assert_int_equal(image_verify(scratch_path(s, "a"), s->key, NULL, true, NULL, NULL, &error),
			 0);
	/* two chunks of the image */
	memcpy(a + first, keep + first + next, IMAGE_CHUNK_MAX + IMAGE_SEAL_BYTES);
	memcpy(a + first + next, keep + first, IMAGE_CHUNK_MAX + IMAGE_SEAL_BYTES);
	forge(s, a, len);
	expect_forged(s);
	/* the same place of another generation */
	memcpy(a, keep, len);
	memcpy(a + first, b + first, IMAGE_CHUNK_MAX + IMAGE_SEAL_BYTES);
	forge(s, a, len);
	expect_forged(s);
	/* one bit, of the ciphertext and of the seal */
	memcpy(a, keep, len);
	a[first + 5000] ^= 1;
	forge(s, a, len);
	expect_forged(s);
	memcpy(a, keep, len);
	a[first + IMAGE_CHUNK_MAX + 3] ^= 1;
	forge(s, a, len);
	expect_forged(s);
	forge(s, keep, len);
	assert_int_equal(image_verify(scratch_path(s, "a"), s->key, NULL, true, NULL, NULL, &error),
			 0);
}

/* The texts of the manifest, likewise: flipped, and those of another generation. */
static void forged_manifest(void **state)
{
	struct scratch *s = *state;
	const char *path = scratch_path(s, "a/manifest");
	_cleanup_free_ uint8_t *a = NULL, *b = NULL;
	struct image_man_private *rec, *other;
	struct ckpt_error error;
	size_t len, b_len, pos;
	struct image_reader *r;

	make(s, scratch_path(s, "a"), 1, true);
	make(s, scratch_path(s, "b"), 2, true);
	a = load_file(path, &len);
	b = load_file(scratch_path(s, "b/manifest"), &b_len);
	assert_int_equal(len, b_len);
	for (pos = sizeof(struct image_manifest_hdr); ; pos += rec->hdr.len) {
		rec = (struct image_man_private *)(a + pos);
		if (rec->hdr.type == IMAGE_MAN_PRIVATE)
			break;
	}
	a[pos + sizeof(*rec) + 3] ^= 1;
	reseal(s, path, a, len);
	assert_int_equal(image_open(scratch_path(s, "a"), s->key, NULL, &r, &error), -EBADMSG);
	a[pos + sizeof(*rec) + 3] ^= 1;
	reseal(s, path, a, len);
	assert_int_equal(image_open(scratch_path(s, "a"), s->key, NULL, &r, &error), 0);
	image_close(r);
	other = (struct image_man_private *)(b + pos);
	assert_int_equal(other->hdr.len, rec->hdr.len);
	memcpy(rec, other, rec->hdr.len);
	reseal(s, path, a, len);
	assert_int_equal(image_open(scratch_path(s, "a"), s->key, NULL, &r, &error), -EBADMSG);
}

/* An older generation of the same job, put whole in the place of the new one. */
static void older_in_its_place(void **state)
{
	struct scratch *s = *state;
	struct image_expect expect = { .generation = 2, .job = "job" };
	struct image_key *none = other_key(s, 0);
	struct ckpt_error error;
	struct image_reader *r;

	make(s, scratch_path(s, "old"), 1, true);
	make(s, scratch_path(s, "new"), 2, true);
	assert_int_equal(image_open(scratch_path(s, "new"), s->key, &expect, &r, &error), 0);
	image_close(r);
	remove_image(scratch_path(s, "new"));
	assert_int_equal(rename(scratch_path(s, "old"), scratch_path(s, "new")), 0);
	assert_int_equal(image_open(scratch_path(s, "new"), s->key, &expect, &r, &error), -ESTALE);
	assert_int_equal(image_verify(scratch_path(s, "new"), none, &expect, true, NULL, NULL,
				      &error),
			 -ESTALE);
	image_key_destroy(none);
}

/* Can an image with @key stand on @base? */
static int base_of(const struct scratch *s, const struct image_key *key, bool encrypt,
		   const char *base)
{
	struct image_options options = { .generation = 2, .job = "job", .encrypt = encrypt };
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;
	int err;

	assert_int_equal(image_writer_create(scratch_path(s, "image"), &w, &error), 0);
	assert_int_equal(image_create(w, key, &options, &img, &error), 0);
	err = image_base(img, scratch_path(s, base), 3, &error);
	image_destroy(img);
	return err;
}

/* It stands only on what is encrypted with the same secret. */
static void bases(void **state)
{
	struct scratch *s = *state;
	struct image_key *none = other_key(s, 0), *wrong = other_key(s, 9);

	make(s, scratch_path(s, "base"), 1, true);
	make(s, scratch_path(s, "plain"), 1, false);
	assert_int_equal(base_of(s, s->key, true, "base"), 0);
	assert_int_equal(base_of(s, s->key, false, "plain"), 0);
	assert_int_equal(base_of(s, s->key, true, "plain"), -EINVAL);
	assert_int_equal(base_of(s, s->key, false, "base"), -EINVAL);
	assert_int_equal(base_of(s, wrong, true, "base"), -ENOKEY);
	assert_int_equal(base_of(s, none, false, "base"), -ENOKEY);
	image_key_destroy(none);
	image_key_destroy(wrong);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup_secret, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_can_be_read),
		T(no_two_are_alike),
		T(without_the_secret),
		T(no_secret_no_image),
		T(locked_image),
		T(verified_without),
		T(forged),
		T(forged_manifest),
		T(older_in_its_place),
		T(bases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
