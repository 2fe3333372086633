// SPDX-License-Identifier: GPL-2.0-only
/*
 * A partner that knows the protocol and the key, and gives something else than what it was
 * asked for, has no end, or does not have its store.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "levels/partner_link.h"
#include "levels/source.h"
#include "tests/unit/partner_rig.h"

/* Until the request after OPEN, which is left in @link->in. */
static int meet(struct rig *r, struct partner_link *link, int fd, const struct partner_hello *hello)
{
	const struct partner_wire_result good = { .err = 0 };
	enum partner_type type;
	size_t len;
	int err;

	err = partner_link_init(link, fd, "n1", r->serve.idle_ms, &r->partner_error);
	if (!err)
		err = partner_link_welcome(link, hello, r->token, r->serve.plain,
					   &r->partner_error);
	if (!err)
		err = partner_link_receive(link, 0, &type, &len, &r->partner_error);
	if (!err)
		err = partner_link_tell(link, PARTNER_RESULT, &good, sizeof(good),
					&r->partner_error);
	return err ? err : partner_link_receive(link, 0, &type, &len, &r->partner_error);
}

static int send_all(struct rig *r, struct partner_link *link, const struct source *s, size_t piece)
{
	uint64_t pos, total = s->layout.total;
	size_t len;
	int err = 0;

	for (pos = 0; pos < total && !err; pos += len) {
		len = total - pos < piece ? total - pos : piece;
		err = source_read(s, pos, link->out, len, &r->partner_error);
		if (!err)
			err = partner_link_send(link, PARTNER_DATA, len, &r->partner_error);
	}
	return err;
}

/* Whatever is asked for, the image "other", as if it were that. */
static int another_image(struct rig *r, int fd, const struct partner_hello *hello)
{
	struct partner_wire_image info = { .err = 0 };
	struct partner_wire_result good = { .err = 0 };
	struct partner_wire_request request;
	struct partner_link link = { .fd = -1 };
	struct source s = { .dir = NULL };
	unsigned int i;
	int err = meet(r, &link, fd, hello);

	if (!err) {
		memcpy(&request, link.in, sizeof(request));
		err = source_open(&s, scratch_path(r->s, "other"), r->s->key, NULL,
				  &r->partner_error);
	}
	if (!err) {
		memcpy(info.job, request.job, sizeof(info.job));
		memcpy(info.id, s.id, sizeof(info.id));
		info.generation = request.generation;
		for (i = 0; i < LAYOUT_FILES; i++)
			info.len[i] = htole64(s.layout.len[i]);
		err = partner_link_tell(&link, PARTNER_INFO, &info, sizeof(info),
					&r->partner_error);
	}
	if (!err)
		err = send_all(r, &link, &s, le32toh(request.piece));
	if (!err)
		err = partner_link_tell(&link, PARTNER_RESULT, &good, sizeof(good),
					&r->partner_error);
	source_close(&s);
	partner_link_done(&link);
	return err;
}

static void wrong_image(void **state)
{
	struct image_expect expect = { .generation = 3, .job = "job" };
	const struct level_options options = { .expect = &expect };
	struct rig r;

	rig_init(&r, *state);
	model_store(&r.m, r.s, scratch_path(r.s, "other"), 3, "other", 0);
	r.instead = another_image;
	rig_up(&r);
	assert_int_equal(level_get(r.l, "job.gen-3", r.back, &options, &r.error), -ESTALE);
	assert_false(path_exists(r.back));
	rig_close(&r);
	/* it is good for who wants just that */
	rig_up(&r);
	expect.job = "other";
	assert_int_equal(level_get(r.l, "other.gen-3", r.back, &options, &r.error), 0);
	rig_check(&r, r.back);
	rig_close(&r);
	rig_done(&r);
}

static int endless_list(struct rig *r, int fd, const struct partner_hello *hello)
{
	struct partner_wire_image item = { .name = "job.gen-3", .job = "job",
		.generation = htole64(3) };
	struct partner_link link = { .fd = -1 };
	int err = meet(r, &link, fd, hello);

	while (!err)
		err = partner_link_tell(&link, PARTNER_ITEM, &item, sizeof(item),
					&r->partner_error);
	partner_link_done(&link);
	return err;
}

/* Its store is not mounted. */
static int not_there(void *arg, struct ckpt_error *error)
{
	return error_set(error, -ESTALE, "not the directory it was");
}

static void store_not_mounted(void **state)
{
	struct rig r;

	rig_init(&r, *state);
	r.serve.ready = not_there;
	assert_int_equal(rig_open(&r), -ESTALE);
	assert_non_null(strstr(r.error.text, "n2: not the directory it was"));
	rig_close(&r);
	assert_false(path_exists(rig_path(&r, "")));
	rig_done(&r);
}

static int count(const struct level_item *item, void *arg)
{
	(*(unsigned int *)arg)++;
	return 0;
}

static void list_without_end(void **state)
{
	unsigned int seen = 0;
	struct rig r;

	rig_init(&r, *state);
	r.instead = endless_list;
	rig_up(&r);
	assert_int_equal(level_list(r.l, NULL, count, &seen, &r.error), -E2BIG);
	assert_true(seen > 10000);
	assert_non_null(strstr(r.error.text, "does not end"));
	rig_close(&r);
	rig_done(&r);
}

/* Names that were not asked for. */
static void list_of_others(void **state)
{
	unsigned int seen = 0;
	struct rig r;

	rig_init(&r, *state);
	r.instead = endless_list;
	rig_up(&r);
	assert_int_equal(level_list(r.l, "job.gen-4", count, &seen, &r.error), -EPROTO);
	assert_int_equal(seen, 0);
	rig_close(&r);
	rig_done(&r);
}

/* An item with a header that does not come. */
static int no_header(struct rig *r, int fd, const struct partner_hello *hello)
{
	struct partner_wire_image item = {
		.name = "job.gen-3.parity-0", .job = "job", .generation = htole64(3),
		.flags = htole32(PARTNER_PARITY),
	};
	struct partner_link link = { .fd = -1 };
	int err = meet(r, &link, fd, hello);

	if (!err)
		err = partner_link_tell(&link, PARTNER_ITEM, &item, sizeof(item),
					&r->partner_error);
	while (!err)
		err = partner_link_tell(&link, PARTNER_ALIVE, NULL, 0, &r->partner_error);
	partner_link_done(&link);
	return err;
}

static void at_work_without_end(void **state)
{
	unsigned int seen = 0;
	struct rig r;

	rig_init(&r, *state);
	r.serve.idle_ms = 300;
	r.instead = no_header;
	rig_up(&r);
	assert_int_equal(level_list(r.l, NULL, count, &seen, &r.error), -ETIMEDOUT);
	assert_int_equal(seen, 0);
	assert_non_null(strstr(r.error.text, "n2: its disk has been busy for"));
	assert_int_equal(level_verify(r.l, "job.gen-3", false, NULL, &r.error), -ENOTCONN);
	rig_close(&r);
	rig_done(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wrong_image, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(store_not_mounted, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(list_without_end, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(list_of_others, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(at_work_without_end, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
