// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared anonymous memory by way of a descriptor, as /proc/self/map_files gives it: the
 * descriptor alone, with a length that is no page's multiple; and mapped privately, with
 * a page changed in the mapping and another in what is behind it.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define PAGE	4096UL

static int alone;
static char *shared, *private;

static int open_map(char *map, size_t len)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)map,
		 (unsigned long)map + len);
	fd = open(path, O_RDWR);
	if (fd < 0 && errno == EPERM)
		cr_skip("/proc/self/map_files is closed to us");
	return (int)cr_sys(fd);
}

static void setup(void)
{
	char *map = cr_map(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	int fd;

	alone = open_map(map, PAGE);
	cr_sys(ftruncate(alone, 0));
	cr_sys(munmap(map, PAGE));
	cr_eq(cr_sys(write(alone, "hello", 5)), 5);

	shared = cr_map(3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	cr_fill(shared, 3 * PAGE, 1);
	fd = open_map(shared, 3 * PAGE);
	private = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_check(private != MAP_FAILED, "%s", strerror(errno));
	cr_sys(close(fd));
	cr_fill(private + PAGE, PAGE, 2);
}

static void verify(void)
{
	char buf[8] = "";
	struct stat st;

	cr_sys(fstat(alone, &st));
	cr_eq(st.st_size, 5);
	cr_eq(lseek(alone, 0, SEEK_CUR), 5);
	cr_eq(cr_sys(pread(alone, buf, sizeof(buf), 0)), 5);
	cr_check(!strcmp(buf, "hello"), "%s", buf);

	cr_check_fill(shared, 3 * PAGE, 1);
	cr_check_fill(private + PAGE, PAGE, 2);
	shared[0] = 'x';
	shared[PAGE] = 'y';
	cr_eq(private[0], 'x');
	cr_check_fill(private + PAGE, PAGE, 2);
	private[2 * PAGE] = 'z';
	cr_check(shared[2 * PAGE] != 'z', "the private mapping is shared");
}

CR_TEST(.setup = setup, .verify = verify);
