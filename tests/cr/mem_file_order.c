// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a shared file, each mapped by itself and in reverse order: stores reach the right page
 * of the file.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGES	16
#define PAGE	4096

static int fd;
static uint8_t *mem;

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("pages"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	cr_sys(ftruncate(fd, PAGES * PAGE));
	mem = cr_map(PAGES * PAGE, PROT_NONE, MAP_PRIVATE);
	for (int i = 0; i < PAGES; i++) {
		void *at = mmap(mem + i * PAGE, PAGE, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_FIXED, fd, (PAGES - 1 - i) * PAGE);

		cr_check(at != MAP_FAILED, "mmap: %s", strerror(errno));
		mem[i * PAGE] = (uint8_t)(i + 1);
	}
}

static void verify(void)
{
	for (int i = 0; i < PAGES; i++) {
		uint8_t byte;

		cr_eq(mem[i * PAGE], i + 1);
		mem[i * PAGE + 1] = (uint8_t)(2 * i);
		cr_eq(cr_sys(pread(fd, &byte, 1, (PAGES - 1 - i) * PAGE + 1)), 1);
		cr_eq(byte, 2 * i);
	}
}

CR_TEST(.setup = setup, .verify = verify);
