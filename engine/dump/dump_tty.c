// SPDX-License-Identifier: GPL-2.0-only
/*
 * Terminals of the tree: their settings, and bytes that were not read yet.
 *
 * If both ends of a pty are in the tree, the module shows the unread bytes of each end
 * without taking them, and at restore the other end writes them again.  Unread bytes that
 * cannot be made again that way are refused.
 */
#include "engine/dump/dump_run.h"

#include <asm/termbits.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* ---------------------------------------------------------------- unread */

static bool dump_tty_seen(const struct state *state, const struct state_file *file)
{
	for (const struct state_file *f = state->files; f < file; f++)
		if (f->rec->kind == file->rec->kind && f->rec->object == file->rec->object)
			return true;
	return false;
}

/*
 * Is it the terminal of a session that the tree leads?  Then input typed there is meant for
 * the tree, and nobody else will read it.
 */
static bool leads_session(const struct dump *d, uint64_t index)
{
	for (unsigned int i = 0; i < d->cap.state->nr_procs; i++) {
		const struct ckpt_rec_proc *rec = d->cap.state->procs[i].rec;

		if (rec->state != CKPT_PROC_ZOMBIE && rec->sid == rec->pid &&
		    rec->tty >= 0 && (uint64_t)rec->tty == index)
			return true;
	}
	return false;
}

static int refuse_data(struct dump *d, const struct state_file *file, uint32_t kind, int bytes)
{
	char what[80];
	const char *end = kind == CKPT_FILE_PTM ? "output" : "input";

	if (bytes > 0)
		snprintf(what, sizeof(what), "%d bytes of %s that nobody has read:", bytes, end);
	else
		snprintf(what, sizeof(what), "%s that nobody has read:", end);
	dump_refuse(d, file, CKPT_R_TTY_DATA, what);
	return 0;
}

/* Bytes to be read; in canonical mode a line without an end does not count. */
static int dump_tty_unread(int fd)
{
	struct pollfd poll_for = { .fd = fd, .events = POLLIN };
	int bytes = 0;

	poll(&poll_for, 1, 0);	/* the kernel first delivers bytes between the two ends */
	return ioctl(fd, FIONREAD, &bytes) ? 0 : bytes;
}

static bool is_marked(const struct engine_tty_bytes *data, uint32_t at)
{
	return data->marks[at / 64] >> at % 64 & 1;
}

/*
 * Can these bytes be typed again, and does FIONREAD agree with them (@bytes; -1: it was not
 * asked)?  A line must end with a newline or an end-of-line character of the terminal.  An
 * end-of-file, and a newline that ends no line, cannot be made again.
 */
static bool is_good(const struct engine_tty_bytes *data, const struct ckpt_tty_peek *peek,
		    bool canonical, int bytes)
{
	if (bytes >= 0 && (uint32_t)bytes != (canonical ? peek->canon : peek->len))
		return false;
	for (uint32_t i = 0; canonical && i < peek->len; i++) {
		if (is_marked(data, i) ? !data->bytes[i] || i >= peek->canon :
					 data->bytes[i] == '\n')
			return false;
	}
	return true;
}

static int add_unread(struct dump *d, const struct state_file *file, uint32_t kind,
		      const struct ckpt_tty_peek *peek, const struct engine_tty_bytes *data)
{
	struct engine_rec_tty_data *rec = dump_record_add(d, ENGINE_REC_TTY_DATA, sizeof(*rec),
							  data, sizeof(*data));

	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	rec->index = (uint32_t)file->rec->object;
	rec->kind = kind;
	rec->len = peek->len;
	return 0;
}

/*
 * Record or refuse the unread bytes of one end. @kind: PTM or PTS. If no file of the tree leads
 * to the slave, @bytes is -1 and @file is the master.
 */
static int probe_end(struct dump *d, const struct state_file *file, uint32_t kind, int fd,
		     int bytes)
{
	struct engine_tty_bytes data = { 0 };
	struct ckpt_tty_peek peek = {
		.flags = kind == file->rec->kind ? 0 : CKPT_TTY_PEEK_SLAVE,
		.file_id = file->rec->id,
		.len = sizeof(data.bytes), .buf = (uintptr_t)data.bytes,
		.marks = (uintptr_t)data.marks,
	};
	struct termios2 termios;
	bool canonical;
	int ret;

	ret = d->cap.dev->info.features & CKPT_FEAT_TTY_PEEK ?
	      kdev_tty_peek(d->cap.dev, &peek) : -EOPNOTSUPP;
	if (ret == -EBUSY || (ret == -EOPNOTSUPP && bytes > 0))
		return refuse_data(d, file, kind, bytes);
	if (ret && ret != -EOPNOTSUPP)
		return capture_failed(&d->cap, ret, "cannot look at a terminal of the tree",
				      d->error);
	if (ret || !peek.len || ioctl(fd, TCGETS2, &termios))
		return 0;	/* nothing unread, or hung up: nobody will read it */
	/* only a slave reads in lines; a master's termios are those of its slave */
	canonical = kind == CKPT_FILE_PTS && termios.c_lflag & ICANON &&
		    !(termios.c_lflag & EXTPROC);
	return is_good(&data, &peek, canonical, bytes) ?
	       add_unread(d, file, kind, &peek, &data) : refuse_data(d, file, kind, (int)peek.len);
}

static bool has_slave(const struct dump *d, uint64_t index)
{
	for (unsigned int i = 0; i < d->cap.state->nr_files; i++)
		if (d->cap.state->files[i].rec->kind == CKPT_FILE_PTS &&
		    d->cap.state->files[i].rec->object == index)
			return true;
	return false;
}

static int probe_own(struct dump *d, const struct state_file *file, int fd)
{
	const struct ckpt_rec_file *rec = file->rec;
	int bytes = dump_tty_unread(fd), ret;

	if (rec->kind != CKPT_FILE_PTM || has_slave(d, rec->object))
		return probe_end(d, file, rec->kind, fd, bytes);
	/* echo of a slave that was never opened: writing it again would open the slave */
	if (bytes > 0 && !(rec->flags & CKPT_FILE_TTY_CLOSED))
		return refuse_data(d, file, rec->kind, bytes);
	ret = probe_end(d, file, rec->kind, fd, bytes);
	return ret ? ret : probe_end(d, file, CKPT_FILE_PTS, fd, -1);
}

int dump_tty_probe(struct dump *d, const struct state_file *file)
{
	bool own = dump_own_pty(d, file->rec->object);
	int bytes;

	if (dump_tty_seen(d->cap.state, file) ||
	    (own ? dump_external_name(d, file) != NULL :
		   file->rec->kind != CKPT_FILE_PTS || !leads_session(d, file->rec->object)))
		return 0;
	_cleanup_fd_ int fd = dump_file_fd(d, file);

	if (fd < 0)
		return fd;
	if (own)
		return probe_own(d, file, fd);
	/* bytes cannot be read and put back: we could be killed between the two */
	bytes = dump_tty_unread(fd);
	return bytes > 0 ? refuse_data(d, file, CKPT_FILE_PTS, bytes) : 0;
}

/* ---------------------------------------------------------------- settings */

static bool tty_known(const struct dump *d, uint64_t index)
{
	const struct ckpt_rec_hdr *hdr;

	for (size_t at = 0; at < d->records_len; at += hdr->len) {
		hdr = (const void *)(d->records + at);
		if (hdr->type == ENGINE_REC_TTY &&
		    ((const struct engine_rec_tty *)hdr)->index == index)
			return true;
	}
	return false;
}

static int dump_tty_record(struct dump *d, const struct ckpt_rec_file *file, int fd)
{
	struct engine_rec_tty *rec;
	struct termios2 termios;
	struct winsize size;

	if (ioctl(fd, TCGETS2, &termios) || ioctl(fd, TIOCGWINSZ, &size))
		return 0;	/* hung up: nothing to put back */
	rec = dump_record_add(d, ENGINE_REC_TTY, sizeof(*rec), NULL, 0);
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	_Static_assert(sizeof(termios.c_cc) == sizeof(rec->c_cc), "c_cc");
	rec->index = (uint32_t)file->object;
	rec->c_iflag = termios.c_iflag;
	rec->c_oflag = termios.c_oflag;
	rec->c_cflag = termios.c_cflag;
	rec->c_lflag = termios.c_lflag;
	rec->c_ispeed = termios.c_ispeed;
	rec->c_ospeed = termios.c_ospeed;
	rec->c_line = termios.c_line;
	memcpy(rec->c_cc, termios.c_cc, sizeof(rec->c_cc));
	rec->ws_row = size.ws_row;
	rec->ws_col = size.ws_col;
	rec->ws_xpixel = size.ws_xpixel;
	rec->ws_ypixel = size.ws_ypixel;
	return 0;
}

int dump_records_ttys(struct dump *d)
{
	const struct state *state = d->cap.state;
	int ret = 0;

	for (unsigned int i = 0; i < state->nr_files && !ret; i++) {
		const struct ckpt_rec_file *file = state->files[i].rec;
		int fd;

		if ((file->kind != CKPT_FILE_PTS && file->kind != CKPT_FILE_PTM) ||
		    tty_known(d, file->object))
			continue;
		fd = dump_file_fd(d, &state->files[i]);
		ret = fd < 0 ? fd : dump_tty_record(d, file, fd);
		if (fd >= 0)
			close(fd);
	}
	return ret;
}
