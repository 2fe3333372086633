// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writer that does not wait: io_uring, O_DIRECT, several writes on their way.
 *
 * Bytes are copied into the ring's buffers; a full one is written at once.  What
 * fails is kept with its file and told by the next append, sync at the latest; a
 * short write is finished on the spot.  The last block is filled up with zeros, and
 * cut off before the sync.  No space is taken ahead: ext4 then writes to extents that
 * are not initialized, and what it has to do at the end of each write costs more than
 * it saves (docs/design/storage.md).
 *
 * A file that is refused O_DIRECT is written like the plain writer does it.
 * Directory, lock and publishing are writer_dir.c's.
 */
#include "image/writer_uring.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "image/plain_file.h"
#include "image/ring.h"
#include "image/writer_dir.h"

struct uring_writer {
	struct writer_dir wd;	/* first */
	struct ring *ring;
	bool cached;		/* a file was refused O_DIRECT */
	writer_uring_fault_fn fault;
	void *fault_arg;
};

struct image_wfile {
	struct uring_writer *uw;
	struct plain_file plain;
	struct ring_target to;
	struct ring_buffer *open;	/* being filled */
	uint64_t begun;			/* bytes whose write was begun: open's offset */
	uint64_t len;			/* all that was appended */
	unsigned int on_way;
	int err;			/* of the first write that failed */
};

static struct uring_writer *to_uring(struct image_writer *w)
{
	return (struct uring_writer *)w;
}

/* ---------------------------------------------------------------- writes */

/* Did it fail in a way that writing it again may mend? */
static bool worth_another(const struct image_wfile *f, int res)
{
	return res == -EAGAIN || res == -EINTR || res == -EOPNOTSUPP ||
	       (res == -EINVAL && f->plain.direct);
}

/* A write ended, as far as @res says; the rest is written now. */
static void written(void *owner, const struct ring_buffer *b, int res)
{
	struct image_wfile *f = owner;
	struct uring_writer *uw = f->uw;
	uint32_t done;

	f->on_way--;
	if (uw->fault)
		res = uw->fault(uw->fault_arg, b->offset, b->len, res);
	if (res == (int)b->len || f->err)
		return;
	if (res < 0 && !worth_another(f, res)) {
		f->err = res;
		return;
	}
	done = res > 0 ? (uint32_t)res : 0;
	f->err = plain_file_write(&f->plain, b->p + done, b->len - done, b->offset + done);
}

/* The buffer goes; its last block is filled up with zeros. */
static int begin_write(struct image_wfile *f)
{
	struct ring_buffer *b = f->open;
	uint32_t tail = b->len % PLAIN_FILE_ALIGN;
	int err;

	if (tail) {
		memset(b->p + b->len, 0, PLAIN_FILE_ALIGN - tail);
		b->len += PLAIN_FILE_ALIGN - tail;
	}
	b->offset = f->begun;
	f->open = NULL;
	f->begun += b->len;
	f->on_way++;
	err = ring_write(f->uw->ring, b, &f->to);
	if (err) {
		f->on_way--;
		ring_put(f->uw->ring, b);
		f->err = err;
	}
	return err;
}

static int drain(struct image_wfile *f)
{
	int err = 0;

	while (f->on_way && !err)
		err = ring_wait(f->uw->ring);
	return err;
}

/* From here on without the ring: the file was refused O_DIRECT after all. */
static int leave_ring(struct image_wfile *f)
{
	int err = drain(f);

	if (!err)
		err = f->err;
	if (!err && f->open)
		err = plain_file_write(&f->plain, f->open->p, f->open->len, f->begun);
	if (f->open) {
		f->begun += f->open->len;
		ring_put(f->uw->ring, take_ptr(f->open));
	}
	return err;
}

static int append_plain(struct image_wfile *f, const void *buf, size_t len)
{
	int err = f->open ? leave_ring(f) : 0;

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
			err = ring_get(f->uw->ring, &f->open);
			if (err)
				break;
		}
		n = RING_BUFFER_BYTES - f->open->len;
		if (n > len)
			n = len;
		memcpy(f->open->p + f->open->len, p, n);
		f->open->len += (uint32_t)n;
		f->len += n;
		p += n;
		len -= n;
		if (f->open->len == RING_BUFFER_BYTES)
			err = begin_write(f);
	}
	return err ? err : f->err;
}

static int uring_append(struct image_wfile *f, const void *buf, size_t len)
{
	if (f->err)
		return f->err;
	return f->plain.direct ? append_ring(f, buf, len) : append_plain(f, buf, len);
}

static void uring_written(struct image_wfile *f, uint64_t *ret_bytes, uint64_t *ret_ns)
{
	ring_written(f->uw->ring, ret_bytes, ret_ns);
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

/* The end of the file may fill no block: nothing can be appended after this. */
static int uring_sync(struct image_wfile *f)
{
	int err = f->err;

	if (!err && f->open)
		err = f->plain.direct ? begin_write(f) : leave_ring(f);
	if (!err)
		err = drain(f);
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
	int err = drain(f);

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
			      struct image_error *error)
{
	struct uring_writer *uw = calloc(1, sizeof(*uw));
	int err;

	if (!uw)
		return image_error_set(error, -ENOMEM, "out of memory");
	err = ring_create(written, &uw->ring);
	if (err) {
		free(uw);
		return image_error_set(error, -EOPNOTSUPP, "io_uring: %s", strerror(-err));
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
			struct image_error *error)
{
	int err = image_writer_uring_create(dir, ret_writer, error);

	return err == -EOPNOTSUPP ? image_writer_posix_create(dir, ret_writer, error) : err;
}

void writer_uring_fault(struct image_writer *w, writer_uring_fault_fn fault, void *arg)
{
	to_uring(w)->fault = fault;
	to_uring(w)->fault_arg = arg;
}
