// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that write pages of an image into memory maps; see filler.h.
 *
 * The owner cuts ranges into pieces that lie in one chunk each, and collects the pieces
 * of a few neighbouring chunks in a job.  So each chunk is decoded once, whichever thread
 * takes the job.  Jobs lie in a ring of slots.  A slot belongs to the owner until it is
 * put, then to the thread that takes it, and to the owner again when it is free.  Its
 * state and all counters that both sides use are under the lock.
 *
 * Each thread has a reader, buffers and an error of its own.  The first failure is kept;
 * jobs after it are only counted off.  If no thread can be started, the owner does the
 * jobs itself.  Threads neither fork nor change rights, and live only while memory is
 * filled.
 */
#include "engine/restore/filler.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE		4096UL
#define BATCH		(4UL << 20)	/* most bytes of a job */
#define ENOUGH		(3UL << 20)	/* a job with this many bytes ends with its chunk */
#define HUGE_PAGE	(2UL << 20)
#define DIRECT		(256UL << 10)	/* a run this long is written without a copy */
#define PIECES		1024U		/* the most that the kernel takes in one call */
#define WORKERS_MAX	4U
#define SPARE		2U		/* more slots than threads: jobs that are ready */

struct piece {
	uint64_t start;
	uint64_t end;
	bool gather;		/* written together with others, through a buffer */
	uint32_t flags;		/* CKPT_PAGES_… */
};

struct job {
	bool busy;		/* put, and not done yet; under the lock */
	struct filler_map map;
	uint64_t chunk;		/* of the last piece; IMAGE_NO_CHUNK: no piece has one */
	uint64_t last_chunk;	/* highest of all pieces */
	bool in_order;		/* each piece is in the chunk of the one before, or the next */
	uint64_t bytes;
	unsigned int nr;
	struct piece pieces[PIECES];
};

struct worker {
	struct filler *filler;
	struct image_reader *reader;
	struct ckpt_error error;
	const struct job *job;
	char *buf;		/* BATCH bytes */
	size_t used;
	struct ckpt_iovec *iov;	/* PIECES */
	unsigned int nr_iov;
	unsigned int placed;	/* 1 + index of the map whose placement it took; 0: none yet */
	pthread_t thread;
};

struct filler {
	struct image_reader *reader;	/* the owner's */
	struct kdev *dev;
	struct ckpt_error *error;	/* the owner's */
	/* protects job.busy, put, taken, stop, pending, bytes, err, failed */
	pthread_mutex_t lock;
	pthread_cond_t more;	/* a job was put, or stop is set */
	pthread_cond_t done;	/* a job is done */
	struct job *jobs;
	unsigned int nr_jobs;
	uint64_t put, taken;	/* numbers of jobs */
	bool stop;
	unsigned int *pending;	/* by map: number of jobs put and not done */
	uint64_t bytes;		/* written so far */
	int err;		/* of the first failure */
	struct ckpt_error failed;
	bool collecting;	/* the owner puts pieces into jobs[put] */
	struct worker workers[WORKERS_MAX];
	unsigned int nr_workers;	/* threads running; 0: the owner works as worker 0 */
};

/* ---------------------------------------------------------------- a job */

static int filler_image_failed(struct worker *w, int err)
{
	return error_fail(&w->error, err, "cannot read the image: %s",
			   image_reader_error(w->reader));
}

static int write_pages(struct worker *w, const struct ckpt_iovec *iov, unsigned int nr,
		       const void *data, uint32_t flags)
{
	pid_t pid = w->job->map.pid;
	struct ckpt_pages arg = {
		.flags = flags, .mm_id = (__u32)pid, .nr_iov = nr,
		.iov = (uintptr_t)iov, .buf = (uintptr_t)data,
	};
	int ret = kdev_pages_write(w->filler->dev, &arg);

	if (ret)
		return error_fail(&w->error, ret,
				   "cannot fill the memory of process %d "
				   "(%llu bytes into the batch at %#llx): %s",
				   pid, (unsigned long long)arg.done,
				   (unsigned long long)iov[0].addr, strerror(-ret));
	return 0;
}

static int write_direct(struct worker *w, const struct piece *piece)
{
	uint64_t start = piece->start;
	int ret = 0;

	while (start < piece->end && !ret) {
		struct ckpt_iovec iov = { .addr = start };
		uint64_t nr = (piece->end - start) / PAGE;
		const void *data;

		ret = image_pages_peek(w->reader, w->job->map.mm_id, start, &nr, &data);
		if (ret)
			return filler_image_failed(w, ret);
		iov.len = nr * PAGE;
		ret = write_pages(w, &iov, 1, data, piece->flags);
		start += iov.len;
	}
	return ret;
}

static int filler_gather(struct worker *w, const struct piece *piece)
{
	uint64_t start = piece->start, len = piece->end - start;
	struct ckpt_iovec *last = w->nr_iov ? &w->iov[w->nr_iov - 1] : NULL;
	int ret = image_pages_read(w->reader, w->job->map.mm_id, start, len / PAGE,
				   w->buf + w->used);

	if (ret)
		return filler_image_failed(w, ret);
	if (last && last->addr + last->len == start)
		last->len += len;
	else
		w->iov[w->nr_iov++] = (struct ckpt_iovec){ .addr = start, .len = len };
	w->used += len;
	return 0;
}

/* Take the map's placement; the owner, too, which allocates no memory of its own meanwhile. */
static void filler_place(struct worker *w, const struct filler_map *map)
{
	if (w->placed == map->index + 1)
		return;
	placement_take(&map->placement);
	w->placed = map->index + 1;
}

static int do_pieces(struct worker *w, const struct job *job)
{
	int ret = 0;

	w->job = job;
	w->nr_iov = 0;
	w->used = 0;
	filler_place(w, &job->map);
	image_pages_until(w->reader, job->last_chunk, job->in_order);
	for (unsigned int i = 0; i < job->nr && !ret; i++)
		ret = job->pieces[i].gather ? filler_gather(w, &job->pieces[i]) :
					      write_direct(w, &job->pieces[i]);
	if (!ret && w->nr_iov)
		ret = write_pages(w, w->iov, w->nr_iov, w->buf, 0);
	return ret;
}

/* Called and returns with the lock held. */
static void do_job(struct worker *w, struct job *job)
{
	struct filler *f = w->filler;
	int ret = f->err;

	if (!ret) {
		pthread_mutex_unlock(&f->lock);
		ret = do_pieces(w, job);
		pthread_mutex_lock(&f->lock);
	}
	if (!ret)
		f->bytes += job->bytes;
	if (ret && !f->err) {
		f->err = ret;
		f->failed = w->error;
	}
	f->pending[job->map.index]--;
	job->busy = false;
	pthread_cond_signal(&f->done);
}

static void *filler_work(void *arg)
{
	struct worker *w = arg;
	struct filler *f = w->filler;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->taken == f->put && !f->stop)
			pthread_cond_wait(&f->more, &f->lock);
		if (f->stop)
			break;
		do_job(w, &f->jobs[f->taken++ % f->nr_jobs]);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* ---------------------------------------------------------------- owner */

static int filler_failed(struct filler *f)
{
	return f->err ? error_fail(f->error, f->err, "%s", f->failed.text) : 0;
}

/* Hand the collected job to the threads; without threads do it here. */
static void filler_submit(struct filler *f)
{
	struct job *job = &f->jobs[f->put % f->nr_jobs];

	if (!f->collecting)
		return;
	f->collecting = false;
	pthread_mutex_lock(&f->lock);
	job->busy = true;
	f->pending[job->map.index]++;
	f->put++;
	if (f->nr_workers) {
		pthread_cond_signal(&f->more);
	} else {
		f->taken++;
		do_job(&f->workers[0], job);
	}
	pthread_mutex_unlock(&f->lock);
}

/* Wait for a free slot and begin an empty job in it. */
static int filler_begin(struct filler *f, const struct filler_map *map)
{
	struct job *job = &f->jobs[f->put % f->nr_jobs];
	int ret;

	pthread_mutex_lock(&f->lock);
	while (job->busy)
		pthread_cond_wait(&f->done, &f->lock);
	ret = filler_failed(f);
	pthread_mutex_unlock(&f->lock);
	if (ret)
		return ret;
	job->map = *map;
	job->chunk = IMAGE_NO_CHUNK;
	job->last_chunk = 0;
	job->in_order = true;
	job->bytes = 0;
	job->nr = 0;
	f->collecting = true;
	return 0;
}

static bool is_full(const struct job *job, const struct filler_map *map, uint64_t chunk,
		    uint64_t bytes)
{
	bool other = chunk != IMAGE_NO_CHUNK && chunk != job->chunk;

	return job->map.index != map->index || job->nr == PIECES ||
	       job->bytes + bytes > BATCH || (other && job->bytes >= ENOUGH);
}

static int filler_add(struct filler *f, const struct filler_map *map, const struct piece *piece,
		      uint64_t chunk)
{
	struct job *job = &f->jobs[f->put % f->nr_jobs];
	uint64_t bytes = piece->end - piece->start;
	int ret = 0;

	if (f->collecting && is_full(job, map, chunk, bytes))
		filler_submit(f);
	if (!f->collecting)
		ret = filler_begin(f, map);
	if (ret)
		return ret;
	job = &f->jobs[f->put % f->nr_jobs];
	job->pieces[job->nr++] = *piece;
	job->bytes += bytes;
	if (chunk != IMAGE_NO_CHUNK) {
		if (job->chunk != IMAGE_NO_CHUNK && chunk != job->chunk && chunk != job->chunk + 1)
			job->in_order = false;
		job->chunk = chunk;
		if (chunk > job->last_chunk)
			job->last_chunk = chunk;
	}
	return 0;
}

/* Put [start, end) in pieces, each of one chunk and no longer than a job. */
static int put_run(struct filler *f, const struct filler_map *map, uint64_t start,
		   uint64_t end, bool gather, uint32_t flags)
{
	int ret = 0;

	while (start < end && !ret) {
		uint64_t most = end - start < BATCH ? end - start : BATCH;
		uint64_t nr = most / PAGE, chunk;
		struct piece piece = { .start = start, .gather = gather, .flags = flags };

		ret = image_pages_chunk(f->reader, map->mm_id, start, &nr, &chunk);
		if (ret)
			return error_fail(f->error, ret, "cannot read the image: %s",
					   image_reader_error(f->reader));
		piece.end = start + nr * PAGE;
		ret = filler_add(f, map, &piece, chunk);
		start = piece.end;
	}
	return ret;
}

/*
 * Put a long run.  The image gives it in pieces that end anywhere, so the kernel is told
 * (CKPT_PAGES_DENSE) that the run fills the huge pages that the pieces touch.  A first or
 * last huge page of which the run has less than half is put without that.
 */
static int put_long(struct filler *f, const struct filler_map *map, uint64_t start,
		    uint64_t end)
{
	uint64_t head = (start + HUGE_PAGE / 2) & ~(HUGE_PAGE - 1);
	uint64_t tail = (end + HUGE_PAGE / 2) & ~(HUGE_PAGE - 1);
	int ret = 0;

	if (head < start)
		head = start;
	if (tail > end)
		tail = end;
	if (head > start)
		ret = put_run(f, map, start, head, false, 0);
	if (!ret && tail > head)
		ret = put_run(f, map, head, tail, false, CKPT_PAGES_DENSE);
	if (!ret && end > tail)
		ret = put_run(f, map, tail, end, false, 0);
	return ret;
}

int filler_put(struct filler *f, const struct filler_map *map, uint64_t start, uint64_t end)
{
	if (end - start >= HUGE_PAGE)
		return put_long(f, map, start, end);
	return put_run(f, map, start, end, end - start < DIRECT, 0);
}

int filler_wait(struct filler *f, unsigned int index)
{
	int ret;

	if (f->jobs[f->put % f->nr_jobs].map.index == index)
		filler_submit(f);
	pthread_mutex_lock(&f->lock);
	while (f->pending[index])
		pthread_cond_wait(&f->done, &f->lock);
	ret = filler_failed(f);
	pthread_mutex_unlock(&f->lock);
	return ret;
}

int filler_wait_all(struct filler *f)
{
	int ret;

	filler_submit(f);
	pthread_mutex_lock(&f->lock);
	for (unsigned int i = 0; i < f->nr_jobs; i++)
		while (f->jobs[i].busy)
			pthread_cond_wait(&f->done, &f->lock);
	ret = filler_failed(f);
	pthread_mutex_unlock(&f->lock);
	return ret;
}

uint64_t filler_bytes(struct filler *f)
{
	uint64_t bytes;

	pthread_mutex_lock(&f->lock);
	bytes = f->bytes;
	pthread_mutex_unlock(&f->lock);
	return bytes;
}

/* ---------------------------------------------------------------- life */

/* Two threads more than CPUs: some of them wait for the disk. */
static unsigned int count_workers(void)
{
	cpu_set_t set;
	unsigned int n = sched_getaffinity(0, sizeof(set), &set) ? 1U :
			 (unsigned int)CPU_COUNT(&set);

	return n + 2 > WORKERS_MAX ? WORKERS_MAX : n + 2;
}

static int filler_prepare(struct worker *w, struct filler *f)
{
	int ret = image_clone(f->reader, &w->reader);

	if (ret)
		return ret;
	w->filler = f;
	w->iov = calloc(PIECES, sizeof(*w->iov));
	w->buf = mmap(NULL, BATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->buf == MAP_FAILED)
		w->buf = NULL;
	return w->iov && w->buf ? 0 : -ENOMEM;
}

/* Start up to @nr threads; fewer will do, but worker 0 needs its buffers. */
static int filler_start(struct filler *f, unsigned int nr)
{
	int ret = 0;

	for (unsigned int i = 0; i < nr && !ret; i++) {
		ret = filler_prepare(&f->workers[i], f);
		if (!ret &&
		    pthread_create(&f->workers[i].thread, NULL, filler_work, &f->workers[i]))
			return 0;
		f->nr_workers += !ret;
	}
	return f->nr_workers ? 0 : ret;
}

int filler_create(struct image_reader *reader, struct kdev *dev, unsigned int nr_maps,
		  struct ckpt_error *error, struct filler **ret_filler)
{
	unsigned int nr = count_workers();
	struct filler *f = calloc(1, sizeof(*f));
	int ret = -ENOMEM;

	if (!f)
		return error_fail(error, -ENOMEM, "out of memory");
	f->reader = reader;
	f->dev = dev;
	f->error = error;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->more, NULL);
	pthread_cond_init(&f->done, NULL);
	f->nr_jobs = nr + SPARE;
	f->jobs = calloc(f->nr_jobs, sizeof(*f->jobs));
	f->pending = calloc(nr_maps + 1, sizeof(*f->pending));
	if (f->jobs && f->pending)
		ret = filler_start(f, nr);
	if (ret) {
		filler_destroy(f);
		return error_fail(error, ret, "out of memory");
	}
	*ret_filler = f;
	return 0;
}

void filler_destroy(struct filler *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_broadcast(&f->more);
	pthread_mutex_unlock(&f->lock);
	for (unsigned int i = 0; i < f->nr_workers; i++)
		pthread_join(f->workers[i].thread, NULL);
	for (unsigned int i = 0; i < WORKERS_MAX; i++) {
		image_close(f->workers[i].reader);
		free(f->workers[i].iov);
		if (f->workers[i].buf)
			munmap(f->workers[i].buf, BATCH);
	}
	free(f->jobs);
	free(f->pending);
	pthread_cond_destroy(&f->more);
	pthread_cond_destroy(&f->done);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
