// SPDX-License-Identifier: GPL-2.0-only
/*
 * A private mapping of a hugetlb file: what the program has written over it with zeros,
 * a part of a huge page or all of one, is zeros, not the file; the rest is the file.
 */
#include <linux/memfd.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)

static uint8_t *file, *mem;

static void setup(void)
{
	int fd = memfd_create("huge", MFD_HUGETLB);

	if (fd < 0 || ftruncate(fd, 3 * HUGE))
		cr_skip("no hugetlb files: %s", strerror(errno));
	file = mmap(NULL, 3 * HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		cr_skip("no huge pages");
	mem = mmap(NULL, 3 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (mem == MAP_FAILED)
		cr_skip("no huge pages");
	cr_fill(file, 3 * HUGE, 1);
	memset(mem, 0, 4096);
	memset(mem + HUGE, 0, HUGE);
}

static void check_zeros(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 8)
		cr_eq(*(const uint64_t *)(p + i), 0);
}

static void verify(void)
{
	cr_check_fill(file, 3 * HUGE, 1);
	check_zeros(mem, 4096);
	cr_check(!memcmp(mem + 4096, file + 4096, HUGE - 4096), "rest of the first page");
	check_zeros(mem + HUGE, HUGE);
	cr_check(!memcmp(mem + 2 * HUGE, file + 2 * HUGE, HUGE), "untouched page");
}

CR_TEST(.setup = setup, .verify = verify);
