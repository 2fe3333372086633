// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files the program may open no more: a descriptor for writing to a file that is
 * read-only now, and one for reading to a file in a directory that is closed now;
 * and a deleted file of its former self.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int wr, rd, gone;
static uid_t owner;

static void setup(void)
{
	owner = geteuid();
	cr_sys(mkdir(cr_path("closed"), 0755));
	cr_write_file(cr_path("closed/file"), "inside", 6);
	wr = (int)cr_sys(open(cr_path("readonly"), O_RDWR | O_CREAT, 0644));
	rd = (int)cr_sys(open(cr_path("closed/file"), O_RDONLY));
	cr_eq(cr_sys(write(wr, "abc", 3)), 3);
	cr_sys(fchmod(wr, 0444));
	cr_sys(chmod(cr_path("closed"), 0));
	gone = (int)cr_sys(open(cr_path("gone"), O_RDWR | O_CREAT, 0600));
	cr_sys(unlink(cr_path("gone")));
	if (geteuid() != 0)
		return;
	cr_sys(setresgid(1001, 1001, 1001));
	cr_sys(setresuid(1001, 1001, 1001));
}

static void verify(void)
{
	char buf[8] = "";
	struct stat st;

	cr_eq(cr_sys(write(wr, "def", 3)), 3);
	cr_eq(cr_sys(pread(wr, buf, 8, 0)), 6);
	cr_check(!memcmp(buf, "abcdef", 6), "%s", buf);
	cr_eq(cr_sys(read(rd, buf, 8)), 6);
	cr_check(!memcmp(buf, "inside", 6), "%s", buf);
	cr_sys(fstat(gone, &st));
	cr_eq(st.st_uid, owner);
	cr_eq(st.st_mode & 07777, 0600);
}

CR_TEST(.setup = setup, .verify = verify);
