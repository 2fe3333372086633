// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inotify descriptors: watches of a file, a directory and a file in /dev/shm with their numbers,
 * one for a single event, one that was removed; a thread that reads.
 */
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd, quiet, file, once, dir, shm;
static pthread_t thread;
static char shm_path[64];

struct event {
	struct inotify_event head;
	char name[256];
};

static void *read_one(void *arg)
{
	struct event event;

	cr_check(cr_sys(read(fd, &event, sizeof(event))) >= (long)sizeof(event.head), "event");
	cr_eq(event.head.wd, file);
	cr_eq(event.head.mask, IN_MODIFY);
	return NULL;
}

static void expect(int wd, uint32_t mask, const char *name)
{
	/* one event: a name takes 16 bytes */
	const size_t len = sizeof(struct inotify_event) + (name ? 16 : 0);
	struct event event;

	cr_eq(cr_sys(read(quiet, &event, len)), (long)len);
	cr_eq(event.head.wd, wd);
	cr_eq(event.head.mask, mask);
	if (name)
		cr_check(!strcmp(event.name, name), "%s", event.name);
}

static void setup(void)
{
	fd = (int)cr_sys(inotify_init());
	cr_write_file(cr_path("watched"), "", 0);
	cr_write_file(cr_path("once"), "", 0);
	cr_sys(mkdir(cr_path("dir"), 0700));
	snprintf(shm_path, sizeof(shm_path), "/dev/shm/cr.inotify.%d", getpid());
	cr_write_file(shm_path, "", 0);
	cr_sys(inotify_rm_watch(fd, (int)cr_sys(inotify_add_watch(fd, cr_path("once"), IN_OPEN))));
	file = (int)cr_sys(inotify_add_watch(fd, cr_path("watched"), IN_MODIFY));
	cr_sys(read(fd, &(struct event){ 0 }, sizeof(struct event)));	/* of the removed one */
	quiet = (int)cr_sys(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
	cr_sys(inotify_add_watch(quiet, cr_path("."), IN_ATTRIB));
	dir = (int)cr_sys(inotify_add_watch(quiet, cr_path("dir"), IN_CREATE | IN_ONLYDIR));
	once = (int)cr_sys(inotify_add_watch(quiet, cr_path("once"), IN_MODIFY | IN_ONESHOT));
	shm = (int)cr_sys(inotify_add_watch(quiet, shm_path, IN_MODIFY));
	cr_eq(pthread_create(&thread, NULL, read_one, NULL), 0);
}

static void verify(void)
{
	cr_eq(read(quiet, &(struct event){ 0 }, sizeof(struct event)), -1);
	cr_eq(errno, EAGAIN);
	cr_write_file(cr_path("watched"), "x", 1);
	cr_eq(pthread_join(thread, NULL), 0);
	cr_write_file(cr_path("dir/new"), "", 0);
	expect(dir, IN_CREATE, "new");
	cr_write_file(cr_path("once"), "x", 1);
	expect(once, IN_MODIFY, NULL);
	expect(once, IN_IGNORED, NULL);
	cr_write_file(shm_path, "x", 1);
	expect(shm, IN_MODIFY, NULL);
	cr_eq(inotify_rm_watch(quiet, once), -1);
	cr_sys(inotify_rm_watch(quiet, shm));
	expect(shm, IN_IGNORED, NULL);
	cr_sys(unlink(shm_path));
	/* a number beyond all that were given */
	cr_check(inotify_add_watch(quiet, cr_path("dir/new"), IN_OPEN) > shm, "number");
}

CR_TEST(.setup = setup, .verify = verify);
