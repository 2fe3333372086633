// SPDX-License-Identifier: GPL-2.0-only
/*
 * A level on another node; see partner.h, partner_wire.h.
 *
 * Owns the connection.  Outgoing images are read with source.c, incoming ones become images
 * with arrival.c, as every copy in levels/ does: the partner reads back and authenticates an
 * image before it confirms it, and an image from the partner is read back and authenticated
 * here before it gets its name.  So a partner that lies, or that has a bad disk, can cost
 * time and nothing else.
 *
 * A frame from the other side must be one that is allowed at that moment; any other breaks
 * the connection.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/error.h"
#include "levels/arrival.h"
#include "levels/partner_connect.h"
#include "levels/partner_link.h"
#include "levels/source.h"

#define MIB		(1ULL << 20)
#define BUSY_MS		60000	/* of the partner's disk, and a second for each MiB */
#define VERIFY_MS	86400000	/* of an image whose size is not known here */
#define LIST_MS		600000	/* of all that a node keeps of another */
#define LIST_MAX	65536	/* and how many images these can be */
#define GIVE_UP_MS	2000	/* to leave the connection in order */
#define SLACK_BYTES	MIB

struct partner_level {
	struct level base;
	struct partner_link link;
	char node[PARTNER_NAME_SIZE];
	const struct image_key *key;
};

static struct partner_level *to_partner(struct level *l)
{
	return (struct partner_level *)l;	/* base is the first member */
}

static int partner_protocol(struct partner_level *p, struct ckpt_error *error)
{
	p->link.broken = true;
	return error_set(error, -EPROTO,
			 "%.63s: what it says does not belong here: install the same version on "
			 "both nodes",
			 p->node);
}

/* --------------------------------------------------- requests and answers */

/* Begin an operation: the caller's @cancelled ends its waits. */
static void partner_begin(struct partner_level *p, const struct level_options *o)
{
	p->link.cancelled = o ? o->cancelled : NULL;
	p->link.arg = o ? o->arg : NULL;
}

static uint64_t busy_ms(uint64_t bytes)
{
	return BUSY_MS + bytes / MIB * 1000;
}

static int result_of(struct partner_level *p, size_t len, struct level_space *ret_space,
		     struct ckpt_error *error)
{
	struct partner_wire_result r;
	int err;

	if (len != sizeof(r))
		return partner_protocol(p, error);
	memcpy(&r, p->link.in, sizeof(r));
	if (le32toh(r.err) > 4095 || !memchr(r.text, '\0', sizeof(r.text)))
		return partner_protocol(p, error);
	err = -(int)le32toh(r.err);
	if (err)
		return error_set(error, err, "%.63s: %.190s", p->node, r.text);
	if (ret_space)
		*ret_space = (struct level_space) { le64toh(r.total), le64toh(r.free) };
	return 0;
}

/*
 * Cancel the running request, and wait a short time for its RESULT, so that the connection
 * can be used further.
 */
static void give_up(struct partner_level *p)
{
	unsigned int idle_ms = p->link.idle_ms;
	int64_t until = clock_monotonic_ms() + GIVE_UP_MS;
	enum partner_type type = PARTNER_DATA;
	struct ckpt_error unread;
	size_t len;
	int err;

	p->link.cancelled = NULL;
	if (idle_ms > GIVE_UP_MS)
		p->link.idle_ms = GIVE_UP_MS;
	err = partner_link_tell(&p->link, PARTNER_CANCEL, NULL, 0, &unread);
	while (!err && type != PARTNER_RESULT && clock_monotonic_ms() < until)
		err = partner_link_receive(&p->link, 0, &type, &len, &unread);
	if (type != PARTNER_RESULT)
		p->link.broken = true;
	p->link.idle_ms = idle_ms;
}

static int busy_for_long(struct partner_level *p, uint64_t ms, struct ckpt_error *error)
{
	p->link.broken = true;
	return error_set(error, -ETIMEDOUT, "%.63s: its disk has been busy for %llu s: is it well?",
			       p->node, (unsigned long long)ms / 1000);
}

/* Receive the next frame other than ALIVE.  @busy_ms: how long the partner may be at work */
static int next_frame(struct partner_level *p, uint64_t busy_ms, enum partner_type *ret_type,
		      size_t *ret_len, struct ckpt_error *error)
{
	int64_t until = clock_monotonic_ms() + busy_ms;
	int err;

	do {
		err = partner_link_receive(&p->link, 0, ret_type, ret_len, error);
		if (err == -ECANCELED)
			give_up(p);
		if (err)
			return err == -EPIPE ? -ECONNRESET : err;
		if (*ret_type == PARTNER_ALIVE && clock_monotonic_ms() > until)
			return busy_for_long(p, busy_ms, error);
	} while (*ret_type == PARTNER_ALIVE);
	return 0;
}

/* Receive an answer: 1 and @size bytes at p->link.in for a frame @other, else its RESULT. */
static int partner_answer(struct partner_level *p, enum partner_type other, size_t size,
			  uint64_t busy_ms, struct level_space *ret_space, struct ckpt_error *error)
{
	enum partner_type type;
	size_t len;
	int err = next_frame(p, busy_ms, &type, &len, error);

	if (err)
		return err;
	if (type == PARTNER_RESULT)
		return result_of(p, len, ret_space, error);
	return type == other && len == size ? 1 : partner_protocol(p, error);
}

/* Receive an answer that is a RESULT only. */
static int partner_simple(struct partner_level *p, uint64_t busy, struct level_space *ret_space,
			  struct ckpt_error *error)
{
	return partner_answer(p, PARTNER_RESULT, 0, busy, ret_space, error);
}

static void request_init(struct partner_wire_request *r, const char *name,
			 const struct image_expect *expect, uint32_t flags)
{
	*r = (struct partner_wire_request) {};
	snprintf(r->name, sizeof(r->name), "%s", name);
	if (expect && expect->generation) {
		r->generation = htole64(expect->generation);
		flags |= PARTNER_WANT_GENERATION;
	}
	if (expect && expect->id) {
		memcpy(r->id, expect->id, sizeof(r->id));
		flags |= PARTNER_WANT_ID;
	}
	if (expect && expect->job) {
		snprintf(r->job, sizeof(r->job), "%s", expect->job);
		flags |= PARTNER_WANT_JOB;
	}
	r->flags = htole32(flags);
}

/* Piece size: small enough to keep a limit evenly, and not to let the other side wait. */
static uint32_t piece_for(const struct level_options *o)
{
	uint64_t piece = o->bucket && o->bucket->rate ? o->bucket->rate / 8 : PARTNER_PIECE_MAX;

	piece &= ~(uint64_t)(LAYOUT_ALIGN - 1);
	if (piece < PARTNER_PIECE_MIN)
		piece = PARTNER_PIECE_MIN;
	return piece < PARTNER_PIECE_MAX ? (uint32_t)piece : PARTNER_PIECE_MAX;
}

/* ------------------------------------------------------------------- put */

/* Handle a frame that comes during a put: ALIVE (0), or the RESULT that ends it. */
static int partner_heard(struct partner_level *p, struct ckpt_error *error)
{
	int64_t until = clock_monotonic_ms() + p->link.idle_ms;
	enum partner_type type = PARTNER_ALIVE;
	struct ckpt_error unread;
	size_t len;
	int err;

	partner_begin(p, NULL); /* a frame that has begun to come is not cancelled */
	while (type == PARTNER_ALIVE) {
		if (!partner_link_ready(&p->link))
			return 0;
		if (clock_monotonic_ms() > until)
			return busy_for_long(p, p->link.idle_ms, error);
		err = partner_link_receive(&p->link, 0, &type, &len, error);
		if (err)
			return err == -EPIPE ? -ECONNRESET : err;
	}
	err = type == PARTNER_RESULT ? result_of(p, len, NULL, error) : 0;
	if (!err)
		return partner_protocol(p, error);
	if (partner_link_tell(&p->link, PARTNER_CANCEL, NULL, 0, &unread))
		p->link.broken = true;
	return err;
}

static int send_image(struct partner_level *p, const struct source *s, size_t piece,
		      const struct level_options *o, struct ckpt_error *error)
{
	uint64_t pos, total = s->layout.total;
	int err = 0;

	p->link.busy_ms = busy_ms(s->layout.bytes);	/* it syncs what it has */
	for (pos = 0; pos < total; ) {
		size_t len = total - pos < piece ? total - pos : piece;

		err = level_pace(o, len, error);
		if (!err)
			err = source_read(s, pos, p->link.out, len, error);
		if (!err) {
			err = partner_heard(p, error);
			if (err)
				return err;
			partner_begin(p, o);
			err = partner_link_send(&p->link, PARTNER_DATA, len, error);
			if (err && err != -ECANCELED)
				return err;
		}
		if (err) {
			give_up(p);
			return err;
		}
		pos += len;
		if (o->progress)
			o->progress(pos, total, o->arg);
	}
	partner_begin(p, NULL);			/* reading back cannot be cancelled */
	err = partner_link_tell(&p->link, PARTNER_END, NULL, 0, error);
	return err ? err : partner_simple(p, busy_ms(s->layout.bytes), NULL, error);
}

static int partner_put(struct level *l, const char *name, const char *image,
		       const struct level_options *o, struct ckpt_error *error)
{
	struct partner_level *p = to_partner(l);
	struct partner_wire_request r;
	struct source s;
	unsigned int i;
	int err;

	err = source_open_any(&s, image, p->key, o->expect, error);
	if (err)
		return err;
	partner_begin(p, o);
	request_init(&r, name, NULL, s.layout.parity ? PARTNER_PARITY : 0);
	r.generation = htole64(s.generation);
	memcpy(r.id, s.id, sizeof(r.id));
	memcpy(r.job, s.job, sizeof(s.job));
	for (i = 0; i < LAYOUT_FILES; i++)
		r.len[i] = htole64(s.layout.len[i]);
	r.piece = htole32(piece_for(o));
	err = partner_link_tell(&p->link, PARTNER_PUT, &r, sizeof(r), error);
	if (!err)
		err = partner_answer(p, PARTNER_GO, 0, busy_ms(s.layout.bytes), NULL, error);
	if (err > 0)
		err = send_image(p, &s, piece_for(o), o, error);
	p->link.busy_ms = 0;
	source_close(&s);
	return err;
}

/* ------------------------------------------------------------------- get */

struct incoming {
	struct layout layout;
	uint64_t generation;
	uint8_t id[32];
};

/* Refuse an unwanted image early.  INFO is not trusted: the manifest decides in the end. */
static int read_info(struct partner_level *p, const struct level_options *o,
		     struct incoming *ret_in, struct ckpt_error *error)
{
	const struct image_expect *expect = o->expect;
	struct partner_wire_image info;
	uint64_t lens[LAYOUT_FILES];
	unsigned int i;

	memcpy(&info, p->link.in, sizeof(info));
	for (i = 0; i < LAYOUT_FILES; i++)
		lens[i] = le64toh(info.len[i]);
	if (layout_init_kind(&ret_in->layout, lens, le32toh(info.flags) & PARTNER_PARITY) ||
	    !memchr(info.job, '\0', sizeof(info.job)))
		return partner_protocol(p, error);
	ret_in->generation = le64toh(info.generation);
	memcpy(ret_in->id, info.id, sizeof(info.id));
	if (o->image_only && ret_in->layout.parity)
		return error_set(error, -ESTALE, "%.63s: has parity where an image is wanted",
				 p->node);
	if (expect && ((expect->generation && expect->generation != ret_in->generation) ||
		       (expect->job && strcmp(expect->job, info.job)) ||
		       (expect->id && memcmp(expect->id, info.id, sizeof(info.id)))))
		return error_set(error, -ESTALE,
				 "%.63s: has another image than the one that is wanted under that "
				 "name",
				 p->node);
	return 0;
}

static int partner_check_room(const char *image, uint64_t total, struct ckpt_error *error)
{
	_cleanup_free_ char *parent = strdup(image);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	struct statvfs fs;

	if (slash)
		slash[slash == parent] = '\0';
	if (!parent || statvfs(slash ? parent : ".", &fs) < 0)
		return 0;		/* writing will report what is wrong there */
	if ((uint64_t)fs.f_bavail * fs.f_frsize < total + SLACK_BYTES)
		return error_set(error, -ENOSPC,
				 "%.120s: %llu MiB free, the image has %llu MiB: nothing was "
				 "written",
				 image, (unsigned long long)fs.f_bavail * fs.f_frsize >> 20,
				 (unsigned long long)total >> 20);
	return 0;
}

/* Receive @want bytes of DATA.  @ret_over: the partner ended the transfer. */
static int receive_data(struct partner_level *p, size_t want, bool *ret_over,
			struct ckpt_error *error)
{
	int err = partner_answer(p, PARTNER_DATA, want, BUSY_MS, NULL, error);

	*ret_over = err <= 0;
	if (!err)
		return partner_protocol(p, error);
	return err < 0 ? err : 0;
}

static int receive_image(struct partner_level *p, struct arrival *a, size_t piece,
			 const struct level_options *o, struct ckpt_error *error)
{
	uint64_t pos, total = a->layout->total;
	bool over = false;
	int err = 0;

	for (pos = 0; pos < total; ) {
		size_t len = total - pos < piece ? total - pos : piece;

		err = level_pace(o, len, error);
		if (!err)
			err = receive_data(p, len, &over, error);
		if (!err)
			err = arrival_append(a, p->link.in, len, error);
		if (err && !over)
			give_up(p);
		if (err)
			return err;
		pos += len;
		if (o->progress)
			o->progress(pos, total, o->arg);
	}
	return partner_simple(p, BUSY_MS, NULL, error);
}

/* INFO matched the request; the commit finds out whether INFO was true. */
static int partner_commit(struct partner_level *p, struct arrival *a, const struct incoming *in,
			  const struct image_expect *wanted, struct ckpt_error *error)
{
	struct image_expect expect = { .generation = in->generation, .id = in->id };
	int err;

	if (wanted)
		expect.job = wanted->job;
	err = arrival_commit(a, p->key, &expect, error);

	if (err == -EBADMSG) {
		struct ckpt_error why = *error;

		error_set(error, err, "copy from %.63s: %.180s", p->node, why.text);
	}
	return err;
}

static int partner_get(struct level *l, const char *name, const char *image,
		       const struct level_options *o, struct ckpt_error *error)
{
	struct partner_level *p = to_partner(l);
	struct partner_wire_request r;
	struct arrival a = {};
	struct incoming in;
	int err;

	partner_begin(p, o);
	request_init(&r, name, o->expect, 0);
	r.piece = htole32(piece_for(o));
	err = partner_link_tell(&p->link, PARTNER_GET, &r, sizeof(r), error);
	if (!err)
		err = partner_answer(p, PARTNER_INFO, sizeof(struct partner_wire_image), BUSY_MS,
				     NULL, error);
	if (err <= 0)
		return err ? err : partner_protocol(p, error);
	err = read_info(p, o, &in, error);
	if (!err)
		err = partner_check_room(image, in.layout.total, error);
	if (!err)
		err = arrival_begin(&a, image, &in.layout, o->writers, error);
	if (err)
		give_up(p);
	else
		err = receive_image(p, &a, piece_for(o), o, error);
	if (!err)
		err = partner_commit(p, &a, &in, o->expect, error);
	arrival_done(&a);
	return err;
}

/* ------------------------------------------------------------ the others */

static int partner_verify(struct level *l, const char *name, bool deep,
			  const struct level_options *o, struct ckpt_error *error)
{
	struct partner_level *p = to_partner(l);
	struct partner_wire_request r;
	int err;

	partner_begin(p, o);
	request_init(&r, name, o->expect, deep ? PARTNER_DEEP : 0);
	err = partner_link_tell(&p->link, PARTNER_VERIFY, &r, sizeof(r), error);
	return err ? err : partner_simple(p, VERIFY_MS, NULL, error);
}

static int partner_delete(struct level *l, const char *name, struct ckpt_error *error)
{
	struct partner_level *p = to_partner(l);
	struct partner_wire_request r;
	int err;

	partner_begin(p, NULL);
	request_init(&r, name, NULL, 0);
	err = partner_link_tell(&p->link, PARTNER_DELETE, &r, sizeof(r), error);
	return err ? err : partner_simple(p, BUSY_MS, NULL, error);
}

/* Receive the header of a file of parity; it is at p->link.in until the next frame. */
static int header_of(struct partner_level *p, struct level_item *item, struct ckpt_error *error)
{
	enum partner_type type;
	size_t len;
	int err = next_frame(p, p->link.idle_ms, &type, &len, error);

	if (err)
		return err;
	if (type != PARTNER_HEADER || !len)
		return partner_protocol(p, error);
	item->header = p->link.in;
	item->header_len = len;
	return 0;
}

/* Handle an ITEM.  @fn: NULL if the caller wants no more. */
static int item_of(struct partner_level *p, const char *prefix, level_item_fn fn, void *arg,
		   int *ret_said, struct ckpt_error *error)
{
	struct partner_wire_image w;
	struct level_item item = { .text = "" };
	int err;

	memcpy(&w, p->link.in, sizeof(w));
	if (!memchr(w.name, '\0', sizeof(w.name)) || !memchr(w.job, '\0', sizeof(w.job)) ||
	    !memchr(w.text, '\0', sizeof(w.text)) || !level_name_valid(w.name) ||
	    strncmp(w.name, prefix, strlen(prefix)) || le32toh(w.err) > 4095)
		return partner_protocol(p, error);
	item.name = w.name;
	item.err = -(int)le32toh(w.err);
	if (item.err) {
		item.text = w.text;
	} else {
		item.job = w.job;
		item.generation = le64toh(w.generation);
		item.created_ns = le64toh(w.created_ns);
		item.bytes = le64toh(w.bytes);
		memcpy(item.id, w.id, sizeof(item.id));
	}
	err = item.err || !(le32toh(w.flags) & PARTNER_PARITY) ? 0 : header_of(p, &item, error);
	if (!err && fn)
		*ret_said = fn(&item, arg);
	return err;
}

static int partner_list(struct level *l, const char *prefix, level_item_fn fn, void *arg,
			struct ckpt_error *error)
{
	struct partner_level *p = to_partner(l);
	struct partner_wire_request r;
	int64_t until = clock_monotonic_ms() + LIST_MS;
	unsigned int items = 0;
	int err, said = 0;

	partner_begin(p, NULL);
	request_init(&r, prefix, NULL, 0);
	err = partner_link_tell(&p->link, PARTNER_LIST, &r, sizeof(r), error);
	while (!err && (err = partner_answer(p, PARTNER_ITEM, sizeof(struct partner_wire_image),
					     BUSY_MS, NULL, error)) > 0) {
		if (++items > LIST_MAX || clock_monotonic_ms() > until) {
			p->link.broken = true;
			return error_set(error, -E2BIG,
					 "%.63s: its list does not end: see what its ckptd logs",
					 p->node);
		}
		/* After @fn ended the listing it is not called again; read the rest anyway. */
		err = item_of(p, prefix, said ? NULL : fn, arg, &said, error);
		if (err)
			return err;
	}
	return said ? said : err;
}

static int partner_space(struct level *l, struct level_space *ret_space, struct ckpt_error *error)
{
	struct partner_level *p = to_partner(l);
	int err;

	partner_begin(p, NULL);
	err = partner_link_tell(&p->link, PARTNER_SPACE, NULL, 0, error);
	return err ? err : partner_simple(p, BUSY_MS, ret_space, error);
}

/* --------------------------------------------------------- open and close */

static void partner_close(struct level *l)
{
	struct partner_level *p = to_partner(l);

	partner_link_done(&p->link);
	free(p);
}

static const struct level_ops partner_ops = {
	.kind = "partner",
	.put = partner_put,
	.get = partner_get,
	.verify = partner_verify,
	.delete = partner_delete,
	.list = partner_list,
	.space = partner_space,
	.close = partner_close,
};

static int partner_introduce(struct partner_level *p, const struct partner_ticket *ticket,
			     struct ckpt_error *error)
{
	struct partner_wire_open open;
	int err;

	image_key_id(p->key, open.key_id);
	err = partner_link_meet(&p->link, ticket, error);
	if (!err)
		err = partner_link_tell(&p->link, PARTNER_OPEN, &open, sizeof(open), error);
	return err ? err : partner_simple(p, BUSY_MS, NULL, error);
}

int level_partner_open(const struct level_partner_options *o, struct level **ret_level,
		       struct ckpt_error *error)
{
	struct partner_level *p = calloc(1, sizeof(*p));
	struct ckpt_error unread;
	int fd = o->fd, err;

	error = error ? error : &unread;
	if (!fd)
		fd = partner_connect(o->ticket, o->idle_ms, o->cancelled, o->arg, error);
	if (fd < 0 || !p) {
		free(p);
		if (fd > 0)
			close(fd);
		return fd < 0 ? fd : error_set(error, -ENOMEM, "out of memory");
	}
	p->base = (struct level) { .ops = &partner_ops, .where = p->node };
	p->key = o->key;
	memcpy(p->node, o->ticket->node, sizeof(p->node) - 1);
	err = partner_link_init(&p->link, fd, p->node, o->idle_ms, error);
	p->link.cancelled = o->cancelled;
	p->link.arg = o->arg;
	if (!err)
		err = partner_introduce(p, o->ticket, error);
	if (err) {
		partner_close(&p->base);
		return err;
	}
	*ret_level = &p->base;
	return 0;
}
