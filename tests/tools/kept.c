// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program for tests of rollbacks: kept DIR ROUNDS [moved|shared|freed|locked]
 *
 * Each round writes to, gives back and makes memory of several kinds, and then prints a checksum of
 * all of it. The output is a function of the arguments alone, so a rollback that leaves a page of a
 * later round, or loses one, changes a later line. A child has memory in common with the program,
 * and changes its part.
 *
 * While there is a file DIR/stop.N, the program waits in round N. The last argument does in round
 * LATER what stands in the way of leaving memory where it is: another layout, a shared mapping,
 * memory that was given back but is still there; or a file is locked and mapped from the start.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#define PAGE		4096UL
#define PAGES		4096UL		/* of the large area: 16 MiB */
#define SMALL		64UL
#define FREED		512UL		/* pages of the large area: nobody writes to them */
#define LATER		15U

static struct {
	const char *dir, *extra;
	unsigned int round, rounds;
	uint8_t *large, *sealed, *file, *moved, *shared;
	uint8_t *grown[64];
	unsigned int nr_grown;
	int ask[2], answer[2];	/* pipes to and from the child */
} all;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static uint64_t sum(uint64_t before, const void *p, size_t len)
{
	const uint64_t *words = p;

	for (size_t i = 0; p && i < len / sizeof(*words); i++)
		before = (before ^ words[i]) * 0x100000001b3ULL;
	return before;
}

static void fill(uint8_t *page, uint64_t seed)
{
	uint64_t *words = (uint64_t *)page;

	for (size_t i = 0; i < PAGE / sizeof(*words); i++)
		words[i] = mix(seed + i);
}

/* A page of the large area. */
static uint8_t *any(uint64_t seed)
{
	return all.large + (FREED + mix(seed) % (PAGES - FREED - 16)) * PAGE;
}

static uint8_t *map(size_t pages, int flags, int fd)
{
	uint8_t *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		_exit(1);
	}
	return p;
}

/* ------------------------------------------------------------------- child */

static _Noreturn void child(void)
{
	unsigned int round;
	uint64_t answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(all.ask[1]);
	close(all.answer[0]);
	while (read(all.ask[0], &round, sizeof(round)) == sizeof(round)) {
		for (unsigned int i = 0; i < 20; i++)
			fill(any(round * 100 + i), ~round);
		answer = sum(round, all.large, PAGES * PAGE);
		if (write(all.answer[1], &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

static uint64_t ask_child(void)
{
	uint64_t answer = 0;

	if (write(all.ask[1], &all.round, sizeof(all.round)) != sizeof(all.round) ||
	    read(all.answer[0], &answer, sizeof(answer)) != sizeof(answer)) {
		puts("wrong: the child does not answer");
		_exit(1);
	}
	return answer;
}

/* ------------------------------------------------------------------ rounds */

static void begin(void)
{
	char path[4096];
	int fd;

	all.large = map(PAGES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (unsigned long i = 0; i < PAGES; i += 2)
		fill(all.large + i * PAGE, i);
	all.sealed = map(SMALL, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (unsigned long i = 0; i < SMALL; i++)
		fill(all.sealed + i * PAGE, i + 7);
	mprotect(all.sealed, SMALL * PAGE, PROT_READ);
	snprintf(path, sizeof(path), "%s/file", all.dir);
	fd = open(path, O_RDWR);
	if (fd >= 0)
		all.file = map(SMALL, MAP_PRIVATE, fd);
	if (strcmp(all.extra, "locked") != 0)
		close(fd);
	else if (flock(fd, LOCK_EX))
		_exit(1);
	if (pipe(all.ask) || pipe(all.answer))
		_exit(1);
	fflush(stdout);
	if (!fork())
		child();
	close(all.ask[0]);
	close(all.answer[1]);
}

static void later(void)
{
	if (!strcmp(all.extra, "moved")) {
		all.moved = mremap(all.sealed, SMALL * PAGE, SMALL * PAGE * 2, MREMAP_MAYMOVE);
		if (all.moved != MAP_FAILED)
			all.sealed = all.moved;
		munmap(all.large + 100 * PAGE, 8 * PAGE);
		if (mmap(all.large + 100 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			_exit(1);
	} else if (!strcmp(all.extra, "shared")) {
		all.shared = map(SMALL, MAP_SHARED | MAP_ANONYMOUS, -1);
		fill(all.shared, 1);
	} else if (!strcmp(all.extra, "freed")) {
		madvise(all.large, FREED * PAGE, MADV_FREE);
	}
}

/* Every kind of change that a page can have between two rounds. */
static void change(unsigned int round)
{
	for (unsigned int i = 0; i < 40; i++)
		fill(any(round * 1000 + i), round * 7 + i);
	madvise(any(round), 16 * PAGE, MADV_DONTNEED);
	memset(any(round + 99), 0, PAGE);
	mprotect(all.sealed, SMALL * PAGE, PROT_READ | PROT_WRITE);
	fill(all.sealed + mix(round) % SMALL * PAGE, round);
	mprotect(all.sealed, SMALL * PAGE, PROT_READ);
	if (all.file) {
		fill(all.file + mix(round) % SMALL * PAGE, round);
		madvise(all.file + mix(round + 5) % SMALL * PAGE, PAGE, MADV_DONTNEED);
		memset(all.file + mix(round + 3) % SMALL * PAGE, 0, PAGE);
	}
	if (round % 4 == 3 && all.nr_grown < 64) {
		all.grown[all.nr_grown] = map(SMALL, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		fill(all.grown[all.nr_grown++], round);
	}
	if (round == LATER)
		later();
}

static uint64_t check(void)
{
	uint64_t s = sum(all.round, all.large, PAGES * PAGE);

	s = sum(s, all.sealed, SMALL * PAGE);
	s = sum(s, all.file, SMALL * PAGE);
	s = sum(s, all.shared, SMALL * PAGE);
	for (unsigned int i = 0; i < all.nr_grown; i++)
		s = sum(s, all.grown[i], SMALL * PAGE);
	return s;
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc < 3)
		return 2;
	all.dir = argv[1];
	all.rounds = (unsigned int)atoi(argv[2]);
	all.extra = argc > 3 ? argv[3] : "";
	begin();
	for (all.round = 1; all.round <= all.rounds; all.round++) {
		change(all.round);
		printf("round %u %016llx %016llx\n", all.round, (unsigned long long)check(),
		       (unsigned long long)ask_child());
		fflush(stdout);
		snprintf(path, sizeof(path), "%s/stop.%u", all.dir, all.round);
		while (access(path, F_OK) == 0)
			usleep(20000);
	}
	close(all.ask[1]);
	return 0;
}
