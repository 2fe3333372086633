// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: memory that the kernel itself has not mapped (memfd_secret).
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static char *mem;

static void setup(void)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);

	if (fd < 0)
		cr_skip("memfd_secret: %s", strerror(errno));
	cr_sys(ftruncate(fd, 4096));
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap: %s", strerror(errno));
	strcpy(mem, "secret");
}

static void verify(void)
{
	cr_check(!strcmp(mem, "secret"), "%s", mem);
}

CR_TEST(.setup = setup, .verify = verify);
