// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mapped file with the middle unmapped and the descriptor closed, mapped from an
 * offset: two mappings of one file that continue to show the right parts of it.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGES	64

static uint8_t *mem, *data;

static void setup(void)
{
	int fd;

	data = malloc((PAGES + 3) * 4096);
	cr_fill(data, (PAGES + 3) * 4096, 1);
	cr_write_file(cr_path("data"), data, (PAGES + 3) * 4096);
	fd = (int)cr_sys(open(cr_path("data"), O_RDONLY));
	mem = mmap(NULL, PAGES * 4096, PROT_READ, MAP_PRIVATE, fd, 3 * 4096);
	cr_check(mem != MAP_FAILED, "mmap");
	close(fd);
	cr_sys(munmap(mem + 20 * 4096, 10 * 4096));
}

static void verify(void)
{
	cr_check(!memcmp(mem, data + 3 * 4096, 20 * 4096), "first part");
	cr_check(!memcmp(mem + 30 * 4096, data + 33 * 4096, (PAGES - 30) * 4096),
		 "second part");
	cr_eq(msync(mem + 20 * 4096, 4096, MS_ASYNC), -1);
	cr_eq(errno, ENOMEM);
}

CR_TEST(.setup = setup, .verify = verify);
