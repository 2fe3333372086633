// SPDX-License-Identifier: GPL-2.0-only
/*
 * An io_uring for writing.
 *
 * A buffer is the owner's from ring_get() to ring_write(), the kernel's until its
 * completion was taken, and free again after that; the queue is as deep as there
 * are buffers, so the submission queue never fills.
 *
 * How fast the device is cannot be seen from when completions are noticed: they
 * are looked for when a buffer is needed.  Two moments tell it: while the owner has
 * to wait for a buffer again and again, the device is what all wait for, and what
 * ended between two waits is its speed; where that does not happen, now and then
 * some full buffers are kept back, sent together with nothing else on its way, and
 * waited for.  A busy machine wakes us late: the best of three samples is told.
 *
 * Must not know files, nor what is in the buffers.
 */
#include "image/ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <liburing.h>

#define ENTRIES		16U		/* more than buffers, and one for fsync */
#define SAMPLE_BYTES	(4ULL << 20)	/* less is chance */
#define SAMPLE_WRITES	4U		/* sent together: SAMPLE_BYTES */
#define SAMPLE_EVERY	128U		/* writes without a sample */
#define SAMPLES		3U		/* at once in the beginning; and of so many the best */
#define SYNC_DATA	((void *)1)
#define NOTHING_DATA	((void *)2)

_Static_assert(ENTRIES > RING_BUFFERS, "submission never waits");
_Static_assert(SAMPLE_WRITES * RING_BUFFER_BYTES == SAMPLE_BYTES, "a sample");

struct ring {
	struct io_uring uring;
	bool ready;			/* uring was set up */
	ring_done_fn done;
	uint8_t *memory;
	bool sparse;			/* buffers may be registered */
	bool fixed_files;
	bool large;			/* pages of memory */
	bool slots[RING_FILES];		/* taken */
	struct ring_buffer buffers[RING_BUFFERS];
	struct ring_buffer *free[RING_BUFFERS];
	unsigned int nr_free;
	unsigned int on_way;		/* writes, those kept back included */
	struct ring_buffer *kept[SAMPLE_WRITES];	/* in the submission queue */
	unsigned int nr_kept;
	bool keeping;			/* for a sample */
	bool sync_ended;
	int sync_res;

	uint64_t waited_ns;		/* since then all wait for the device; 0: not so */
	uint64_t since;			/* bytes that ended since then */
	unsigned int unsampled;		/* writes since the last sample */
	unsigned int nr_samples;
	double samples[SAMPLES];	/* ns per MiB, the last ones */
	bool news;			/* for ring_written() */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* ---------------------------------------------------------------- set up */

static int allocate(struct ring *r)
{
	const size_t len = (size_t)RING_BUFFERS * RING_BUFFER_BYTES;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	r->memory = p;
	/* a child has no use for it, and must not copy what the device reads */
	madvise(p, len, MADV_DONTFORK);
	madvise(p, len, MADV_NOHUGEPAGE);	/* for a start: see enlarge() */
	for (unsigned int i = 0; i < RING_BUFFERS; i++) {
		r->buffers[i].p = r->memory + (size_t)i * RING_BUFFER_BYTES;
		r->buffers[i].index = (uint16_t)i;
		r->free[r->nr_free++] = &r->buffers[i];
	}
	return 0;
}

static int set_up(struct ring *r)
{
	/* no interrupt for a completion: it is seen when it is looked for */
	const unsigned int quiet = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
	int err = io_uring_queue_init(ENTRIES, &r->uring, quiet);

	if (err == -EINVAL)	/* older kernel */
		err = io_uring_queue_init(ENTRIES, &r->uring, 0);
	if (err)
		return err;
	r->ready = true;
	io_uring_ring_dontfork(&r->uring);
	return 0;
}

/* Room for buffers and files; before 5.19 there is none for buffers that come later. */
static void make_tables(struct ring *r)
{
	int none[RING_FILES];

	for (unsigned int i = 0; i < RING_FILES; i++)
		none[i] = -1;
	r->sparse = !io_uring_register_buffers_sparse(&r->uring, RING_BUFFERS);
	r->fixed_files = !io_uring_register_files(&r->uring, none, RING_FILES);
}

/* There is much to write: the buffers that are not in use yet get large pages. */
static void enlarge(struct ring *r)
{
	if (r->large)
		return;
	r->large = true;
	madvise(r->memory, (size_t)RING_BUFFERS * RING_BUFFER_BYTES, MADV_HUGEPAGE);
}

/*
 * Saves the kernel work for each write from then on, but pins all of the buffer now:
 * not worth it before one is full.  RLIMIT_MEMLOCK may forbid it.
 */
static void fix_buffer(struct ring *r, struct ring_buffer *b)
{
	struct iovec iov = { b->p, RING_BUFFER_BYTES };
	__u64 tag = 0;

	if (b->len < RING_BUFFER_BYTES)
		return;
	enlarge(r);
	if (b->fixed || !r->sparse)
		return;
	b->fixed = io_uring_register_buffers_update_tag(&r->uring, b->index, &iov, &tag, 1) == 1;
	r->sparse = b->fixed;
}

int ring_create(ring_done_fn done, struct ring **ret_ring)
{
	struct ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->done = done;
	err = set_up(r);
	if (!err)
		err = allocate(r);
	if (err) {
		ring_destroy(r);
		return err;
	}
	make_tables(r);
	*ret_ring = r;
	return 0;
}

void ring_destroy(struct ring *r)
{
	if (!r)
		return;
	if (r->ready)
		io_uring_queue_exit(&r->uring);
	if (r->memory)
		munmap(r->memory, (size_t)RING_BUFFERS * RING_BUFFER_BYTES);
	free(r);
}

/* ----------------------------------------------------------------- files */

int ring_add_file(struct ring *r, int fd)
{
	int slot = 0;

	if (!r->fixed_files)
		return -1;
	while (slot < (int)RING_FILES && r->slots[slot])
		slot++;
	if (slot == (int)RING_FILES ||
	    io_uring_register_files_update(&r->uring, (unsigned int)slot, &fd, 1) != 1)
		return -1;
	r->slots[slot] = true;
	return slot;
}

void ring_remove_file(struct ring *r, int slot)
{
	int none = -1;

	if (slot < 0)
		return;
	io_uring_register_files_update(&r->uring, (unsigned int)slot, &none, 1);
	r->slots[slot] = false;
}

/* ----------------------------------------------------------------- speed */

static void sample(struct ring *r, uint64_t bytes, uint64_t ns)
{
	r->samples[r->nr_samples++ % SAMPLES] = (double)ns / ((double)bytes / (1 << 20));
	r->unsampled = 0;
	r->news = true;
}

static bool sample_is_due(const struct ring *r)
{
	return r->nr_samples < SAMPLES || r->unsampled >= SAMPLE_EVERY;
}

void ring_written(struct ring *r, uint64_t *ret_bytes, uint64_t *ret_ns)
{
	double best = r->samples[0];

	*ret_bytes = 0;
	*ret_ns = 0;
	if (!r->news)
		return;
	for (unsigned int i = 1; i < SAMPLES && i < r->nr_samples; i++)
		if (r->samples[i] < best)
			best = r->samples[i];
	*ret_bytes = 1 << 20;
	*ret_ns = (uint64_t)best;
	r->news = false;
}

/* ----------------------------------------------------------- completions */

static void ended(struct ring *r, struct io_uring_cqe *cqe)
{
	struct ring_buffer *b = io_uring_cqe_get_data(cqe);
	int res = cqe->res;

	io_uring_cqe_seen(&r->uring, cqe);
	if ((void *)b == NOTHING_DATA)
		return;
	if ((void *)b == SYNC_DATA) {
		r->sync_ended = true;
		r->sync_res = res;
		return;
	}
	r->on_way--;
	if (res > 0)
		r->since += (uint64_t)res;
	r->done(b->owner, b, res);
	ring_put(r, b);
}

/* What ended is taken. */
static void look(struct ring *r)
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&r->uring, &cqe))
		ended(r, cqe);
	/* it may have been idle for a while */
	if (r->on_way < 2)
		r->waited_ns = 0;
}

static int wait_one(struct ring *r)
{
	struct io_uring_cqe *cqe;
	int err;

	do {
		err = io_uring_wait_cqe(&r->uring, &cqe);
	} while (err == -EINTR || err == -EAGAIN);
	if (!err)
		ended(r, cqe);
	return err;
}

/* ------------------------------------------------------------ submission */

/* All that is in the queue; the kernel may want completions to be taken first. */
static int submit_all(struct ring *r)
{
	while (io_uring_sq_ready(&r->uring)) {
		int ret = io_uring_submit(&r->uring);

		if (ret > 0 || ret == -EINTR)
			continue;
		if ((ret != -EBUSY && ret != -EAGAIN) || r->on_way <= r->nr_kept)
			return ret ? ret : -EIO;
		ret = wait_one(r);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * What was kept back is sent.  What the kernel does not take must not be done
 * later, when the buffer holds something else; to its owner it did not work out.
 */
static void send_kept(struct ring *r)
{
	unsigned int nr = r->nr_kept, left;
	struct ring_buffer *b;

	r->keeping = false;
	if (!nr || !submit_all(r)) {
		r->nr_kept = 0;
		return;
	}
	left = io_uring_sq_ready(&r->uring);
	r->nr_kept = 0;
	for (unsigned int i = left < nr ? nr - left : 0; i < nr; i++) {
		b = r->kept[i];
		io_uring_prep_nop(b->sqe);
		io_uring_sqe_set_data(b->sqe, NOTHING_DATA);
		r->on_way--;
		r->done(b->owner, b, -EAGAIN);
		ring_put(r, b);
	}
}

int ring_wait(struct ring *r)
{
	int err = 0;

	send_kept(r);
	if (r->on_way)
		err = wait_one(r);
	look(r);
	return err;
}

/* Together, with nothing else on its way: their time is the device's. */
static void send_sample(struct ring *r)
{
	uint64_t bytes = (uint64_t)r->nr_kept * RING_BUFFER_BYTES, start = now_ns();
	int err = 0;

	send_kept(r);
	while (r->on_way && !err)
		err = wait_one(r);
	if (!err)	/* if it fails, so does the next wait */
		sample(r, bytes, now_ns() - start);
}

/* ---------------------------------------------------------------- writes */

/* The device is what we wait for: what ended since the last such wait is its speed. */
static int wait_for_device(struct ring *r)
{
	uint64_t now;
	int err;

	if (!r->waited_ns) {
		r->waited_ns = now_ns();
		r->since = 0;
	}
	err = wait_one(r);
	now = now_ns();
	if (!err && r->since >= SAMPLE_BYTES) {
		sample(r, r->since, now - r->waited_ns);
		r->since = 0;
		r->waited_ns = now;
	}
	return err;
}

int ring_get(struct ring *r, struct ring_buffer **ret_buffer)
{
	look(r);
	while (!r->nr_free) {
		int err;

		send_kept(r);
		err = r->nr_free ? 0 : wait_for_device(r);
		if (err)
			return err;
	}
	*ret_buffer = r->free[--r->nr_free];
	(*ret_buffer)->len = 0;
	return 0;
}

void ring_put(struct ring *r, struct ring_buffer *b)
{
	r->free[r->nr_free++] = b;
}

static void address(const struct ring *r, struct io_uring_sqe *sqe, const struct ring_target *to)
{
	if (to->slot < 0)
		return;
	sqe->fd = to->slot;
	sqe->flags |= IOSQE_FIXED_FILE;
}

static int prepare(struct ring *r, struct ring_buffer *b, const struct ring_target *to)
{
	b->sqe = io_uring_get_sqe(&r->uring);
	if (!b->sqe)
		return -EBUSY;
	b->owner = to->owner;
	fix_buffer(r, b);
	if (b->fixed)
		io_uring_prep_write_fixed(b->sqe, to->fd, b->p, b->len, b->offset, b->index);
	else
		io_uring_prep_write(b->sqe, to->fd, b->p, b->len, b->offset);
	address(r, b->sqe, to);
	io_uring_sqe_set_data(b->sqe, b);
	return 0;
}

int ring_write(struct ring *r, struct ring_buffer *b, const struct ring_target *to)
{
	bool full = b->len == RING_BUFFER_BYTES;
	int err = 0;

	if (full && !r->keeping && sample_is_due(r)) {
		while (r->on_way && !err)
			err = wait_one(r);
		r->keeping = true;
	}
	if (!full || r->waited_ns)
		r->keeping = false;
	if (!err)
		err = prepare(r, b, to);
	if (err)
		return err;
	r->on_way++;
	r->unsampled++;
	r->kept[r->nr_kept++] = b;
	if (r->keeping && r->nr_kept == SAMPLE_WRITES)
		send_sample(r);
	else if (!r->keeping)
		send_kept(r);
	return 0;
}

int ring_sync(struct ring *r, const struct ring_target *of)
{
	struct io_uring_sqe *sqe;
	int err;

	send_kept(r);
	sqe = io_uring_get_sqe(&r->uring);
	if (!sqe)
		return -EBUSY;
	io_uring_prep_fsync(sqe, of->fd, 0);
	address(r, sqe, of);
	io_uring_sqe_set_data(sqe, SYNC_DATA);
	r->sync_ended = false;
	err = submit_all(r);
	if (err) {
		io_uring_prep_nop(sqe);
		io_uring_sqe_set_data(sqe, NOTHING_DATA);
		return err;
	}
	while (!err && !r->sync_ended)
		err = wait_one(r);
	return err ? err : r->sync_res;
}
