// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is shown of an image is what is in it, and what differs between two is
 * found: a page, a register, a blob, nothing else.
 */
#include <errno.h>
#include <string.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "base/error.h"
#include "image/show.h"
#include "tests/unit/image_fixture.h"

/* What is varied between two images of the same tree. */
struct variant {
	uint64_t generation;
	uint64_t register_0;
	uint8_t page_byte;
	int without_last_page;
	uint8_t blob_byte;
	int extra_fd;
	int32_t host_pid;
	uint64_t monotonic_ns;
	int file_before, blob_zeros;
};

static void add_tree(struct image *img, const struct variant *v)
{
	struct ckpt_rec_system system = {
		.hdr = { CKPT_REC_SYSTEM, 1, sizeof(system) },
		.monotonic_ns = v->monotonic_ns,
	};
	struct ckpt_rec_proc proc = {
		.hdr = { CKPT_REC_PROC, 1, sizeof(proc) },
		.pid = 10, .ppid = 1, .pgid = 10, .sid = 10, .mm_id = 1,
		.host_pid = v->host_pid, .state = CKPT_PROC_STOPPED,
		.nr_threads = 1, .comm = "w\xffrker",
	};
	struct ckpt_rec_thread thread = {
		.hdr = { CKPT_REC_THREAD, 1, sizeof(thread) },
		.tid = 10, .pid = 10, .host_tid = v->host_pid,
		.regs = { v->register_0 },
	};
	struct ckpt_rec_mm mm = {
		.hdr = { CKPT_REC_MM, 1, sizeof(mm) }, .mm_id = 1, .pid = 10,
		.host_pid = v->host_pid, .nr_vmas = 2,
	};
	struct ckpt_rec_vma vma = {
		.hdr = { CKPT_REC_VMA, 1, sizeof(vma) }, .mm_id = 1,
		.start = 0x10000, .end = 0x20000,
	};
	struct ckpt_rec_fd fd = {
		.hdr = { CKPT_REC_FD, 1, sizeof(fd) }, .files_id = 1, .fd = 3,
	};

	image_state_append(img, &system, sizeof(system));
	image_state_append(img, &proc, sizeof(proc));
	image_state_append(img, &thread, sizeof(thread));
	image_state_append(img, &mm, sizeof(mm));
	image_state_append(img, &vma, sizeof(vma));
	vma.start = 0x40000;
	vma.end = 0x50000;
	image_state_append(img, &vma, sizeof(vma));
	image_state_append(img, &fd, sizeof(fd));
	fd.fd = 4;
	if (v->extra_fd)
		image_state_append(img, &fd, sizeof(fd));
	/* a short one and a foreign one are named, not looked into */
	image_state_add(img, CKPT_REC_PIPE, 1, "x", 1);
	image_state_add(img, 0x1002, 1, "x", 1);
}

static struct image_reader *make(const struct scratch *s, const char *name,
				 const struct variant *v)
{
	struct image_options options = { .generation = v->generation, .job = "job" };
	const char *dir = scratch_path(s, name);
	struct ckpt_error error;
	struct image_reader *r;
	struct image_writer *w;
	uint8_t pages[4 * PAGE];
	struct image *img;
	int i;

	for (i = 0; i < 4; i++)
		fill_page(pages + i * PAGE, 3 * (unsigned int)i + 3);
	pages[2 * PAGE] = v->page_byte;
	assert_int_equal(image_writer_posix_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	add_tree(img, v);
	image_pages_add(img, 1, 0x10000, v->without_last_page ? 3 : 4, pages);
	image_pages_zero(img, 1, 0x40000, 7);
	image_pages_ref(img, 1, 0x48000, 2, 1, 0x10000);
	/* the first file of this image or the second */
	if (v->file_before) {
		image_blob_begin(img, 5);
		image_blob_append(img, 3, "new", 3);
		image_blob_end(img, 6);
	}
	image_blob_begin(img, v->file_before ? 6 : 5);
	image_blob_append(img, 1ULL << 40, &v->blob_byte, 1);
	if (v->blob_zeros)
		image_blob_append(img, (1ULL << 40) + 1, "\0\0", 2);
	image_blob_end(img, (1ULL << 40) + 10);
	image_set(img, "command", "work \"hard\"");
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), 0);
	return r;
}

static json_int_t number(json_t *json, const char *key)
{
	json_t *value = json_object_get(json, key);

	if (!json_is_integer(value))
		fail_msg("%s is no number", key);
	return json_integer_value(value);
}

static const char *text(json_t *json, const char *key)
{
	const char *s = json_string_value(json_object_get(json, key));

	if (!s)
		fail_msg("%s is no text", key);
	return s;
}

static void shows_what_is_there(void **state)
{
	struct variant v = { .generation = 9, .page_byte = 1, .blob_byte = 1 };
	struct image_reader *r = make(*state, "image", &v);
	json_t *json, *proc, *map, *blob;
	struct ckpt_error error;
	char *dump;

	assert_int_equal(image_show_json(r, IMAGE_SHOW_RECORDS | IMAGE_SHOW_RUNS,
					 &json, &error), 0);
	assert_int_equal(number(json, "generation"), 9);
	assert_string_equal(text(json, "job"), "job");
	assert_int_equal(strlen(text(json, "id")), 64);
	assert_string_equal(text(json_object_get(json, "properties"), "command"),
			    "work \"hard\"");
	assert_int_equal(json_array_size(json_object_get(json, "files")), 4);
	proc = json_array_get(json_object_get(json, "processes"), 0);
	assert_int_equal(number(proc, "pid"), 10);
	assert_string_equal(text(proc, "comm"), "w?rker");
	assert_string_equal(text(proc, "state"), "stopped");
	map = json_object_get(proc, "memory");
	assert_int_equal(number(map, "vmas"), 2);
	assert_int_equal(number(map, "mapped"), 0x20000);
	assert_int_equal(number(map, "data"), 4 * PAGE);
	assert_int_equal(number(map, "zero"), 7 * PAGE);
	assert_int_equal(number(map, "shared"), 2 * PAGE);
	assert_true(number(map, "stored") > 0 && number(map, "stored") <= 4 * PAGE);
	assert_int_equal(number(map, "pid"), 10);
	assert_int_equal(json_array_size(json_object_get(map, "runs")), 3);
	assert_int_equal(number(json_object_get(json, "record_types"), "VMA"), 2);
	assert_int_equal(number(json_object_get(json, "record_types"), "0x1002"), 1);
	assert_int_equal(json_array_size(json_object_get(json, "records")), 9);
	blob = json_array_get(json_object_get(json, "blobs"), 0);
	assert_int_equal(number(blob, "size"), (1LL << 40) + 10);
	assert_int_equal(number(blob, "data"), 1);
	/* and it can be printed */
	dump = json_dumps(json, 0);
	assert_non_null(dump);
	free(dump);
	json_decref(json);
	image_close(r);
}

static json_t *diff(const struct scratch *s, const struct variant *a,
		    const struct variant *b)
{
	struct image_reader *ra = make(s, "a", a), *rb = make(s, "b", b);
	struct ckpt_error error;
	json_t *json;

	assert_int_equal(image_diff_json(ra, rb, &json, &error), 0);
	image_close(ra);
	image_close(rb);
	remove_image(scratch_path(s, "a"));
	remove_image(scratch_path(s, "b"));
	return json;
}

static void same_tree_is_equal(void **state)
{
	struct variant a = { 1, 5, 1, 0, 1, 0, 100, 1000, 0, 0 };
	struct variant b = { 2, 5, 1, 0, 1, 0, 200, 2000, 0, 0 };
	json_t *json = diff(*state, &a, &b);
	json_t *map = json_array_get(json_object_get(json, "memory"), 0);

	assert_true(json_is_true(json_object_get(json, "equal")));
	assert_int_equal(number(map, "pages_same"), 13);
	assert_int_equal(number(map, "pages_changed"), 0);
	assert_int_equal(number(json_object_get(json, "blobs"), "same"), 1);
	json_decref(json);
}

static void differences_are_found(void **state)
{
	const struct variant a = { 1, 5, 1, 0, 1, 0, 100, 1000, 0, 0 };
	struct variant b = a;
	json_t *json, *records, *map, *range, *blobs;

	/* a page, and its copy-on-write twin is not among the shared ones */
	b.page_byte = 2;
	json = diff(*state, &a, &b);
	assert_true(json_is_false(json_object_get(json, "equal")));
	map = json_array_get(json_object_get(json, "memory"), 0);
	assert_int_equal(number(map, "pages_changed"), 1);
	assert_int_equal(number(map, "pages_same"), 12);
	range = json_array_get(json_object_get(map, "changed"), 0);
	assert_int_equal(number(range, "addr"), 0x12000);
	assert_int_equal(number(range, "pages"), 1);
	json_decref(json);
	/* a page that is gone */
	b = a;
	b.without_last_page = 1;
	json = diff(*state, &a, &b);
	map = json_array_get(json_object_get(json, "memory"), 0);
	assert_int_equal(number(map, "pages_only_a"), 1);
	assert_int_equal(number(map, "pages_only_b"), 0);
	assert_true(json_is_false(json_object_get(json, "equal")));
	json_decref(json);
	/* a register, a descriptor */
	b = a;
	b.register_0 = 6;
	b.extra_fd = 1;
	json = diff(*state, &a, &b);
	records = json_object_get(json, "records");
	assert_int_equal(number(records, "nr_changed"), 1);
	assert_string_equal(json_string_value(json_array_get(
		json_object_get(records, "changed"), 0)), "THREAD 10");
	assert_int_equal(number(records, "nr_only_b"), 1);
	assert_string_equal(json_string_value(json_array_get(
		json_object_get(records, "only_b"), 0)), "FD 1 4");
	json_decref(json);
	/* one byte of a terabyte of holes */
	b = a;
	b.blob_byte = 2;
	json = diff(*state, &a, &b);
	assert_int_equal(json_array_size(json_object_get(
		json_object_get(json, "blobs"), "changed")), 1);
	assert_true(json_is_false(json_object_get(json, "equal")));
	json_decref(json);
	/* a file before it that was empty, so all are numbered anew; and zeros that were a hole */
	b = a;
	b.file_before = 1;
	b.blob_zeros = 1;
	json = diff(*state, &a, &b);
	blobs = json_object_get(json, "blobs");
	assert_int_equal(number(blobs, "same"), 1);
	assert_int_equal(json_array_size(json_object_get(blobs, "changed")), 0);
	assert_int_equal(json_array_size(json_object_get(blobs, "only_a")), 0);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(blobs, "only_b"), 0)),
			 5);
	assert_true(json_is_false(json_object_get(json, "equal")));
	json_decref(json);
}

static void verify_as_json(void **state)
{
	struct scratch *s = *state;
	const struct variant v = { 1, 5, 1, 0, 1, 0, 100, 1000, 0, 0 };
	_cleanup_free_ uint8_t *buf = NULL;
	json_t *json, *finding;
	size_t len;

	image_close(make(s, "image", &v));
	assert_int_equal(image_verify_json(scratch_path(s, "image"), s->key, NULL,
					   true, &json), 0);
	assert_true(json_is_true(json_object_get(json, "ok")));
	json_decref(json);
	buf = load_file(scratch_path(s, "image/pages"), &len);
	buf[200] ^= 4;
	store_file(scratch_path(s, "image/pages"), buf, len);
	assert_int_equal(image_verify_json(scratch_path(s, "image"), s->key, NULL,
					   true, &json), -EBADMSG);
	assert_true(json_is_false(json_object_get(json, "ok")));
	finding = json_array_get(json_object_get(json, "findings"), 0);
	assert_string_equal(text(finding, "file"), "pages");
	assert_int_equal(number(finding, "offset"), 64);
	assert_int_equal(number(finding, "errno"), EBADMSG);
	json_decref(json);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(shows_what_is_there),
		T(same_tree_is_equal),
		T(differences_are_found),
		T(verify_as_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
