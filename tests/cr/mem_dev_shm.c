// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX shared memory: a named object in /dev/shm, mapped by parent and child,
 * and one that was unlinked after it had been mapped.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(64 * 4096)

static uint8_t *named, *gone;
static char name[64];
static pid_t child;

static uint8_t *object(const char *object_name)
{
	int fd = shm_open(object_name, O_RDWR | O_CREAT | O_EXCL, 0600);
	uint8_t *mem;

	if (fd < 0)
		cr_skip("shm_open: %s", strerror(errno));
	cr_sys(ftruncate(fd, SIZE));
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap");
	close(fd);
	return mem;
}

static void in_child(void *arg)
{
	cr_wait_go();
	cr_check_fill(named, SIZE, 1);
	cr_check_fill(gone, SIZE, 2);
	cr_fill(named, SIZE, 3);
	cr_fill(gone, SIZE, 4);
}

static void setup(void)
{
	char other[80];

	snprintf(name, sizeof(name), "/cr-test-%d", getpid());
	snprintf(other, sizeof(other), "%s-gone", name);
	named = object(name);
	gone = object(other);
	cr_sys(shm_unlink(other));
	cr_fill(named, SIZE, 1);
	cr_fill(gone, SIZE, 2);
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	uint8_t *buf;
	int fd;

	cr_join(child);
	cr_check_fill(named, SIZE, 3);
	cr_check_fill(gone, SIZE, 4);
	fd = (int)cr_sys(shm_open(name, O_RDWR, 0));
	buf = malloc(SIZE);
	cr_eq(cr_sys(read(fd, buf, SIZE)), SIZE);
	cr_check_fill(buf, SIZE, 3);
	cr_sys(shm_unlink(name));
}

CR_TEST(.setup = setup, .verify = verify);
