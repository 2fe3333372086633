// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes and FIFOs with their contents, terminals, and externals that the caller gives again.
 *
 * Both ends of a pipe are held as bases while the descriptions are opened, so that no open
 * waits for the other side and no byte is lost.  Of a FIFO that no writer has opened yet
 * only the reading end is held, as a writer that closes would be a hangup.  A pty of the
 * tree is made anew, with its old index if that is free.  An external that the caller does
 * not give becomes /dev/null.  Into a pipe that he gives go the bytes that the tree had not
 * read yet.  A terminal that he gives gets its settings; its size is that of the caller's
 * window, and the tree is told if it has changed.
 */
#include "engine/files/reopen.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/rights.h"

#define KERNEL_O_LARGEFILE	0100000	/* libc's is 0 where all files are large */

#define PTY_TRIES	4096	/* default of kernel.pty.max */

/* ---------------------------------------------------------------- pipes */

static int set_ring(int fd, unsigned int size)
{
	uint64_t before;
	int ret = fcntl(fd, F_SETPIPE_SZ, size);

	/* EPERM: the owner's pipes together have too many pages */
	if (ret < 0 && errno == EPERM && !rights_raise(RIGHTS_PIPES, &before)) {
		ret = fcntl(fd, F_SETPIPE_SZ, size);
		rights_lower(before);
	}
	return ret;
}

static int fill_pipe(struct reopen *r, const struct state_file *file, const struct state_pipe *pipe,
		     int fd)
{
	const char *data = pipe->data;
	size_t len = pipe->rec->data_len;

	/* a failure does not matter if the pipe has that size already */
	if (set_ring(fd, pipe->rec->ring_size) < 0 &&
	    fcntl(fd, F_GETPIPE_SZ) < (int)pipe->rec->ring_size)
		return reopen_failed(r, file, -errno, "set the size of");
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return reopen_failed(r, file, -errno, "fill");
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Has no reader of the FIFO seen a writer? Then none may be there when they are opened again. */
static bool is_unseen(const struct reopen *r, const struct state_pipe *pipe)
{
	for (unsigned int i = 0; i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->pipe == pipe && !(file->rec->flags & CKPT_FILE_FIFO_UNSEEN))
			return false;
	}
	return true;
}

static int fill_unseen(struct reopen *r, const struct state_file *file, int base)
{
	_cleanup_fd_ int fd = -1;

	if (!file->pipe->rec->data_len)
		return fill_pipe(r, file, file->pipe, base);	/* no data: sets the size only */
	fd = reopen_again(base, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? reopen_failed(r, file, fd, "open for writing") :
			fill_pipe(r, file, file->pipe, fd);
}

static int make_fifo(struct reopen *r, const struct state_file *file, int *ends)
{
	bool unseen = is_unseen(r, file->pipe);
	int flags = (unseen ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_CLOEXEC, fd;

	if (state_file_deleted(file)) {
		fd = reopen_gone_fifo(r, file, flags);
		if (fd < 0)
			return fd;
	} else {
		fd = reopen_path(file, flags, 0);
		if (fd < 0)
			return reopen_failed(r, file, fd, "open");
	}
	ends[0] = fd;
	ends[1] = fd;
	return unseen ? fill_unseen(r, file, fd) : fill_pipe(r, file, file->pipe, fd);
}

static int make_pipe(struct reopen *r, const struct state_file *file)
{
	int *ends = r->pipes[file->pipe - r->state->pipes];

	if (file->rec->kind != CKPT_FILE_PIPE)
		return make_fifo(r, file, ends);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return reopen_failed(r, file, -errno, "make");
	return fill_pipe(r, file, file->pipe, ends[1]);
}

int reopen_pipes(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->pipe && !file->external &&
		    r->pipes[file->pipe - r->state->pipes][1] < 0)
			ret = make_pipe(r, file);
	}
	return ret;
}

/*
 * Is it the end that pipe(2) had made? The others were opened, by /proc, and have O_LARGEFILE
 * since, which F_GETFL tells and nobody can change.
 */
static bool reopen_pipe_is_first(const struct reopen *r, const struct state_file *file)
{
	if (file->rec->kind != CKPT_FILE_PIPE || file->rec->f_flags & KERNEL_O_LARGEFILE)
		return false;
	for (const struct state_file *other = r->state->files; other < file; other++)
		if (other->pipe == file->pipe && !other->external &&
		    !((other->rec->f_flags ^ file->rec->f_flags) & O_ACCMODE) &&
		    !(other->rec->f_flags & KERNEL_O_LARGEFILE))
			return false;
	return true;
}

int reopen_pipe(struct reopen *r, const struct state_file *file)
{
	const int *ends = r->pipes[file->pipe - r->state->pipes];
	int flags = reopen_flags(file) & ~O_DIRECT;
	int base = (flags & O_ACCMODE) == O_RDONLY ? ends[0] : ends[1];
	int fd = reopen_pipe_is_first(r, file) ? fcntl(base, F_DUPFD_CLOEXEC, 0) :
						 reopen_again(base, flags | O_NONBLOCK);

	if (fd < 0)
		return reopen_failed(r, file, -errno, "open");
	/* open(2) takes no O_DIRECT for a pipe, and would wait without O_NONBLOCK: set both here */
	if (fcntl(fd, F_SETFL, file->rec->f_flags & (O_NONBLOCK | O_DIRECT | O_APPEND))) {
		close(fd);
		return reopen_failed(r, file, -errno, "set the flags of");
	}
	return fd;
}

/* ---------------------------------------------------------------- terminals */

static int reopen_pipe_pty_index(int master)
{
	unsigned int index;

	return ioctl(master, TIOCGPTN, &index) ? -errno : (int)index;
}

/* Open a master, with index @want if that is free: the kernel gives out the lowest first. */
static int open_master(int want)
{
	int held[PTY_TRIES], nr = 0, fd, first = -1, index;
	char path[32];

	snprintf(path, sizeof(path), "/dev/pts/%d", want);
	do {
		fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (fd < 0)
			break;
		if (first < 0)
			first = fd;
		else
			held[nr++] = fd;
		index = reopen_pipe_pty_index(fd);
	} while (index >= 0 && index < want && nr < PTY_TRIES - 1 && access(path, F_OK) != 0);
	if (first < 0)
		return -errno;
	if (fd >= 0 && fd != first && index == want) {
		close(first);
		first = fd;
		nr--;
	}
	while (nr)
		close(held[--nr]);
	return first;
}

static const struct engine_rec_tty *reopen_pipe_tty_record(const struct reopen *r, uint64_t index)
{
	for (unsigned int i = 0; i < r->state->nr_ttys; i++)
		if (r->state->ttys[i]->index == index)
			return r->state->ttys[i];
	return NULL;
}

static int reopen_pipe_set_modes(int fd, const struct engine_rec_tty *rec)
{
	struct termios2 t = {
		.c_iflag = rec->c_iflag, .c_oflag = rec->c_oflag,
		.c_cflag = rec->c_cflag, .c_lflag = rec->c_lflag,
		.c_line = rec->c_line,
		.c_ispeed = rec->c_ispeed, .c_ospeed = rec->c_ospeed,
	};

	memcpy(t.c_cc, rec->c_cc, sizeof(t.c_cc) < sizeof(rec->c_cc) ?
	       sizeof(t.c_cc) : sizeof(rec->c_cc));
	return ioctl(fd, TCSETS2, &t) ? -errno : 0;
}

static int set_size(int fd, const struct engine_rec_tty *rec)
{
	struct winsize size = {
		.ws_row = rec->ws_row, .ws_col = rec->ws_col,
		.ws_xpixel = rec->ws_xpixel, .ws_ypixel = rec->ws_ypixel,
	};

	return ioctl(fd, TIOCSWINSZ, &size) ? -errno : 0;
}

static int set_terminal(int fd, const struct engine_rec_tty *rec)
{
	return reopen_pipe_set_modes(fd, rec) ?: set_size(fd, rec);
}

struct reopen_tty {
	const struct engine_rec_tty *rec;
	int fd;			/* the caller's */
	struct termios2 modes;
	struct winsize size;
};

static bool has_size(const struct reopen_tty *tty)
{
	return tty->size.ws_row || tty->size.ws_col;
}

/* Note the settings of a caller's terminal, for reopen_undo(). */
static int keep_terminal(struct reopen *r, int fd, const struct engine_rec_tty *rec)
{
	struct reopen_tty *ttys, tty = { .rec = rec, .fd = fd };

	for (unsigned int i = 0; i < r->nr_ttys; i++)
		if (r->ttys[i].fd == fd)
			return 0;
	if (ioctl(fd, TCGETS2, &tty.modes) || ioctl(fd, TIOCGWINSZ, &tty.size))
		return -errno;
	ttys = realloc(r->ttys, (r->nr_ttys + 1) * sizeof(*ttys));
	if (!ttys)
		return -ENOMEM;
	r->ttys = ttys;
	ttys[r->nr_ttys++] = tty;
	/* a real window keeps its size; a terminal without a size gets the recorded one */
	return has_size(&tty) ? 0 : set_size(fd, rec);
}

void reopen_ttys_undo(struct reopen *r)
{
	while (r->nr_ttys) {
		const struct reopen_tty *tty = &r->ttys[--r->nr_ttys];

		if (ioctl(tty->fd, TCSETS2, &tty->modes) ||
		    (!has_size(tty) && ioctl(tty->fd, TIOCSWINSZ, &tty->size)))
			return;		/* the terminal is gone */
	}
}

static void tell_foreground(const struct reopen *r, int index)
{
	for (unsigned int i = 0; i < r->state->nr_procs; i++) {
		const struct ckpt_rec_proc *rec = r->state->procs[i].rec;

		if (rec->state != CKPT_PROC_ZOMBIE && rec->tty == index &&
		    rec->pgid == rec->tty_pgrp)
			kill(rec->pid, SIGWINCH);
	}
}

void reopen_ttys_settle(const struct reopen *r)
{
	for (unsigned int i = 0; i < r->nr_ttys; i++) {
		const struct engine_rec_tty *rec = r->ttys[i].rec;
		struct winsize now;

		if (ioctl(r->ttys[i].fd, TIOCGWINSZ, &now) == 0 &&
		    (now.ws_row != rec->ws_row || now.ws_col != rec->ws_col))
			tell_foreground(r, (int)rec->index);
	}
}

/* Open and close the slave: then a read of the master reports a hangup, as it did before. */
static int close_slave(int master)
{
	int fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);

	return fd < 0 || close(fd) ? -errno : 0;
}

static int make_pty(struct reopen *r, const struct state_file *file)
{
	const struct engine_rec_tty *rec = reopen_pipe_tty_record(r, file->rec->object);
	int master = open_master((int)file->rec->object), unlock = 0, packet = 1, ret = 0;

	if (master < 0)
		return reopen_failed(r, file, master, "make the pseudo-terminal");
	r->masters[file - r->state->files] = master;
	if (ioctl(master, TIOCSPTLCK, &unlock))
		ret = -errno;
	if (!ret && rec)
		ret = reopen_pty_data(r, master, rec);
	if (!ret && rec)
		ret = set_terminal(master, rec);
	if (!ret && file->rec->flags & CKPT_FILE_TTY_PACKET && ioctl(master, TIOCPKT, &packet))
		ret = -errno;
	if (!ret && file->rec->flags & CKPT_FILE_TTY_CLOSED)
		ret = close_slave(master);
	return ret ? reopen_failed(r, file, ret, "set up the pseudo-terminal") : 0;
}

int reopen_ptys(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++)
		if (r->state->files[i].rec->kind == CKPT_FILE_PTM && !r->state->files[i].external)
			ret = make_pty(r, &r->state->files[i]);
	return ret;
}

static int master_of(const struct reopen *r, uint64_t index)
{
	for (unsigned int i = 0; i < r->state->nr_files; i++)
		if (r->masters[i] >= 0 && r->state->files[i].rec->object == index)
			return r->masters[i];
	return -1;
}

static int reopen_pipe_given(const struct reopen *r, const char *name)
{
	for (unsigned int i = 0; i < r->options->nr_externals; i++)
		if (strcmp(r->options->externals[i].name, name) == 0)
			return r->options->externals[i].fd;
	return -1;
}

static const struct engine_rec_external *external_tty(const struct reopen *r, uint64_t index)
{
	for (unsigned int i = 0; i < r->state->nr_files; i++)
		if (r->state->files[i].external &&
		    r->state->files[i].rec->kind == CKPT_FILE_PTS &&
		    r->state->files[i].rec->object == index)
			return r->state->files[i].external;
	return NULL;
}

/* Open a description of our own of a given pipe; -EACCES: it is no pipe, or not ours to open. */
static int open_pipe_end(int given, const struct state_file *file)
{
	struct stat st;
	int fd;

	if (fstat(given, &st) || !S_ISFIFO(st.st_mode))
		return -EACCES;
	/* O_NONBLOCK: an open would wait if the other end is gone */
	fd = reopen_again(given, (reopen_flags(file) & ~O_DIRECT) | O_NONBLOCK);
	if (fd >= 0 &&
	    fcntl(fd, F_SETFL, file->rec->f_flags & (O_NONBLOCK | O_DIRECT | O_APPEND))) {
		close(fd);
		return -errno;
	}
	return fd;
}

static int open_given(struct reopen *r, const struct state_file *file, const char *name)
{
	int fd = reopen_pipe_given(r, name), again, mode;
	bool terminal = file->rec->kind == CKPT_FILE_PTS || file->rec->kind == CKPT_FILE_TTY;

	if (fd < 0) {
		again = open("/dev/null", reopen_flags(file) & ~O_DIRECT);
		return again < 0 ? reopen_failed(r, file, -errno, "replace") : again;
	}
	mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	/* try to get a description of our own, so that its flags are not shared with others */
	again = file->pipe ? open_pipe_end(fd, file) : -EACCES;
	if (again < 0 && (terminal || (mode != O_RDWR &&
				       mode != (int)(file->rec->f_flags & O_ACCMODE))))
		again = reopen_again(fd, reopen_flags(file));
	if (again < 0)
		again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return again < 0 ? reopen_failed(r, file, -errno, "use the caller's end for") : again;
}

/* Give a slave its recorded owner and mode. It is ours, as we opened the master. */
static int give_slave(const struct ckpt_rec_file *rec, int fd)
{
	uint64_t before;
	struct stat st;
	int ret = 0;

	if (fstat(fd, &st))
		return -errno;
	/* an earlier description may have done it already; then it may not be ours any more */
	if (st.st_uid == rec->uid && st.st_gid == rec->gid &&
	    (st.st_mode & 07777) == (rec->mode & 07777))
		return 0;
	if (fchmod(fd, rec->mode & 07777))
		return -errno;
	if (st.st_uid == rec->uid && st.st_gid == rec->gid)
		return 0;
	if (rights_raise(RIGHTS_FILES, &before))
		return -EPERM;
	if (fchown(fd, rec->uid, rec->gid))
		ret = -errno;
	rights_lower(before);
	return ret;
}

static int open_slave(struct reopen *r, const struct state_file *file, int master)
{
	int fd = ioctl(master, TIOCGPTPEER, reopen_flags(file)), ret;

	if (fd < 0)
		return reopen_failed(r, file, -errno, "open");
	/* a record of /dev/tty does not tell the terminal's owner and mode */
	ret = file->rec->kind == CKPT_FILE_PTS ? give_slave(file->rec, fd) : 0;
	if (!ret)
		return fd;
	close(fd);
	return reopen_failed(r, file, ret, "set the owner and mode of");
}

int reopen_pty(struct reopen *r, const struct state_file *file)
{
	/* for /dev/tty: the terminal that it was to the process that opened it */
	uint64_t index = file->rec->object;
	int master = master_of(r, index);
	const struct engine_rec_external *external;
	int fd;

	if (file->rec->kind == CKPT_FILE_PTM) {
		fd = fcntl(master, F_DUPFD_CLOEXEC, 0);
		if (fd >= 0)
			fcntl(fd, F_SETFL, file->rec->f_flags & O_NONBLOCK);
		return fd < 0 ? reopen_failed(r, file, -errno, "open") : fd;
	}
	if (master >= 0)
		return open_slave(r, file, master);
	external = external_tty(r, index);
	return open_given(r, file, external ? external->name : "tty");
}

/* Fill a pipe that the caller gives, once: its end is then held like those of other pipes. */
static int reopen_pipe_refill(struct reopen *r, const struct state_file *file, int fd)
{
	int *ends = r->pipes[file->pipe - r->state->pipes];

	if (ends[1] >= 0 || !file->pipe->rec->data_len)
		return 0;
	ends[1] = reopen_again(fd, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (ends[1] < 0)
		return reopen_failed(r, file, ends[1], "open for writing");
	return fill_pipe(r, file, file->pipe, ends[1]);
}

int reopen_external(struct reopen *r, const struct state_file *file)
{
	const struct engine_rec_tty *tty;
	int fd = open_given(r, file, file->external->name);
	int ret = 0;

	if (fd < 0 || reopen_pipe_given(r, file->external->name) < 0)
		return fd;
	tty = file->rec->kind == CKPT_FILE_PTS ? reopen_pipe_tty_record(r, file->rec->object)
					       : NULL;
	if (file->pipe)
		ret = reopen_pipe_refill(r, file, fd);
	else if (tty)
		ret = keep_terminal(r, reopen_pipe_given(r, file->external->name), tty)
			      ?: reopen_pipe_set_modes(fd, tty);
	if (!ret)
		return fd;
	close(fd);
	return tty ? reopen_failed(r, file, ret, "set up the terminal") : ret;
}

/*
 * Open the terminal for reading and writing, to be taken as a controlling terminal.  Perhaps no
 * descriptor of the tree leads to the slave any more.  Then closing ours leaves the master with a
 * slave that was once open, as it was.
 */
int reopen_tty(const struct reopen *r, int index)
{
	int master = master_of(r, (uint64_t)index), fd = -1;
	const struct engine_rec_external *external;

	if (master >= 0)
		return ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	for (unsigned int i = 0; fd < 0 && i < r->state->nr_files; i++)
		if (r->state->files[i].rec->kind == CKPT_FILE_PTS &&
		    r->state->files[i].rec->object == (uint64_t)index)
			fd = r->fds[i];
	external = external_tty(r, (uint64_t)index);
	if (fd < 0)
		fd = reopen_pipe_given(r, external ? external->name : "tty");
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}
