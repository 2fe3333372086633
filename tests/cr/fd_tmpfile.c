// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file that never had a name (O_TMPFILE): content and position survive, and it
 * can be given a name afterwards.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	uint8_t buf[20000];

	fd = open(cr_path("."), O_TMPFILE | O_RDWR, 0600);
	if (fd < 0)
		cr_skip("no O_TMPFILE here");
	cr_fill(buf, sizeof(buf), 1);
	cr_eq(cr_sys(write(fd, buf, sizeof(buf))), sizeof(buf));
	cr_eq(lseek(fd, 123, SEEK_SET), 123);
}

static void verify(void)
{
	uint8_t buf[20000];
	char path[64];

	cr_eq(lseek(fd, 0, SEEK_CUR), 123);
	cr_eq(cr_sys(pread(fd, buf, sizeof(buf), 0)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_sys(linkat(AT_FDCWD, path, AT_FDCWD, cr_path("named"), AT_SYMLINK_FOLLOW));
	cr_sys(unlink(cr_path("named")));
}

CR_TEST(.setup = setup, .verify = verify);
