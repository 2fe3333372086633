// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared file mapping: what was stored is in the file, and after the wait a
 * store still reaches the file and a write to the file still reaches the mapping.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(64 * 4096)

static uint8_t *mem;
static int fd;

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("data"), O_RDWR | O_CREAT | O_EXCL, 0600));
	cr_sys(ftruncate(fd, SIZE));
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap");
	cr_fill(mem, SIZE, 1);
}

static void verify(void)
{
	uint8_t buf[4096];

	cr_check_fill(mem, SIZE, 1);
	cr_fill(mem + 4096, 4096, 2);
	cr_eq(cr_sys(pread(fd, buf, 4096, 4096)), 4096);
	cr_check_fill(buf, 4096, 2);
	cr_fill(buf, 4096, 3);
	cr_eq(cr_sys(pwrite(fd, buf, 4096, 8192)), 4096);
	cr_check_fill(mem + 8192, 4096, 3);
}

CR_TEST(.setup = setup, .verify = verify);
