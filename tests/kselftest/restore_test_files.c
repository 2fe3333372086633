// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: descriptors, the POSIX locks of who has them, and whom a message queue tells.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

static void few_files(struct helper *self)
{
	struct rlimit limit = { 256, 4096 };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		self->failed = errno;
}

static bool fd_is(pid_t pid, int fd, int same_as)
{
	return syscall(SYS_kcmp, pid, getpid(), 0 /* KCMP_FILE */, fd, same_as) == 0;
}

void test_files(void)
{
	struct rig rig;
	struct recs recs = {};
	struct ckpt_rec_fd *fd;
	char line[64] = "";
	int pipes[2], null, opath, i, extra = 0;
	__u64 bad;
	pid_t pid;

	tap_note("descriptors");
	rig_open(&rig);
	rig_add(&rig, -1, 2, few_files);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	null = open("/dev/null", O_RDWR);
	opath = open("/tmp", O_PATH);
	if (pipe(pipes))
		return;
	for (i = 0; i < 4; i++) {
		fd = recs_add(&recs, CKPT_REC_FD, sizeof(*fd));
		fd->fd = (int[]){ 1, 5, 700, 6 }[i];
		fd->file = (int[]){ null, pipes[1], pipes[0], opath }[i];
		fd->cloexec = i == 1;
	}
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "FDs");
	tap_ok(fd_is(pid, 1, null) && fd_is(pid, 5, pipes[1]) && fd_is(pid, 700, pipes[0]) &&
	       fd_is(pid, 6, opath), "the same open files, one above the soft limit");
	for (i = 0; i < 300; i++)
		extra +=
			fd_is(pid, i, null) + fd_is(pid, i, rig.ctx) + fd_is(pid, i, rig.shared_fd);
	tap_is(extra, 1, "what was open is closed");
	proc_line(pid, "fdinfo/5", "flags:\t", line, sizeof(line));
	tap_is(strtol(line, NULL, 8) & O_CLOEXEC, O_CLOEXEC, "close-on-exec");
	proc_line(pid, "limits", "Max open files", line, sizeof(line));
	tap_is(atoi(line), 256, "the limit is what it was");

	fd->fd = 5000;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EMFILE, "a number above the hard limit");
	tap_is(bad, 3 * sizeof(*fd), "the record is named");
	fd->fd = 7;
	fd->file = rig.ctx;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EINVAL, "the context itself");
	fd->file = 999;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EBADF, "a descriptor that is not open");
	recs.len = 0;
	fd = recs_add(&recs, CKPT_REC_FD, sizeof(*fd));
	fd->fd = fd->file = -1;
	tap_is(rig_state(&rig, pid, &recs, &bad), 0, "an empty table");
	recs_done(&recs);
	close(null);
	close(opath);
	close(pipes[0]);
	close(pipes[1]);
	rig_close(&rig);
}

/* One FD of @file, and behind it a write lock on a range of @on. */
static struct ckpt_rec_lock *locked(struct recs *recs, int file, int on, __u64 start, __u64 end)
{
	struct ckpt_rec_lock *lock;
	struct ckpt_rec_fd *fd;

	recs->len = 0;
	fd = recs_add(recs, CKPT_REC_FD, sizeof(*fd));
	fd->fd = 3;
	fd->file = file;
	lock = recs_add(recs, CKPT_REC_LOCK, sizeof(*lock));
	lock->file = on;
	lock->files_id = 1;
	lock->kind = CKPT_LOCK_POSIX;
	lock->type = F_WRLCK;
	lock->start = start;
	lock->end = end;
	return lock;
}

static void refused_locks(struct rig *rig, struct recs *recs, int file, int readable)
{
	pid_t pid = rig->helpers[0].pid;
	__u64 bad = 0;

	locked(recs, file, file, 5, 4);
	tap_is(rig_state(rig, pid, recs, &bad), -EINVAL, "a range that ends before it begins");
	tap_is(bad, sizeof(struct ckpt_rec_fd), "the record is named");
	locked(recs, file, file, 0, 1ULL << 63);
	tap_is(rig_state(rig, pid, recs, NULL), -EINVAL, "an end that no file has");
	locked(recs, file, file, 0, 1)->kind = CKPT_LOCK_FLOCK;
	tap_is(rig_state(rig, pid, recs, NULL), -EINVAL, "a lock that is not the table's");
	locked(recs, file, file, 0, 1)->type = F_UNLCK;
	tap_is(rig_state(rig, pid, recs, NULL), -EINVAL, "no lock at all");
	locked(recs, file, readable, 0, 1)->type = F_RDLCK;
	tap_is(rig_state(rig, pid, recs, NULL), -EBADF, "a file that the table has not");
	locked(recs, readable, readable, 0, 1);
	tap_is(rig_state(rig, pid, recs, NULL), -EBADF, "a write lock on a file to read");
	locked(recs, file, file, 100, 200);
	tap_is(rig_state(rig, pid, recs, &bad), -EAGAIN, "one that somebody else has");
	tap_is(bad, sizeof(struct ckpt_rec_fd), "the record is named");
}

void test_locks(void)
{
	struct flock range = { .l_type = F_WRLCK, .l_start = 150, .l_len = 1 };
	struct recs recs = {};
	struct rig rig;
	int file, readable;
	pid_t pid;

	rig_open(&rig);
	rig_add(&rig, -1, 2, few_files);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	file = open("/tmp/restore-locks", O_RDWR | O_CREAT, 0600);
	readable = open("/tmp/restore-locks", O_RDONLY);
	tap_ok(file >= 0 && readable >= 0 && !fcntl(file, F_SETLK, &range), "a lock of our own");
	refused_locks(&rig, &recs, file, readable);
	locked(&recs, file, file, 0, 9);
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "a descriptor and a lock");
	range = (struct flock) { .l_type = F_RDLCK, .l_start = 9, .l_len = 1 };
	tap_ok(!fcntl(file, F_GETLK, &range) && range.l_type == F_WRLCK && range.l_pid == pid &&
	       range.l_start == 0 && range.l_len == 10, "it is the process's");
	rig_close(&rig);
	range = (struct flock) { .l_type = F_WRLCK, .l_len = 10 };
	tap_ok(!fcntl(file, F_GETLK, &range) && range.l_type == F_UNLCK, "and is gone with it");
	recs_done(&recs);
	close(file);
	close(readable);
	unlink("/tmp/restore-locks");
}

/* Have the process told of a message to @queue; it gets @file, or nothing new if that is -1. */
static int notified(struct rig *rig, struct recs *recs, int queue, int file, __u32 how)
{
	struct ckpt_rec_mq_notify *rec;
	struct ckpt_rec_fd *fd;
	int ret = 0;

	recs->len = 0;
	if (file >= 0) {
		fd = recs_add(recs, CKPT_REC_FD, sizeof(*fd));
		fd->fd = 3;
		fd->file = file;
		ret = rig_state(rig, rig->helpers[0].pid, recs, NULL);
		recs->len = 0;
	}
	rec = recs_add(recs, CKPT_REC_MQ_NOTIFY, sizeof(*rec));
	rec->fd = queue;
	rec->notify = how;
	rec->signo = SIGUSR1;
	return ret ? ret : rig_state(rig, rig->helpers[0].pid, recs, NULL);
}

void test_mq_notify(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 8 };
	struct ckpt_mq_peek peek = { .size = sizeof(peek) };
	int queue, opath, null = open("/dev/null", O_RDWR);
	struct recs recs = {};
	char path[40];
	struct rig rig;

	tap_note("whom a message queue tells");
	rig_open(&rig);
	rig_add(&rig, -1, 2, NULL);
	rig_start(&rig);
	queue = mq_open("/restore-notify", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attr);
	mq_unlink("/restore-notify");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", queue);
	opath = open(path, O_PATH);
	tap_ok(queue >= 0 && opath >= 0, "a queue");
	peek.fd = queue;
	tap_is(notified(&rig, &recs, queue, -1, SIGEV_SIGNAL), -EBADF, "who has it not open");
	tap_is(notified(&rig, &recs, queue, opath, SIGEV_SIGNAL), -EBADF, "who has but O_PATH");
	tap_is(notified(&rig, &recs, null, queue, SIGEV_SIGNAL), -EINVAL, "another kind of file");
	tap_is(notified(&rig, &recs, queue, -1, SIGEV_THREAD), -EINVAL, "by a thread");
	tap_is(notified(&rig, &recs, queue, -1, SIGEV_SIGNAL), 0, "who has it open");
	tap_ok(!rig_command(&rig, CKPT_IOC_MQ_PEEK, &peek) &&
	       peek.notify_pid == rig.helpers[0].pid && peek.notify == SIGEV_SIGNAL &&
	       peek.notify_signo == SIGUSR1, "is told from then on");
	tap_is(notified(&rig, &recs, queue, -1, SIGEV_NONE), -EBUSY, "one process at a time");
	tap_is(notified(&rig, &recs, queue, opath, SIGEV_SIGNAL), -EBADF, "it has closed it");
	tap_ok(!rig_command(&rig, CKPT_IOC_MQ_PEEK, &peek) && peek.notify == CKPT_MQ_NOBODY,
	       "and is told no more");
	rig_close(&rig);
	recs_done(&recs);
	close(opath);
	close(null);
	mq_close(queue);
}
