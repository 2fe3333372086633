// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file opened under a name that is gone, and also under another one in another
 * directory, which is there: both descriptors are of one file, with its content.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int other, gone;

static void setup(void)
{
	cr_sys(mkdir(cr_path("one"), 0700));
	cr_sys(mkdir(cr_path("two"), 0700));
	cr_write_file(cr_path("one/a"), "content", 7);
	cr_sys(link(cr_path("one/a"), cr_path("two/b")));
	other = (int)cr_sys(open(cr_path("two/b"), O_RDONLY));
	gone = (int)cr_sys(open(cr_path("one/a"), O_RDONLY));
	cr_sys(unlink(cr_path("one/a")));
}

static void verify(void)
{
	struct stat first, second;
	char text[8] = "";

	cr_eq(cr_sys(read(gone, text, sizeof(text))), 7);
	cr_check(!strcmp(text, "content"), "the one whose name is gone has %s", text);
	cr_eq(cr_sys(pread(other, text, sizeof(text), 0)), 7);
	cr_check(!strcmp(text, "content"), "the other has %s", text);
	cr_sys(fstat(gone, &first));
	cr_sys(fstat(other, &second));
	cr_eq(first.st_ino, second.st_ino);
}

CR_TEST(.setup = setup, .verify = verify);
