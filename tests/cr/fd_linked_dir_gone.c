// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file whose opened name is gone with its directory, and that has another name
 * higher up: a handle finds it, in whatever directory is left.
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

	cr_sys(mkdir(cr_path("a"), 0700));
	cr_sys(mkdir(cr_path("a/b"), 0700));
	fd = (int)cr_sys(open(cr_path("a/b/old"), O_RDWR | O_CREAT | O_EXCL, 0600));
	if (name_to_handle_at(fd, "", &h.handle, &mount, AT_EMPTY_PATH))
		cr_skip("no handles here: %s", strerror(errno));
	cr_eq(cr_sys(write(fd, "before", 6)), 6);
	cr_sys(link(cr_path("a/b/old"), cr_path("new")));
	cr_sys(unlink(cr_path("a/b/old")));
	cr_sys(rmdir(cr_path("a/b")));
	cr_sys(rmdir(cr_path("a")));
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
