// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files renamed since they were opened, one of them replaced by another file under
 * its old name, and one reached by a hard link only: each descriptor still means
 * the file it meant.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int moved, replaced, linked;

static int make(const char *name, char c)
{
	int fd = (int)cr_sys(open(cr_path(name), O_RDWR | O_CREAT | O_EXCL, 0600));

	cr_eq(cr_sys(write(fd, &c, 1)), 1);
	return fd;
}

static char first(int fd)
{
	char c = 0;

	cr_eq(cr_sys(pread(fd, &c, 1, 0)), 1);
	return c;
}

static void setup(void)
{
	moved = make("a", 'a');
	replaced = make("b", 'b');
	linked = make("c", 'c');
	cr_sys(rename(cr_path("a"), cr_path("a2")));
	cr_sys(rename(cr_path("b"), cr_path("b2")));
	close(make("b", 'X'));
	cr_sys(link(cr_path("c"), cr_path("c2")));
	cr_sys(unlink(cr_path("c")));
}

static void verify(void)
{
	char *text;

	cr_eq(first(moved), 'a');
	cr_eq(first(replaced), 'b');
	cr_eq(first(linked), 'c');
	cr_eq(cr_sys(pwrite(moved, "A", 1, 0)), 1);
	cr_eq(cr_sys(pwrite(replaced, "B", 1, 0)), 1);
	text = cr_read(cr_path("a2"), NULL);
	cr_eq(text[0], 'A');
	free(text);
	text = cr_read(cr_path("b2"), NULL);
	cr_eq(text[0], 'B');
	free(text);
	text = cr_read(cr_path("b"), NULL);
	cr_eq(text[0], 'X');
	free(text);
	text = cr_read(cr_path("c2"), NULL);
	cr_eq(text[0], 'c');
	free(text);
}

CR_TEST(.setup = setup, .verify = verify);
