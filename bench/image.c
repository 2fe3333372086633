// SPDX-License-Identifier: GPL-2.0-only
/*
 * What writing an image costs: the same memory through both writers, in turn.
 *
 *	image DIR MIB RUNS CASE…
 *
 * In each run every case is written with io_uring and with plain writes (odd runs
 * this way round, even runs the other), committed, and removed.  A line for each:
 * case, run, writer, milliseconds until the image is durable, CPU milliseconds of
 * the process, MiB stored.  At the end the ratio of the medians for each case.
 *
 * Cases: random (does not compress), heap (doubles that were floats, a smooth field
 * with noise: what a solver has; always compressed, so that both do the same), zero, twice
 * (random, the second half is the first again).  In some more the plain writer is not used;
 * they tell what looking for pages that are the same costs and saves (random-same, twice-same),
 * and what encryption costs (random+secret, heap+secret): with and without, both with io_uring.
 * heap/zstd: an image, and beside it the same memory compressed by libzstd alone, at the same
 * level with as many threads as there are processors, into memory.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <zstd.h>

#include "base/error.h"
#include "image/reader.h"
#include "image/writer.h"

#define PAGE	4096UL
#define BATCH	(4UL << 20)	/* what a dump reads at once */
#define BASE	0x100000000ULL
#define RUNS	64

struct bench {
	const char *dir;
	struct image_key *key;
	uint8_t *data;
	size_t len;
	int level;		/* of zstd; 0: chosen while it is written */
};

struct result {
	double ms, cpu_ms;
	uint64_t stored;
	char way[32];
};

/* One way to write an image. */
struct way {
	int (*create)(const char *dir, struct image_writer **ret_writer,
		      struct ckpt_error *error);
	bool same;		/* look for pages that are the same */
	bool secret;		/* encrypt */
	bool zstd;		/* no image: libzstd alone */
};

static uint64_t rng(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "image: %s: %s\n", what, why);
	exit(1);
}

static void fill(struct bench *b, const char *what)
{
	uint64_t *v = (uint64_t *)b->data, s = 0x9e3779b97f4a7c15ULL;
	size_t n = b->len / 8;

	b->level = !strncmp(what, "heap", 4);
	if (!strcmp(what, "zero")) {
		memset(b->data, 0, b->len);
	} else if (!strncmp(what, "heap", 4)) {
		for (size_t i = 0; i < n; i++) {
			double x = (float)(sin((double)i * 1e-4) + (double)(rng(&s) >> 54) * 1e-5);

			memcpy(&v[i], &x, sizeof(x));
		}
	} else if (!strncmp(what, "random", 6) || !strncmp(what, "twice", 5)) {
		for (size_t i = 0; i < n; i++)
			v[i] = rng(&s);
		if (*what == 't')
			memcpy(b->data + b->len / 2, b->data, b->len / 2);
	} else {
		die(what, "there is no such case");
	}
}

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int reread(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf)
{
	struct bench *b = arg;

	memcpy(buf, b->data + (addr - BASE), nr_pages * PAGE);
	return 0;
}

static void write_image(struct bench *b, const struct way *way, struct result *ret)
{
	struct image_options options = {
		.generation = 1,
		.job = "bench",
		.zstd_level = b->level,
		.encrypt = way->secret,
		.reread = way->same ? reread : NULL,
		.reread_arg = b,
	};
	double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	struct ckpt_error error = {};
	struct image_counts counts;
	struct image_writer *w;
	struct image *img;

	if (way->create(b->dir, &w, &error) || image_create(w, b->key, &options, &img, &error))
		die(b->dir, error.text);
	for (size_t at = 0; at < b->len; at += BATCH)
		if (image_pages_add(img, 1, BASE + at, BATCH / PAGE, b->data + at))
			die(b->dir, image_error_text(img));
	if (image_commit(img, &error))
		die(b->dir, error.text);
	ret->ms = now(CLOCK_MONOTONIC) - start;
	ret->cpu_ms = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	image_get_counts(img, &counts);
	ret->stored = counts.bytes_stored;
	snprintf(ret->way, sizeof(ret->way), "%s", w->ops->way(w));
	image_destroy(img);
	if (image_remove(b->dir, &error))
		die(b->dir, error.text);
}

/* What is fastest with it: all of the memory in one frame, which its own threads share out. */
static void compress_alone(struct bench *b, struct result *ret)
{
	size_t room = ZSTD_compressBound(b->len), size;
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	void *to = mmap(NULL, room, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	double start, cpu;

	if (!zstd || to == MAP_FAILED)
		die("zstd", "out of memory");
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, b->level);
	if (ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_nbWorkers,
						(int)sysconf(_SC_NPROCESSORS_ONLN))))
		die("zstd", "it has no threads");
	start = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	size = ZSTD_compress2(zstd, to, room, b->data, b->len);
	ret->ms = now(CLOCK_MONOTONIC) - start;
	ret->cpu_ms = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (ZSTD_isError(size))
		die("zstd", ZSTD_getErrorName(size));
	ret->stored = size;
	snprintf(ret->way, sizeof(ret->way), "zstd alone");
	munmap(to, room);
	ZSTD_freeCCtx(zstd);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void run_case(struct bench *b, const char *what, int runs)
{
	static const struct way writers[2] = {
		{ .create = image_writer_posix_create }, { .create = image_writer_create },
	};
	static const struct way same[2] = {
		{ .create = image_writer_create }, { .create = image_writer_create, .same = true },
	};
	static const struct way secret[2] = {
		{ .create = image_writer_create },
		{ .create = image_writer_create, .secret = true },
	};
	static const struct way zstd[2] = {
		{ .zstd = true }, { .create = image_writer_create },
	};
	const struct way *ways = strchr(what, '-') ? same : strchr(what, '+') ? secret :
				 strchr(what, '/') ? zstd : writers;
	double ms[2][RUNS], cpu[2][RUNS];

	fill(b, what);
	for (int run = 0; run < runs; run++) {
		for (int i = 0; i < 2; i++) {
			int which = (i + run) % 2;
			struct result res;

			if (ways[which].zstd)
				compress_alone(b, &res);
			else
				write_image(b, &ways[which], &res);
			ms[which][run] = res.ms;
			cpu[which][run] = res.cpu_ms;
			printf("%s,%d,\"%s%s%s\",%.0f,%.0f,%llu\n", what, run + 1, res.way,
			       ways[which].same ? ", same" : "",
			       ways[which].secret ? ", encrypted" : "", res.ms,
			       res.cpu_ms, (unsigned long long)(res.stored >> 20));
			fflush(stdout);
		}
	}
	printf("# %s: %s: time %.2f, CPU %.2f\n", what,
	       ways == writers ? "io_uring / plain" :
	       ways == zstd ? "image / zstd alone" : "with / without",
	       median(ms[1], runs) / median(ms[0], runs),
	       median(cpu[1], runs) / median(cpu[0], runs));
}

int main(int argc, char **argv)
{
	static const uint8_t bytes[IMAGE_KEY_BYTES] = { 1 };
	struct bench b = { 0 };
	char dir[4096];
	int runs;

	if (argc < 5)
		die("usage", "image DIR MIB RUNS CASE…");
	snprintf(dir, sizeof(dir), "%s/bench-image", argv[1]);
	b.dir = dir;
	b.len = strtoul(argv[2], NULL, 10) << 20;
	runs = atoi(argv[3]);
	if (b.len < BATCH || b.len % BATCH || runs < 1 || runs > RUNS)
		die("usage", "MIB is a multiple of 4, RUNS 1 to 64");
	if (image_key_from_bytes(bytes, &b.key))
		die("key", "out of memory");
	image_key_secret_from_bytes(b.key, bytes, "bench");
	b.data = mmap(NULL, b.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b.data == MAP_FAILED)
		die("memory", strerror(errno));
	for (int i = 4; i < argc; i++)
		run_case(&b, argv[i], runs);
	image_key_destroy(b.key);
	return 0;
}
