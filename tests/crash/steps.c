// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small program for power cuts: it knows what its memory and its file must hold.
 *
 *   steps FILE [PAGES] [MILLISECONDS]
 *
 * Each step checks all pages, fills one anew, and adds the line "NUMBER CHAIN" to FILE, which is
 * never synced here.  CHAIN depends on all lines before, and is kept in memory only, so whoever
 * reads FILE can tell whether memory and file are of one moment: a line that is missing, twice
 * there, or of another run breaks the chain.  A page that is wrong ends it with status 3.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WORDS	512U	/* of a page */

static uint64_t word(uint64_t seed, unsigned int i)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL;

	return z ^ (z >> 29);
}

static void fill(uint64_t *page, uint64_t seed)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		page[i] = word(seed, i);
}

/* By which step a page was filled last, before @step; pages take turns. */
static uint64_t seed_of(unsigned int page, uint64_t step, unsigned int pages)
{
	uint64_t rounds = (step + pages - 1 - page) / pages;

	return rounds ? (rounds - 1) * pages + page + 1 : 0;
}

static void check(const uint64_t *memory, uint64_t step, unsigned int pages)
{
	unsigned int page, i;

	for (page = 0; page < pages; page++) {
		uint64_t seed = seed_of(page, step, pages);

		for (i = 0; i < WORDS; i++) {
			if (memory[page * WORDS + i] == word(seed, i))
				continue;
			fprintf(stderr, "step %llu: page %u is wrong\n",
				(unsigned long long)step, page);
			exit(3);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int pages = argc > 2 ? (unsigned int)atoi(argv[2]) : 256, page;
	long ms = argc > 3 ? atol(argv[3]) : 20;
	struct timespec nap = { ms / 1000, ms % 1000 * 1000000 };
	uint64_t step, *memory;
	uint32_t chain = 1;
	char line[64];
	int fd, n;

	fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	memory = mmap(NULL, pages * WORDS * 8UL, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || memory == MAP_FAILED || !pages) {
		perror("steps");
		return 2;
	}
	for (page = 0; page < pages; page++)
		fill(memory + page * WORDS, 0);
	for (step = 0;; step++) {
		check(memory, step, pages);
		fill(memory + step % pages * WORDS, step + 1);
		chain = chain * 1664525 + (uint32_t)step + 1;
		n = snprintf(line, sizeof(line), "%llu %u\n", (unsigned long long)step, chain);
		if (write(fd, line, (size_t)n) != n) {
			perror("steps");
			return 2;
		}
		nanosleep(&nap, NULL);
	}
}
