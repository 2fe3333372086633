// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small program for scrub and vote: each bit of its memory counts for its result.
 *
 *	sums FILE PAGES STEPS [MILLISECONDS]
 *
 * It prints "NAME ADDRESS PAGES" for each stretch of its memory that it only reads, in hexadecimal
 * and decimal digits. Each step reads one page of all and writes one of HOT pages; at the end all
 * pages are added up. SECTION steps are a section (ckpt_section_end()). FILE gets a line for each
 * step, and "result SUM" last; the exit status is 0.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libckptctl/ckptctl.h"

#define WORDS	512U	/* of a page */
#define HOT	8U
#define STATIC	64U	/* pages of static data */
#define STACK	32U	/* pages of the stack */
#define SECTION	4U	/* steps */

struct sums {
	uint64_t *heap, *stack;
	unsigned int pages;
	uint64_t hot[HOT][WORDS];
};

static uint64_t data[STATIC * WORDS] __attribute__((aligned(4096)));

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void fill(uint64_t *words, unsigned int pages, uint64_t seed)
{
	unsigned int i;

	for (i = 0; i < pages * WORDS; i++)
		words[i] = mix(seed + i);
}

static uint64_t add(const uint64_t *words, unsigned int pages, uint64_t sum)
{
	unsigned int i;

	for (i = 0; i < pages * WORDS; i++)
		sum = mix(sum ^ words[i]) + i;
	return sum;
}

static void put(int fd, const char *name, uint64_t number, uint64_t sum)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "%s %llu %016llx\n", name, (unsigned long long)number,
			 (unsigned long long)sum);

	if (write(fd, line, (size_t)n) != n) {
		perror("sums");
		exit(2);
	}
}

static uint64_t step(struct sums *s, uint64_t number, uint64_t sum)
{
	uint64_t *hot = s->hot[number % HOT];

	sum = add(s->heap + number % s->pages * WORDS, 1, sum);
	sum = add(data + number % STATIC * WORDS, 1, sum);
	sum = add(s->stack + number % STACK * WORDS, 1, sum);
	fill(hot, 1, sum);
	return sum;
}

static uint64_t all(const struct sums *s, uint64_t sum)
{
	sum = add(s->heap, s->pages, sum);
	sum = add(data, STATIC, sum);
	sum = add(s->stack, STACK, sum);
	return add(s->hot[0], HOT, sum);
}

static int run(struct sums *s, int fd, uint64_t steps, const struct timespec *nap)
{
	uint64_t own[(STACK + 1) * WORDS], sum = 1, i;

	s->stack = (uint64_t *)(((uintptr_t)own + 4095) & ~(uintptr_t)4095);
	fill(s->heap, s->pages, 1ULL << 32);
	fill(data, STATIC, 2ULL << 32);
	fill(s->stack, STACK, 3ULL << 32);
	printf("heap %lx %u\n", (unsigned long)s->heap, s->pages);
	printf("data %lx %u\n", (unsigned long)data, STATIC);
	printf("stack %lx %u\n", (unsigned long)s->stack, STACK);
	fflush(stdout);
	for (i = 0; i < steps; i++) {
		sum = step(s, i, sum);
		put(fd, "step", i, sum);
		nanosleep(nap, NULL);
		if (i % SECTION == SECTION - 1 && ckpt_section_end())
			return 2;
	}
	put(fd, "result", steps, all(s, sum));
	return 0;
}

int main(int argc, char **argv)
{
	long ms = argc > 4 ? atol(argv[4]) : 20;
	struct timespec nap = { ms / 1000, ms % 1000 * 1000000 };
	static struct sums s;
	int fd;

	if (argc < 4) {
		fprintf(stderr, "usage: sums FILE PAGES STEPS [MILLISECONDS]\n");
		return 2;
	}
	s.pages = (unsigned int)atoi(argv[2]);
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	s.heap = mmap(NULL, s.pages * WORDS * 8UL, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || s.heap == MAP_FAILED || !s.pages || ckpt_section_begin()) {
		perror("sums");
		return 2;
	}
	return run(&s, fd, strtoull(argv[3], NULL, 0), &nap);
}
