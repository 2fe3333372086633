// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lock that is given up by closing its file, again and again, also while an image is being
 * written: it can be had again at once.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(32UL << 20)	/* takes a while to write */

static pid_t child;

/* Not the program itself, whose descriptors are counted. */
static void in_child(void *arg)
{
	unsigned long rounds = 0, refused = 0;

	while (!cr_go()) {
		int fd = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));

		refused += flock(fd, LOCK_EX | LOCK_NB) != 0;
		rounds++;
		usleep(2000);
		cr_sys(close(fd));
	}
	cr_check(rounds && !refused, "%lu of %lu refused", refused, rounds);
}

static void setup(void)
{
	uint64_t *mem =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_check(mem != MAP_FAILED, "mmap");
	for (size_t i = 0; i < SIZE / 8; i++)
		mem[i] = i * 0x9e3779b97f4a7c15ull;
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
