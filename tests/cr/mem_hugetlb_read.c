// SPDX-License-Identifier: GPL-2.0-only
/*
 * Huge pages of a file, mapped shared by way of a descriptor that cannot write: the
 * mapping shows what is written elsewhere, before and after.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)

static uint8_t *mem, *view;

static void setup(void)
{
	int fd = memfd_create("huge", MFD_HUGETLB | MFD_CLOEXEC), reader;
	char path[64];

	if (fd < 0 || ftruncate(fd, HUGE))
		cr_skip("no huge pages");
	mem = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		cr_skip("no huge pages");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reader = (int)cr_sys(open(path, O_RDONLY | O_CLOEXEC));
	view = mmap(NULL, HUGE, PROT_READ, MAP_SHARED, reader, 0);
	cr_check(view != MAP_FAILED, "mmap: %s", strerror(errno));
	cr_sys(close(reader));
	cr_sys(close(fd));
	cr_fill(mem, HUGE, 1);
}

static void verify(void)
{
	cr_check_fill(view, HUGE, 1);
	cr_fill(mem, HUGE, 2);
	cr_check_fill(view, HUGE, 2);
	cr_check(mprotect(view, HUGE, PROT_READ | PROT_WRITE) < 0 && errno == EACCES,
		 "it can be made writable");
}

CR_TEST(.setup = setup, .verify = verify);
