// SPDX-License-Identifier: GPL-2.0-only
/*
 * An io_uring for writing.
 *
 * A piece of memory belongs to the owner until it is written, to the kernel until the
 * completion was taken, and is free after that.  The next piece taken is the one behind the
 * last, if it is free and in the same block, so that both can be written together; else the
 * first piece of a free block, else any free piece.  The queue has room for a write of each
 * piece, so it never fills.
 *
 * The times at which completions are noticed do not show the device's speed, as
 * completions are looked for only when memory is needed.  The speed is measured in two
 * ways.  While the owner has to wait for memory again and again, everything waits for the
 * device, and the bytes that end between two waits give its speed.  If that does not
 * happen, now and then a whole block is written alone and waited for.  A busy
 * machine wakes us late: therefore ring_written() tells the best of three samples.
 *
 * Must not know files, nor the meaning of the memory's contents.
 */
#include "image/ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <liburing.h>

#include "base/clock.h"

#define IN_BLOCK	(RING_BLOCK_BYTES / RING_PIECE_BYTES)	/* pieces */
#define NR_BLOCKS	(RING_PIECES / IN_BLOCK)
#define ENTRIES		32U		/* more than RING_PIECES, and one for fsync */
#define MEMORY_BYTES	((size_t)RING_PIECES * RING_PIECE_BYTES)
#define HUGE_PAGE	((size_t)2 << 20)
#define SAMPLE_EVERY	(256ULL << 20)	/* bytes after which a new sample is due */
#define SAMPLES		3U		/* taken at the start; the best of the last ones counts */
#define SYNC_DATA	((void *)1)
#define NOTHING_DATA	((void *)2)

_Static_assert(ENTRIES > RING_PIECES, "submission never waits");
_Static_assert(RING_PIECES % IN_BLOCK == 0, "blocks");

struct on_way {
	struct ring_write w;
	void *owner;			/* NULL: not in use */
};

struct ring {
	struct io_uring uring;
	bool ready;			/* uring was set up */
	ring_done_fn done;
	uint8_t *memory;
	unsigned int nr_pieces;		/* pieces in memory, at most RING_PIECES */
	bool sparse;			/* buffers may be registered later */
	bool fixed_files;
	bool large;			/* memory is to have huge pages */
	bool slots[RING_FILES];		/* slot is taken */
	bool fixed[NR_BLOCKS];		/* block is registered as a buffer */
	bool taken[RING_PIECES];
	unsigned int next;		/* number of the piece behind the last one taken */
	struct on_way writes[RING_PIECES];
	unsigned int nr_on_way;
	bool sync_ended;
	int sync_res;

	uint64_t waited_ns;		/* when the wait for the device began; 0: no wait */
	uint64_t since;			/* bytes whose writes ended since waited_ns */
	uint64_t unsampled;		/* bytes since the last sample */
	unsigned int nr_samples;
	double samples[SAMPLES];	/* the last samples, in ns per MiB */
	bool news;			/* ring_written() has not told the last sample yet */
};

/* ---------------------------------------------------------------- set up */

/* Align the memory for huge pages; not every kernel returns an aligned address. */
static int ring_allocate(struct ring *r)
{
	size_t len = MEMORY_BYTES + HUGE_PAGE, before;
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	before = -(uintptr_t)p % HUGE_PAGE;
	if (before)
		munmap(p, before);
	p += before;
	munmap(p + MEMORY_BYTES, HUGE_PAGE - before);
	r->memory = p;
	r->nr_pieces = RING_PIECES;
	/* a child does not need the memory, and must not copy pages that the device reads */
	madvise(p, MEMORY_BYTES, MADV_DONTFORK);
	madvise(p, MEMORY_BYTES, MADV_NOHUGEPAGE);	/* at first: see ring_enlarge() */
	return 0;
}

static int set_up(struct ring *r)
{
	/* no interrupts for completions: the ring looks for them itself */
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

/* Make tables of buffers and files; kernels before 5.19 cannot register buffers later. */
static void make_tables(struct ring *r)
{
	int none[RING_FILES];

	for (unsigned int i = 0; i < RING_FILES; i++)
		none[i] = -1;
	r->sparse = !io_uring_register_buffers_sparse(&r->uring, NR_BLOCKS);
	r->fixed_files = !io_uring_register_files(&r->uring, none, RING_FILES);
}

static size_t memory_bytes(const struct ring *r)
{
	return (size_t)r->nr_pieces * RING_PIECE_BYTES;
}

/* There is much to write: memory that is not in use yet gets huge pages. */
static void ring_enlarge(struct ring *r)
{
	if (r->large)
		return;
	r->large = true;
	madvise(r->memory, memory_bytes(r), MADV_HUGEPAGE);
}

void ring_expect(struct ring *r, uint64_t bytes)
{
	if (bytes >= memory_bytes(r))
		ring_enlarge(r);
}

void ring_limit(struct ring *r, unsigned int pieces)
{
	size_t had = memory_bytes(r);

	pieces -= pieces % IN_BLOCK;
	if (!pieces || pieces >= r->nr_pieces)
		return;
	r->nr_pieces = pieces;
	munmap(r->memory + memory_bytes(r), had - memory_bytes(r));
}

static unsigned int piece_of(const struct ring *r, const uint8_t *p)
{
	return (unsigned int)((size_t)(p - r->memory) / RING_PIECE_BYTES);
}

/*
 * Is the block registered as a buffer?  Registers it for the first full write: that saves
 * the kernel work for each later write, but pins the whole block.  RLIMIT_MEMLOCK may
 * forbid it.
 */
static bool is_fixed(struct ring *r, unsigned int block, uint32_t len)
{
	struct iovec iov = { r->memory + (size_t)block * RING_BLOCK_BYTES, RING_BLOCK_BYTES };
	__u64 tag = 0;

	if (len < RING_BLOCK_BYTES)
		return r->fixed[block];
	ring_enlarge(r);
	if (!r->fixed[block] && r->sparse) {
		r->fixed[block] = io_uring_register_buffers_update_tag(&r->uring, block, &iov,
								       &tag, 1) == 1;
		r->sparse = r->fixed[block];
	}
	return r->fixed[block];
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
		err = ring_allocate(r);
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
		munmap(r->memory, memory_bytes(r));
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

static void ring_sample(struct ring *r, uint64_t bytes, uint64_t ns)
{
	r->samples[r->nr_samples++ % SAMPLES] = (double)ns / ((double)bytes / (1 << 20));
	r->unsampled = 0;
	r->news = true;
}

static bool sample_is_due(const struct ring *r)
{
	return !r->waited_ns && (r->nr_samples < SAMPLES || r->unsampled >= SAMPLE_EVERY);
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

/* ---------------------------------------------------------------- memory */

void ring_put(struct ring *r, const uint8_t *p)
{
	r->taken[piece_of(r, p)] = false;
}

unsigned int ring_free(const struct ring *r)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < r->nr_pieces; i++)
		n += !r->taken[i];
	return n;
}

bool ring_busy(const struct ring *r)
{
	return r->nr_on_way;
}

bool ring_is_last(const struct ring *r, const uint8_t *p)
{
	return (piece_of(r, p) + 1) % IN_BLOCK == 0;
}

static bool is_free(const struct ring *r, unsigned int block)
{
	for (unsigned int i = 0; i < IN_BLOCK; i++)
		if (r->taken[block * IN_BLOCK + i])
			return false;
	return true;
}

/* The number of a free piece; nr_pieces: none is free. */
static unsigned int find_piece(const struct ring *r)
{
	unsigned int i;

	if (r->next % IN_BLOCK && !r->taken[r->next])
		return r->next;
	for (i = 0; i < r->nr_pieces / IN_BLOCK; i++)
		if (is_free(r, i))
			return i * IN_BLOCK;
	for (i = 0; i < r->nr_pieces && r->taken[i]; i++)
		;
	return i;
}

static uint8_t *ring_take(struct ring *r)
{
	unsigned int i = find_piece(r);

	if (i == r->nr_pieces)
		return NULL;
	r->taken[i] = true;
	r->next = i + 1;
	return r->memory + (size_t)i * RING_PIECE_BYTES;
}

/* ----------------------------------------------------------- completions */

/* The write has ended, or could not be begun: tell its owner, and free its pieces. */
static void ring_finish(struct ring *r, struct on_way *o, int res)
{
	struct on_way was = *o;

	o->owner = NULL;
	r->nr_on_way--;
	r->done(was.owner, &was.w, res);
	for (uint32_t at = 0; at < was.w.len; at += RING_PIECE_BYTES)
		ring_put(r, was.w.p + at);
}

static void ring_ended(struct ring *r, struct io_uring_cqe *cqe)
{
	struct on_way *o = io_uring_cqe_get_data(cqe);
	int res = cqe->res;

	io_uring_cqe_seen(&r->uring, cqe);
	if ((void *)o == NOTHING_DATA)
		return;
	if ((void *)o == SYNC_DATA) {
		r->sync_ended = true;
		r->sync_res = res;
		return;
	}
	if (res > 0)
		r->since += (uint64_t)res;
	ring_finish(r, o, res);
}

/* Take all completions that have come. */
static void ring_look(struct ring *r)
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&r->uring, &cqe))
		ring_ended(r, cqe);
	/* the device may have been idle for a while */
	if (r->nr_on_way < 2)
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
		ring_ended(r, cqe);
	return err;
}

int ring_wait(struct ring *r)
{
	int err = r->nr_on_way ? wait_one(r) : 0;

	ring_look(r);
	return err;
}

static int wait_all(struct ring *r)
{
	int err = 0;

	while (r->nr_on_way && !err)
		err = wait_one(r);
	return err;
}

/* Wait for a write; the bytes written since the last such wait give the device's speed. */
static int wait_for_device(struct ring *r)
{
	uint64_t now;
	int err;

	if (!r->waited_ns) {
		r->waited_ns = clock_monotonic_ns();
		r->since = 0;
	}
	err = wait_one(r);
	now = clock_monotonic_ns();
	if (!err && r->since >= RING_BLOCK_BYTES) {
		ring_sample(r, r->since, now - r->waited_ns);
		r->since = 0;
		r->waited_ns = now;
	}
	return err;
}

int ring_get(struct ring *r, uint8_t **ret_piece)
{
	int err = 0;

	ring_look(r);
	while (!(*ret_piece = ring_take(r)) && !err)
		err = r->nr_on_way ? wait_for_device(r) : -ENOBUFS;
	return err;
}

/* ------------------------------------------------------------ submission */

/* Submit all of the queue; the kernel may want completions to be taken first. */
static int submit_all(struct ring *r, unsigned int nr_new)
{
	while (io_uring_sq_ready(&r->uring)) {
		int ret = io_uring_submit(&r->uring);

		if (ret > 0 || ret == -EINTR)
			continue;
		if ((ret != -EBUSY && ret != -EAGAIN) || r->nr_on_way <= nr_new)
			return ret ? ret : -EIO;
		ret = wait_one(r);
		if (ret)
			return ret;
	}
	return 0;
}

/* The kernel did not take the entry: make it a no-op, as its memory will soon hold other data. */
static void ring_forget(struct io_uring_sqe *sqe)
{
	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data(sqe, NOTHING_DATA);
}

static void ring_address(struct io_uring_sqe *sqe, const struct ring_target *to)
{
	if (to->slot < 0)
		return;
	sqe->fd = to->slot;
	sqe->flags |= IOSQE_FIXED_FILE;
}

static void ring_prepare(struct ring *r, struct io_uring_sqe *sqe, struct on_way *o,
			 const struct ring_target *to)
{
	const struct ring_write *w = &o->w;
	unsigned int block = piece_of(r, w->p) / IN_BLOCK;

	if (is_fixed(r, block, w->len))
		io_uring_prep_write_fixed(sqe, to->fd, w->p, w->len, w->offset, (int)block);
	else
		io_uring_prep_write(sqe, to->fd, w->p, w->len, w->offset);
	ring_address(sqe, to);
	io_uring_sqe_set_data(sqe, o);
}

static struct on_way *ring_note(struct ring *r, const struct ring_write *w, void *owner)
{
	struct on_way *o = r->writes;

	while (o->owner)
		o++;
	*o = (struct on_way){ *w, owner };
	r->nr_on_way++;
	return o;
}

/* Wait for a write that is the only one under way, so that its duration is the device's. */
static int write_sample(struct ring *r, uint64_t bytes, uint64_t start)
{
	int err = wait_all(r);

	if (!err)
		ring_sample(r, bytes, clock_monotonic_ns() - start);
	return 0;	/* if this wait failed, the next one fails, too */
}

int ring_write(struct ring *r, const struct ring_write *w, const struct ring_target *to)
{
	bool alone = w->len == RING_BLOCK_BYTES && sample_is_due(r);
	int err = alone ? wait_all(r) : 0;
	uint64_t start = clock_monotonic_ns();
	struct io_uring_sqe *sqe;
	struct on_way *o;

	if (err)
		return err;
	sqe = io_uring_get_sqe(&r->uring);
	if (!sqe)
		return -EBUSY;
	o = ring_note(r, w, to->owner);
	ring_prepare(r, sqe, o, to);
	r->unsampled += w->len;
	if (submit_all(r, 1)) {
		ring_forget(sqe);
		ring_finish(r, o, -EAGAIN);
		return 0;
	}
	return alone ? write_sample(r, w->len, start) : 0;
}

int ring_sync(struct ring *r, const struct ring_target *of)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&r->uring);
	int err;

	if (!sqe)
		return -EBUSY;
	io_uring_prep_fsync(sqe, of->fd, 0);
	ring_address(sqe, of);
	io_uring_sqe_set_data(sqe, SYNC_DATA);
	r->sync_ended = false;
	err = submit_all(r, 0);
	if (err) {
		ring_forget(sqe);
		return err;
	}
	while (!err && !r->sync_ended)
		err = wait_one(r);
	return err ? err : r->sync_res;
}
