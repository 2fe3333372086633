// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a lease on a file whose descriptor is closed, so that a mapping alone keeps it.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	int fd = (int)cr_sys(open(cr_path("leased"), O_RDWR | O_CREAT, 0600));

	signal(SIGIO, SIG_IGN);		/* somebody wants to open the file */
	cr_sys(ftruncate(fd, 4096));
	cr_check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED, "mmap");
	cr_sys(fcntl(fd, F_SETLEASE, F_WRLCK));
	cr_sys(close(fd));
}

static void verify(void)
{
	cr_eq(open(cr_path("leased"), O_RDONLY | O_NONBLOCK), -1);
	cr_eq(errno, EWOULDBLOCK);
}

CR_TEST(.setup = setup, .verify = verify);
