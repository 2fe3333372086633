// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that changes in every way a kernel's marks of written pages might miss:
 * stores, mappings replaced in place, pages given back, blocks that change places by
 * moved page tables, protection taken away and given back, forks, mappings that grow, and
 * marks that the program clears itself.  Each page says what it should hold.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

#define PAGE	4096UL
#define TABLE	(2UL << 20)
#define BLOCK	(4UL << 20)
#define BLOCKS	4UL
#define SIZE	(BLOCKS * BLOCK)
#define PER	(BLOCK / PAGE)
#define NR	(SIZE / PAGE)

static uint8_t *mem;		/* aligned to BLOCK, room for one more block behind */
static uint64_t versions[NR];	/* 0: zeros */
static uint64_t rng = 88172645463325252ULL, steps;

static uint64_t next(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static uint64_t *page(uint64_t i)
{
	return (uint64_t *)(mem + i * PAGE);
}

static void store(uint64_t i)
{
	versions[i] = next() | 1;
	page(i)[0] = versions[i];
	page(i)[PAGE / 8 - 1] = ~versions[i];
}

static void check(uint64_t i)
{
	cr_check(page(i)[0] == versions[i] &&
		 page(i)[PAGE / 8 - 1] == (versions[i] ? ~versions[i] : 0),
		 "page %llu after %llu steps: %llx and %llx, not %llx", (unsigned long long)i,
		 (unsigned long long)steps, (unsigned long long)page(i)[0],
		 (unsigned long long)page(i)[PAGE / 8 - 1], (unsigned long long)versions[i]);
}

static void replace(void)
{
	uint64_t first = next() % (NR - 64), nr = 1 + next() % 64;

	cr_check(mmap(page(first), nr * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "mmap");
	memset(versions + first, 0, nr * sizeof(*versions));
	store(first + next() % nr);
	check(first + nr - 1);
}

static void give_back(void)
{
	uint64_t first = next() % (NR - 8);

	cr_sys(madvise(page(first), 8 * PAGE, MADV_DONTNEED));
	memset(versions + first, 0, 8 * sizeof(*versions));
	check(first);
	store(first + 3);
}

static bool move_bytes(uint8_t *from, uint8_t *to, size_t len)
{
	if (mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return true;
	cr_check(errno == EFAULT, "mremap: %s", strerror(errno));
	return false;
}

/* By page tables; where replace() has made several mappings of what one covers, by pages. */
static void move(uint64_t from, uint64_t to)
{
	uint8_t *src = mem + from * BLOCK, *dst = mem + to * BLOCK;

	for (size_t i = 0; i < BLOCK; i += TABLE) {
		if (move_bytes(src + i, dst + i, TABLE))
			continue;
		for (size_t j = i; j < i + TABLE; j += PAGE)
			cr_check(move_bytes(src + j, dst + j, PAGE), "mremap of a page");
	}
}

/* A page table may be moved as a whole: nobody looks at its entries. */
static void change_places(void)
{
	uint64_t a = next() % BLOCKS, b = (a + 1 + next() % (BLOCKS - 1)) % BLOCKS;
	static uint64_t was[PER];

	move(a, BLOCKS);
	move(b, a);
	move(BLOCKS, b);
	memcpy(was, versions + a * PER, sizeof(was));
	memcpy(versions + a * PER, versions + b * PER, sizeof(was));
	memcpy(versions + b * PER, was, sizeof(was));
}

static void protect(void)
{
	uint64_t first = next() % (NR - 256);

	cr_sys(mprotect(page(first), 256 * PAGE, PROT_READ));
	check(first + 100);
	cr_sys(mprotect(page(first), 256 * PAGE, PROT_READ | PROT_WRITE));
	store(first + next() % 256);
}

static void with_child(void)
{
	uint64_t i = next() % NR, j = next() % NR;
	pid_t pid = fork();

	cr_sys(pid);
	if (!pid) {
		store(i);	/* its own copy */
		_exit(0);
	}
	store(j);
	cr_join(pid);
	check(i);
}

/* A mapping beside it, which merges with it and goes again. */
static void grow(void)
{
	uint8_t *end = mem + SIZE;

	if (mmap(end, BLOCK, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		cr_fail("mmap: %s", strerror(errno));
	end[0] = 1;
	store(next() % NR);
	cr_sys(munmap(end, BLOCK));
}

static void clear_marks(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	store(next() % NR);
	if (fd >= 0 && write(fd, "4", 1) == 1)
		store(next() % NR);
	if (fd >= 0)
		close(fd);
}

static void setup(void)
{
	uint8_t *room = cr_map(SIZE + 2 * BLOCK, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);

	mem = (uint8_t *)(((uintptr_t)room + BLOCK - 1) & ~(BLOCK - 1));
	cr_check(mmap(mem, SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem, "mmap");
	cr_sys(madvise(mem, SIZE / 2, MADV_NOHUGEPAGE));
	for (uint64_t i = 0; i < NR; i++)
		if (i % 7)
			store(i);
}

static void step(void)
{
	static void (*const how[])(void) = {
		replace, give_back, protect, with_child, grow, change_places,
	};

	steps++;
	for (int i = 0; i < 20; i++)
		store(next() % NR);
	how[steps % 6]();
	if (next() % 64 == 0)
		clear_marks();
	check(next() % NR);
}

static void verify(void)
{
	for (uint64_t i = 0; i < NR; i++)
		check(i);
	step();
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
