// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast samples are grouped: 12,779,520 threads with four samples each, all steady, at 128
 * places, on one core; who is missing among 1,048,576 ranks; and the stacks of 32,768 leaves as one
 * tree. Prints CPU times; asserts nothing.
 *
 *	build/bin/bench/diagnose [THREADS [PLACES]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ckptctl/stack_tree.h"
#include "supervisor/diagnose/filter.h"
#include "supervisor/diagnose/match.h"

#define SAMPLES	4
#define RANKS	1048576u
#define LEAVES	32768
#define DEEP	24		/* frames of a stack */

static double diagnose_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Threads at random places: the worst case, as neighbours are not alike. */
static uint64_t *diagnose_places(size_t n, uint64_t kinds)
{
	uint64_t *places = malloc(n * SAMPLES * sizeof(*places)), x = 88172645463325252ull;

	for (size_t i = 0; places && i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		for (unsigned int k = 0; k < SAMPLES; k++)
			places[i * SAMPLES + k] = 0x400000 + 16 * (x % kinds);
	}
	return places;
}

static int diagnose_group(size_t n, uint64_t kinds)
{
	uint64_t *places = diagnose_places(n, kinds);

	if (!places)
		return -1;
	for (int run = 0; run < 5; run++) {
		struct filter_group *groups;
		double begin = diagnose_now(), took;
		uint64_t sum = 0;
		long nr = filter_group(places, n, SAMPLES, &groups);

		if (nr < 0)
			return -1;
		took = diagnose_now() - begin;
		free(groups);
		begin = diagnose_now();
		for (size_t i = 0; i < n * SAMPLES; i++)
			sum += places[i];
		printf("%zu threads, %d samples: %ld groups in %.3f s; to add the samples up took "
		       "%.3f s (%llx)\n", n, SAMPLES, nr, took, diagnose_now() - begin,
		       (unsigned long long)sum);
	}
	free(places);
	return 0;
}

static int diagnose_match(void)
{
	struct fact_rank *ranks = calloc(RANKS, sizeof(*ranks));
	struct fact_comm *begun = calloc(RANKS, sizeof(*begun));
	struct match match = { 0 };
	double begin;
	int err = -1;

	for (unsigned int i = 0; ranks && begun && i < RANKS; i++) {
		begun[i] = (struct fact_comm){ 1, i == 4711 ? 8 : 9 };
		ranks[i] = (struct fact_rank) {
			.rank = i, .doing = i == 4711 ? FACT_OUTSIDE : FACT_COLLECTIVE, .call = 7,
			.comm = 1, .seq = 9, .peer = FACT_NONE, .begun = &begun[i], .nr_begun = 1,
		};
	}
	begin = diagnose_now();
	if (ranks && begun)
		err = match_ranks(ranks, RANKS, &match);
	if (!err)
		printf("%u ranks: rank %u is missing, found in %.3f s\n", RANKS,
		       match.suspects[0], diagnose_now() - begin);
	match_done(&match);
	free(begun);
	free(ranks);
	return err;
}

/* Stacks that part at several depths, as those of a code with many phases do. */
static int diagnose_stacks(void)
{
	static char names[DEEP][16][40];
	struct stack_tree *tree = stack_tree_new();
	const char *frames[DEEP];
	double begin, merged;
	uint64_t x = 88172645463325252ull;
	FILE *out = fopen("/dev/null", "w");
	int err = tree && out ? 0 : -1;

	for (int k = 0; k < DEEP; k++)
		for (int i = 0; i < 16; i++)
			snprintf(names[k][i], sizeof(names[k][i]), "function_%d_%d (libapp.so)", k,
				 i);
	begin = diagnose_now();
	for (int leaf = 0; leaf < LEAVES && !err; leaf++) {
		for (int k = 0; k < DEEP; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			frames[k] = names[k][k % 8 == 7 ? x % 16 : 0];
		}
		err = stack_tree_add(tree, leaf, frames, DEEP);
	}
	merged = diagnose_now();
	if (!err) {
		stack_tree_print(tree, STACK_TREE, out);
		printf("%d leaves, %d frames each: merged in %.3f s, printed in %.3f s\n", LEAVES,
		       DEEP, merged - begin, diagnose_now() - merged);
	}
	stack_tree_free(tree);
	if (out)
		fclose(out);
	return err;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 12779520;
	uint64_t kinds = argc > 2 ? strtoul(argv[2], NULL, 10) : 128;

	return diagnose_group(n, kinds) || diagnose_match() || diagnose_stacks();
}
