// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file opened under a name that is gone and that has another name still: what is
 * written to the descriptor is in the file of that other name.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("old"), O_RDWR | O_CREAT | O_EXCL, 0600));
	cr_eq(cr_sys(write(fd, "before", 6)), 6);
	cr_sys(link(cr_path("old"), cr_path("new")));
	cr_sys(unlink(cr_path("old")));
}

static void verify(void)
{
	char *text;

	cr_eq(cr_sys(pwrite(fd, "after!", 6, 0)), 6);
	text = cr_read(cr_path("new"), NULL);
	cr_check(!strcmp(text, "after!"), "the other name shows %s", text);
	free(text);
}

CR_TEST(.setup = setup, .verify = verify);
