// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/zero mapped: private pages keep their data, a shared mapping of it is
 * shared with a child.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(16 * 4096)

static uint8_t *priv, *shared;
static pid_t child;

static void in_child(void *arg)
{
	cr_wait_go();
	cr_check_fill(shared, SIZE, 2);
	cr_fill(shared, SIZE, 3);
}

static void setup(void)
{
	int fd = (int)cr_sys(open("/dev/zero", O_RDWR));

	priv = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(priv != MAP_FAILED && shared != MAP_FAILED, "mmap");
	close(fd);
	cr_fill(priv, SIZE, 1);
	cr_fill(shared, SIZE, 2);
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	cr_join(child);
	cr_check_fill(priv, SIZE, 1);
	cr_check_fill(shared, SIZE, 3);
}

CR_TEST(.setup = setup, .verify = verify);
