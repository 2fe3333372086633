// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a descriptor of a namespace.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(open("/proc/self/ns/net", O_RDONLY));
}

static void verify(void)
{
	struct stat one, other;

	cr_sys(fstat(fd, &one));
	cr_sys(stat("/proc/self/ns/net", &other));
	cr_eq(one.st_ino, other.st_ino);
}

CR_TEST(.setup = setup, .verify = verify);
