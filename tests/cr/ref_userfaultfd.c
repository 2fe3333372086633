// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: memory registered with userfaultfd.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int fd;
static uint8_t *mem;

static void setup(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0)
		cr_skip("no userfaultfd");
	mem = cr_map(65536, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	range.range.start = (uintptr_t)mem;
	range.range.len = 65536;
	cr_sys(ioctl(fd, UFFDIO_REGISTER, &range));
}

static void verify(void)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)mem, 4096 } };

	cr_sys(ioctl(fd, UFFDIO_ZEROPAGE, &zero));
	cr_eq(mem[0], 0);
}

CR_TEST(.setup = setup, .verify = verify);
