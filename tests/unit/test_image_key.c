// SPDX-License-Identifier: GPL-2.0-only
/*
 * The node's key: made once, readable by its owner only, and another key opens
 * nothing.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "tests/unit/image_fixture.h"

static void created_key_loads(void **state)
{
	struct scratch *s = *state;
	const char *path = scratch_path(s, "key");
	uint8_t id[2][16];
	struct ckpt_error error;
	struct image_key *key;
	struct stat st;

	assert_int_equal(image_key_create(path, &error), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 32);
	assert_int_equal(count_entries(s->root), 1);
	assert_int_equal(image_key_load(path, &key, &error), 0);
	image_key_id(key, id[0]);
	image_key_destroy(key);
	/* a second creation changes nothing */
	assert_int_equal(image_key_create(path, &error), -EEXIST);
	assert_int_equal(image_key_load(path, &key, &error), 0);
	image_key_id(key, id[1]);
	assert_memory_equal(id[0], id[1], 16);
	image_key_destroy(key);
	assert_int_equal(count_entries(s->root), 1);
	image_key_destroy(NULL);
}

static void open_doors_are_refused(void **state)
{
	struct scratch *s = *state;
	const char *path = scratch_path(s, "key");
	struct ckpt_error error;
	struct image_key *key = NULL;

	assert_int_equal(image_key_load(path, &key, &error), -ENOENT);
	assert_int_equal(image_key_create(scratch_path(s, "no/key"), &error), -ENOENT);
	assert_int_equal(image_key_create(path, &error), 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(image_key_load(path, &key, &error), -EPERM);
	assert_non_null(strstr(error.text, "0640"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 31), 0);
	assert_int_equal(image_key_load(path, &key, &error), -EINVAL);
	assert_int_equal(truncate(path, 33), 0);
	assert_int_equal(image_key_load(path, &key, &error), -EINVAL);
	assert_int_equal(image_key_load(s->root, &key, &error), -EPERM);
	assert_int_equal(mkfifo(scratch_path(s, "fifo"), 0600), 0);
	assert_int_equal(image_key_load(scratch_path(s, "fifo"), &key, &error), -EPERM);
	if (geteuid() == 0) {
		assert_int_equal(truncate(path, 32), 0);
		assert_int_equal(chown(path, 12345, 0), 0);
		assert_int_equal(image_key_load(path, &key, &error), -EPERM);
		assert_non_null(strstr(error.text, "12345"));
	}
	assert_null(key);
}

static void keys_are_kept_apart(void **state)
{
	struct scratch *s = *state;
	uint8_t a[32] = { 1 }, b[32] = { 2 }, out[8][32], id[16];
	struct chunk_keys *of_a, *of_b;
	int i, k;

	scratch_secret(s);
	image_key_secret_id(s->key, id);
	assert_int_equal(image_key_chunk(s->key, a, id, &of_a), 0);
	assert_int_equal(image_key_chunk(s->key, b, id, &of_b), 0);
	image_key_manifest(s->key, a, out[0]);
	image_key_manifest(s->key, b, out[1]);
	image_key_private(s->key, a, out[2]);
	image_key_private(s->key, b, out[3]);
	memcpy(out[4], of_a->tag, 32);
	memcpy(out[5], of_b->tag, 32);
	memcpy(out[6], of_a->secret, 32);
	memcpy(out[7], of_b->secret, 32);
	for (i = 0; i < 8; i++)
		for (k = 0; k < i; k++)
			assert_memory_not_equal(out[i], out[k], 32);
	chunk_keys_destroy(of_a);
	chunk_keys_destroy(of_b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(created_key_loads, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(open_doors_are_refused, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(keys_are_kept_apart, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
