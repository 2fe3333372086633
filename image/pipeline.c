// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chunks encoded on several CPUs.
 *
 * A ring of slots, each with room for one chunk raw and encoded.  Three counters
 * chase each other round it: put (the owner's), taken (the workers', under the
 * lock), handed on (the owner's).  A slot belongs to the owner before it is put
 * and after it is done, to one worker in between; only its state is shared, under
 * the lock.  Because the owner hands on in the order of putting, every stream
 * gets its chunks in order.
 *
 * The workers do no I/O and touch no stream.  One more is started when a chunk waits
 * behind another; a chunk that no worker has taken when the owner wants it, the owner encodes:
 * so a small image needs no thread, and images can be made where no thread can be started.
 * Buffers for compressed data, too, are allocated when they are needed first.
 */
#include "image/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "image/chunk_pool.h"
#include "image/pace.h"
#include "image/stream.h"

#define SPARE		4U	/* the owner's reads must not starve the workers */

struct slot {
	bool done;		/* under the lock */
	struct stream *stream;
	enum image_file file;
	uint64_t seq;
	bool pack;
	uint32_t raw_len;
	struct chunk_room raw;
	uint8_t *out;
	uint8_t *chunk;		/* encoded: in one of them */
	size_t len;
	uint64_t ns;
	int err;
};

struct worker {
	struct pipeline *pipeline;
	struct chunk_encoder *enc;
	pthread_t thread;
};

struct pipeline {
	pthread_mutex_t lock;	/* protects slot.done, put, taken, stop */
	pthread_cond_t more;	/* something was put, or stop */
	pthread_cond_t done;	/* a slot is done */
	struct slot *slots;
	unsigned int nr_slots;
	uint64_t put, taken, handed_on;
	bool stop;
	bool adaptive;
	struct pace pace;
	struct worker workers[PIPELINE_WORKERS];
	unsigned int nr_workers;	/* running */
	unsigned int workers_max;
	struct chunk_encoder *own;	/* the owner's; NULL: none yet */
	const struct chunk_keys *keys;	/* for encoders */
	struct chunk_pool *pool;
	int level;
};

static void pipeline_encode(struct slot *slot, struct chunk_encoder *enc)
{
	uint64_t start = clock_thread_cpu_ns();

	slot->err = chunk_encode(enc, slot->file, slot->seq, slot->pack, slot->raw.p,
				 slot->raw_len, slot->out, &slot->chunk, &slot->len);
	slot->ns = clock_thread_cpu_ns() - start;
}

static void *pipeline_work(void *arg)
{
	struct worker *worker = arg;
	struct pipeline *p = worker->pipeline;
	struct slot *slot;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->taken == p->put && !p->stop)
			pthread_cond_wait(&p->more, &p->lock);
		if (p->stop)
			break;
		slot = &p->slots[p->taken++ % p->nr_slots];
		pthread_mutex_unlock(&p->lock);
		pipeline_encode(slot, worker->enc);
		pthread_mutex_lock(&p->lock);
		slot->done = true;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Start a thread with all signals blocked: signals are for the owner's thread. */
static int pipeline_start(struct worker *worker)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&worker->thread, NULL, pipeline_work, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* As many as there are CPUs, but no more than @most. */
static unsigned int count_workers(unsigned int most)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	if (most > PIPELINE_WORKERS)
		most = PIPELINE_WORKERS;
	return n < 1 ? 1 : (unsigned int)n > most ? most : (unsigned int)n;
}

/* Start one more worker if the limit allows; on failure go on with the running ones. */
static void start_worker(struct pipeline *p)
{
	struct worker *worker = &p->workers[p->nr_workers];

	if (p->nr_workers == p->workers_max)
		return;
	worker->pipeline = p;
	if (!chunk_encoder_create(p->keys, p->level, &worker->enc) && !pipeline_start(worker)) {
		p->nr_workers++;
		return;
	}
	chunk_encoder_destroy(take_ptr(worker->enc));
	p->workers_max = p->nr_workers;
}

int pipeline_create(const struct chunk_keys *keys, struct chunk_pool *pool, int level,
		    unsigned int workers, struct pipeline **ret_pipeline)
{
	struct pipeline *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->done, NULL);
	p->adaptive = level == 0;
	p->keys = keys;
	p->pool = pool;
	p->level = level ? level : 1;
	p->workers_max = count_workers(workers);
	p->nr_slots = 2 * p->workers_max + SPARE;
	p->slots = calloc(p->nr_slots, sizeof(*p->slots));
	if (!p->slots) {
		pipeline_destroy(p);
		return -ENOMEM;
	}
	pace_init(&p->pace, p->workers_max);
	*ret_pipeline = p;
	return 0;
}

void pipeline_destroy(struct pipeline *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->more);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->nr_workers; i++)
		pthread_join(p->workers[i].thread, NULL);
	for (unsigned int i = 0; i < p->nr_workers; i++)
		chunk_encoder_destroy(p->workers[i].enc);
	chunk_encoder_destroy(p->own);
	for (unsigned int i = 0; p->slots && i < p->nr_slots; i++) {
		chunk_pool_put(p->pool, &p->slots[i].raw);
		chunk_buffer_free(p->slots[i].out);
	}
	free(p->slots);
	pthread_cond_destroy(&p->more);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Encode the oldest chunk, which no worker has taken, on the owner's thread. */
static void encode_self(struct pipeline *p, struct slot *slot)
{
	p->taken++;
	pthread_mutex_unlock(&p->lock);
	slot->err = p->own ? 0 : chunk_encoder_create(p->keys, p->level, &p->own);
	if (!slot->err)
		pipeline_encode(slot, p->own);
	pthread_mutex_lock(&p->lock);
	slot->done = true;
}

/* Hand the oldest chunk to its stream.  Without @wait do nothing if it is not done yet. */
static int hand_on(struct pipeline *p, bool wait, bool *ret_did)
{
	struct slot *slot = &p->slots[p->handed_on % p->nr_slots];
	int err;
	bool done;

	pthread_mutex_lock(&p->lock);
	if (wait && p->taken == p->handed_on)
		encode_self(p, slot);
	while (wait && !slot->done)
		pthread_cond_wait(&p->done, &p->lock);
	done = slot->done;
	slot->done = false;
	pthread_mutex_unlock(&p->lock);
	*ret_did = done;
	if (!done)
		return 0;
	p->handed_on++;
	err = slot->err;
	if (!err && p->adaptive &&
	    (slot->file == IMAGE_FILE_PAGES || slot->file == IMAGE_FILE_BLOBS))
		pace_encoded(&p->pace, slot->pack, slot->raw_len, slot->len, slot->ns);
	if (!err)
		err = stream_take(slot->stream, slot->chunk, slot->len, slot->raw_len, &slot->raw);
	chunk_pool_put(p->pool, &slot->raw);
	return err;
}

/* Choose whether to compress.  Records are small and always worth it. */
static bool pipeline_choose(struct pipeline *p, enum image_file file)
{
	if (!p->adaptive || (file != IMAGE_FILE_PAGES && file != IMAGE_FILE_BLOBS))
		return true;
	return pace_pack(&p->pace);
}

static void pipeline_submit(struct pipeline *p)
{
	bool waits;

	pthread_mutex_lock(&p->lock);
	waits = p->put > p->taken;
	p->put++;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	if (waits)
		start_worker(p);
}

int pipeline_put(struct pipeline *p, struct stream *s, uint64_t seq, struct chunk_room *raw,
		 uint32_t raw_len)
{
	bool did = p->put > p->handed_on;
	struct slot *slot;
	int err = 0;

	/* what is done is written while the workers go on */
	while (!err && did && p->put > p->handed_on)
		err = hand_on(p, p->put - p->handed_on == p->nr_slots, &did);
	slot = &p->slots[p->put % p->nr_slots];
	if (!err && !slot->out)
		slot->out = chunk_buffer();
	if (!err && !slot->out)
		err = -ENOMEM;
	if (err) {
		chunk_pool_put(p->pool, raw);
		return err;
	}
	slot->stream = s;
	slot->file = s->file;
	slot->seq = seq;
	slot->pack = pipeline_choose(p, s->file);
	slot->raw_len = raw_len;
	slot->raw = *raw;
	raw->p = NULL;
	pipeline_submit(p);
	return 0;
}

int pipeline_drain(struct pipeline *p)
{
	int err = 0, ret;
	bool did;

	while (p->put > p->handed_on) {
		ret = hand_on(p, true, &did);
		if (!err)
			err = ret;
	}
	return err;
}

void pipeline_written(struct pipeline *p, uint64_t bytes, uint64_t ns)
{
	pace_written(&p->pace, bytes, ns);
}
