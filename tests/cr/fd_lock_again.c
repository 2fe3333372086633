// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lock that is given up by closing its file, again and again, also while an image is being
 * written: no dump holds the file, so the lock can be had again.
 *
 * Before the freeze, a dump reads /proc/PID/fdinfo, as lsof does; the kernel holds the open file
 * for that moment (KI-182). One lock that is refused, and can be had a little later, is that.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(32UL << 20)	/* takes a while to write */
#define TRIES	50U		/* of 2 ms; the image takes ten times as long */

static pid_t child;

/* Take the lock; returns the number of times that the kernel refused it. */
static unsigned int lock_take(int fd)
{
	unsigned int refused = 0;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		cr_check(errno == EWOULDBLOCK && refused < TRIES, "refused %u times", refused);
		refused++;
		usleep(2000);
	}
	return refused;
}

/* Not the program itself, whose descriptors are counted. */
static void in_child(void *arg)
{
	unsigned long rounds = 0, refused = 0;

	while (!cr_go()) {
		int fd = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));

		refused += lock_take(fd) != 0;
		rounds++;
		usleep(2000);
		cr_sys(close(fd));
	}
	cr_check(rounds && refused <= 1, "%lu of %lu refused", refused, rounds);
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
