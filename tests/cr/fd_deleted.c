// SPDX-License-Identifier: GPL-2.0-only
/*
 * A deleted file, open in parent and child and by two descriptions, 3 MiB with a
 * hole: content, positions and sharing are kept, and no name comes back.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define HOLE	(2 << 20)

static int fd, ro;
static pid_t child;

static void in_child(void *arg)
{
	uint8_t buf[5000];

	cr_await("written");
	cr_eq(cr_sys(pread(fd, buf, sizeof(buf), 100)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 2);
}

static void setup(void)
{
	uint8_t buf[5000];

	fd = (int)cr_sys(open(cr_path("gone"), O_RDWR | O_CREAT | O_EXCL, 0640));
	ro = (int)cr_sys(open(cr_path("gone"), O_RDONLY));
	cr_fill(buf, sizeof(buf), 1);
	cr_eq(cr_sys(write(fd, buf, sizeof(buf))), sizeof(buf));
	cr_eq(cr_sys(pwrite(fd, buf, sizeof(buf), HOLE)), sizeof(buf));
	cr_eq(lseek(ro, 17, SEEK_SET), 17);
	cr_sys(unlink(cr_path("gone")));
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	uint8_t buf[5000];
	struct stat st;

	cr_sys(fstat(fd, &st));
	cr_eq(st.st_size, HOLE + 5000);
	cr_eq(st.st_mode & 0777, 0640);
	cr_eq(st.st_nlink, 0);
	cr_eq(lseek(fd, 0, SEEK_CUR), 5000);
	cr_eq(lseek(ro, 0, SEEK_CUR), 17);
	cr_eq(cr_sys(pread(ro, buf, sizeof(buf), 0)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 1);
	cr_eq(cr_sys(pread(ro, buf, sizeof(buf), HOLE)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 1);
	cr_fill(buf, sizeof(buf), 2);
	cr_eq(cr_sys(pwrite(fd, buf, sizeof(buf), 100)), sizeof(buf));
	cr_eq(cr_sys(pread(ro, buf, sizeof(buf), 100)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 2);
	cr_mark("written");
	cr_join(child);
	cr_check(access(cr_path("gone"), F_OK) < 0, "the name is back");
	cr_check(access(cr_path("gone (deleted)"), F_OK) < 0, "a wrong name is there");
}

CR_TEST(.setup = setup, .verify = verify);
