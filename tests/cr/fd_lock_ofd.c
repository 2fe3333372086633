// SPDX-License-Identifier: GPL-2.0-only
/*
 * Record locks of open file descriptions (F_OFD_SETLK): two descriptions of one process keep
 * each other out, a child has that of its parent, and they hold in a deleted file.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd, other, gone, gone_too;
static pid_t child;

static int set(int on, short type, off_t start, off_t len)
{
	struct flock range = { .l_type = type, .l_start = start, .l_len = len };

	return fcntl(on, F_OFD_SETLK, &range);
}

static void refused(int on, short type, off_t start, off_t len)
{
	cr_eq(set(on, type, start, len), -1);
	cr_check(errno == EAGAIN || errno == EACCES, "%s", strerror(errno));
}

static void in_child(void *arg)
{
	cr_await("closed");
	refused(other, F_WRLCK, 0, 1);
	cr_sys(set(fd, F_UNLCK, 0, 0));
	cr_sys(set(other, F_WRLCK, 0, 1));
}

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));
	other = (int)cr_sys(open(cr_path("locked"), O_RDWR));
	cr_sys(set(fd, F_WRLCK, 0, 100));
	cr_sys(set(fd, F_RDLCK, 200, 100));
	cr_sys(set(other, F_RDLCK, 250, 0));
	gone = (int)cr_sys(open(cr_path("gone"), O_RDWR | O_CREAT, 0600));
	gone_too = (int)cr_sys(open(cr_path("gone"), O_RDWR));
	cr_sys(set(gone, F_WRLCK, 7, 1));
	cr_sys(unlink(cr_path("gone")));
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	refused(other, F_RDLCK, 99, 1);
	cr_sys(set(other, F_RDLCK, 220, 1));
	refused(other, F_WRLCK, 299, 1);
	refused(fd, F_WRLCK, 1000000, 1);
	cr_sys(set(other, F_UNLCK, 200, 0));
	cr_sys(set(fd, F_WRLCK, 1000000, 1));
	refused(gone_too, F_WRLCK, 7, 1);
	cr_sys(set(gone_too, F_WRLCK, 8, 1));
	cr_sys(close(fd));
	cr_mark("closed");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
