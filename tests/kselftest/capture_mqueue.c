// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: POSIX message queues, by hand.  A queue is read without taking its messages, its
 * open files are counted, and what cannot be read gets its own error.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define LONGEST	8192
#define NAME	"/capture-mqueue"

static char bytes[4 * LONGEST];

static int peek_at(int dev, int fd, uint64_t room, struct ckpt_mq_peek *peek)
{
	*peek = (struct ckpt_mq_peek){
		.size = sizeof(*peek), .fd = fd, .len = room, .buf = (uintptr_t)bytes,
	};
	return cap_command(dev, CKPT_IOC_MQ_PEEK, peek);
}

static void check_messages(int dev, int queue)
{
	const struct ckpt_mq_message *message = (void *)bytes;
	uint64_t need = 2 * sizeof(*message) + LONGEST + 8;
	struct ckpt_mq_peek peek;

	tap_is(peek_at(dev, queue, need - 1, &peek), -ENOSPC, "too little room");
	tap_is(peek.len, need, "the room that is needed");
	tap_is(peek_at(dev, queue, need, &peek), 0, "a queue is read");
	tap_is(peek.nr, 2, "two messages");
	tap_ok(peek.maxmsg == 3 && peek.msgsize == LONGEST, "its attributes");
	tap_ok(message->priority == 9 && message->len == LONGEST, "the more urgent one first");
	tap_ok(((const char *)(message + 1))[LONGEST - 1] == 'z', "to its last byte");
	message = (const void *)((const char *)(message + 1) + LONGEST);
	tap_ok(message->priority == 1 && message->len == 2 && !memcmp(message + 1, "hi", 2),
	       "then the other one");
	tap_is(peek.notify, CKPT_MQ_NOBODY, "nobody is told");
}

static void registers_and_execs(void *arg)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int queue = *(int *)arg;

	fcntl(queue, F_SETFD, 0);
	if (mq_notify(queue, &event))
		_exit(1);
	execl("/bin/sleep", "sleep", "1000", NULL);
	_exit(1);
}

/* The kernel signals no program that an exec has put in the place of who asked for it. */
static void check_exec(int dev, int queue)
{
	pid_t pid = spawn(registers_and_execs, &queue);
	struct ckpt_mq_peek peek;

	await_syscall(pid, SYS_clock_nanosleep);
	tap_ok(!peek_at(dev, queue, sizeof(bytes), &peek) && peek.notify == SIGEV_NONE &&
	       peek.notify_pid == pid, "after an exec its place is taken, and nobody is signalled");
	reap(pid);
	tap_ok(!peek_at(dev, queue, sizeof(bytes), &peek) && peek.notify == CKPT_MQ_NOBODY,
	       "its end frees the place");
}

/* The right of whoever opened the device is not enough. */
static void check_rights(int dev, int queue)
{
	struct ckpt_mq_peek peek;
	int err;

	if (seteuid(12345))
		tap_bail("seteuid: %s", strerror(errno));
	err = peek_at(dev, queue, sizeof(bytes), &peek);
	if (seteuid(0))
		tap_bail("seteuid: %s", strerror(errno));
	tap_is(err, -EACCES, "a caller who may not read the queue");
}

static void check_users(int dev, int queue)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct ckpt_mq_peek peek;
	int again, path;

	mq_notify(queue, &event);
	event.sigev_notify = SIGEV_NONE;
	tap_is(peek_at(dev, queue, sizeof(bytes), &peek), 0, "read again");
	tap_ok(peek.users == 1 && peek.notify == SIGEV_SIGNAL && peek.notify_pid == getpid() &&
	       peek.notify_signo == SIGUSR1, "one open file, and who is told");
	again = mq_open(NAME, O_RDONLY);
	path = open("/dev/mqueue" NAME, O_PATH);
	tap_is(peek_at(dev, path, sizeof(bytes), &peek), 0, "read by O_PATH");
	tap_is(peek.users, 3, "three open files");
	close(path);
	mq_unlink(NAME);
	tap_ok(!peek_at(dev, again, sizeof(bytes), &peek) && peek.users == 2,
	       "without its name: two open files");
	mq_close(again);
}

part(mqueue)
{
	struct mq_attr attr = { .mq_maxmsg = 3, .mq_msgsize = LONGEST };
	struct ckpt_mq_peek peek;
	static char text[LONGEST];
	int dev = cap_open(), queue, file = open("/proc/self/exe", O_RDONLY);

	mq_unlink(NAME);
	queue = mq_open(NAME, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (queue < 0)
		tap_bail("mq_open: %s", strerror(errno));
	memset(text, 'z', sizeof(text));
	mq_send(queue, "hi", 2, 1);
	mq_send(queue, text, LONGEST, 9);
	check_messages(dev, queue);
	check_rights(dev, queue);
	check_exec(dev, queue);
	check_users(dev, queue);
	tap_is(peek_at(dev, file, 0, &peek), -ENOTTY, "another kind of file");
	tap_is(peek_at(dev, 999, 0, &peek), -EBADF, "no file");
	peek = (struct ckpt_mq_peek){ .size = sizeof(peek), .fd = queue, .pad = 1 };
	tap_is(cap_command(dev, CKPT_IOC_MQ_PEEK, &peek), -EINVAL, "padding");
	peek = (struct ckpt_mq_peek){ .size = sizeof(peek), .fd = queue, .flags = 2 };
	tap_is(cap_command(dev, CKPT_IOC_MQ_PEEK, &peek), -EINVAL, "unknown flag");
	peek = (struct ckpt_mq_peek){ .size = sizeof(peek), .flags = CKPT_MQ_PEEK_DIRECTORY };
	tap_is(cap_command(dev, CKPT_IOC_MQ_PEEK, &peek), -EBADFD, "no tree, no directory");
	mq_close(queue);
	close(file);
	close(dev);
}

/* An old caller does not save queues: they are refused as before. */
static void has_queue(void *unused)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };

	(void)unused;
	mq_unlink(NAME);
	if (mq_open(NAME, O_RDWR | O_CREAT, 0600, &attr) < 0)
		_exit(1);
	am_ready();
	for (;;)
		pause();
}

part(mqueue_refused)
{
	pid_t pid;
	int fd;

	shared->ready = 0;
	pid = spawn(has_queue, NULL);
	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	tap_ok(cap_snapshot(fd, 0, NULL) == -EOPNOTSUPP && recs_refused(fd, CKPT_R_FD_KIND, pid),
	       "whoever does not save queues is refused");
	close(fd);
	reap(pid);
	mq_unlink(NAME);
}
