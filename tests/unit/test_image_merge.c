// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image that stands on earlier ones is made whole: all of it is there afterwards, and whatever
 * happens meanwhile (a fault at every operation, SIGKILL at any instant, somebody who reads it or
 * builds upon it) it is what it was or what it was merged into.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "image/base.h"
#include "image/merge.h"
#include "tests/unit/chain_fixture.h"
#include "tests/unit/faulty_writer.h"

#define KILLS	60

static const struct model_size size = {
	.mms = 2, .pages = 300, .records = 30, .blobs = 3, .incompressible = 1,
};

/* Generation 2 of what generation 1 has; a page in seven was written since, all with the same. */
static void store_two(const struct scratch *s, const struct model *m)
{
	const bool encrypt = image_key_has_secret(s->key);
	struct image_options options = { .generation = 2, .job = "job", .encrypt = encrypt };
	struct ckpt_error error = {};
	struct model rest = *m;
	struct image_writer *w;
	struct image *img;
	uint8_t page[PAGE];

	if (!path_exists(scratch_generation(s, 1)))
		model_store(m, s, scratch_generation(s, 1), 1, "job", encrypt);
	assert_int_equal(image_writer_create(scratch_generation(s, 2), &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	if (image_base(img, scratch_generation(s, 1), 4, &error))
		fail_msg("%s", error.text);
	assert_int_equal(image_track(img, 1, 4711), 0);
	for (int i = 0; i < m->nr_pages; i++) {
		const struct model_page *p = &m->pages[i];
		uint64_t nr = 1;

		fill_page(page, p->seed);
		if (p->ref >= 0)
			assert_int_equal(image_pages_ref(img, p->mm, p->addr, 1,
							 m->pages[p->ref].mm,
							 m->pages[p->ref].addr),
					 0);
		else if (i % 7)
			assert_int_equal(image_pages_base(img, p->mm, p->addr, 1, p->mm, &nr), 0);
		else
			assert_int_equal(image_pages_add(img, p->mm, p->addr, 1, page), 0);
		assert_int_equal(nr, 1);
	}
	rest.nr_pages = 0;
	assert_int_equal(model_write(&rest, img, 0), 0);
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
}

/* Is gen-2 all there, whichever of the two it is?  What its manifest says, 0 bases: merged. */
static unsigned int check_two(const struct scratch *s, const struct model *m)
{
	const struct image_expect expect = { .generation = 2, .job = "job" };
	struct ckpt_error error = {};
	struct image_reader *r;
	unsigned int bases;

	if (image_verify(scratch_generation(s, 2), s->key, &expect, true, NULL, NULL, &error) ||
	    image_open(scratch_generation(s, 2), s->key, &expect, &r, &error))
		fail_msg("%s", error.text);
	model_compare(m, r);
	assert_int_equal(image_tracked(r, 4711), 1);
	bases = image_manifest(r)->nr_bases;
	image_close(r);
	return bases;
}

static int merge(const struct scratch *s, unsigned int generation,
		 const struct image_merge_options *options, struct ckpt_error *error)
{
	struct image_merged merged;

	error->text[0] = '\0';
	return image_merge(scratch_generation(s, generation), s->key, NULL, options, &merged,
			   error);
}

/* Is @what in that file of gen-2, for everybody to read? */
static bool in_file(const struct scratch *s, const char *file, const void *what, size_t what_len)
{
	char path[256];
	uint8_t *buf;
	size_t len;
	bool found;

	snprintf(path, sizeof(path), "%s/%s", scratch_generation(s, 2), file);
	buf = load_file(path, &len);
	found = memmem(buf, len, what, what_len) != NULL;
	free(buf);
	return found;
}

/* A page of gen-2 that is data; all are random, and stored as they are or encrypted. */
static void some_page(const struct model *m, uint8_t *page)
{
	int i = 0;

	while (m->pages[i].ref >= 0 || !m->pages[i].seed)
		i++;
	fill_page(page, m->pages[i].seed);
}

/* ------------------------------------------------------------------- all of it */

static void whole(void **state)
{
	const struct scratch *s = *state;
	struct image_merged merged, looked;
	struct ckpt_error error = {};
	struct image_manifest was, is;
	const bool encrypted = image_key_has_secret(s->key);
	struct image_reader *a, *b;
	uint8_t page[PAGE];
	struct model m;

	model_init(&m, 11, &size);
	store_two(s, &m);
	assert_int_equal(check_two(s, &m), 1);
	assert_int_equal(image_open(scratch_generation(s, 2), s->key, NULL, &a, NULL), 0);
	image_hold(a);
	was = *image_manifest(a);
	assert_int_equal(image_merge_look(scratch_generation(s, 2), s->key, NULL, 2, &looked,
					  &error),
			 0);
	assert_int_equal(image_merge_look(scratch_generation(s, 2), s->key, NULL, 1, &looked,
					  &error),
			 -EMLINK);
	if (image_merge(scratch_generation(s, 2), s->key, NULL, NULL, &merged, &error))
		fail_msg("%s", error.text);
	assert_int_equal(merged.nr_bases, 1);
	assert_int_equal(looked.nr_bases, 1);
	assert_int_equal(looked.bytes_base, merged.bytes_base);
	assert_true(merged.bytes_is > merged.bytes_was && merged.bytes_is <= looked.bytes_is);
	assert_int_equal(check_two(s, &m), 0);

	/* who reads the old one goes on with it; then it is swept */
	model_compare(&m, a);
	assert_int_equal(count_entries(s->root), 3);
	assert_int_equal(image_open(scratch_generation(s, 2), s->key, NULL, &b, NULL), 0);
	is = *image_manifest(b);
	assert_int_equal(is.identity.created_ns, was.identity.created_ns);
	assert_string_equal(is.identity.hostname, was.identity.hostname);
	assert_int_equal(is.timing.pause_ns, was.timing.pause_ns);
	assert_int_equal(is.counts.pages_data, was.counts.pages_data);
	assert_int_equal(is.counts.pages_zero, was.counts.pages_zero);
	assert_int_equal(is.counts.pages_ref, was.counts.pages_ref);
	assert_int_equal(is.counts.pages_base, 0);
	assert_int_equal(is.counts.blob_data, was.counts.blob_data);
	assert_memory_not_equal(is.id, was.id, sizeof(is.id));
	assert_string_equal(image_get(b, "command"), "sleep 1000");
	assert_string_equal(image_get(b, "merged.from"), "1");
	assert_int_equal(is.encrypted, encrypted);
	assert_memory_equal(is.secret_id, was.secret_id, sizeof(is.secret_id));
	assert_int_equal(in_file(s, "manifest", "sleep 1000", 10), !encrypted);
	some_page(&m, page);
	assert_int_equal(in_file(s, "pages", page, 64), !encrypted);
	image_close(a);
	image_close(b);
	assert_int_equal(image_sweep(s->root, NULL), 1);
	assert_int_equal(count_entries(s->root), 2);

	/* once more: there is nothing to do */
	assert_int_equal(image_merge(scratch_generation(s, 2), s->key, NULL, NULL, &merged, NULL),
			 0);
	assert_int_equal(merged.nr_bases, 0);
	assert_int_equal(image_remove(scratch_generation(s, 1), NULL), 0);
	assert_int_equal(check_two(s, &m), 0);
	model_done(&m);
}

/* A row goes on from the merged one, and nothing of the earlier ones is needed. */
static void goes_on(void **state)
{
	const struct scratch *s = *state;
	struct memory *m = memory_new();
	struct ckpt_error error;
	struct image_reader *r;

	chain_store(s, m, 1, false);
	for (unsigned int g = 2; g <= 5; g++) {
		memory_work(m, PAGES / 20);
		chain_store(s, m, g, true);
	}
	if (merge(s, 5, NULL, &error))
		fail_msg("%s", error.text);
	for (unsigned int g = 1; g <= 4; g++)
		assert_int_equal(image_remove(scratch_generation(s, g), NULL), 0);
	chain_compare(s, m, 5);
	memory_work(m, PAGES / 20);
	chain_store(s, m, 6, true);
	chain_compare(s, m, 6);
	assert_int_equal(image_open(scratch_generation(s, 6), s->key, NULL, &r, NULL), 0);
	assert_int_equal(image_manifest(r)->nr_bases, 1);
	assert_int_equal(image_manifest(r)->bases[0].generation, 5);
	image_close(r);
	free(m);
}

/* The node's key of the scratch, without a secret or with one of @byte. */
static struct image_key *other_key(int byte)
{
	static const uint8_t bytes[IMAGE_KEY_BYTES] = "a key for tests, thirty-two long";
	uint8_t secret[IMAGE_KEY_BYTES];
	struct image_key *key;

	assert_int_equal(image_key_from_bytes(bytes, &key), 0);
	memset(secret, byte, sizeof(secret));
	if (byte)
		image_key_secret_from_bytes(key, secret, "/etc/other");
	return key;
}

static void refused(const struct scratch *s, struct image_key *key, const char *text)
{
	struct image_merged merged;
	struct ckpt_error error;

	assert_int_equal(image_merge(scratch_generation(s, 2), key, NULL, NULL, &merged, &error),
			 -ENOKEY);
	assert_non_null(strstr(error.text, "encrypted with key "));
	assert_non_null(strstr(error.text, text));
	assert_int_equal(image_merge_look(scratch_generation(s, 2), key, NULL, 2, &merged, &error),
			 -ENOKEY);
	assert_int_equal(count_entries(s->root), 2);
}

/* An encrypted one is merged by who has the secret, and by nobody else. */
static void locked(void **state)
{
	struct image_key *none = other_key(0), *wrong = other_key(9);
	const struct scratch *s = *state;
	struct ckpt_error error;
	struct image_reader *r;
	uint8_t id[32];
	struct model m;

	model_init(&m, 11, &size);
	store_two(s, &m);
	assert_int_equal(image_open(scratch_generation(s, 2), s->key, NULL, &r, NULL), 0);
	memcpy(id, image_manifest(r)->id, sizeof(id));
	image_close(r);
	refused(s, none, "encryption_key");
	assert_int_equal(image_key_secret(none, scratch_path(s, "gone"), &error), -ENOENT);
	refused(s, none, "/gone");
	refused(s, wrong, "/etc/other");
	/* it is what it was */
	assert_int_equal(check_two(s, &m), 1);
	assert_int_equal(image_open(scratch_generation(s, 2), s->key, NULL, &r, NULL), 0);
	assert_memory_equal(image_manifest(r)->id, id, sizeof(id));
	image_close(r);
	if (merge(s, 2, NULL, &error))
		fail_msg("%s", error.text);
	assert_int_equal(check_two(s, &m), 0);
	/* who has the node's key alone can tell that it is whole, and reads as little as before */
	assert_int_equal(image_verify(scratch_generation(s, 2), none, NULL, true, NULL, NULL,
				      &error),
			 0);
	assert_int_equal(image_open(scratch_generation(s, 2), none, NULL, &r, &error), -ENOKEY);
	image_key_destroy(none);
	image_key_destroy(wrong);
	model_done(&m);
}

/* ------------------------------------------------------------------ accidents */

static struct {
	enum fault_kind kind;
	int left, ops;
	const struct scratch *s;
	struct image *next;	/* that is built upon it meanwhile */
	unsigned int calls;
	int ret;
} accident;

static int create_faulty(const char *dir, struct image_writer **ret_writer,
			 struct ckpt_error *error)
{
	struct image_writer *real;
	int err = image_writer_posix_create(dir, &real, error);

	if (!err)
		*ret_writer = faulty_writer(real, accident.kind, &accident.left, &accident.ops);
	return err;
}

static const struct image_merge_options faulty = { .create_writer = create_faulty };

static void every_fault(const struct scratch *s, enum fault_kind kind)
{
	struct ckpt_error error;
	struct model m;
	int n, err;

	model_init(&m, 11, &size);
	store_two(s, &m);
	for (n = 0; check_two(s, &m); n++) {
		accident.kind = kind;
		accident.left = n;
		err = merge(s, 2, &faulty, &error);
		assert_int_equal(err, kind == FAULT_ENOSPC ? -ENOSPC : -EIO);
		assert_true(error.text[0]);
		/* after an I/O error it is not known which of the two is on disk */
		if (err == -EIO)
			image_sweep(s->root, NULL);
		if (count_entries(s->root) != 2)
			fail_msg("a fault at operation %d leaves something", n);
		assert_true(n < 1000);
	}
	/* the last one came when they had changed names already */
	assert_true(n >= 20);
	model_done(&m);
}

static void disk_full(void **state)
{
	every_fault(*state, FAULT_ENOSPC);
}

static void io_errors(void **state)
{
	every_fault(*state, FAULT_EIO);
}

static void torn_writes(void **state)
{
	every_fault(*state, FAULT_TORN);
}

static void dying(void **state)
{
	const struct scratch *s = *state;
	struct ckpt_error error;
	int n, status;
	struct model m;

	model_init(&m, 11, &size);
	store_two(s, &m);
	for (n = 0; check_two(s, &m); n++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			accident.kind = FAULT_DIE;
			accident.left = n;
			_exit(merge(s, 2, &faulty, &error) ? 1 : 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), FAULT_EXIT);
		/* swept, or begun again over what was left */
		if (n % 2)
			assert_true(image_sweep(s->root, NULL) >= 0);
		assert_true(n < 1000);
	}
	image_sweep(s->root, NULL);
	assert_int_equal(count_entries(s->root), 2);
	model_done(&m);
}

/* With the writer that is really taken, and threads. */
static void killed(void **state)
{
	const struct scratch *s = *state;
	unsigned int before = 0, after = 0;
	uint64_t rng = 5, most = 20000;
	struct ckpt_error error;
	struct model m;

	model_init(&m, 12, &size);
	store_two(s, &m);
	for (unsigned int i = 0; i < KILLS; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid)
			_exit(merge(s, 2, NULL, &error) ? 1 : 0);
		usleep((useconds_t)(rng_next(&rng) % most));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			assert_int_equal(WEXITSTATUS(status), 0);
		if (check_two(s, &m)) {
			before++;
			most += most / 8;
			continue;
		}
		after++;
		most -= most / 8;
		assert_true(image_sweep(s->root, NULL) >= 0);
		assert_int_equal(count_entries(s->root), 2);
		assert_int_equal(image_remove(scratch_generation(s, 2), NULL), 0);
		store_two(s, &m);
	}
	print_message("killed before it was replaced %u times, after that %u\n", before, after);
	assert_true(before > KILLS / 10 && after > KILLS / 10);
	model_done(&m);
}

static int stop_or_go(uint64_t bytes, void *arg)
{
	assert_true(bytes > 0);
	return accident.calls++ == 3 ? -ECANCELED : 0;
}

static int refuse(void *arg)
{
	return -EBUSY;
}

/* Stopped half-way, or at the last moment. */
static void stopped(void **state)
{
	static const struct image_merge_options half = { .pace = stop_or_go };
	static const struct image_merge_options end = { .ready = refuse };
	const struct scratch *s = *state;
	struct ckpt_error error;
	struct model m;

	model_init(&m, 11, &size);
	store_two(s, &m);
	accident.calls = 0;
	assert_int_equal(merge(s, 2, &half, &error), -ECANCELED);
	assert_int_equal(count_entries(s->root), 2);
	assert_int_equal(merge(s, 2, &end, &error), -EBUSY);
	assert_int_equal(count_entries(s->root), 2);
	assert_int_equal(check_two(s, &m), 1);
	model_done(&m);
}

static int merge_again(void *arg)
{
	struct ckpt_error error;

	accident.ret = merge(accident.s, 2, NULL, &error);
	return 0;
}

/* Two at once; and one that is being removed. */
static void alone(void **state)
{
	static const struct image_merge_options twice = { .ready = merge_again };
	const struct scratch *s = *state;
	struct ckpt_error error;
	struct model m;
	int dir;

	model_init(&m, 11, &size);
	store_two(s, &m);
	dir = open(scratch_generation(s, 2), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(dir, LOCK_EX), 0);
	assert_int_equal(merge(s, 2, NULL, &error), -EBUSY);
	close(dir);
	accident.s = s;
	assert_int_equal(merge(s, 2, &twice, &error), 0);
	assert_int_equal(accident.ret, -EBUSY);
	assert_int_equal(check_two(s, &m), 0);
	assert_int_equal(count_entries(s->root), 2);
	model_done(&m);
}

static int remove_it(void *arg)
{
	accident.ret = image_remove(scratch_generation(accident.s, 2), NULL);
	image_sweep(accident.s->root, NULL);
	return 0;
}

/* Nobody removes it under the merge, and no sweeper takes what it has made. */
static void removed(void **state)
{
	static const struct image_merge_options options = { .ready = remove_it };
	const struct scratch *s = *state;
	struct ckpt_error error;
	struct model m;

	model_init(&m, 11, &size);
	store_two(s, &m);
	accident.s = s;
	if (merge(s, 2, &options, &error))
		fail_msg("%s", error.text);
	assert_int_equal(accident.ret, -EBUSY);
	assert_int_equal(check_two(s, &m), 0);
	model_done(&m);
}

static int build_upon(void *arg)
{
	accident.next = chain_begin(accident.s, 4);
	return image_base(accident.next, scratch_generation(accident.s, 3), 8, NULL);
}

/* The next checkpoint has begun on the old one, and ends when that is replaced, and removed. */
static void built_upon(void **state)
{
	static const struct image_merge_options options = { .ready = build_upon };
	const struct scratch *s = *state;
	struct memory *m = memory_new();
	struct ckpt_error error;

	chain_store(s, m, 1, false);
	memory_work(m, 100);
	chain_store(s, m, 2, true);
	memory_work(m, 100);
	chain_store(s, m, 3, true);
	accident.s = s;
	if (merge(s, 3, &options, &error))
		fail_msg("%s", error.text);
	for (unsigned int g = 1; g <= 3; g++)
		assert_int_equal(image_remove(scratch_generation(s, g), NULL), 0);
	memory_work(m, 100);
	chain_put(s, accident.next, m, 4, true);
	chain_finish(accident.next);
	chain_compare(s, m, 4);
	image_sweep(s->root, NULL);
	assert_int_equal(count_entries(s->root), 1);
	free(m);
}

/* What is damaged is not made to look whole. */
static void damaged(void **state)
{
	const struct scratch *s = *state;
	struct ckpt_error error;
	char path[256];
	struct model m;
	uint8_t *buf;
	size_t len;

	model_init(&m, 11, &size);
	store_two(s, &m);
	snprintf(path, sizeof(path), "%s/base1", scratch_generation(s, 2));
	buf = load_file(path, &len);
	buf[len / 2] ^= 1;
	assert_int_equal(unlink(path), 0);
	store_file(path, buf, len);
	assert_int_equal(merge(s, 2, NULL, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "of the pages of generation 1"));
	assert_int_equal(count_entries(s->root), 2);
	buf[len / 2] ^= 1;
	store_file(path, buf, len);
	assert_int_equal(check_two(s, &m), 1);
	free(buf);
	model_done(&m);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
#define ENCRYPTED(f) \
	{ #f ", encrypted", f, scratch_setup_secret, scratch_teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(whole),
		T(goes_on),
		ENCRYPTED(whole),
		ENCRYPTED(goes_on),
		ENCRYPTED(locked),
		T(disk_full),
		T(io_errors),
		T(torn_writes),
		T(dying),
		T(killed),
		T(stopped),
		T(alone),
		T(removed),
		T(built_upon),
		T(damaged),
		ENCRYPTED(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
