// SPDX-License-Identifier: GPL-2.0-only
/*
 * A level on a partner, when all works: what it promises, who is refused, and what the caller
 * may limit.  Disks that fail are test_partner_disks.c's, connections test_partner_wire.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "levels/partner_link.h"
#include "tests/unit/partner_rig.h"

static void flip(const char *dir, const char *file)
{
	char path[512];
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	data = load_file(path, &len);
	data[len / 2] ^= 4;
	store_file(path, data, len);
	free(data);
}

struct listing {
	int nr, bad, stop_at;
	char last[64];
};

static int note_item(const struct level_item *item, void *arg)
{
	struct listing *ls = arg;

	ls->nr++;
	ls->bad += item->err != 0;
	snprintf(ls->last, sizeof(ls->last), "%s", item->name);
	if (item->err) {
		assert_true(item->text[0]);
	} else {
		assert_string_equal(item->job, "job");
		assert_int_equal(item->generation, 3);
		assert_true(item->bytes > 1000000 && item->created_ns);
	}
	return ls->nr == ls->stop_at ? 7 : 0;
}

/* ----------------------------------------------------------- as it should */

static void note_progress(uint64_t done, uint64_t total, void *arg)
{
	uint64_t *last = arg;

	assert_true(done > *last && done <= total);
	*last = done;
}

static void there_and_back(struct rig *r)
{
	uint64_t done = 0;
	struct level_options o = { .progress = note_progress, .arg = &done };
	struct level_space space;
	struct listing ls = {};

	rig_up(r);
	assert_string_equal(r->l->ops->kind, "partner");
	assert_string_equal(r->l->where, "n2");
	assert_int_equal(level_put(r->l, "j.gen-3", r->image, &o, &r->error), 0);
	assert_true(done > 1000000);
	rig_check(r, rig_path(r, "j.gen-3"));
	rig_put(r, "j.gen-3");			/* the very image */
	assert_int_equal(level_list(r->l, NULL, note_item, &ls, &r->error), 0);
	assert_int_equal(ls.nr, 1);
	assert_string_equal(ls.last, "j.gen-3");
	assert_int_equal(level_verify(r->l, "j.gen-3", true, NULL, &r->error), 0);
	assert_int_equal(level_space(r->l, &space, &r->error), 0);
	assert_true(space.free && space.free <= space.total);
	done = 0;
	assert_int_equal(level_get(r->l, "j.gen-3", r->back, &o, &r->error), 0);
	rig_check(r, r->back);
	assert_int_equal(level_get(r->l, "j.gen-3", r->back, NULL, &r->error), -EEXIST);
	assert_int_equal(level_delete(r->l, "j.gen-3", &r->error), 0);
	assert_int_equal(level_delete(r->l, "j.gen-3", &r->error), -ENOENT);
	assert_int_equal(level_get(r->l, "j.gen-3", scratch_path(r->s, "x"), NULL, &r->error),
			 -ENOENT);
	assert_non_null(strstr(r->error.text, "n2: "));
	assert_int_equal(rig_entries(r), 0);
	rig_put(r, "j.gen-3");
	rig_close(r);
	assert_int_equal(r->served, 0);
}

static void encrypted(void **state)
{
	struct rig r;

	rig_init(&r, *state);
	there_and_back(&r);
	rig_done(&r);
}

static void plain(void **state)
{
	struct rig r;

	rig_init(&r, *state);
	r.ticket.plain = r.serve.plain = true;
	there_and_back(&r);
	rig_done(&r);
}

static void names_in_order(void **state)
{
	struct listing ls = { .stop_at = 2 };
	struct rig r;

	rig_init(&r, *state);
	rig_up(&r);
	rig_put(&r, "b");
	rig_put(&r, "a");
	rig_put(&r, "c");
	flip(rig_path(&r, "c"), "manifest");
	assert_int_equal(level_list(r.l, NULL, note_item, &ls, &r.error), 7);
	assert_string_equal(ls.last, "b");
	ls = (struct listing) {};		/* and the connection is in order */
	assert_int_equal(level_list(r.l, NULL, note_item, &ls, &r.error), 0);
	assert_int_equal(ls.nr, 3);
	assert_int_equal(ls.bad, 1);
	ls = (struct listing) {};
	assert_int_equal(level_list(r.l, "b", note_item, &ls, &r.error), 0);
	assert_int_equal(ls.nr, 1);
	assert_string_equal(ls.last, "b");
	assert_int_equal(level_list(r.l, ".", note_item, &ls, &r.error), -EINVAL);
	assert_int_equal(level_verify(r.l, "b", false, NULL, &r.error), 0);
	rig_done(&r);
}

static void never_replaces(void **state)
{
	struct scratch *s = *state;
	struct rig r;

	rig_init(&r, s);
	rig_up(&r);
	rig_put(&r, "a");
	model_store(&r.m, s, scratch_path(s, "other"), 3, "job", 0);
	assert_int_equal(level_put(r.l, "a", scratch_path(s, "other"), NULL, &r.error), -EEXIST);
	assert_non_null(strstr(r.error.text, "another image"));
	flip(rig_path(&r, "a"), "pages");
	assert_int_equal(level_put(r.l, "a", r.image, NULL, &r.error), -EEXIST);
	assert_non_null(strstr(r.error.text, "delete it first"));
	/* what is damaged there is not handed out, and leaves nothing here */
	assert_int_equal(level_verify(r.l, "a", false, NULL, &r.error), 0);
	assert_int_equal(level_verify(r.l, "a", true, NULL, &r.error), -EBADMSG);
	assert_int_equal(level_get(r.l, "a", r.back, NULL, &r.error), -EBADMSG);
	assert_non_null(strstr(r.error.text, "n2"));
	assert_false(path_exists(r.back));
	assert_int_equal(level_delete(r.l, "a", &r.error), 0);
	rig_put(&r, "a");
	rig_done(&r);
}

static void not_what_was_expected(void **state)
{
	struct image_expect expect = { .generation = 4 };
	struct level_options o = { .expect = &expect };
	struct rig r;

	rig_init(&r, *state);
	rig_up(&r);
	assert_int_equal(level_put(r.l, "a", r.image, &o, &r.error), -ESTALE);
	rig_put(&r, "a");
	assert_int_equal(level_get(r.l, "a", r.back, &o, &r.error), -ESTALE);
	assert_int_equal(level_verify(r.l, "a", true, &o, &r.error), -ESTALE);
	expect = (struct image_expect) { .job = "else" };
	assert_int_equal(level_get(r.l, "a", r.back, &o, &r.error), -ESTALE);
	expect = (struct image_expect) {
		.id = (const uint8_t *)"thirty-two bytes of another id.." };
	assert_int_equal(level_get(r.l, "a", r.back, &o, &r.error), -ESTALE);
	expect = (struct image_expect) { .job = "job", .generation = 3 };
	assert_int_equal(level_get(r.l, "a", r.back, &o, &r.error), 0);
	rig_done(&r);
}

/* ---------------------------------------------------------- who is refused */

static void wrong_token(void **state)
{
	struct rig r;

	rig_init(&r, *state);
	r.token[31] ^= 1;
	assert_int_equal(rig_open(&r), -EAGAIN);
	assert_non_null(strstr(r.error.text, "n2"));
	rig_close(&r);
	assert_int_equal(r.served, -EKEYREJECTED);
	r.token[31] ^= 1;
	r.ticket.plain = true;		/* who asks for less than the ticket says */
	assert_int_equal(rig_open(&r), -EAGAIN);
	rig_close(&r);
	assert_int_equal(r.served, -EPROTO);
	assert_false(path_exists(rig_path(&r, "")));
	rig_done(&r);
}

static void other_key_of_images(void **state)
{
	struct rig r;

	rig_init(&r, *state);
	assert_int_equal(image_key_from_bytes((const uint8_t *)"another key of thirty-two bytes.",
					      &r.partner_key), 0);
	assert_int_equal(rig_open(&r), -EKEYREJECTED);
	assert_non_null(strstr(r.error.text, "all nodes must have the same file"));
	rig_done(&r);
	image_key_destroy(r.partner_key);
}

static void one_writes_many_read(void **state)
{
	struct rig r, second;

	rig_init(&r, *state);
	rig_up(&r);
	rig_put(&r, "a");
	assert_int_equal(rig_open(rig_beside(&r, &second)), -EBUSY);
	rig_close(&second);
	second.serve.read_only = true;
	rig_up(&second);
	assert_int_equal(level_get(second.l, "a", r.back, NULL, &second.error), 0);
	assert_int_equal(level_put(second.l, "b", r.image, NULL, &second.error), -EROFS);
	assert_int_equal(level_delete(second.l, "a", &second.error), -EROFS);
	assert_int_equal(level_verify(second.l, "a", true, NULL, &second.error), 0);
	rig_close(&second);
	rig_put(&r, "b");
	rig_done(&r);
}

/* A client that is a node and means harm: nothing but names of level.h reaches a path. */
static void names_stay_inside(void **state)
{
	static const char *const bad[] = { "../a", "/etc", ".tmp-a", "", "a/b", "..", "a\n" };
	struct partner_wire_request request = {};
	struct partner_wire_open hello;
	struct partner_link link;
	enum partner_type type;
	struct ckpt_error e;
	struct rig r;
	size_t i, len;

	rig_init(&r, *state);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		rig_up(&r);
		link = ((struct { struct level base; struct partner_link link; } *)r.l)->link;
		image_key_id(r.s->key, hello.key_id);
		snprintf(request.name, sizeof(request.name), "%s", bad[i]);
		assert_int_equal(partner_link_tell(&link, PARTNER_DELETE, &request,
						   sizeof(request), &e), 0);
		assert_int_equal(partner_link_receive(&link, 0, &type, &len, &e), -EPIPE);
		rig_close(&r);
		assert_int_equal(r.served, -EPROTO);
	}
	assert_int_equal(count_entries(r.top), 1);
	rig_done(&r);
}

static void limit_of_the_store(void **state)
{
	_Atomic uint64_t bytes[2] = { 0, 0 };
	struct partner_coming coming = { bytes, 2, 0 };
	struct level_space space;
	struct rig r;

	rig_init(&r, *state);
	r.serve.max_bytes = 3 << 20;		/* the image has about 1.7 MiB */
	r.serve.coming = &coming;
	rig_up(&r);
	atomic_store(&bytes[1], 2 << 20);	/* another's is on its way */
	assert_int_equal(level_put(r.l, "a", r.image, NULL, &r.error), -EDQUOT);
	assert_non_null(strstr(r.error.text, "store_max"));
	assert_int_equal(atomic_load(&bytes[0]), 0);
	atomic_store(&bytes[1], 0);
	rig_put(&r, "a");
	assert_int_equal(level_space(r.l, &space, &r.error), 0);
	assert_true(space.total == 3 << 20 && space.free < 2 << 20);
	assert_int_equal(level_put(r.l, "b", r.image, NULL, &r.error), -EDQUOT);
	rig_put(&r, "a");			/* it is there: that needs no room */
	assert_int_equal(rig_entries(&r), 1);
	assert_int_equal(level_delete(r.l, "a", &r.error), 0);
	rig_put(&r, "b");
	rig_done(&r);
}

/* ------------------------------------------------------------- its own end */

struct stop {
	int left;
};

static bool stop_after(void *arg)
{
	struct stop *stop = arg;

	return stop->left-- <= 0;
}

static void cancelled(void **state)
{
	struct stop stop;
	struct level_options o = { .cancelled = stop_after, .arg = &stop };
	int n, err;
	struct rig r;

	rig_init(&r, *state);
	rig_up(&r);
	for (n = 0; n < 100; n++) {
		stop.left = n;
		err = level_put(r.l, "a", r.image, &o, &r.error);
		if (!err)
			break;
		assert_int_equal(err, -ECANCELED);
		assert_int_equal(rig_visible(&r), 0);
	}
	assert_in_range(n, 4, 99);
	for (n = 0; n < 100; n++) {
		stop.left = n;
		err = level_get(r.l, "a", r.back, &o, &r.error);
		if (!err)
			break;
		assert_int_equal(err, -ECANCELED);
		assert_false(path_exists(r.back));
	}
	assert_in_range(n, 4, 99);
	assert_int_equal(rig_entries(&r), 1);
	rig_check(&r, r.back);
	rig_done(&r);
}

static void limit_of_bandwidth(void **state)
{
	uint64_t now = 1000000000, begin;
	struct level_clock clock = rig_clock(&now);
	struct level_bucket bucket;
	struct level_options o = { .bucket = &bucket, .clock = &clock };
	struct rig r;

	rig_init(&r, *state);
	rig_up(&r);
	level_bucket_init(&bucket, 1 << 20, 0);
	begin = now;
	assert_int_equal(level_put(r.l, "a", r.image, &o, &r.error), 0);
	assert_in_range(now - begin, 1400000000, 1900000000);	/* 1.7 MiB at 1 MiB/s */
	assert_true(r.frames[UP] > 12);				/* in small pieces */
	begin = now;
	assert_int_equal(level_get(r.l, "a", r.back, &o, &r.error), 0);
	assert_in_range(now - begin, 1400000000, 1900000000);
	rig_done(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(encrypted, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(plain, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(names_in_order, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(never_replaces, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(not_what_was_expected, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(wrong_token, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(other_key_of_images, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(one_writes_many_read, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(names_stay_inside, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(limit_of_the_store, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(cancelled, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(limit_of_bandwidth, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
