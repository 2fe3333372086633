// SPDX-License-Identifier: GPL-2.0-only
/*
 * One memfd behind two open file descriptions with positions of their own, one of
 * them read-only and held by a child, too: one content, two positions.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static int rw, ro;
static pid_t child;

static void in_child(void *arg)
{
	cr_wait_go();
	cr_await("written");
	cr_eq(lseek(ro, 0, SEEK_CUR), 7);
	cr_eq(cr_sys(lseek(ro, 100, SEEK_SET)), 100);
}

static void setup(void)
{
	uint8_t buf[4096];
	char path[64];

	rw = (int)cr_sys(memfd_create("cr-two", 0));
	cr_fill(buf, sizeof(buf), 1);
	cr_eq(cr_sys(write(rw, buf, sizeof(buf))), sizeof(buf));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", rw);
	ro = (int)cr_sys(open(path, O_RDONLY));
	cr_eq(cr_sys(lseek(ro, 7, SEEK_SET)), 7);
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	uint8_t buf[4096];

	cr_eq(lseek(rw, 0, SEEK_CUR), 4096);
	cr_fill(buf, sizeof(buf), 2);
	cr_eq(cr_sys(pwrite(rw, buf, sizeof(buf), 0)), sizeof(buf));
	cr_eq(cr_sys(pread(ro, buf, sizeof(buf), 0)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 2);
	cr_eq(write(ro, buf, 1), -1);
	cr_eq(errno, EBADF);
	cr_mark("written");
	cr_join(child);
	cr_eq(lseek(ro, 0, SEEK_CUR), 100);
	cr_eq(lseek(rw, 0, SEEK_CUR), 4096);
}

CR_TEST(.setup = setup, .verify = verify);
