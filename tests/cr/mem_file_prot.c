// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared and private mappings of files opened read-only and read-write: what may be
 * made writable with mprotect before may be afterwards, and nothing else.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static const struct {
	int open, prot, map;
	bool may_write;
} kinds[] = {
	{ O_RDONLY, PROT_READ, MAP_SHARED, false },
	{ O_RDONLY, PROT_READ, MAP_PRIVATE, true },
	{ O_RDWR, PROT_READ, MAP_SHARED, true },
	{ O_RDWR, PROT_NONE, MAP_SHARED, true },
	{ O_RDONLY, PROT_NONE, MAP_SHARED, false },
	{ O_RDWR, PROT_READ | PROT_WRITE, MAP_SHARED, true },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint8_t *mem[KINDS];

static void setup(void)
{
	uint8_t data[4096];

	cr_fill(data, sizeof(data), 1);
	cr_write_file(cr_path("data"), data, sizeof(data));
	for (size_t i = 0; i < KINDS; i++) {
		int fd = (int)cr_sys(open(cr_path("data"), kinds[i].open));

		mem[i] = mmap(NULL, 4096, kinds[i].prot, kinds[i].map, fd, 0);
		cr_check(mem[i] != MAP_FAILED, "mmap %zu", i);
		close(fd);
	}
}

static void verify(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		int rc = mprotect(mem[i], 4096, PROT_READ | PROT_WRITE);

		cr_check((rc == 0) == kinds[i].may_write, "mapping %zu: %d", i, rc);
		if (rc)
			cr_sys(mprotect(mem[i], 4096, PROT_READ));
		cr_check_fill(mem[i], 4096, 1);
	}
}

CR_TEST(.setup = setup, .verify = verify);
