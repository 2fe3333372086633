// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memfd, open and mapped shared: descriptor and mapping are one object.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define SIZE	(1UL << 20)

static uint8_t *mem;
static int fd;

static void setup(void)
{
	fd = (int)cr_sys(memfd_create("cr-mapped", 0));
	cr_sys(ftruncate(fd, SIZE));
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap");
	cr_fill(mem, SIZE / 2, 1);
}

static void verify(void)
{
	uint8_t buf[4096];
	struct stat st;

	cr_sys(fstat(fd, &st));
	cr_eq(st.st_size, SIZE);
	cr_check_fill(mem, SIZE / 2, 1);
	cr_fill(buf, 4096, 2);
	cr_eq(cr_sys(pwrite(fd, buf, 4096, SIZE / 2)), 4096);
	cr_check_fill(mem + SIZE / 2, 4096, 2);
	for (size_t i = SIZE / 2 + 4096; i < SIZE; i++)
		cr_eq(mem[i], 0);
}

CR_TEST(.setup = setup, .verify = verify);
