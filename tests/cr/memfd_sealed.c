// SPDX-License-Identifier: GPL-2.0-only
/*
 * Seals of a memfd: still set, still enforced, content intact.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SEALS	(F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE | F_SEAL_SEAL)

static int fd;

static void setup(void)
{
	uint8_t buf[8192];

	fd = (int)cr_sys(memfd_create("cr-sealed", MFD_ALLOW_SEALING));
	cr_fill(buf, sizeof(buf), 1);
	cr_eq(cr_sys(write(fd, buf, sizeof(buf))), sizeof(buf));
	cr_sys(fcntl(fd, F_ADD_SEALS, SEALS));
}

static void verify(void)
{
	uint8_t buf[8192];

	cr_eq(fcntl(fd, F_GET_SEALS), SEALS);
	cr_eq(cr_sys(pread(fd, buf, sizeof(buf), 0)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 1);
	cr_eq(pwrite(fd, buf, 1, 0), -1);
	cr_eq(errno, EPERM);
	cr_eq(ftruncate(fd, 1), -1);
	cr_eq(errno, EPERM);
	cr_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

CR_TEST(.setup = setup, .verify = verify);
