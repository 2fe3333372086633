// SPDX-License-Identifier: GPL-2.0-only
/*
 * The asynchronous writer: io_uring, O_DIRECT, several writes at a time.
 *
 * Bytes are copied into pieces of the ring's memory, or were made in lent pieces.  Full
 * pieces that lie side by side form one run, which is written when it cannot grow any
 * more.  A failed write's error is kept with its file and returned by the next append, or
 * at the latest by sync; a short write is finished on the spot.  The last block before
 * and after a lent piece is filled up with zeros; at the end of the file the zeros are
 * cut off before the sync.  Space is not allocated ahead: ext4 would then write to
 * extents that are not initialized, and its work at the end of each write costs more than
 * the allocation saves (docs/decisions/0037-no-space-is-taken-ahead.md).
 *
 * A file for which O_DIRECT is refused is written like the plain writer does.
 * writer_dir.c does directory, lock and publishing.
 */
#include "image/writer_uring.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "image/plain_file.h"
#include "image/ring.h"
#include "image/writer_dir.h"

#define KEPT_BACK	6U	/* pieces that are not lent */

struct uring_writer {
	struct writer_dir wd;	/* first */
	struct ring *ring;
	struct ring_write run;	/* adjacent full pieces that are not written yet */
	struct image_wfile *run_of;	/* the run's file; NULL: no run */
	bool cached;		/* O_DIRECT was refused for a file */
	writer_uring_fault_fn fault;
	void *fault_arg;
};

struct image_wfile {
	struct uring_writer *uw;
	struct plain_file plain;
	struct ring_target to;
	uint8_t *open;			/* piece being filled */
	uint32_t open_len;
	uint64_t begun;			/* bytes written or in the run: open's offset */
	uint64_t len;			/* length of the file as appended so far */
	bool lent;			/* the last append was a lent piece */
	unsigned int on_way;		/* writes that have not ended */
	int err;			/* errno of the first write that failed */
};

static struct uring_writer *to_uring(struct image_writer *w)
{
	return (struct uring_writer *)w;
}

/* ---------------------------------------------------------------- writes */

/* Did the write fail with an error that may not come again with a plain write? */
static bool worth_another(int res)
{
	/* -EINVAL: the file was O_DIRECT when the write began, and may not be now */
	return res == -EAGAIN || res == -EINTR || res == -EOPNOTSUPP || res == -EINVAL;
}

/* A write ended with @res bytes or an error; write the rest now. */
static void writer_uring_written(void *owner, const struct ring_write *w, int res)
{
	struct image_wfile *f = owner;
	struct uring_writer *uw = f->uw;
	uint32_t done;

	f->on_way--;
	if (uw->fault)
		res = uw->fault(uw->fault_arg, w->offset, w->len, res);
	if (res == (int)w->len || f->err)
		return;
	if (res < 0 && !worth_another(res)) {
		f->err = res;
		return;
	}
	done = res > 0 ? (uint32_t)res : 0;
	f->err = plain_file_write(&f->plain, w->p + done, w->len - done, w->offset + done);
}

/* Write the run; an error is kept with the run's file. */
static void write_run(struct uring_writer *uw)
{
	struct image_wfile *f = take_ptr(uw->run_of);
	int err;

	if (!f)
		return;
	f->on_way++;
	err = ring_write(uw->ring, &uw->run, &f->to);
	if (!err)
		return;
	f->on_way--;
	if (!f->err)
		f->err = err;
	for (uint32_t at = 0; at < uw->run.len; at += RING_PIECE_BYTES)
		ring_put(uw->ring, uw->run.p + at);
}

/* Does the piece lie right behind the run?  (A run never goes beyond its block.) */
static bool writer_uring_continues(const struct image_wfile *f, const uint8_t *piece)
{
	const struct uring_writer *uw = f->uw;

	return uw->run_of == f && uw->run.p + uw->run.len == piece;
}

/* Add a finished piece of @len bytes to the run; its last block is filled up with zeros. */
static int add_to_run(struct image_wfile *f, uint8_t *piece, uint32_t len)
{
	struct uring_writer *uw = f->uw;
	uint32_t whole = PLAIN_FILE_ALIGN_UP(len);

	memset(piece + len, 0, whole - len);
	if (writer_uring_continues(f, piece)) {
		uw->run.len += whole;
	} else {
		write_run(uw);
		uw->run = (struct ring_write){ piece, whole, f->begun };
		uw->run_of = f;
	}
	f->begun += whole;
	if (whole < RING_PIECE_BYTES || ring_is_last(uw->ring, piece))
		write_run(uw);
	return f->err;
}

static int close_open(struct image_wfile *f)
{
	return f->open ? add_to_run(f, take_ptr(f->open), f->open_len) : f->err;
}

static int get_piece(struct uring_writer *uw, uint8_t **ret_piece)
{
	int err = ring_get(uw->ring, ret_piece);

	if (err != -ENOBUFS || !uw->run_of)
		return err;
	write_run(uw);
	return ring_get(uw->ring, ret_piece);
}

static int writer_uring_drain(struct image_wfile *f)
{
	int err = 0;

	if (f->uw->run_of == f)
		write_run(f->uw);
	while (f->on_way && !err)
		err = ring_wait(f->uw->ring);
	return err;
}

/* O_DIRECT was refused for the file after all: from here on write it without the ring. */
static int leave_ring(struct image_wfile *f)
{
	int err = writer_uring_drain(f);

	if (!err)
		err = f->err;
	if (!err && f->open)
		err = plain_file_write(&f->plain, f->open, f->open_len, f->begun);
	if (f->open) {
		f->begun += f->open_len;
		ring_put(f->uw->ring, take_ptr(f->open));
	}
	return err;
}

static int append_plain(struct image_wfile *f, const void *buf, size_t len)
{
	int err = leave_ring(f);

	if (!err)
		err = plain_file_write(&f->plain, buf, len, f->len);
	if (err)
		return err;
	f->len += len;
	f->begun = f->len;
	plain_file_kick(&f->plain, f->len);
	return 0;
}

static int append_ring(struct image_wfile *f, const uint8_t *p, size_t len)
{
	int err = 0;

	while (len && !err) {
		size_t n;

		if (!f->open) {
			err = get_piece(f->uw, &f->open);
			if (err)
				break;
			f->open_len = 0;
		}
		n = RING_PIECE_BYTES - f->open_len;
		if (n > len)
			n = len;
		memcpy(f->open + f->open_len, p, n);
		f->open_len += (uint32_t)n;
		f->len += n;
		p += n;
		len -= n;
		if (f->open_len == RING_PIECE_BYTES)
			err = close_open(f);
	}
	return err ? err : f->err;
}

/* Lent pieces, and the bytes after them, begin at a block. */
static void writer_uring_align(struct image_wfile *f)
{
	f->len = PLAIN_FILE_ALIGN_UP(f->len);
}

static int uring_append(struct image_wfile *f, const void *buf, size_t len)
{
	if (f->err)
		return f->err;
	if (f->lent)
		writer_uring_align(f);
	f->lent = false;
	return f->plain.direct ? append_ring(f, buf, len) : append_plain(f, buf, len);
}

static void uring_written(struct image_wfile *f, uint64_t *ret_bytes, uint64_t *ret_ns)
{
	ring_written(f->uw->ring, ret_bytes, ret_ns);
}

/* --------------------------------------------------------- lent pieces */

_Static_assert(RING_PIECE_BYTES == IMAGE_LENT_BYTES, "a piece");
_Static_assert(PLAIN_FILE_ALIGN == IMAGE_LENT_ALIGN, "where it begins");

static void uring_expect(struct image_writer *w, uint64_t bytes)
{
	ring_expect(to_uring(w)->ring, bytes);
}

static void uring_limit(struct image_writer *w, unsigned int pieces)
{
	ring_limit(to_uring(w)->ring, pieces);
}

/* Keep some pieces back, at least one for each file: appends by copy must not get stuck. */
static uint8_t *uring_lend(struct image_writer *w)
{
	struct uring_writer *uw = to_uring(w);
	uint8_t *piece;

	while (ring_free(uw->ring) <= KEPT_BACK) {
		if (!ring_busy(uw->ring))
			write_run(uw);
		if (!ring_busy(uw->ring) || ring_wait(uw->ring))
			return NULL;
	}
	return ring_get(uw->ring, &piece) ? NULL : piece;
}

static void uring_reclaim(struct image_writer *w, uint8_t *piece)
{
	ring_put(to_uring(w)->ring, piece);
}

static int append_lent(struct image_wfile *f, uint8_t *piece, uint32_t len)
{
	int err = close_open(f);

	if (err) {
		ring_put(f->uw->ring, piece);
		return err;
	}
	f->len += len;
	return add_to_run(f, piece, len);
}

static int uring_append_lent(struct image_wfile *f, uint8_t *piece, uint32_t len)
{
	int err = f->err;

	writer_uring_align(f);
	f->lent = true;
	if (!err && f->plain.direct)
		return append_lent(f, piece, len);
	if (!err)
		err = append_plain(f, piece, len);
	ring_put(f->uw->ring, piece);
	return err;
}

/* ----------------------------------------------------------------- files */

static int uring_open(struct image_writer *w, const char *name, struct image_wfile **ret_file)
{
	struct uring_writer *uw = to_uring(w);
	struct image_wfile *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	err = plain_file_create(&f->plain, uw->wd.dir, name);
	if (err) {
		free(f);
		return err;
	}
	f->uw = uw;
	f->to = (struct ring_target){
		.fd = f->plain.fd,
		.slot = f->plain.direct ? ring_add_file(uw->ring, f->plain.fd) : -1,
		.owner = f,
	};
	*ret_file = f;
	return 0;
}

/* Nothing can be appended afterwards, as the end of the file may not fill its block. */
static int uring_sync(struct image_wfile *f)
{
	int err = f->err;

	if (!err && f->open)
		err = f->plain.direct ? close_open(f) : leave_ring(f);
	if (!err)
		err = writer_uring_drain(f);
	if (!err)
		err = f->err;
	if (!err && f->begun > f->len && ftruncate(f->plain.fd, (off_t)f->len) < 0)
		err = -errno;
	if (!err)
		err = ring_sync(f->uw->ring, &f->to);
	if (err && !f->err)
		f->err = err;
	return err;
}

static int uring_close(struct image_wfile *f)
{
	int err = writer_uring_drain(f);

	if (f->open)
		ring_put(f->uw->ring, f->open);
	ring_remove_file(f->uw->ring, f->to.slot);
	f->uw->cached |= f->plain.refused;
	if (!err)
		err = f->err;
	if (close(f->plain.fd) < 0 && errno != EINTR && !err)
		err = -errno;
	free(f);
	return err;
}

/* ---------------------------------------------------------------- writer */

static const char *uring_way(const struct image_writer *w)
{
	return ((const struct uring_writer *)w)->cached ? "write, cached" : "io_uring, direct";
}

static void uring_destroy(struct image_writer *w)
{
	struct uring_writer *uw = to_uring(w);

	writer_dir_done(&uw->wd);
	ring_destroy(uw->ring);
	free(uw);
}

static const struct image_writer_ops uring_ops = {
	.begin = writer_dir_begin,
	.open = uring_open,
	.append = uring_append,
	.written = uring_written,
	.expect = uring_expect,
	.limit = uring_limit,
	.lend = uring_lend,
	.reclaim = uring_reclaim,
	.append_lent = uring_append_lent,
	.sync = uring_sync,
	.close = uring_close,
	.rename = writer_dir_rename,
	.sync_dir = writer_dir_sync,
	.publish = writer_dir_publish,
	.discard = writer_dir_discard,
	.link = writer_dir_link,
	.remove = writer_dir_remove,
	.swap = writer_dir_swap,
	.way = uring_way,
	.destroy = uring_destroy,
};

int image_writer_uring_create(const char *dir, struct image_writer **ret_writer,
			      struct ckpt_error *error)
{
	struct uring_writer *uw = calloc(1, sizeof(*uw));
	int err;

	if (!uw)
		return error_set(error, -ENOMEM, "out of memory");
	err = ring_create(writer_uring_written, &uw->ring);
	if (err) {
		free(uw);
		return error_set(error, -EOPNOTSUPP, "io_uring: %s", strerror(-err));
	}
	err = writer_dir_init(&uw->wd, &uring_ops, dir, error);
	if (err) {
		ring_destroy(uw->ring);
		free(uw);
		return err;
	}
	*ret_writer = &uw->wd.base;
	return 0;
}

int image_writer_create(const char *dir, struct image_writer **ret_writer,
			struct ckpt_error *error)
{
	int err = image_writer_uring_create(dir, ret_writer, error);

	return err == -EOPNOTSUPP ? image_writer_posix_create(dir, ret_writer, error) : err;
}

void writer_uring_fault(struct image_writer *w, writer_uring_fault_fn fault, void *arg)
{
	to_uring(w)->fault = fault;
	to_uring(w)->fault_arg = arg;
}
