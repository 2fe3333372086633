// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pseudoterminals with bytes on their way in both directions: a line and a half typed in, in
 * canonical mode; lines that end in characters of the terminal's own; every byte there is, in raw
 * mode; one whose slave is closed, and one whose slave was never opened.
 */
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "tests/cr/phase.h"

static int master, slave, externals_master, externals_slave, raw_master, raw_slave, closed,
	unopened;
static unsigned char all[1024];

static void make(int *ret_master, int *ret_slave, tcflag_t lflag)
{
	struct termios t;

	cr_sys(openpty(ret_master, ret_slave, NULL, NULL, NULL));
	cr_sys(tcgetattr(*ret_slave, &t));
	t.c_lflag = lflag;
	if (!(lflag & ICANON))
		t.c_iflag = 0;
	t.c_oflag &= (tcflag_t)~OPOST;
	t.c_cc[VEOL] = ';';
	t.c_cc[VEOL2] = 'E';
	cr_sys(tcsetattr(*ret_slave, TCSANOW, &t));
}

static void put(int fd, const void *data, size_t len)
{
	cr_eq(cr_sys(write(fd, data, len)), (ssize_t)len);
}

static void get(int fd, const void *data, size_t len)
{
	char buf[2048];
	size_t have = 0;

	while (have < len)
		have += (size_t)cr_sys(read(fd, buf + have, sizeof(buf) - have));
	cr_eq(have, len);
	cr_check(!memcmp(buf, data, len), "the bytes");
}

static void setup(void)
{
	struct termios t;
	int gone;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	make(&master, &slave, ICANON | ISIG | IEXTEN);
	put(master, "one\rtw", 6);	/* a carriage return is a newline there */
	put(slave, "output", 6);
	make(&externals_master, &externals_slave, ICANON | IEXTEN | ECHO);
	put(externals_master, "a;b\ncEd;\3", 9);
	make(&raw_master, &raw_slave, 0);
	put(raw_master, all, sizeof(all));
	put(raw_slave, all, sizeof(all));
	make(&closed, &gone, ICANON);
	put(gone, "last\r\nwords", 11);
	cr_sys(close(gone));
	unopened = cr_sys(posix_openpt(O_RDWR | O_NOCTTY));
	cr_sys(tcgetattr(unopened, &t));
	t.c_lflag = ICANON;
	cr_sys(tcsetattr(unopened, TCSANOW, &t));
	cr_sys(grantpt(unopened));
	cr_sys(unlockpt(unopened));
	put(unopened, "early\n", 6);
}

static void verify(void)
{
	char buf[64];
	int fd;

	get(master, "output", 6);
	get(slave, "one\n", 4);
	put(master, "o\n", 2);
	get(slave, "two\n", 4);

	get(externals_slave, "a;", 2);
	get(externals_slave, "b\n", 2);
	get(externals_slave, "cE", 2);
	get(externals_slave, "d;", 2);
	put(externals_master, "\n", 1);
	get(externals_slave, "\3\n", 2);
	get(externals_master, "a;b\ncEd;\3\n", 10);

	get(raw_slave, all, sizeof(all));
	get(raw_master, all, sizeof(all));

	get(closed, "last\r\nwords", 11);
	cr_eq(read(closed, buf, sizeof(buf)), -1);

	fd = cr_sys(ioctl(unopened, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	get(fd, "early\n", 6);
}

CR_TEST(.setup = setup, .verify = verify);
