// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bit of everything, for the tests of bad luck and for the soak: four threads
 * compute sequences, a child answers through pipes, memory changes, a log grows, a
 * deleted file and shared memory are in use.
 *
 * Each sequence is checked against its closed form, so that the check costs the
 * same after a second and after a day.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define THREADS	4
#define SIZE	(8UL << 20)
#define A	6364136223846793005ULL
#define C	1442695040888963407ULL

struct sequence {
	pthread_t thread;
	uint64_t x, n;
};

static struct sequence sequences[THREADS];
static uint8_t *mem;
static volatile uint64_t *shared;
static int to_child[2], from_child[2], gone, logfd;
static uint64_t rounds;
static pid_t child;

/* the n-th element, from the first, in log n steps */
static uint64_t element(uint64_t x, uint64_t n)
{
	uint64_t a = A, c = C;

	for (; n; n >>= 1) {
		if (n & 1)
			x = a * x + c;
		c = (a + 1) * c;
		a *= a;
	}
	return x;
}

static void *compute(void *arg)
{
	struct sequence *s = arg;

	while (!cr_go()) {
		for (int i = 0; i < 1000; i++, s->n++)
			s->x = A * s->x + C;
		usleep(500);
	}
	return NULL;
}

static void answer(void *arg)
{
	uint64_t x;

	close(to_child[1]);
	close(from_child[0]);
	while (read(to_child[0], &x, 8) == 8) {
		x = A * x + C;
		shared[0]++;
		cr_eq(cr_sys(write(from_child[1], &x, 8)), 8);
	}
}

static void setup(void)
{
	mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(mem, SIZE, 1);
	shared = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	cr_sys(pipe(to_child));
	cr_sys(pipe(from_child));
	gone = (int)cr_sys(open(cr_path("gone"), O_RDWR | O_CREAT, 0600));
	cr_sys(unlink(cr_path("gone")));
	logfd = (int)cr_sys(open(cr_path("log"), O_WRONLY | O_CREAT | O_APPEND, 0600));
	child = cr_fork(answer, NULL);
	close(to_child[0]);
	close(from_child[1]);
	for (uint64_t i = 0; i < THREADS; i++) {
		sequences[i].x = i;
		cr_eq(pthread_create(&sequences[i].thread, NULL, compute, &sequences[i]), 0);
	}
}

static void step(void)
{
	uint64_t x = rounds;

	cr_eq(cr_sys(write(to_child[1], &x, 8)), 8);
	cr_eq(cr_sys(read(from_child[0], &x, 8)), 8);
	cr_check(x == A * rounds + C, "answer %llu", (unsigned long long)rounds);
	rounds++;
	cr_fill(mem + rounds % 64 * 4096, 4096, rounds);
	cr_eq(cr_sys(pwrite(gone, &rounds, 8, 0)), 8);
	if (rounds % 256 == 0)
		cr_check(dprintf(logfd, "%llu\n", (unsigned long long)rounds) > 0, "log");
}

static void check_log(void)
{
	char *text = cr_read(cr_path("log"), NULL), *p = text;

	for (uint64_t i = 256; i <= rounds; i += 256)
		cr_check(strtoull(p, &p, 10) == i && *p++ == '\n', "log at %llu",
			 (unsigned long long)i);
	cr_check(*p == '\0', "log goes on with %.20s", p);
	free(text);
}

static void verify(void)
{
	uint64_t in_file = 0;

	step();
	close(to_child[1]);
	cr_join(child);
	cr_eq(shared[0], rounds);
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_eq(pthread_join(sequences[i].thread, NULL), 0);
		cr_check(sequences[i].x == element(i, sequences[i].n), "sequence %llu",
			 (unsigned long long)i);
	}
	cr_check_fill(mem + rounds % 64 * 4096, 4096, rounds);
	cr_fill(mem, 64 * 4096, 1);
	for (size_t i = 64 * 4096; i < SIZE; i += 4096)
		cr_check(*(uint64_t *)(mem + i) != 0, "page %zu", i / 4096);
	cr_eq(cr_sys(pread(gone, &in_file, 8, 0)), 8);
	cr_eq(in_file, rounds);
	check_log();
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
