// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memfd of huge pages: its seals are set and enforced, its position is where it was.
 */
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)
#define SEALS	(F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static int fd;

static void setup(void)
{
	uint8_t *mem;

	fd = memfd_create("cr-huge", MFD_HUGETLB | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, HUGE))
		cr_skip("no huge memfds: %s", strerror(errno));
	mem = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		cr_skip("no huge pages");
	cr_fill(mem, HUGE, 1);
	cr_sys(munmap(mem, HUGE));
	cr_sys(fcntl(fd, F_ADD_SEALS, SEALS));
	cr_eq(cr_sys(lseek(fd, 8192, SEEK_SET)), 8192);
}

static void verify(void)
{
	uint8_t *data = malloc(HUGE);

	cr_eq(cr_sys(lseek(fd, 0, SEEK_CUR)), 8192);
	cr_eq(fcntl(fd, F_GET_SEALS), SEALS);
	cr_eq(ftruncate(fd, 0), -1);
	cr_eq(errno, EPERM);
	cr_eq(cr_sys(pread(fd, data, HUGE, 0)), HUGE);
	cr_check_fill(data, HUGE, 1);
	free(data);
}

CR_TEST(.setup = setup, .verify = verify);
