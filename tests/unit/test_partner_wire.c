// SPDX-License-Identifier: GPL-2.0-only
/*
 * A level on a partner over a connection that is cut, disturbed, repeated or silent at every
 * frame in either direction.  Whatever happens there: an error soon, nothing visible that is
 * not whole, nothing of what was there before changed; and a new connection works.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/error.h"
#include "levels/partner_link.h"
#include "tests/unit/partner_rig.h"

static bool is_end(int err)
{
	return err == -ECONNRESET || err == -EPROTO || err == -ETIMEDOUT ||
	       err == -EKEYREJECTED || err == -EAGAIN || err == -ENOTCONN;
}

/* Open, and put or get, with what the rig says; 0 or the error. */
static int attempt(struct rig *r, bool get)
{
	int err = rig_open(r);

	if (!err)
		err = get ? level_get(r->l, "old", r->back, NULL, &r->error) :
			    level_put(r->l, "new", r->image, NULL, &r->error);
	if (err && !is_end(err))
		fail_msg("%s: %s", strerror(-err), r->error.text);
	if (err)
		assert_non_null(strstr(r->error.text, "n2: "));
	rig_close(r);
	return err;
}

static void with_old(struct rig *r, struct scratch *s)
{
	rig_init(r, s);
	rig_up(r);
	assert_int_equal(level_put(r->l, "old", r->image, NULL, &r->error), 0);
	rig_close(r);
}

/* It works over a new one, and everything is as it was. */
static void afterwards(struct rig *r, bool get, int err)
{
	enum wire_fault fault = r->fault;
	unsigned int idle_ms = r->serve.idle_ms;

	if (get) {
		assert_int_equal(path_exists(r->back), !err);
	} else if (path_exists(rig_path(r, "new"))) {
		/* lost was what said so */
		rig_check(r, rig_path(r, "new"));
	} else {
		assert_true(err);
		assert_int_equal(rig_entries(r), 1);
	}
	r->fault = WIRE_FINE;
	r->serve.idle_ms = 10000;
	rig_up(r);
	if (get && err) {
		assert_int_equal(level_get(r->l, "old", r->back, NULL, &r->error), 0);
	} else if (!get) {
		assert_int_equal(level_put(r->l, "new", r->image, NULL, &r->error), 0);
		assert_int_equal(level_delete(r->l, "new", &r->error), 0);
	}
	rig_close(r);
	if (get)
		remove_image(r->back);
	assert_int_equal(rig_entries(r), 1);
	r->serve.idle_ms = idle_ms;
	r->fault = fault;
}

/* @fault at each frame of @way, until there is no such frame; how many there were */
static int every_frame(struct rig *r, bool get, int way, enum wire_fault fault, int from)
{
	int err;

	r->fault = fault;
	r->way = way;
	for (r->at = from; ; r->at++) {
		err = attempt(r, get);
		if (r->frames[way] <= r->at)
			break;
		afterwards(r, get, err);
		if (fault != WIRE_REPEAT)
			assert_true(err);
		assert_true(r->at < 50);
	}
	assert_int_equal(err, 0);
	afterwards(r, get, err);
	rig_check(r, rig_path(r, "old"));
	r->fault = WIRE_FINE;
	return r->at - from;
}

/* Node: hello OPEN PUT DATA DATA END; partner: back RESULT GO RESULT (and ALIVE) */
static void cut_put(void **state)
{
	struct rig r;

	with_old(&r, *state);
	assert_true(every_frame(&r, false, UP, WIRE_CUT, 0) >= 6);
	assert_true(every_frame(&r, false, UP, WIRE_CUT_INSIDE, 0) >= 6);
	assert_true(every_frame(&r, false, DOWN, WIRE_CUT, 0) >= 4);
	rig_done(&r);
}

static void cut_get(void **state)
{
	struct rig r;

	with_old(&r, *state);
	assert_true(every_frame(&r, true, UP, WIRE_CUT, 0) >= 3);
	assert_true(every_frame(&r, true, DOWN, WIRE_CUT_INSIDE, 0) >= 6);
	rig_done(&r);
}

static void flipped(struct rig *r)
{
	r->serve.idle_ms = 1000;		/* a longer length is waited for */
	every_frame(r, false, UP, WIRE_FLIP_MIDDLE, 0);
	every_frame(r, true, DOWN, WIRE_FLIP_MIDDLE, 0);
	every_frame(r, false, UP, WIRE_FLIP_TAG, 0);
	every_frame(r, false, UP, WIRE_FLIP_HEADER, 0);
}

static void flipped_encrypted(void **state)
{
	struct rig r;

	with_old(&r, *state);
	flipped(&r);
	rig_done(&r);
}

static void flipped_plain(void **state)
{
	struct rig r;

	with_old(&r, *state);
	r.ticket.plain = r.serve.plain = true;
	flipped(&r);
	rig_done(&r);
}

static void lost_and_repeated(void **state)
{
	struct rig r;

	with_old(&r, *state);
	r.serve.idle_ms = 1000;
	every_frame(&r, false, UP, WIRE_DROP, 0);
	every_frame(&r, true, DOWN, WIRE_DROP, 0);
	every_frame(&r, false, UP, WIRE_REPEAT, 1);
	every_frame(&r, true, DOWN, WIRE_REPEAT, 1);
	r.fault = WIRE_SWAP;
	r.way = UP;
	r.at = 4;			/* the first two of DATA */
	assert_int_not_equal(attempt(&r, false), 0);
	assert_int_equal(r.served, -EPROTO);
	afterwards(&r, false, -EPROTO);
	rig_done(&r);
}

/* Both sides notice by themselves, and soon. */
static void silent(void **state)
{
	struct timespec begin, end;
	struct rig r;
	int err;

	with_old(&r, *state);
	r.serve.idle_ms = 500;
	r.fault = WIRE_STALL;
	r.way = UP;
	for (r.at = 1; r.at < 6; r.at++) {
		clock_gettime(CLOCK_MONOTONIC, &begin);
		err = rig_open(&r);
		if (!err)
			err = level_put(r.l, "new", r.image, NULL, &r.error);
		clock_gettime(CLOCK_MONOTONIC, &end);
		assert_int_equal(err, -ETIMEDOUT);
		assert_non_null(strstr(r.error.text, "nothing has moved for 0.5 s"));
		assert_true(end.tv_sec - begin.tv_sec <= 3);
		rig_close(&r);
		afterwards(&r, false, err);
	}
	rig_done(&r);
}

/* Frames of one connection are worth nothing on another with the same ticket. */
static void replayed(void **state)
{
	struct partner_hello hello = { .version = 0 };
	struct partner_link a = {}, b = {}, server = {};
	struct partner_ticket ticket = { .node = "n2" };
	int one[2], two[2];
	enum partner_type type;
	uint8_t frame[64];
	struct ckpt_error e;
	size_t len;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, one), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, two), 0);
	memset(ticket.token, 7, sizeof(ticket.token));
	/* the first: hello and one frame, heard by a stranger */
	assert_int_equal(partner_link_init(&a, one[0], "n2", 200, &e), 0);
	assert_int_equal(partner_link_meet(&a, &ticket, &e), -ETIMEDOUT);
	assert_int_equal(recv(one[1], &hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
	assert_int_equal(partner_hello_check(&hello, ticket.token, false), 0);
	assert_int_equal(partner_hello_check(&hello, ticket.token, true), -EPROTO);
	hello.nonce[0] ^= 1;
	assert_int_equal(partner_hello_check(&hello, ticket.token, false), -EKEYREJECTED);
	hello.nonce[0] ^= 1;
	hello.version = 99;
	assert_int_equal(partner_hello_check(&hello, ticket.token, false), -EPROTONOSUPPORT);
	hello.version = PARTNER_VERSION;
	/* said again: whoever takes it has a nonce of his own, so the keys are others */
	assert_int_equal(partner_link_init(&server, two[1], "n1", 200, &e), 0);
	assert_int_equal(partner_link_welcome(&server, &hello, ticket.token, false, &e), 0);
	assert_int_equal(partner_link_init(&b, dup(two[0]), "n2", 200, &e), 0);
	memcpy(b.send_key, a.send_key, sizeof(b.send_key));
	assert_int_equal(partner_link_tell(&b, PARTNER_LIST, frame, 0, &e), 0);
	assert_int_equal(partner_link_receive(&server, 0, &type, &len, &e), -EPROTO);
	partner_link_done(&a);
	partner_link_done(&b);
	partner_link_done(&server);
	close(one[1]);
	close(two[0]);
}

/* ---------------------------------------------------- a node that lies */

static void scribble(uint8_t *p, size_t len, uint64_t *rng)
{
	unsigned int n = rng_next(rng) % 4;

	while (len && n--)
		p[rng_next(rng) % len] = (uint8_t)rng_next(rng);
}

/* Something like a request, and something like what may follow. */
static void say_anything(struct partner_link *l, const struct partner_wire_request *like,
			 uint64_t *rng)
{
	static const uint8_t types[] = {
		PARTNER_PUT, PARTNER_GET, PARTNER_VERIFY, PARTNER_DELETE, PARTNER_LIST,
		PARTNER_SPACE, PARTNER_GO, PARTNER_DATA, PARTNER_END, PARTNER_CANCEL,
		PARTNER_RESULT, PARTNER_ALIVE, PARTNER_OPEN, 77,
	};
	struct partner_wire_request r = *like;
	uint8_t type = types[rng_next(rng) % sizeof(types)];
	size_t len = sizeof(r);
	struct ckpt_error e;

	scribble((uint8_t *)&r, sizeof(r), rng);
	if (type == PARTNER_SPACE || type >= PARTNER_GO)
		len = 0;
	if (rng_next(rng) % 8 == 0)
		len = rng_next(rng) % (sizeof(r) + 9);
	if (type == PARTNER_DATA)
		len = rng_next(rng) % 2 ? 4096 : rng_next(rng) % PARTNER_PIECE_MAX;
	memcpy(l->out, &r, sizeof(r));
	partner_link_send(l, type, len, &e);
}

static void anything_said(void **state)
{
	struct partner_wire_request like = { .piece = 4096, .generation = 3 };
	struct partner_link link;
	enum partner_type type;
	struct ckpt_error e;
	uint64_t rng;
	struct rig r;
	size_t len;
	int i, n, deleted = 0;

	with_old(&r, *state);
	for (i = 0; i < 150; i++) {
		snprintf(like.name, sizeof(like.name), "%s", i % 2 ? "old" : "new");
		memcpy(like.len, (uint64_t[]){ 64, 64, 4096, 0, 512 }, sizeof(like.len));
		rig_up(&r);
		link = ((struct { struct level base; struct partner_link link; } *)r.l)->link;
		/* each round by itself: when a link is found broken depends on time */
		rng = 11 + (uint64_t)i;
		for (n = 0; n < 6 && !link.broken; n++)
			say_anything(&link, &like, &rng);
		shutdown(link.fd, SHUT_WR);
		while (!partner_link_receive(&link, 0, &type, &len, &e))
			;
		rig_close(&r);
		/* what can be deleted it may delete */
		if (!path_exists(rig_path(&r, "old"))) {
			deleted++;
			rig_up(&r);
			assert_int_equal(level_put(r.l, "old", r.image, NULL, &r.error), 0);
			rig_close(&r);
		}
		assert_int_equal(rig_visible(&r), 1);
	}
	assert_in_range(deleted, 1, 100);	/* so it is listened to */
	assert_int_equal(count_entries(r.top), 1);
	rig_check(&r, rig_path(&r, "old"));
	rig_done(&r);
}

/* What lies on the wire is not what the image holds. */
static void unreadable(void **state)
{
	struct partner_ticket ticket = { .node = "n2" };
	uint8_t frame[8 + 64 + PARTNER_TAG_BYTES];
	struct partner_link a = {};
	struct ckpt_error e;
	int fds[2], plain;

	for (plain = 0; plain < 2; plain++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		assert_int_equal(partner_link_init(&a, fds[0], ticket.node, 200, &e), 0);
		a.plain = plain;
		memset(a.out, 'S', 64);
		assert_int_equal(partner_link_send(&a, PARTNER_DATA, 64, &e), 0);
		assert_int_equal(recv(fds[1], frame, sizeof(frame), MSG_WAITALL), sizeof(frame));
		assert_int_equal(!memmem(frame, sizeof(frame), "SSSS", 4), !plain);
		partner_link_done(&a);
		close(fds[1]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cut_put, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(cut_get, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(flipped_encrypted, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(flipped_plain, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(lost_and_repeated, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(silent, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(anything_said, scratch_setup, scratch_teardown),
		cmocka_unit_test(replayed),
		cmocka_unit_test(unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
