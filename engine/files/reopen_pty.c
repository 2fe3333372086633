// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unread bytes of one end of a pseudoterminal are written again by the other end.
 *
 * Input goes through the slave's line discipline.  Meanwhile that is set to edit nothing, to
 * send no signals, and to end lines where they ended.  Echo is on: a byte that comes back has
 * been taken in, so that the settings that follow cannot change it any more.
 */
#include "engine/files/reopen.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ECHO_MS	10000	/* longer than the slowest machine needs */

static int set_input(int master, const struct engine_rec_tty *tty,
		     const struct engine_tty_bytes *data, uint32_t len)
{
	struct termios2 t = {
		.c_cflag = tty->c_cflag, .c_line = tty->c_line,
		.c_ispeed = tty->c_ispeed, .c_ospeed = tty->c_ospeed,
		.c_lflag = ECHO,
	};

	/* with EXTPROC another program edits lines: there are none here, and no echo of them */
	if (tty->c_lflag & ICANON && !(tty->c_lflag & EXTPROC))
		t.c_lflag |= ICANON;

	if (!(t.c_lflag & ICANON)) {
		t.c_cc[VMIN] = 1;
	} else {
		/* two other characters than newline can end a line: VEOL and VEOL2 */
		t.c_lflag |= IEXTEN;
		for (uint32_t i = 0; i < len; i++) {
			uint8_t c = data->bytes[i];

			if (!(data->marks[i / 64] >> i % 64 & 1) || c == '\n' || c == t.c_cc[VEOL])
				continue;
			t.c_cc[t.c_cc[VEOL] ? VEOL2 : VEOL] = c;
		}
	}
	return ioctl(master, TCSETS2, &t) ? -errno : 0;
}

static int write_all(int fd, const uint8_t *bytes, uint32_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0)
			return -errno;
		bytes += n;
		len -= (uint32_t)n;
	}
	return 0;
}

static int take_echo(int master, uint32_t len)
{
	struct pollfd poll_for = { .fd = master, .events = POLLIN };
	char buf[512];

	while (len) {
		ssize_t n;

		if (poll(&poll_for, 1, ECHO_MS) <= 0)
			return -ETIMEDOUT;
		n = read(master, buf, len < sizeof(buf) ? len : sizeof(buf));
		if (n <= 0)
			return n ? -errno : -EIO;
		len -= (uint32_t)n;
	}
	return 0;
}

static int put_input(int master, const struct engine_rec_tty *tty,
		     const struct engine_rec_tty_data *rec)
{
	const struct engine_tty_bytes *data = (const void *)(rec + 1);
	int ret = set_input(master, tty, data, rec->len);

	if (!ret)
		ret = write_all(master, data->bytes, rec->len);
	return ret ? ret : take_echo(master, rec->len);
}

static int put_output(int master, const struct engine_rec_tty_data *rec)
{
	const struct engine_tty_bytes *data = (const void *)(rec + 1);
	struct termios2 t;
	_cleanup_fd_ int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (slave < 0 || ioctl(slave, TCGETS2, &t))
		return -errno;
	t.c_oflag &= ~(tcflag_t)OPOST;
	if (ioctl(slave, TCSETS2, &t))
		return -errno;
	return write_all(slave, data->bytes, rec->len);
}

int reopen_pty_data(const struct reopen *r, int master, const struct engine_rec_tty *tty)
{
	const struct engine_rec_tty_data *out = NULL;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_tty_data; i++) {
		const struct engine_rec_tty_data *rec = r->state->tty_data[i];

		if (rec->index != tty->index)
			continue;
		if (rec->kind == CKPT_FILE_PTM)
			out = rec;
		else
			ret = put_input(master, tty, rec);
	}
	/* output last: otherwise it would be read and lost with the echo of the input */
	return !ret && out ? put_output(master, out) : ret;
}
