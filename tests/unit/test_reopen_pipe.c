// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening what an image has of pipes, FIFOs, terminals and ends outside of the tree, with real
 * ones: each holds what its record says.
 */
#include "tests/unit/reopen_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static void test_pipes(void **arg)
{
	struct opening f;
	char buf[64];

	opening_begin(&f, *arg, "pipes");
	for (uint32_t id = 2; id <= 5; id++)
		opening_file(&f, id, CKPT_FILE_PIPE, "pipe:[77]",
			 id == 2 ? O_WRONLY : id == 3 ? O_RDONLY | O_NONBLOCK :
			 id == 4 ? O_RDONLY : O_WRONLY | O_NONBLOCK)->object = 77;
	stream_pipe(&f.stream, 77, "in the pipe")->ring_size = 131072;
	opening_start(&f, "pipes");
	opening_all(&f);
	assert_int_equal(fd_flags(opening_fd(&f, 2)), O_WRONLY);
	assert_int_equal(fd_flags(opening_fd(&f, 3)), O_RDONLY | O_NONBLOCK);
	assert_int_equal(fd_flags(opening_fd(&f, 4)), O_RDONLY);
	assert_int_equal(fd_flags(opening_fd(&f, 5)), O_WRONLY | O_NONBLOCK);
	assert_int_equal(fcntl(opening_fd(&f, 4), F_GETPIPE_SZ), 131072);
	assert_int_equal(read(opening_fd(&f, 4), buf, sizeof(buf)), 11);
	assert_memory_equal(buf, "in the pipe", 11);
	assert_int_equal(write(opening_fd(&f, 5), "x", 1), 1);
	assert_int_equal(read(opening_fd(&f, 3), buf, sizeof(buf)), 1);
	assert_int_equal(read(opening_fd(&f, 3), buf, sizeof(buf)), -1);
	opening_end(&f);
}

static void test_full_pipe(void **arg)
{
	struct opening f;
	char *data = malloc(65537);

	memset(data, 'f', 65536);
	data[65536] = 0;
	opening_begin(&f, *arg, "full");
	opening_file(&f, 2, CKPT_FILE_PIPE, "pipe:[1]", O_WRONLY | O_NONBLOCK)->object = 1;
	opening_file(&f, 3, CKPT_FILE_PIPE, "pipe:[1]", O_RDONLY)->object = 1;
	stream_pipe(&f.stream, 1, data);
	opening_start(&f, "full");
	opening_all(&f);
	assert_int_equal(write(opening_fd(&f, 2), "x", 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(read(opening_fd(&f, 3), data, 65537), 65536);
	opening_end(&f);
	free(data);
}

static void test_fifo(void **arg)
{
	struct opening f;
	const char *path = scratch_path(*arg, "fifo");
	char buf[16];

	assert_int_equal(mkfifo(path, 0600), 0);
	opening_begin(&f, *arg, "named");
	opening_file(&f, 2, CKPT_FILE_FIFO, path, O_RDONLY)->object = 5;
	stream_pipe(&f.stream, 5, "queued");
	opening_start(&f, "named");
	opening_all(&f);
	assert_int_equal(fd_flags(opening_fd(&f, 2)), O_RDONLY);
	assert_int_equal(read(opening_fd(&f, 2), buf, sizeof(buf)), 6);
	opening_end(&f);
}

static void add_slave(struct opening *f, uint32_t id, uint32_t flags)
{
	struct ckpt_rec_file *rec = opening_file(f, id, CKPT_FILE_PTS, "/dev/pts/9", flags);

	rec->object = 9;
	rec->mode = S_IFCHR | 0604;
	rec->uid = getuid() ? getuid() : 1001;
	rec->gid = getuid() ? getgid() : 1002;
}

static void test_pty(void **arg)
{
	struct opening f;
	struct stat st;
	struct engine_rec_tty *tty;
	struct winsize size;
	struct termios t;
	unsigned int index;
	char buf[16];
	int fd;

	opening_begin(&f, *arg, "pty");
	opening_file(&f, 2, CKPT_FILE_PTM, "/dev/ptmx", O_RDWR)->object = 9;
	add_slave(&f, 3, O_RDWR);
	add_slave(&f, 4, O_WRONLY | O_NONBLOCK);
	tty = stream_add(&f.stream, ENGINE_REC_TTY, sizeof(*tty), NULL, 0);
	tty->index = 9;
	tty->c_cflag = CS8 | CREAD | B38400;
	tty->c_ispeed = tty->c_ospeed = 38400;
	tty->ws_row = 33;
	tty->ws_col = 77;
	opening_start(&f, "pty");
	opening_all(&f);
	assert_int_equal(ioctl(opening_fd(&f, 2), TIOCGPTN, &index), 0);
	assert_int_equal(index, 9);
	assert_int_equal(ioctl(opening_fd(&f, 3), TIOCGWINSZ, &size), 0);
	assert_int_equal(size.ws_row, 33);
	assert_int_equal(size.ws_col, 77);
	assert_int_equal(tcgetattr(opening_fd(&f, 3), &t), 0);
	assert_int_equal(t.c_lflag & (ICANON | ECHO), 0);
	assert_int_equal(write(opening_fd(&f, 4), "out", 3), 3);
	assert_int_equal(read(opening_fd(&f, 2), buf, sizeof(buf)), 3);
	assert_int_equal(fd_flags(opening_fd(&f, 4)), O_WRONLY | O_NONBLOCK);
	fd = reopen_tty(&f.r, 9);
	assert_int_equal(ioctl(fd, TIOCGPTN, &index), -1);		/* a slave */
	assert_int_equal(close(fd), 0);
	assert_int_equal(fstat(opening_fd(&f, 3), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
	assert_int_equal(st.st_uid, getuid() ? getuid() : 1001);
	assert_int_equal(st.st_gid, getuid() ? getgid() : 1002);
	opening_end(&f);
}

static struct engine_rec_tty *add_tty(struct opening *f, uint32_t lflag)
{
	struct engine_rec_tty *tty = stream_add(&f->stream, ENGINE_REC_TTY, sizeof(*tty), NULL, 0);

	tty->index = 9;
	tty->c_lflag = lflag;
	tty->c_cflag = CS8 | CREAD | B38400;
	tty->c_ispeed = tty->c_ospeed = 38400;
	return tty;
}

static void add_data(struct opening *f, uint32_t kind, const void *bytes, uint32_t len,
		     uint64_t marks)
{
	struct engine_tty_bytes data = { .marks = { marks } };
	struct engine_rec_tty_data *rec;

	memcpy(data.bytes, bytes, len);
	rec = stream_add(&f->stream, ENGINE_REC_TTY_DATA, sizeof(*rec), &data, sizeof(data));
	rec->index = 9;
	rec->kind = kind;
	rec->len = len;
}

static void expect(int fd, const void *bytes, size_t len)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char buf[8192];
	size_t have = 0;

	/* The kernel hands a terminal's input on in a thread of its own. */
	while (have < len) {
		ssize_t n;

		assert_int_equal(poll(&ready, 1, 10000), 1);
		n = read(fd, buf + have, sizeof(buf) - have);
		assert_true(n > 0);
		have += (size_t)n;
	}
	assert_int_equal(have, len);
	assert_memory_equal(buf, bytes, len);
}

/* Lines that end in newline and in two other characters, and half a line; output meanwhile. */
static void test_pty_lines(void **arg)
{
	struct opening f;
	struct engine_rec_tty *tty;
	char c;

	opening_begin(&f, *arg, "lines");
	opening_file(&f, 2, CKPT_FILE_PTM, "/dev/ptmx", O_RDWR)->object = 9;
	add_slave(&f, 3, O_RDWR | O_NONBLOCK);
	add_data(&f, CKPT_FILE_PTS, "one\ntwo;3Eha\3lf", 15, 1 << 3 | 1 << 7 | 1 << 9);
	add_data(&f, CKPT_FILE_PTM, "out\nput", 7, 0);
	tty = add_tty(&f, ICANON | ECHO | ISIG);
	tty->c_oflag = OPOST | ONLCR;
	tty->c_iflag = ICRNL;
	opening_start(&f, "lines");
	opening_all(&f);
	expect(opening_fd(&f, 3), "one\n", 4);
	expect(opening_fd(&f, 3), "two;", 4);
	expect(opening_fd(&f, 3), "3E", 2);
	assert_int_equal(read(opening_fd(&f, 3), &c, 1), -1);
	expect(opening_fd(&f, 2), "out\nput", 7);
	assert_int_equal(write(opening_fd(&f, 2), "\r", 1), 1);	/* a newline there, as before */
	expect(opening_fd(&f, 2), "\r\n", 2);
	expect(opening_fd(&f, 3), "ha\3lf\n", 6);
	opening_end(&f);
}

/* Somebody else edits: what there is can be read at once, a line or not. */
static void test_pty_extproc(void **arg)
{
	struct opening f;

	opening_begin(&f, *arg, "extproc");
	opening_file(&f, 2, CKPT_FILE_PTM, "/dev/ptmx", O_RDWR)->object = 9;
	add_slave(&f, 3, O_RDWR | O_NONBLOCK);
	add_data(&f, CKPT_FILE_PTS, "edited", 6, 0);
	add_tty(&f, ICANON | EXTPROC);
	opening_start(&f, "extproc");
	opening_all(&f);
	expect(opening_fd(&f, 3), "edited", 6);
	opening_end(&f);
}

/* As much as there can be, of every byte. */
static void test_pty_full(void **arg)
{
	uint8_t bytes[CKPT_TTY_MAX - 1];
	struct opening f;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	opening_begin(&f, *arg, "full");
	opening_file(&f, 2, CKPT_FILE_PTM, "/dev/ptmx", O_RDWR)->object = 9;
	add_slave(&f, 3, O_RDWR | O_NONBLOCK);
	add_data(&f, CKPT_FILE_PTM, bytes, sizeof(bytes), 0);
	add_data(&f, CKPT_FILE_PTS, bytes, sizeof(bytes), 0);
	add_tty(&f, 0)->c_cc[VMIN] = 1;
	opening_start(&f, "full");
	opening_all(&f);
	expect(opening_fd(&f, 3), bytes, sizeof(bytes));
	expect(opening_fd(&f, 2), bytes, sizeof(bytes));
	opening_end(&f);
}

static void test_external(void **arg)
{
	struct opening f;
	struct engine_external given = { .name = "stdout" };
	struct engine_rec_external *rec;
	int ends[2];
	char buf[16];
	struct stat st;

	assert_int_equal(pipe(ends), 0);
	given.fd = ends[1];
	opening_begin(&f, *arg, "external");
	opening_file(&f, 2, CKPT_FILE_REG, "/nowhere/at/all", O_WRONLY);
	opening_file(&f, 3, CKPT_FILE_REG, "/nowhere/either", O_WRONLY);
	for (uint32_t id = 2; id <= 3; id++) {
		rec = stream_add(&f.stream, ENGINE_REC_EXTERNAL, sizeof(*rec), NULL, 0);
		rec->file_id = id;
		rec->kind = CKPT_FILE_REG;
		strcpy(rec->name, id == 2 ? "stdout" : "stderr");
	}
	f.options.externals = &given;
	f.options.nr_externals = 1;
	opening_start(&f, "external");
	opening_all(&f);
	assert_int_equal(write(opening_fd(&f, 2), "out", 3), 3);
	assert_int_equal(read(ends[0], buf, sizeof(buf)), 3);
	assert_int_equal(fstat(opening_fd(&f, 3), &st), 0);
	assert_int_equal(st.st_rdev, makedev(1, 3));		/* nobody gave it */
	opening_end(&f);
	close(ends[0]);
	close(ends[1]);
}

static pid_t await_winch(void)
{
	sigset_t set;
	pid_t pid;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	if (pid)
		return pid;
	alarm(20);
	_exit(sigwait(&set, &sig) || sig != SIGWINCH);
}

static void expect_size(int fd, int rows, int columns)
{
	struct winsize size;

	assert_int_equal(ioctl(fd, TIOCGWINSZ, &size), 0);
	assert_int_equal(size.ws_row, rows);
	assert_int_equal(size.ws_col, columns);
}

/* The caller's terminal gets the modes; its size only if it has none, else the tree is told. */
static void external_tty(struct scratch *s, const char *name, struct winsize size)
{
	struct engine_external given = { .name = "stdin" };
	struct engine_rec_external *rec;
	struct ckpt_rec_proc *proc;
	struct engine_rec_tty *tty;
	struct opening f;
	struct termios t;
	int master, status;

	assert_int_equal(openpty(&master, &given.fd, NULL, NULL, &size), 0);
	opening_begin(&f, s, name);
	add_slave(&f, 2, O_RDWR);
	rec = stream_add(&f.stream, ENGINE_REC_EXTERNAL, sizeof(*rec), NULL, 0);
	rec->file_id = 2;
	rec->kind = CKPT_FILE_PTS;
	strcpy(rec->name, "stdin");
	tty = add_tty(&f, 0);
	tty->ws_row = 33;
	tty->ws_col = 77;
	f.options.externals = &given;
	f.options.nr_externals = 1;
	opening_start(&f, name);
	opening_all(&f);
	assert_int_equal(tcgetattr(opening_fd(&f, 2), &t), 0);
	assert_int_equal(t.c_lflag & (ICANON | ECHO), 0);
	expect_size(master, size.ws_row ?: 33, size.ws_col ?: 77);
	proc = (struct ckpt_rec_proc *)f.state->procs[0].rec;
	proc->pid = await_winch();
	proc->tty = 9;
	proc->tty_pgrp = proc->pgid;
	reopen_settle(&f.r);
	if (!size.ws_row)
		kill(proc->pid, SIGKILL);
	assert_int_equal(waitpid(proc->pid, &status, 0), proc->pid);
	assert_int_equal(status, size.ws_row ? 0 : SIGKILL);
	reopen_undo(&f.r);
	expect_size(master, size.ws_row, size.ws_col);
	opening_end(&f);
	close(given.fd);
	close(master);
}

static void test_external_tty(void **arg)
{
	external_tty(*arg, "window", (struct winsize){ .ws_row = 24, .ws_col = 80 });
	external_tty(*arg, "nobody", (struct winsize){ .ws_row = 0 });
}

/* A file with an exclusive flock (2), and one with a range of its description (3). */
static const char *begin_locked(struct opening *f, const struct scratch *s)
{
	const char *path = scratch_path(s, "locked");
	struct ckpt_rec_file *rec;
	struct ckpt_rec_lock *lock;
	struct stat st;
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	opening_begin(f, s, "locks");
	for (uint32_t id = 2; id <= 3; id++) {
		rec = opening_file(f, id, CKPT_FILE_REG, path, O_RDWR);
		rec->dev = st.st_dev;
		rec->ino = st.st_ino;
		rec->nlink = 1;
	}
	stream_lock(&f->stream, 2, 0);
	lock = stream_lock(&f->stream, 3, 0);
	lock->kind = CKPT_LOCK_OFD;
	lock->start = 100;
	lock->end = 109;
	opening_start(f, "locks");
	return path;
}

static void test_locks(void **arg)
{
	struct flock range = { .l_type = F_WRLCK };
	struct opening f;
	const char *path = begin_locked(&f, *arg);
	int fd;

	opening_all(&f);
	assert_int_equal(reopen_locks(&f.r, false), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_SH | LOCK_NB), -1);
	assert_int_equal(fcntl(fd, F_OFD_GETLK, &range), 0);
	assert_int_equal(range.l_type, F_WRLCK);
	assert_int_equal(range.l_start, 100);
	assert_int_equal(range.l_len, 10);
	opening_end(&f);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
}

/* Somebody else has it: the restart says so, and of which file. */
static void test_lock_taken(void **arg)
{
	struct opening f;
	const char *path = begin_locked(&f, *arg);
	int fd;

	opening_all(&f);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	assert_int_equal(reopen_locks(&f.r, false), -EBUSY);
	assert_non_null(strstr(f.error.text, path));
	assert_non_null(strstr(f.error.text, "another process"));
	opening_end(&f);
	close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_pipes),	TEST(test_full_pipe),  TEST(test_fifo),
		TEST(test_pty),		TEST(test_pty_lines),  TEST(test_pty_full),
		TEST(test_pty_extproc), TEST(test_external),   TEST(test_external_tty),
		TEST(test_locks),	TEST(test_lock_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
