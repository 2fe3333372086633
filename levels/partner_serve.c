// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serving one connection of another node; see partner_serve.h, partner_wire.h.
 *
 * Owns the connection and the owner's level, which is an ordinary one (posix.h) and keeps the
 * promises of level.h.  Each request is answered by exactly one RESULT; a request that cannot
 * be answered any more ends the connection, and uncommitted data is removed with it.  While
 * the disk is at work the client is told so (partner_alive.h); nothing else uses the
 * connection then.
 *
 * The client is a node that may have everything it asks for; its requests are checked all
 * the same: names by level.h, lengths by the layout, and no path comes from outside.
 */
#include "levels/partner_serve.h"

#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "levels/partner_alive.h"
#include "levels/partner_link.h"
#include "levels/posix.h"
#include "levels/source.h"

/* how often, and in how many nanoseconds, a level that is in use is tried again: 5 s in all */
#define BUSY_LOOKS	100
#define BUSY_NS		50000000L

struct serve {
	const struct partner_serve_options *o;
	struct partner_link link;
	struct level *level;		/* NULL: images outside the store are served */
	struct partner_alive alive;
	bool open;			/* OPEN was received and accepted */
	/* the running put */
	uint64_t announced;		/* bytes */
	size_t piece;
	bool ended;			/* END or CANCEL was received */
};

/* --------------------------------------------------------------- answers */

static int result_full(struct serve *s, int err, const struct level_space *space,
		       const struct ckpt_error *why, struct ckpt_error *error)
{
	struct partner_wire_result r = { .err = htole32((uint32_t)-err) };

	if (space) {
		r.total = htole64(space->total);
		r.free = htole64(space->free);
	}
	if (err)
		snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1,
			 why->text[0] ? why->text : strerror(-err));
	return partner_link_tell(&s->link, PARTNER_RESULT, &r, sizeof(r), error);
}

static int partner_serve_result(struct serve *s, int err, const struct ckpt_error *why,
				struct ckpt_error *error)
{
	return result_full(s, err, NULL, why, error);
}

static unsigned int session_ms(const struct serve *s)
{
	return s->o->session_ms ? s->o->session_ms : PARTNER_SESSION_MS;
}

static int partner_serve_protocol(struct serve *s, struct ckpt_error *error)
{
	s->link.broken = true;
	return error_set(error, -EPROTO, "%.63s: what it says does not belong here",
			       s->o->client);
}

/* ------------------------------------------------------------------- put */

/* A frame of the image that is on its way: DATA, or the end of it. */
static int next_piece(struct serve *s, uint64_t left, const void **ret_buf, size_t *ret_len,
		      struct ckpt_error *error)
{
	size_t want = left < s->piece ? left : s->piece, len;
	enum partner_type type;
	int err = partner_link_receive(&s->link, 0, &type, &len, error);

	if (err)
		return err;
	s->ended = type == PARTNER_END || type == PARTNER_CANCEL;
	if (type == PARTNER_CANCEL)
		return error_set(error, -ECANCELED, "cancelled");
	if (type != (left ? PARTNER_DATA : PARTNER_END) || len != want)
		return partner_serve_protocol(s, error);
	*ret_buf = s->link.in;
	*ret_len = len;
	return 0;
}

struct incoming {
	struct serve *s;
	uint64_t total;
	bool going;			/* GO was sent */
};

static int incoming_next(void *arg, uint64_t pos, const void **ret_buf, size_t *ret_len,
			 struct ckpt_error *error)
{
	struct incoming *in = arg;
	struct serve *s = in->s;
	int err = 0;

	if (!in->going)
		err = partner_room_take(s->o->dir, s->o->max_bytes, s->o->coming,
					s->announced, error);
	partner_alive_end(&s->alive);
	if (!err && !in->going) {
		err = partner_link_tell(&s->link, PARTNER_GO, NULL, 0, error);
		in->going = !err;
	}
	if (!err)
		err = next_piece(s, in->total - pos, ret_buf, ret_len, error);
	/* The disk is at work from here: a piece is written, or the image is read back. */
	if (!err)
		partner_alive_begin(&s->alive);
	return err;
}

/* The client has its RESULT: discard the frames that it was sending meanwhile. */
static int partner_serve_drain(struct serve *s, struct ckpt_error *error)
{
	enum partner_type type;
	size_t len;
	int err = 0;

	while (!err && !s->ended) {
		err = partner_link_receive(&s->link, 0, &type, &len, error);
		s->ended = type == PARTNER_END || type == PARTNER_CANCEL;
		if (!err && !s->ended && type != PARTNER_DATA)
			return partner_serve_protocol(s, error);
	}
	return err;
}

static size_t piece_of(const struct partner_wire_request *r)
{
	uint32_t piece = le32toh(r->piece);

	return piece >= PARTNER_PIECE_MIN && piece <= PARTNER_PIECE_MAX &&
	       piece % LAYOUT_ALIGN == 0 ? piece : 0;
}

static int partner_serve_put(struct serve *s, const struct partner_wire_request *r,
			     struct ckpt_error *error)
{
	struct incoming in = { .s = s };
	struct level_stream stream = {
		.generation = le64toh(r->generation), .id = r->id,
		.next = incoming_next, .arg = &in, .writers = s->o->writers,
	};
	uint64_t lens[LAYOUT_FILES];
	struct ckpt_error why = {};
	unsigned int i;
	int err, other;

	for (i = 0; i < LAYOUT_FILES; i++)
		lens[i] = le64toh(r->len[i]);
	s->piece = piece_of(r);
	if (!s->piece || layout_init_kind(&stream.layout, lens, le32toh(r->flags) & PARTNER_PARITY))
		return partner_serve_protocol(s, error);
	in.total = stream.layout.total;
	s->announced = stream.layout.bytes;
	s->ended = false;
	partner_alive_begin(&s->alive);
	err = s->o->read_only ? error_set(&why, -EROFS, "the ticket is for reading only") :
				level_posix_take(s->level, r->name, &stream, &why);
	partner_alive_end(&s->alive);
	partner_room_give(s->o->coming);
	if (s->link.broken) {
		*error = why;
		return err;
	}
	other = partner_serve_result(s, err, &why, error);
	return other || !in.going ? other : partner_serve_drain(s, error);
}

/* ------------------------------------------------------------------- get */

static void partner_serve_expected(const struct partner_wire_request *r,
				   struct image_expect *ret_expect)
{
	uint32_t flags = le32toh(r->flags);

	*ret_expect = (struct image_expect) {
		.generation = flags & PARTNER_WANT_GENERATION ? le64toh(r->generation) : 0,
		.id = flags & PARTNER_WANT_ID ? r->id : NULL,
		.job = flags & PARTNER_WANT_JOB ? r->job : NULL,
	};
}

static int send_info(struct serve *s, const struct source *from, struct ckpt_error *error)
{
	struct partner_wire_image info = {
		.generation = htole64(from->generation),
		.created_ns = htole64(from->created_ns),
		.bytes = htole64(from->layout.bytes),
		.flags = htole32(from->layout.parity ? PARTNER_PARITY : 0),
	};
	unsigned int i;

	memcpy(info.id, from->id, sizeof(info.id));
	memcpy(info.job, from->job, sizeof(from->job));
	for (i = 0; i < LAYOUT_FILES; i++)
		info.len[i] = htole64(from->layout.len[i]);
	return partner_link_tell(&s->link, PARTNER_INFO, &info, sizeof(info), error);
}

/* Find out whether the client has cancelled. */
static int given_up(struct serve *s, bool *ret_given_up, struct ckpt_error *error)
{
	enum partner_type type;
	size_t len;
	int err;

	*ret_given_up = false;
	if (!partner_link_ready(&s->link))
		return 0;
	err = partner_link_receive(&s->link, 0, &type, &len, error);
	if (!err && type != PARTNER_CANCEL)
		return partner_serve_protocol(s, error);
	*ret_given_up = !err;
	return err;
}

/* Read a piece into link.out; partner_alive's frames do not use that buffer. */
static int read_piece(struct serve *s, const struct source *from, uint64_t pos, size_t len,
		      struct ckpt_error *why)
{
	int err;

	partner_alive_begin(&s->alive);
	err = source_read(from, pos, s->link.out, len, why);
	partner_alive_end(&s->alive);
	return err;
}

/* Send a source's DATA.  *ret_err: an error of the image; return value: of the connection. */
static int send_data(struct serve *s, const struct source *from, size_t piece, int *ret_err,
		     struct ckpt_error *why, struct ckpt_error *error)
{
	uint64_t pos, total = from->layout.total;
	bool over;
	int err = send_info(s, from, error);

	for (pos = 0; !err && pos < total; pos += piece) {
		size_t len = total - pos < piece ? total - pos : piece;

		err = given_up(s, &over, error);
		if (!err && over) {
			*ret_err = error_set(why, -ECANCELED, "cancelled");
			return 0;
		}
		if (!err)
			*ret_err = read_piece(s, from, pos, len, why);
		if (*ret_err)
			return 0;
		if (!err)
			err = partner_link_send(&s->link, PARTNER_DATA, len, error);
	}
	return err;
}

/* Open an image of this node's own, outside the store, by the caller's locate(). */
static int open_located(struct serve *s, const char *name, const struct image_expect *expect,
			struct source *ret_source, char **ret_path, struct ckpt_error *why)
{
	int err = s->o->locate(name, s->o->arg, ret_path);

	return err ? error_set(why, err, "there is no image %.150s here", name) :
		     source_open(ret_source, *ret_path, s->o->key, expect, why);
}

static int partner_serve_get(struct serve *s, const struct partner_wire_request *r,
			     struct ckpt_error *error)
{
	struct ckpt_error why = {};
	_cleanup_free_ char *path = NULL;
	struct image_expect expect;
	struct source from = {};
	size_t piece = piece_of(r);
	int err, other = 0;

	if (!piece)
		return partner_serve_protocol(s, error);
	partner_serve_expected(r, &expect);
	partner_alive_begin(&s->alive);
	err = s->o->locate ? open_located(s, r->name, &expect, &from, &path, &why) :
			     level_posix_source(s->level, r->name, &expect, &from, &path, &why);
	partner_alive_end(&s->alive);
	/* The client writes to its disk meanwhile, without a sign of life: wait longer. */
	s->link.send_ms = session_ms(s);
	if (!err)
		other = send_data(s, &from, piece, &err, &why, error);
	s->link.send_ms = 0;
	source_close(&from);
	return other ? other : partner_serve_result(s, err, &why, error);
}

/* ------------------------------------------------------------ the others */

struct listing {
	struct serve *s;
	struct ckpt_error *error;
	int err;			/* an error of the connection */
};

/* Send a header of parity, which is longer than partner_link_tell() allows. */
static int send_header(struct listing *l, const struct level_item *item)
{
	struct partner_link *link = &l->s->link;

	memcpy(link->out, item->header, item->header_len);
	return partner_link_send(link, PARTNER_HEADER, item->header_len, l->error);
}

static int send_item(const struct level_item *item, void *arg)
{
	struct listing *l = arg;
	struct partner_wire_image wire = {
		.err = htole32((uint32_t)-item->err), .generation = htole64(item->generation),
		.created_ns = htole64(item->created_ns), .bytes = htole64(item->bytes),
		.flags = htole32(item->header ? PARTNER_PARITY : 0),
	};

	snprintf(wire.name, sizeof(wire.name), "%s", item->name);
	snprintf(wire.text, sizeof(wire.text), "%s", item->text);
	if (item->job)
		snprintf(wire.job, sizeof(wire.job), "%s", item->job);
	memcpy(wire.id, item->id, sizeof(wire.id));
	partner_alive_end(&l->s->alive);
	l->err = partner_link_tell(&l->s->link, PARTNER_ITEM, &wire, sizeof(wire), l->error);
	if (!l->err && item->header)
		l->err = send_header(l, item);
	partner_alive_begin(&l->s->alive);
	return l->err;
}

static int partner_serve_list(struct serve *s, const struct partner_wire_request *r,
			      struct ckpt_error *error)
{
	struct listing l = { .s = s, .error = error };
	struct ckpt_error why = {};
	int err;

	partner_alive_begin(&s->alive);
	err = level_list(s->level, r->name, send_item, &l, &why);
	partner_alive_end(&s->alive);
	return l.err ? l.err : partner_serve_result(s, err, &why, error);
}

static int verify_located(struct serve *s, const char *name, bool deep,
			  const struct image_expect *expect, struct ckpt_error *why)
{
	_cleanup_free_ char *path = NULL;
	int err = s->o->locate(name, s->o->arg, &path);

	return err ? error_set(why, err, "there is no image %.150s here", name) :
		     image_verify(path, s->o->key, expect, deep, NULL, NULL, why);
}

static int partner_serve_verify(struct serve *s, const struct partner_wire_request *r,
				struct ckpt_error *error)
{
	bool deep = le32toh(r->flags) & PARTNER_DEEP;
	struct level_options o = {};
	struct ckpt_error why = {};
	struct image_expect expect;
	int err;

	partner_serve_expected(r, &expect);
	o.expect = &expect;
	partner_alive_begin(&s->alive);
	err = s->o->locate ? verify_located(s, r->name, deep, &expect, &why) :
			     level_verify(s->level, r->name, deep, &o, &why);
	partner_alive_end(&s->alive);
	return partner_serve_result(s, err, &why, error);
}

static int partner_serve_delete(struct serve *s, const struct partner_wire_request *r,
				struct ckpt_error *error)
{
	struct ckpt_error why = {};
	int err;

	partner_alive_begin(&s->alive);
	err = s->o->read_only ? error_set(&why, -EROFS, "the ticket is for reading only") :
				level_delete(s->level, r->name, &why);
	partner_alive_end(&s->alive);
	return partner_serve_result(s, err, &why, error);
}

static int partner_serve_space(struct serve *s, struct ckpt_error *error)
{
	struct level_space space = {};
	struct ckpt_error why = {};
	int err;

	partner_alive_begin(&s->alive);
	err = level_space(s->level, &space, &why);
	if (!err)
		err = partner_room_space(s->o->dir, s->o->max_bytes, s->o->coming, &space, &why);
	partner_alive_end(&s->alive);
	return result_full(s, err, &space, &why, error);
}

/* ----------------------------------------------------------------- whole */

/* Wait while the client's connection before this one still ends: it holds the level's lock. */
static int open_level(struct serve *s, const struct level_posix_options *o, struct ckpt_error *why)
{
	const struct timespec wait = { .tv_nsec = BUSY_NS };
	unsigned int looks = BUSY_LOOKS;
	int err;

	while ((err = level_posix_open(o, &s->level, why)) == -EBUSY && looks--)
		nanosleep(&wait, NULL);
	return err;
}

static int open_store(struct serve *s, const struct partner_wire_open *open,
		      struct ckpt_error *error)
{
	const struct level_posix_options o = {
		.dir = s->o->dir, .node = s->o->owner, .key = s->o->key, .shared = true,
		.read_only = s->o->read_only,
	};
	struct ckpt_error why = {};
	uint8_t id[sizeof(open->key_id)];
	int err;

	image_key_id(s->o->key, id);
	if (memcmp(id, open->key_id, sizeof(id))) {
		err = error_set(&why, -EKEYREJECTED,
				"its key of images is another one than that of %.63s: all nodes "
				"must have the same file (key of ckptd.conf)",
				s->o->client);
	} else if (s->o->locate) {
		err = 0;
	} else {
		partner_alive_begin(&s->alive);
		err = s->o->ready ? s->o->ready(s->o->arg, &why) : 0;
		if (!err)
			err = open_level(s, &o, &why);
		partner_alive_end(&s->alive);
		if (err == -ENOENT && o.read_only)
			error_set(&why, err, "it has no images of %.63s", o.node);
	}
	s->open = !err;
	return partner_serve_result(s, err, &why, error);
}

/* Refuse a request that only the store can serve. */
static int partner_serve_refuse(struct serve *s, struct ckpt_error *error)
{
	struct ckpt_error why = {};
	int err = error_set(&why, -EROFS, "the ticket is for getting images only");

	return partner_serve_result(s, err, &why, error);
}

static bool partner_serve_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static int on_request(struct serve *s, enum partner_type type, size_t len,
		      struct ckpt_error *error)
{
	struct partner_wire_request r;

	if (type == PARTNER_CANCEL)	/* late, for a get that was over already */
		return 0;
	if (s->o->locate && s->open && type != PARTNER_GET && type != PARTNER_VERIFY)
		return partner_serve_refuse(s, error);
	if (!s->open || (type == PARTNER_SPACE) == !!len)
		return partner_serve_protocol(s, error);
	if (type == PARTNER_SPACE)
		return partner_serve_space(s, error);
	if (len != sizeof(r))
		return partner_serve_protocol(s, error);
	memcpy(&r, s->link.in, sizeof(r));
	if (!partner_serve_terminated(r.name, sizeof(r.name)) ||
	    !partner_serve_terminated(r.job, sizeof(r.job)) ||
	    (!level_name_valid(r.name) && (type != PARTNER_LIST || r.name[0])))
		return partner_serve_protocol(s, error);
	switch (type) {
	case PARTNER_LIST:
		return partner_serve_list(s, &r, error);
	case PARTNER_PUT:
		return partner_serve_put(s, &r, error);
	case PARTNER_GET:
		return partner_serve_get(s, &r, error);
	case PARTNER_VERIFY:
		return partner_serve_verify(s, &r, error);
	case PARTNER_DELETE:
		return partner_serve_delete(s, &r, error);
	default:
		return partner_serve_protocol(s, error);
	}
}

/* The first frame must be OPEN. */
static int partner_serve_converse(struct serve *s, struct ckpt_error *error)
{
	struct partner_wire_open open;
	enum partner_type type;
	size_t len;
	int err;

	err = partner_link_receive(&s->link, 0, &type, &len, error);
	if (!err && (type != PARTNER_OPEN || len != sizeof(open)))
		return partner_serve_protocol(s, error);
	if (!err) {
		memcpy(&open, s->link.in, sizeof(open));
		err = open_store(s, &open, error);
	}
	while (!err) {
		err = partner_link_receive(&s->link, session_ms(s), &type, &len, error);
		if (!err)
			err = on_request(s, type, len, error);
	}
	return err == -EPIPE ? 0 : err;
}

int partner_serve(int fd, const struct partner_hello *hello,
		  const uint8_t token[PARTNER_TOKEN_BYTES],
		  const struct partner_serve_options *options, struct ckpt_error *error)
{
	struct serve s = { .o = options };
	int err;

	err = partner_link_init(&s.link, fd, options->client, options->idle_ms, error);
	partner_alive_start(&s.alive, &s.link);
	if (!err)
		err = partner_link_welcome(&s.link, hello, token, options->plain, error);
	if (!err)
		err = partner_serve_converse(&s, error);
	partner_alive_stop(&s.alive);
	level_close(s.level);
	partner_link_done(&s.link);
	return err;
}
