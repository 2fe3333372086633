// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file opened under a name that is gone and that has another name in another
 * directory: only a handle finds it.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct {
		struct file_handle handle;
		char room[MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	fd = (int)cr_sys(open(cr_path("old"), O_RDWR | O_CREAT | O_EXCL, 0600));
	if (name_to_handle_at(fd, "", &h.handle, &mount, AT_EMPTY_PATH))
		cr_skip("no handles here: %s", strerror(errno));
	cr_eq(cr_sys(write(fd, "before", 6)), 6);
	cr_sys(mkdir(cr_path("dir"), 0700));
	cr_sys(link(cr_path("old"), cr_path("dir/new")));
	cr_sys(unlink(cr_path("old")));
}

static void verify(void)
{
	char *text;

	cr_eq(cr_sys(pwrite(fd, "after!", 6, 0)), 6);
	text = cr_read(cr_path("dir/new"), NULL);
	cr_check(!strcmp(text, "after!"), "the other name shows %s", text);
	free(text);
}

CR_TEST(.setup = setup, .verify = verify);
