// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generations of the catalog that are made whole: which, and when it is not the time.
 */
#include "base/error.h"
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/key.h"
#include "supervisor/catalog/merge.h"

static int merge(const struct disk *d, int64_t generation, struct image_merged *merged)
{
	struct merge_request r = {
		.catalog = &d->catalog, .node = "a", .job = d->job, .generation = generation,
		.label = LABEL,
	};
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	int err;

	assert_int_equal(image_key_load(d->key, &key, &error), 0);
	r.key = key;
	err = merge_generation(&r, merged, &error);
	image_key_destroy(key);
	if (err)
		assert_true(error.text[0]);
	return err;
}

static void test_merge(void **state)
{
	const struct disk *d = *state;
	struct image_merged merged;

	disk_store(d, 1);
	disk_store_upon(d, 2);
	disk_store_parts(d, 3, true);
	assert_int_equal(merge(d, 1, &merged), 0);
	assert_int_equal(merged.nr_bases, 0);
	assert_int_equal(merge(d, 2, &merged), 0);
	assert_int_equal(merged.nr_bases, 1);
	assert_false(disk_has(d, "1/gen-2/base1"));
	assert_int_equal(merge(d, 3, &merged), 0);
	assert_int_equal(merged.nr_bases, 0);
	assert_int_equal(merge(d, 4, &merged), -ENOENT);
	assert_string_equal(disk_generations(d), "1 2 3");
}

/* Who restarts it elsewhere may be reading it, and would not hear of what is done here. */
static void test_claimed(void **state)
{
	const struct disk *d = *state;
	struct image_merged merged;
	char holder[80];

	disk_store(d, 1);
	disk_store_upon(d, 2);
	assert_int_equal(catalog_claim(&d->catalog, d->job, "b", false, holder, sizeof(holder)), 0);
	assert_int_equal(merge(d, 2, &merged), -EBUSY);
	assert_true(disk_has(d, "1/gen-2/base1"));
	assert_int_equal(catalog_claim(&d->catalog, d->job, "a", true, holder, sizeof(holder)), 0);
	assert_int_equal(merge(d, 2, &merged), 0);
	assert_false(disk_has(d, "1/gen-2/base1"));
}

/* Generations are being removed or pinned, and that does not end. */
static void test_locked(void **state)
{
	const struct disk *d = *state;
	struct image_merged merged;
	int lock;

	disk_store(d, 1);
	disk_store_upon(d, 2);
	assert_int_equal(catalog_lock(&d->catalog, d->job, &lock), 0);
	assert_int_equal(merge(d, 2, &merged), -EBUSY);
	assert_true(disk_has(d, "1/gen-2/base1"));
	close(lock);
	/* nothing of it is left, and the next one finds nothing in its way */
	assert_false(disk_has(d, "1/.tmp-merged-gen-2"));
	assert_int_equal(merge(d, 2, &merged), 0);
	/* the lock went with it */
	assert_int_equal(catalog_lock(&d->catalog, d->job, &lock), 0);
	close(lock);
}

static bool no_exchange;

/* In the place of the C library's: NFS, say, cannot. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (no_exchange && flags & RENAME_EXCHANGE) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

static unsigned int begun;

/* How often writing was begun. */
int mkdirat(int dir, const char *name, mode_t mode)
{
	begun += strstr(name, ".tmp-merged-") != NULL;
	return (int)syscall(SYS_mkdirat, dir, name, mode);
}

/* Where directories cannot change names that is found out before anything is written. */
static void test_no_exchange(void **state)
{
	const struct disk *d = *state;
	struct image_merged merged;

	disk_store(d, 1);
	disk_store_upon(d, 2);
	begun = 0;
	no_exchange = true;
	assert_int_equal(merge(d, 2, &merged), -EOPNOTSUPP);
	no_exchange = false;
	assert_int_equal(begun, 0);
	assert_true(disk_has(d, "1/gen-2/base1"));
	assert_int_equal(merge(d, 2, &merged), 0);
	assert_true(begun > 0);
	disk_run(d, "! ls -A '%s/1' | grep tmp", d->images);
}

#define T(f) cmocka_unit_test_setup_teardown(f, disk_setup, disk_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_merge),
		T(test_claimed),
		T(test_locked),
		T(test_no_exchange),
	};

	return cmocka_run_group_tests_name("generations that are merged", tests, NULL, NULL);
}
