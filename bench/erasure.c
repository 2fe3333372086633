// SPDX-License-Identifier: GPL-2.0-only
/*
 * Erasure coding beside ISA-L's own figure, on one core, alternating.
 *
 *	erasure DIR [K M MIB RUNS]		(4 2 64 7)
 *
 * Makes K images of MIB MiB of random memory in DIR (/dev/shm: no device is measured)
 * and then, RUNS times, in turn:
 *   isa-l warm	ec_encode_data() on buffers of 128 KiB in all, as ISA-L's own benchmark
 *   isa-l unit	ec_encode_data() on buffers of the size that we use
 *   encode	erasure_encode() of the images: of that the part that is coding, and the
 *		whole of it: reading, coding, authenticating, writing, reading back
 * Figures are MB/s of data (not of parity).  All are CPU time of the one
 * thread, so that others on the machine make them worse only by what they do to caches;
 * medians are compared.  What the stages took by the clock on the wall is beside them.
 */
#include <errno.h>
#include <isa-l/erasure_code.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "levels/erasure.h"

#define WARM_BYTES	(128U << 10)
#define TURN_BYTES	(1ULL << 30)	/* of data, for each bare figure */
#define PAGES_AT_ONCE	256
#define RUNS_MAX	99

struct bench {
	const char *dir;
	unsigned int k, m, mib, runs;
	struct image_key *key;
	char images[RS_DATA_MAX][256], nodes[RS_DATA_MAX][16], parities[RS_PARITY_MAX][256];
};

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "erasure: %s: %s\n", what, why);
	exit(1);
}

static void make_image(const struct bench *b, unsigned int i)
{
	struct image_options options = { .generation = 1, .job = "bench" };
	struct ckpt_error error;
	struct image_writer *w;
	struct image *img;
	uint64_t rng = i + 1, addr = 1 << 20, *page;
	unsigned int n, j;

	page = malloc(PAGES_AT_ONCE * IMAGE_PAGE_SIZE);
	if (!page || image_writer_posix_create(b->images[i], &w, &error) ||
	    image_create(w, b->key, &options, &img, &error))
		die(b->images[i], error.text);
	for (n = 0; n < b->mib; n++) {
		for (j = 0; j < PAGES_AT_ONCE * IMAGE_PAGE_SIZE / 8; j++) {
			rng ^= rng << 13;
			rng ^= rng >> 7;
			rng ^= rng << 17;
			page[j] = rng;
		}
		image_pages_add(img, 1, addr, PAGES_AT_ONCE, page);
		addr += PAGES_AT_ONCE * IMAGE_PAGE_SIZE;
	}
	if (image_commit(img, &error))
		die(b->images[i], error.text);
	image_destroy(img);
	free(page);
}

/* MB/s of data of ISA-L alone, buffers of @len bytes. */
static double bare(const struct bench *b, size_t len)
{
	uint8_t matrix[RS_ROWS_MAX * RS_DATA_MAX], tables[32 * RS_DATA_MAX * RS_PARITY_MAX];
	uint8_t *buf[RS_ROWS_MAX];
	uint64_t turns = TURN_BYTES / (len * b->k), n;
	double start, ns;
	unsigned int i;

	gf_gen_cauchy1_matrix(matrix, (int)(b->k + b->m), (int)b->k);
	ec_init_tables((int)b->k, (int)b->m, matrix + b->k * b->k, tables);
	for (i = 0; i < b->k + b->m; i++) {
		buf[i] = aligned_alloc(4096, len);
		if (!buf[i])
			die("memory", "none");
		memset(buf[i], (int)i + 1, len);
	}
	start = cpu_ns();
	for (n = 0; n < turns; n++)
		ec_encode_data((int)len, (int)b->k, (int)b->m, tables, buf, buf + b->k);
	ns = cpu_ns() - start;
	for (i = 0; i < b->k + b->m; i++)
		free(buf[i]);
	return (double)(turns * len * b->k) * 1e3 / ns;
}

struct result {
	double warm, unit, part, whole;
};

static struct result run(const struct bench *b)
{
	struct erasure_member members[RS_DATA_MAX];
	struct erasure_output outputs[RS_PARITY_MAX];
	struct erasure_figures f;
	struct erasure_options options = { .figures = &f };
	struct ckpt_error error;
	struct result r;
	unsigned int i;
	double start;

	for (i = 0; i < b->k; i++)
		members[i] = (struct erasure_member){ b->nodes[i], b->images[i], (int)i };
	for (i = 0; i < b->m; i++)
		outputs[i] = (struct erasure_output){ i, b->parities[i] };
	r.warm = bare(b, (WARM_BYTES / (b->k + b->m)) & ~63U);
	r.unit = bare(b, parity_unit(b->k, b->m));
	start = cpu_ns();
	if (erasure_encode(members, b->k, b->m, outputs, b->m, b->key, &options, &error))
		die("encode", error.text);
	r.whole = (double)f.bytes_in * 1e3 / (cpu_ns() - start);
	r.part = (double)f.bytes_in * 1e3 / (double)f.code_cpu_ns;
	printf("%8.0f %10.0f %10.0f %10.0f   read %.0f code %.0f write %.0f commit %.0f ms\n",
	       r.warm, r.unit, r.part, r.whole, (double)f.read_ns / 1e6,
	       (double)f.code_ns / 1e6, (double)f.write_ns / 1e6, (double)f.commit_ns / 1e6);
	for (i = 0; i < b->m; i++)
		if (image_remove(b->parities[i], &error))
			die("remove", error.text);
	return r;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of one column of the results. */
static double median(const struct result *results, unsigned int nr, size_t offset)
{
	double values[RUNS_MAX];
	unsigned int i;

	for (i = 0; i < nr; i++)
		memcpy(&values[i], (const char *)&results[i] + offset, sizeof(values[i]));
	qsort(values, nr, sizeof(values[0]), by_value);
	return values[nr / 2];
}

static void print_ratios(const struct result *results, unsigned int nr)
{
	double warm = median(results, nr, offsetof(struct result, warm));
	double unit = median(results, nr, offsetof(struct result, unit));
	double part = median(results, nr, offsetof(struct result, part));
	double whole = median(results, nr, offsetof(struct result, whole));

	printf("medians: coding is %.0f %% of ISA-L (warm), %.0f %% (unit); the whole %.1f %% "
	       "(warm)\n",
	       100 * part / warm, 100 * part / unit, 100 * whole / warm);
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	static const uint8_t key[IMAGE_KEY_BYTES] = "a key for figures, thirty-two by";
	struct bench b = { .k = 4, .m = 2, .mib = 64, .runs = 7 };
	struct result results[RUNS_MAX];
	struct ckpt_error error;
	unsigned int i;

	if (argc != 2 && argc != 6)
		die("usage", "erasure DIR [K M MIB RUNS]");
	b.dir = argv[1];
	if (argc == 6) {
		b.k = (unsigned int)atoi(argv[2]);
		b.m = (unsigned int)atoi(argv[3]);
		b.mib = (unsigned int)atoi(argv[4]);
		b.runs = (unsigned int)atoi(argv[5]);
	}
	if (!b.k || b.k > RS_DATA_MAX || !b.m || b.m > RS_PARITY_MAX || !b.mib ||
	    !b.runs || b.runs > RUNS_MAX ||
	    image_key_from_bytes(key, &b.key))
		die("usage", "no such figures");
	for (i = 0; i < b.k; i++) {
		snprintf(b.nodes[i], sizeof(b.nodes[i]), "n%u", i);
		snprintf(b.images[i], sizeof(b.images[i]), "%.200s/bench-image-%u", b.dir, i);
		make_image(&b, i);
	}
	for (i = 0; i < b.m; i++)
		snprintf(b.parities[i], sizeof(b.parities[i]), "%.200s/bench-parity-%u", b.dir, i);
	pin();
	printf("%u+%u, images of %u MiB; MB/s of data\n", b.k, b.m, b.mib);
	printf("%8s %10s %10s %10s\n", "isa-l", "isa-l unit", "coding", "whole");
	for (i = 0; i < b.runs; i++)
		results[i] = run(&b);
	print_ratios(results, b.runs);
	for (i = 0; i < b.k; i++)
		image_remove(b.images[i], &error);
	image_key_destroy(b.key);
	return 0;
}
