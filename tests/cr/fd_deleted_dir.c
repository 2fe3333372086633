// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file in a directory that was removed with it, and the directory itself, both
 * still open.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int file, dir;

static void setup(void)
{
	cr_sys(mkdir(cr_path("dir"), 0700));
	dir = (int)cr_sys(open(cr_path("dir"), O_RDONLY | O_DIRECTORY));
	file = (int)cr_sys(open(cr_path("dir/file"), O_RDWR | O_CREAT, 0600));
	cr_eq(cr_sys(write(file, "content", 7)), 7);
	cr_sys(unlink(cr_path("dir/file")));
	cr_sys(rmdir(cr_path("dir")));
}

static void verify(void)
{
	char buf[16] = "";
	struct stat st;

	cr_eq(cr_sys(pread(file, buf, sizeof(buf), 0)), 7);
	cr_check(!strcmp(buf, "content"), "%s", buf);
	cr_sys(fstat(dir, &st));
	cr_check(S_ISDIR(st.st_mode), "no directory");
	cr_eq(openat(dir, "new", O_WRONLY | O_CREAT, 0600), -1);
	cr_eq(errno, ENOENT);
	cr_check(access(cr_path("dir"), F_OK) < 0, "the directory is back");
}

CR_TEST(.setup = setup, .verify = verify);
