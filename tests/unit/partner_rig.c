// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of a partner's level share; see partner_rig.h.
 */
#include "tests/unit/partner_rig.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAME_MAX	(8 + PARTNER_PIECE_MAX + PARTNER_TAG_BYTES)

static const struct model_size small = {
	.mms = 2, .pages = 300, .records = 20, .blobs = 2, .incompressible = 1,
};

void rig_init(struct rig *r, struct scratch *s)
{
	*r = (struct rig) {
		.s = s, .image = scratch_path(s, "image"), .top = scratch_path(s, "store"),
		.back = scratch_path(s, "back"), .partner_key = s->key, .way = UP, .at = -1,
	};
	model_init(&r->m, 5, &small);
	model_store(&r->m, s, r->image, 3, "job", 0);
	assert_int_equal(mkdir(r->top, 0700), 0);
	memset(r->ticket.token, 0x5a, sizeof(r->ticket.token));
	memset(r->token, 0x5a, sizeof(r->token));
	strcpy(r->ticket.node, "n2");
	strcpy(r->ticket.owner, "n1");
	r->serve = (struct partner_serve_options) {
		.dir = r->top, .owner = "n1", .client = "n1", .idle_ms = 2000,
	};
}

void rig_done(struct rig *r)
{
	rig_close(r);
	model_done(&r->m);
}

/* ---------------------------------------------------------------- the wire */

static bool pass_on(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool take_all(int fd, uint8_t *p, size_t len)
{
	return recv(fd, p, len, MSG_WAITALL) == (ssize_t)len;
}

/* A whole frame, hello or back; its length, or 0 at the end. */
static size_t take_frame(int fd, int way, int number, uint8_t *frame)
{
	uint32_t len;

	if (number == 0) {
		len = way == UP ? sizeof(struct partner_hello) : sizeof(struct partner_back);
		return take_all(fd, frame, len) ? len : 0;
	}
	if (!take_all(fd, frame, 8))
		return 0;
	memcpy(&len, frame, sizeof(len));
	len = le32toh(len) + 8 + PARTNER_TAG_BYTES;
	return len <= FRAME_MAX && take_all(fd, frame + 8, len - 8) ? len : 0;
}

struct buffers {
	uint8_t frame[FRAME_MAX], before[FRAME_MAX];
	size_t before_len;
};

/* false: it ends here */
static bool disturb(struct rig *r, struct buffers *b, int to, size_t len)
{
	switch (r->fault) {
	case WIRE_CUT_INSIDE:
		pass_on(to, b->frame, len / 2);
		return false;
	case WIRE_FLIP_HEADER:
		b->frame[0] ^= 1;
		return pass_on(to, b->frame, len);
	case WIRE_FLIP_MIDDLE:
		b->frame[8 + (len - 8 - PARTNER_TAG_BYTES) / 2] ^= 4;
		return pass_on(to, b->frame, len);
	case WIRE_FLIP_TAG:
		b->frame[len - 1] ^= 0x80;
		return pass_on(to, b->frame, len);
	case WIRE_DROP:
		return true;
	case WIRE_REPEAT:
		return pass_on(to, b->frame, len) && pass_on(to, b->frame, len);
	case WIRE_SWAP:
		return pass_on(to, b->frame, len) && pass_on(to, b->before, b->before_len);
	default:
		return false;
	}
}

static bool one_frame(struct rig *r, struct buffers *b, int way, int from, int to)
{
	int number = r->frames[way];
	size_t len = take_frame(from, way, number, b->frame);
	/* to swap, the one before is held back */
	bool held = r->fault == WIRE_SWAP && way == r->way && number + 1 == r->at;

	if (!len)
		return false;
	r->frames[way]++;
	if (held) {
		memcpy(b->before, b->frame, len);
		b->before_len = len;
		return true;
	}
	if (r->fault && way == r->way && number == r->at)
		return disturb(r, b, to, len);
	return pass_on(to, b->frame, len);
}

static void *wire_run(void *arg)
{
	struct rig *r = arg;
	struct buffers *b = calloc(1, sizeof(*b));
	int node = r->wire[UP][1], partner = r->wire[DOWN][0];
	struct pollfd p[2] = { { node, POLLIN, 0 }, { partner, POLLIN, 0 } };
	bool going = b;

	while (going) {
		if (r->fault == WIRE_STALL && r->frames[r->way] == r->at) {
			usleep(2500 * r->serve.idle_ms);	/* longer than what waits */
			break;
		}
		if (poll(p, 2, -1) < 0)
			break;
		if (p[0].revents)
			going = one_frame(r, b, UP, node, partner);
		if (going && p[1].revents)
			going = one_frame(r, b, DOWN, partner, node);
	}
	free(b);
	shutdown(node, SHUT_RDWR);
	shutdown(partner, SHUT_RDWR);
	return NULL;
}

/* ------------------------------------------------------------- the partner */

static void *partner_run(void *arg)
{
	struct rig *r = arg;
	int fd = r->wire[DOWN][1];
	struct partner_hello hello;

	if (!take_all(fd, (uint8_t *)&hello, sizeof(hello))) {
		close(fd);
		r->served = -EPIPE;
		return NULL;
	}
	r->served = r->instead ? r->instead(r, fd, &hello) :
		    partner_serve(fd, &hello, r->token, &r->serve, &r->partner_error);
	return NULL;
}

static void start_partner(struct rig *r)
{
	r->serve.key = r->partner_key;
	if (!r->process) {
		pthread_create(&r->partner_thread, NULL, partner_run, r);
		return;
	}
	r->partner_pid = fork();
	if (!r->partner_pid) {
		close(r->wire[UP][0]);
		close(r->wire[UP][1]);
		close(r->wire[DOWN][0]);
		partner_run(r);
		_exit(0);
	}
	close(r->wire[DOWN][1]);
}

/* ------------------------------------------------------------------ whole */

int rig_open(struct rig *r)
{
	struct level_partner_options o = {
		.ticket = &r->ticket, .key = r->s->key, .idle_ms = r->serve.idle_ms,
	};

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, r->wire[UP]), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, r->wire[DOWN]), 0);
	r->frames[UP] = r->frames[DOWN] = 0;
	r->error.text[0] = r->partner_error.text[0] = '\0';
	r->l = NULL;
	start_partner(r);
	pthread_create(&r->wire_thread, NULL, wire_run, r);
	o.fd = r->wire[UP][0];
	return level_partner_open(&o, &r->l, &r->error);
}

void rig_close(struct rig *r)
{
	if (!r->wire[UP][1])
		return;
	level_close(r->l);
	r->l = NULL;
	pthread_join(r->wire_thread, NULL);
	if (r->process)
		waitpid(r->partner_pid, NULL, 0);
	else
		pthread_join(r->partner_thread, NULL);
	close(r->wire[UP][1]);
	close(r->wire[DOWN][0]);
	r->wire[UP][1] = 0;
}

void rig_up(struct rig *r)
{
	if (rig_open(r))
		fail_msg("%s", r->error.text);
}

struct rig *rig_beside(struct rig *r, struct rig *o)
{
	*o = (struct rig) {
		.s = r->s, .image = r->image, .top = r->top, .back = r->back,
		.partner_key = r->partner_key, .ticket = r->ticket, .serve = r->serve,
		.at = -1,
	};
	memcpy(o->token, r->token, sizeof(o->token));
	return o;
}

const char *rig_path(const struct rig *r, const char *name)
{
	static char paths[4][256];
	static unsigned int turn;
	char *p = paths[turn++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/n1/%s", r->top, name);
	return p;
}

void rig_check(const struct rig *r, const char *dir)
{
	struct ckpt_error error;
	struct image_reader *reader;

	if (image_open(dir, r->s->key, NULL, &reader, &error))
		fail_msg("%s", error.text);
	model_compare(&r->m, reader);
	image_close(reader);
}

int rig_entries(const struct rig *r)
{
	return path_exists(rig_path(r, "")) ? count_entries(rig_path(r, "")) - 1 : 0;
}

int rig_visible(const struct rig *r)
{
	_cleanup_dir_ DIR *dir = opendir(rig_path(r, ""));
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	return n;
}

void rig_put(struct rig *r, const char *name)
{
	if (level_put(r->l, name, r->image, NULL, &r->error))
		fail_msg("%s", r->error.text);
}

static uint64_t clock_now(void *arg)
{
	return *(uint64_t *)arg;
}

static void clock_sleep(void *arg, uint64_t ns)
{
	*(uint64_t *)arg += ns;
}

struct level_clock rig_clock(uint64_t *now)
{
	return (struct level_clock) { clock_now, clock_sleep, now };
}
