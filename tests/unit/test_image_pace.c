// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decision whether compressing pays, on machines that are made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/pace.h"

#define CHUNK	1048576ULL

struct machine {
	double packed_ns, plain_ns;	/* per byte, of one CPU */
	double ratio;
	double write_ns;
	unsigned int cpus;
};

/* How many of nr chunks are compressed. */
static unsigned int run(const struct machine *m, unsigned int nr)
{
	unsigned int packed = 0;
	struct pace p;

	pace_init(&p, m->cpus);
	for (unsigned int i = 0; i < nr; i++) {
		bool pack = pace_pack(&p);
		double ratio = pack ? m->ratio : 1;
		uint64_t stored = (uint64_t)(ratio * CHUNK);

		pace_encoded(&p, pack, CHUNK, stored,
			     (uint64_t)((pack ? m->packed_ns : m->plain_ns) * CHUNK));
		pace_written(&p, stored, (uint64_t)(m->write_ns * (double)stored));
		packed += pack;
	}
	return packed;
}

static void test_small(void **unused)
{
	const struct machine slow_cpu = { 30, 1, 0.3, 0.5, 1 };

	assert_int_equal(run(&slow_cpu, 2), 2);
}

/* Chunks are chosen before it is known what the first ones took. */
static void test_late(void **unused)
{
	unsigned int packed = 0;
	struct pace p;

	pace_init(&p, 2);
	for (unsigned int i = 0; i < 8; i++)
		packed += pace_pack(&p);
	assert_int_equal(packed, 2);
}

static void test_choices(void **unused)
{
	/* 1 GB/s zstd on four CPUs before a 2 GB/s disk; then a 200 MB/s disk */
	const struct machine usual = { 1.2, 0.3, 0.4, 0.5, 4 };
	const struct machine slow_disk = { 2.5, 0.3, 0.4, 5, 1 };
	/* an emulated CPU before a disk that is not emulated */
	const struct machine emulated = { 27, 14, 0.33, 1.6, 2 };
	/* the same with a faster tag: each chunk that is compressed costs as much as thirteen */
	const struct machine dear = { 27, 2, 0.33, 1.6, 2 };
	/* nothing to gain, and nothing to lose beside a slow disk but CPU time */
	const struct machine random = { 1.5, 0.3, 1, 0.4, 2 };
	const struct machine random_slow = { 1.5, 0.3, 1, 50, 2 };

	assert_true(run(&usual, 1000) > 950);
	assert_true(run(&slow_disk, 1000) > 950);
	assert_true(run(&emulated, 1000) < 50);
	assert_true(run(&dear, 1000) < 10);
	assert_true(run(&random, 1000) < 50);
	assert_true(run(&random_slow, 1000) < 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
