// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of /sys, which say a size that they have not: one open for reading, one
 * for reading and writing, and one for writing only.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

#define RUN	"/sys/kernel/mm/ksm/run"
#define SLEEP	"/sys/kernel/mm/ksm/sleep_millisecs"
#define PAGES	"/sys/kernel/mm/ksm/pages_to_scan"

static int run, msecs, pages;
static char value[16], scanned[16];

static void get(int fd, char *buf)
{
	memset(buf, 0, 16);
	cr_check(pread(fd, buf, 15, 0) > 1, "nothing to read");
}

static void setup(void)
{
	int fd = open(PAGES, O_RDONLY);

	run = open(RUN, O_RDONLY);
	msecs = open(SLEEP, O_RDWR);
	pages = open(PAGES, O_WRONLY);
	if (fd < 0 || run < 0 || msecs < 0 || pages < 0)
		cr_skip("no attributes of ksm");
	get(fd, scanned);
	close(fd);
	get(msecs, value);
}

static void verify(void)
{
	char now[16];

	get(run, now);
	get(msecs, now);
	cr_check(!strcmp(now, value), "%s, not %s", now, value);
	cr_sys(pwrite(msecs, value, strlen(value), 0));
	cr_sys(pwrite(pages, scanned, strlen(scanned), 0));
}

CR_TEST(.setup = setup, .verify = verify);
