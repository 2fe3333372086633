// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a userfaultfd with which no memory is registered.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct uffdio_api api = { .api = UFFD_API };

	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		cr_skip("userfaultfd: %s", strerror(errno));
}

static void verify(void)
{
	struct uffdio_range none = { 0, 0 };

	cr_eq(ioctl(fd, UFFDIO_WAKE, &none), -1);
	cr_eq(errno, EINVAL);
}

CR_TEST(.setup = setup, .verify = verify);
