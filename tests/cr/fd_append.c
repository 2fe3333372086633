// SPDX-License-Identifier: GPL-2.0-only
/*
 * O_APPEND: parent and child append to one log through descriptions of their own
 * all the time; every line is there once, whole, in order.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd;
static long lines;
static pid_t child;

static void put(char who)
{
	char line[16];

	snprintf(line, sizeof(line), "%c%06ld\n", who, lines++);
	cr_eq(cr_sys(write(fd, line, 8)), 8);
}

static void in_child(void *arg)
{
	close(fd);
	fd = (int)cr_sys(open(cr_path("log"), O_WRONLY | O_APPEND));
	cr_mark("child");
	while (!cr_go()) {
		put('c');
		usleep(1500);
	}
	cr_eq(fcntl(fd, F_GETFL) & O_APPEND, O_APPEND);
}

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("log"), O_WRONLY | O_CREAT | O_APPEND, 0600));
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void step(void)
{
	put('p');
}

static void verify(void)
{
	long next[2] = { 0, 0 };
	char *log, *p;
	size_t len;

	cr_join(child);
	step();
	log = cr_read(cr_path("log"), &len);
	cr_eq(len % 8, 0);
	for (p = log; p < log + len; p += 8) {
		cr_check((*p == 'p' || *p == 'c') && p[7] == '\n', "line '%.8s'", p);
		cr_eq(strtol(p + 1, NULL, 10), next[*p == 'c']++);
	}
	cr_eq(next[0], lines);
	free(log);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
