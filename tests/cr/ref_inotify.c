// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an inotify descriptor, a thread blocked reading it.
 */
#include <pthread.h>
#include <sys/inotify.h>

#include "tests/cr/phase.h"

static int fd;
static pthread_t thread;

static void *read_one(void *arg)
{
	char buf[1024] __attribute__((aligned(8)));

	cr_check(cr_sys(read(fd, buf, sizeof(buf))) >= (long)sizeof(struct inotify_event),
		 "event");
	return NULL;
}

static void setup(void)
{
	fd = (int)cr_sys(inotify_init());
	cr_write_file(cr_path("watched"), "", 0);
	cr_sys(inotify_add_watch(fd, cr_path("watched"), IN_MODIFY));
	cr_eq(pthread_create(&thread, NULL, read_one, NULL), 0);
}

static void verify(void)
{
	cr_write_file(cr_path("watched"), "x", 1);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
