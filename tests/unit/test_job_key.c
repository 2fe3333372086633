// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys of jobs: an image of a job that has a key is read by whoever has that key, is whole and
 * locked for all others, and cannot be made, changed or replaced with the node's key, or with the
 * key of another job.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/base.h"
#include "image/job_key.h"
#include "image/manifest.h"
#include "image/merge.h"
#include "tests/unit/image_fixture.h"

#define MARKER "the marker that nobody may find 4c19"

/* The node's key of the scratch, with the directory @ring of jobs' keys; NULL: none. */
static struct image_key *node(const struct scratch *s, const char *ring, bool only)
{
	static const uint8_t bytes[IMAGE_KEY_BYTES] = "a key for tests, thirty-two long";
	char source[300];
	struct ckpt_error error;
	struct image_key *key;

	assert_int_equal(image_key_from_bytes(bytes, &key), 0);
	snprintf(source, sizeof(source), "%s:%s", only ? "jobs-only" : "jobs",
		 scratch_path(s, ring ? ring : ""));
	if (ring)
		assert_int_equal(image_key_secret(key, source, &error), 0);
	return key;
}

static void make(const struct image_key *key, const char *dir, const char *job,
		 uint64_t generation, const char *base)
{
	struct image_options options = { .generation = generation, .job = job };
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;
	uint8_t page[PAGE];

	assert_int_equal(image_writer_posix_create(dir, &w, &error), 0);
	if (image_create(w, key, &options, &img, &error))
		fail_msg("%s", error.text);
	if (base)
		assert_int_equal(image_base(img, base, 8, &error), 0);
	fill_page(page, generation);
	memcpy(page, MARKER, strlen(MARKER));
	assert_int_equal(image_pages_add(img, 1, generation * PAGE, 1, page), 0);
	assert_int_equal(image_state_add(img, 0x1234, 1, MARKER, strlen(MARKER)), 0);
	assert_int_equal(image_set(img, "environment", MARKER), 0);
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
}

static int opens(const struct image_key *key, const char *dir, struct ckpt_error *ret_error)
{
	struct image_reader *r;
	int err = image_open(dir, key, NULL, &r, ret_error);

	if (!err)
		image_close(r);
	return err;
}

/* Expect the image to be refused with @err, and @text in the reason. */
static void refused(const struct image_key *key, const char *dir, int err, const char *text)
{
	struct ckpt_error error = {};

	assert_int_equal(opens(key, dir, &error), err);
	if (!strstr(error.text, text))
		fail_msg("no '%s' in: %s", text, error.text);
}

static int whole(const struct image_key *key, const char *dir)
{
	struct ckpt_error error = {};

	return image_verify(dir, key, NULL, true, NULL, NULL, &error);
}

static void numbers(void **state)
{
	assert_int_equal(job_key_number("7"), 7);
	assert_int_equal(job_key_number("71-0123456789abcdef"), 71);
	assert_int_equal(job_key_number(""), 0);
	assert_int_equal(job_key_number("job"), 0);
	assert_int_equal(job_key_number("-7"), 0);
	assert_int_equal(job_key_number("07"), 0);
	assert_int_equal(job_key_number(" 7"), 0);
	assert_int_equal(job_key_number("7x"), 0);
	assert_int_equal(job_key_number("7/../8"), 0);
	assert_int_equal(job_key_number("99999999999999999999"), 0);
}

static void files_of_keys(void **state)
{
	struct scratch *s = *state;
	const char *ring = scratch_path(s, "ring");
	uint8_t key[32], again[32], id[16], other[16];
	struct ckpt_error error;
	struct stat st;

	assert_int_equal(job_key_read(ring, 7, key, &error), -ENOENT);
	assert_int_equal(job_key_make(ring, 7, &error), 0);
	assert_int_equal(stat(ring, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(scratch_path(s, "ring/7"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(job_key_make(ring, 7, &error), -EEXIST);
	assert_int_equal(job_key_make(ring, 0, &error), -EINVAL);
	assert_int_equal(job_key_read(ring, 7, key, &error), 0);
	assert_int_equal(job_key_put(ring, 7, key, &error), 0);
	assert_int_equal(job_key_put(ring, 8, key, &error), 0);
	memset(again, 3, sizeof(again));
	assert_int_equal(job_key_put(ring, 7, again, &error), -EEXIST);
	assert_non_null(strstr(error.text, "another key"));
	assert_int_equal(job_key_read(ring, 7, again, &error), 0);
	assert_memory_equal(key, again, sizeof(key));
	assert_int_equal(job_key_id(key, id), 0);
	memset(again, 3, sizeof(again));
	assert_int_equal(job_key_id(again, other), 0);
	assert_memory_not_equal(id, other, sizeof(id));
	assert_int_equal(job_key_remove(ring, 7), 0);
	assert_int_equal(job_key_remove(ring, 7), -ENOENT);
}

/* Nodes with the key read the image; one without it can only tell that it is whole. */
static void who_reads(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image");
	struct image_key *has, *none, *plain = node(s, NULL, false);
	_cleanup_free_ void *pages = NULL;
	const struct image_manifest *m;
	struct ckpt_error error;
	struct image_reader *r;
	size_t len;

	assert_int_equal(job_key_make(scratch_path(s, "ring"), 7, &error), 0);
	has = node(s, "ring", true);
	none = node(s, "empty", true);
	make(has, dir, "7-uuid", 1, NULL);
	pages = load_file(scratch_path(s, "image/pages"), &len);
	assert_null(memmem(pages, len, MARKER, strlen(MARKER)));
	assert_int_equal(image_open(dir, has, NULL, &r, &error), 0);
	m = image_manifest(r);
	assert_true(m->of_job && m->encrypted && !m->locked);
	assert_string_equal(image_get(r, "environment"), MARKER);
	assert_int_equal(walk_image(r), 0);
	image_close(r);
	assert_int_equal(whole(has, dir), 0);
	refused(none, dir, -ENOKEY, "ckptctl keys take");
	refused(plain, dir, -ENOKEY, "ckptctl keys take");
	assert_int_equal(whole(none, dir), 0);
	assert_int_equal(whole(plain, dir), 0);
	assert_int_equal(image_open_locked(dir, plain, NULL, &r, &error), 0);
	assert_true(image_manifest(r)->of_job && image_manifest(r)->locked);
	image_close(r);
	/* a job without a key is as before */
	make(node(s, NULL, false), scratch_path(s, "before"), "6-uuid", 1, NULL);
	assert_int_equal(whole(plain, scratch_path(s, "before")), 0);
	image_key_destroy(has);
	image_key_destroy(none);
	image_key_destroy(plain);
}

/* A file that is there and cannot be used lets nothing in and nothing out. */
static void damaged_key(void **state)
{
	struct scratch *s = *state;
	struct image_options options = { .generation = 2, .job = "7" };
	struct image_key *has, *plain = node(s, NULL, false);
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;

	assert_int_equal(job_key_make(scratch_path(s, "ring"), 7, &error), 0);
	has = node(s, "ring", false);
	make(plain, scratch_path(s, "plain"), "7", 1, NULL);
	store_file(scratch_path(s, "ring/7"), MARKER, 31);
	refused(has, scratch_path(s, "plain"), -ENOKEY, "31 bytes long");
	assert_int_equal(image_writer_create(scratch_path(s, "image"), &w, &error), 0);
	assert_int_equal(image_create(w, has, &options, &img, &error), -EINVAL);
	image_key_destroy(has);
	image_key_destroy(plain);
}

/* Somebody with the node's key, and none or another job's, puts an image of his own there. */
static void replaced(void **state)
{
	struct scratch *s = *state;
	const char *ring = scratch_path(s, "ring"), *his = scratch_path(s, "his");
	struct image_key *has, *other, *both, *only, *forger = node(s, NULL, false);
	uint8_t bytes[32];
	struct ckpt_error error;

	assert_int_equal(job_key_make(ring, 7, &error), 0);
	assert_int_equal(job_key_make(his, 8, &error), 0);
	assert_int_equal(job_key_read(his, 8, bytes, &error), 0);
	has = node(s, "ring", false);
	make(forger, scratch_path(s, "plain"), "7-uuid", 1, NULL);
	refused(has, scratch_path(s, "plain"), -EKEYREJECTED, "not sealed with the key of job 7");
	make(forger, scratch_path(s, "uuid"), "7-another", 1, NULL);
	refused(has, scratch_path(s, "uuid"), -EKEYREJECTED, "not sealed with the key of job 7");
	/* the key of job 8, which this node has as well, for an image of job 7 */
	assert_int_equal(job_key_put(ring, 8, bytes, &error), 0);
	assert_int_equal(job_key_put(his, 7, bytes, &error), 0);
	other = node(s, "his", false);
	make(other, scratch_path(s, "eight"), "7-uuid", 1, NULL);
	refused(has, scratch_path(s, "eight"), -EKEYREJECTED, "not sealed with the key of job 7");
	/* a site's secret is no key of a job */
	image_key_secret_from_bytes(forger, bytes, "");
	{
		struct image_options options = { .job = "7", .encrypt = true };
		struct image_writer *w;
		struct image *img;

		assert_int_equal(image_writer_create(scratch_path(s, "site"), &w, &error), 0);
		assert_int_equal(image_create(w, forger, &options, &img, &error), 0);
		assert_int_equal(image_commit(img, &error), 0);
		image_destroy(img);
	}
	refused(has, scratch_path(s, "site"), -EKEYREJECTED, "not sealed with the key of job 7");
	/* where the job was never, all depends on the setting */
	both = node(s, "empty", false);
	only = node(s, "empty", true);
	assert_int_equal(opens(both, scratch_path(s, "plain"), &error), 0);
	refused(only, scratch_path(s, "plain"), -EKEYREJECTED, "job_keys = only");
	refused(only, scratch_path(s, "eight"), -ENOKEY, "that of job 7");
	image_key_destroy(has);
	image_key_destroy(other);
	image_key_destroy(both);
	image_key_destroy(only);
	image_key_destroy(forger);
}

/* Write a changed manifest with the MAC that the node's key makes. */
static void reseal(const struct image_key *key, const char *path, uint8_t *buf, size_t len)
{
	struct image_manifest_hdr hdr;
	uint64_t total = htole64(len);

	memcpy(buf + offsetof(struct image_manifest_hdr, len), &total, sizeof(total));
	memcpy(&hdr, buf, sizeof(hdr));
	manifest_mac(buf, len - MANIFEST_MAC_BYTES, key, hdr.id, buf + len - MANIFEST_MAC_BYTES);
	store_file(path, buf, len);
}

/* The place of the record of @type. */
static size_t find_record(const uint8_t *buf, size_t len, unsigned int type)
{
	struct image_rec_hdr hdr;
	size_t pos = sizeof(struct image_manifest_hdr);

	for (; pos < len - MANIFEST_MAC_BYTES; pos += le32toh(hdr.len)) {
		memcpy(&hdr, buf + pos, sizeof(hdr));
		if (le16toh(hdr.type) == type)
			return pos;
	}
	fail_msg("no record %u", type);
	return 0;
}

/* All of a manifest that the node's key authenticates can be changed with it, but not in secret. */
static void changed_manifest(void **state)
{
	struct scratch *s = *state;
	const char *dir = scratch_path(s, "image"), *path = scratch_path(s, "image/manifest");
	struct image_key *has, *forger = node(s, NULL, false);
	_cleanup_free_ uint8_t *keep = NULL, *buf = NULL;
	struct image_rec_hdr hdr;
	struct ckpt_error error;
	size_t len, at, job;

	assert_int_equal(job_key_make(scratch_path(s, "ring"), 7, &error), 0);
	has = node(s, "ring", false);
	make(has, dir, "7-uuid", 1, NULL);
	keep = load_file(path, &len);
	buf = malloc(len + 64);
	/* the owner */
	memcpy(buf, keep, len);
	at = find_record(buf, len, IMAGE_MAN_IDENTITY);
	buf[at + offsetof(struct image_man_identity, uid)] ^= 1;
	reseal(forger, path, buf, len);
	assert_int_equal(whole(forger, dir), 0);
	refused(has, dir, -EBADMSG, "by the key of the job");
	/* the MAC of the job's key, flipped */
	memcpy(buf, keep, len);
	job = find_record(buf, len, IMAGE_MAN_JOB);
	buf[job + sizeof(hdr)] ^= 1;
	reseal(forger, path, buf, len);
	refused(has, dir, -EBADMSG, "by the key of the job");
	/* taken out */
	memcpy(buf, keep, len);
	memcpy(&hdr, buf + job, sizeof(hdr));
	reseal(forger, path, buf, len - le32toh(hdr.len));
	assert_int_equal(whole(forger, dir), 0);
	refused(has, dir, -EKEYREJECTED, "not sealed with the key of job 7");
	/* and something behind it */
	memcpy(buf, keep, len);
	hdr = (struct image_rec_hdr){ htole16(0x8077), 0, htole32(16) };
	memset(buf + len - MANIFEST_MAC_BYTES, 0, 16);
	memcpy(buf + len - MANIFEST_MAC_BYTES, &hdr, sizeof(hdr));
	reseal(forger, path, buf, len + 16);
	refused(has, dir, -EBADMSG, "bad record of type 10");
	store_file(path, keep, len);
	assert_int_equal(whole(has, dir), 0);
	image_key_destroy(has);
	image_key_destroy(forger);
}

/* Incremental images and their merge; a base that is not the job's is none. */
static void bases(void **state)
{
	struct scratch *s = *state;
	struct image_options options = { .generation = 3, .job = "7" };
	struct image_key *has, *forger = node(s, NULL, false);
	struct image_merge_options merge = {};
	struct image_merged merged;
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;

	assert_int_equal(job_key_make(scratch_path(s, "ring"), 7, &error), 0);
	has = node(s, "ring", false);
	make(has, scratch_path(s, "one"), "7", 1, NULL);
	make(has, scratch_path(s, "two"), "7", 2, scratch_path(s, "one"));
	assert_int_equal(whole(has, scratch_path(s, "two")), 0);
	assert_int_equal(image_merge(scratch_path(s, "two"), has, NULL, &merge, &merged, &error),
			 0);
	assert_int_equal(whole(has, scratch_path(s, "two")), 0);
	refused(forger, scratch_path(s, "two"), -ENOKEY, "that of job 7");
	make(forger, scratch_path(s, "forged"), "7", 2, NULL);
	assert_int_equal(image_writer_posix_create(scratch_path(s, "three"), &w, &error), 0);
	assert_int_equal(image_create(w, has, &options, &img, &error), 0);
	assert_int_equal(image_base(img, scratch_path(s, "forged"), 8, &error), -EKEYREJECTED);
	image_destroy(img);
	image_key_destroy(has);
	image_key_destroy(forger);
}

/* The copy of the key for the site: only the site's secret key opens it. */
static void recovered(void **state)
{
	struct scratch *s = *state;
	uint8_t public[32], secret[32], wrong[32], key[32], got[32];
	struct image_recovery copy;
	struct image_key *has, *none = node(s, NULL, false);
	struct ckpt_error error;
	struct image_reader *r;
	char text[45];

	crypto_box_keypair(public, secret);
	memset(wrong, 5, sizeof(wrong));
	sodium_bin2base64(text, sizeof(text), public, sizeof(public),
			  sodium_base64_VARIANT_ORIGINAL);
	assert_int_equal(job_key_set_recovery(scratch_path(s, "ring"), text, &error), 0);
	assert_int_equal(job_key_make(scratch_path(s, "ring"), 7, &error), 0);
	assert_int_equal(job_key_read(scratch_path(s, "ring"), 7, key, &error), 0);
	has = node(s, "ring", false);
	make(has, scratch_path(s, "image"), "7", 1, NULL);
	assert_int_equal(whole(has, scratch_path(s, "image")), 0);
	/* also where the job's key is not */
	assert_int_equal(image_open_locked(scratch_path(s, "image"), none, NULL, &r, &error), 0);
	copy = image_manifest(r)->recovery;
	image_close(r);
	assert_memory_equal(copy.public, public, sizeof(public));
	assert_int_equal(job_key_recover(&copy, secret, got), 0);
	assert_memory_equal(got, key, sizeof(key));
	assert_int_equal(job_key_recover(&copy, wrong, got), -EKEYREJECTED);
	copy.sealed[40] ^= 1;
	assert_int_equal(job_key_recover(&copy, secret, got), -EBADMSG);
	/* without the site's key there is no copy */
	assert_int_equal(job_key_set_recovery(scratch_path(s, "ring"), NULL, &error), 0);
	make(has, scratch_path(s, "alone"), "7", 2, NULL);
	assert_int_equal(image_open(scratch_path(s, "alone"), has, NULL, &r, &error), 0);
	assert_true(sodium_is_zero(image_manifest(r)->recovery.public, 32));
	image_close(r);
	store_file(scratch_path(s, "ring/recovery"), "no key", 6);
	refused(has, scratch_path(s, "alone"), -ENOKEY, "no public key");
	image_key_destroy(has);
	image_key_destroy(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test_setup_teardown(files_of_keys, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(who_reads, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(damaged_key, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(replaced, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(changed_manifest, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(bases, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(recovered, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
