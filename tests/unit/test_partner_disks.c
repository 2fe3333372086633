// SPDX-License-Identifier: GPL-2.0-only
/*
 * A level on a partner, over a connection that works, when a disk does not: it fails, is slow, or
 * ends with its node, on either side; and what is left there is swept.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/faulty_writer.h"
#include "tests/unit/partner_rig.h"

/* The partner's disk: the same connection goes on after each of its faults. */
static void faults_there(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN };
	struct faulty_plan plan = {};
	struct level_writers writers = { faulty_create, &plan };
	struct rig r;
	size_t i;
	int n, err;

	rig_init(&r, *state);
	r.serve.writers = &writers;
	rig_up(&r);
	plan.left = -1;
	rig_put(&r, "old");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (n = 0; n < 200; n++) {
			plan = (struct faulty_plan) { .kind = kinds[i], .left = n };
			err = level_put(r.l, "new", r.image, NULL, &r.error);
			if (!err)
				break;
			assert_int_equal(err, kinds[i] == FAULT_ENOSPC ? -ENOSPC : -EIO);
			assert_non_null(strstr(r.error.text, "n2: "));
			assert_int_equal(rig_entries(&r), 1);
		}
		assert_in_range(n, 20, 199);
		rig_check(&r, rig_path(&r, "new"));
		plan.left = -1;
		assert_int_equal(level_delete(r.l, "new", &r.error), 0);
	}
	rig_check(&r, rig_path(&r, "old"));
	rig_done(&r);
}

struct served {
	struct rig *r;
	int fd;
};

static void *serve_run(void *arg)
{
	struct served *s = arg;
	struct partner_hello hello;

	assert_int_equal(recv(s->fd, &hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
	s->r->served = partner_serve(s->fd, &hello, s->r->token, &s->r->serve,
				     &s->r->partner_error);
	return NULL;
}

/*
 * One operation of its disk takes longer than anybody waits in silence: at the first bytes,
 * when the sender still has more than the connection holds.
 */
static void slow_there(void **state)
{
	struct faulty_plan plan = { .kind = FAULT_SLOW, .left = 2 };
	struct level_writers writers = { faulty_create, &plan };
	struct level_partner_options open = { .idle_ms = 1000 };
	uint64_t now = 1000000000;
	struct level_clock clock = rig_clock(&now);
	struct level_bucket bucket;
	struct level_options o = { .bucket = &bucket, .clock = &clock };
	struct served s;
	pthread_t thread;
	int fds[2];
	struct rig r;

	rig_init(&r, *state);
	r.serve.writers = &writers;
	r.serve.idle_ms = open.idle_ms;
	r.serve.key = r.partner_key;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	s = (struct served) { &r, fds[1] };
	assert_int_equal(pthread_create(&thread, NULL, serve_run, &s), 0);
	open.ticket = &r.ticket;
	open.key = r.s->key;
	open.fd = fds[0];
	assert_int_equal(level_partner_open(&open, &r.l, &r.error), 0);
	level_bucket_init(&bucket, 1 << 20, 0);	/* in small pieces */
	if (level_put(r.l, "a", r.image, &o, &r.error))
		fail_msg("%s", r.error.text);
	assert_int_equal(plan.left, -1);
	level_close(r.l);
	r.l = NULL;
	pthread_join(thread, NULL);
	assert_int_equal(r.served, 0);
	rig_check(&r, rig_path(&r, "a"));
	rig_done(&r);
}

static void faults_here(void **state)
{
	struct faulty_plan plan = { .kind = FAULT_ENOSPC };
	struct level_writers writers = { faulty_create, &plan };
	struct level_options o = { .writers = &writers };
	struct rig r;
	int n, err;

	rig_init(&r, *state);
	rig_up(&r);
	rig_put(&r, "a");
	for (n = 0; n < 200; n++) {
		plan.left = n;
		err = level_get(r.l, "a", r.back, &o, &r.error);
		if (!err)
			break;
		assert_int_equal(err, -ENOSPC);
		assert_false(path_exists(r.back));
	}
	assert_in_range(n, 20, 199);
	rig_check(&r, r.back);
	assert_int_equal(level_verify(r.l, "a", true, NULL, &r.error), 0);
	rig_done(&r);
}

/* The partner's process dies at every operation of its disk. */
static void deaths_there(void **state)
{
	struct faulty_plan plan = { .kind = FAULT_DIE };
	struct level_writers writers = { faulty_create, &plan };
	struct rig r;
	int n, err = -1;

	rig_init(&r, *state);
	rig_up(&r);
	rig_put(&r, "old");
	rig_close(&r);
	r.process = true;
	r.serve.writers = &writers;
	for (n = 0; n < 200 && err; n++) {
		plan.left = n;
		rig_up(&r);
		err = level_put(r.l, "new", r.image, NULL, &r.error);
		if (err) {
			assert_int_equal(err, -ECONNRESET);
			assert_non_null(strstr(r.error.text, "n2: "));
			/* all that follows says so */
			assert_int_equal(level_put(r.l, "new", r.image, NULL, &r.error), -ENOTCONN);
		}
		rig_close(&r);
		rig_check(&r, rig_path(&r, "old"));
		/* it may have been done: the last operations are behind the rename */
		if (path_exists(rig_path(&r, "new")))
			rig_check(&r, rig_path(&r, "new"));
		else
			assert_int_equal(rig_visible(&r), 1);
	}
	assert_in_range(n, 20, 199);
	r.process = false;
	r.serve.writers = NULL;
	/* also when the owner never comes again */
	assert_true(partner_room_sweep(r.top, &r.error) >= 0);
	assert_int_equal(rig_entries(&r), rig_visible(&r));
	rig_up(&r);				/* which sweeps */
	rig_put(&r, "new");
	rig_check(&r, rig_path(&r, "new"));
	assert_int_equal(rig_entries(&r), 2);
	rig_done(&r);
}

/* What is written just now stays, and what is nobody's. */
static void sweeps(void **state)
{
	char other[256];
	struct rig r;
	int held;

	rig_init(&r, *state);
	rig_up(&r);
	rig_put(&r, "whole");
	rig_close(&r);
	assert_int_equal(partner_room_sweep(r.top, &r.error), 0);
	assert_int_equal(mkdir(rig_path(&r, ".tmp-held"), 0700), 0);
	assert_int_equal(mkdir(rig_path(&r, ".tmp-dead"), 0700), 0);
	assert_int_equal(mkdir(rig_path(&r, ".rm-dead"), 0700), 0);
	snprintf(other, sizeof(other), "%s/other", r.top);
	assert_int_equal(mkdir(other, 0700), 0);
	snprintf(other, sizeof(other), "%s/other/.tmp-dead", r.top);
	assert_int_equal(mkdir(other, 0700), 0);
	held = open(rig_path(&r, ".tmp-held"), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(held, LOCK_EX), 0);
	assert_int_equal(partner_room_sweep(r.top, &r.error), 2);
	assert_true(path_exists(rig_path(&r, ".tmp-held")));
	close(held);
	assert_int_equal(partner_room_sweep(r.top, &r.error), 1);
	assert_int_equal(rig_entries(&r), 1);
	rig_check(&r, rig_path(&r, "whole"));
	assert_true(path_exists(other));
	assert_int_equal(partner_room_sweep("/nonexistent", &r.error), -ENOENT);
	rig_done(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(faults_there, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(slow_there, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(faults_here, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(deaths_there, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(sweeps, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
