// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores through a shared mapping to pages that were stored to before: a file in
 * memory keeps its time of modification then.  Each step counts in the file and
 * in the program's own memory; after a rollback the two must not be apart.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static volatile uint64_t *mem;
static volatile uint64_t mine;
static char name[64];

static void check(void)
{
	cr_check(*mem - mine <= 1, "%llu steps in the file, %llu in memory",
		 (unsigned long long)*mem, (unsigned long long)mine);
}

static void setup(void)
{
	int fd;

	snprintf(name, sizeof(name), "/cr-stores-%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		cr_skip("shm_open: %s", strerror(errno));
	cr_sys(ftruncate(fd, 4096));
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap");
	close(fd);
	*mem = 0;
}

/* A checkpoint may come between the two. */
static void step(void)
{
	check();
	*mem = mine + 1;
	mine++;
	cr_pause();
}

static void verify(void)
{
	check();
	cr_sys(shm_unlink(name));
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
