// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unix sockets whose file was removed: the directory is gone as well, another socket, a FIFO or a
 * file has the name by now, or the name is relative. They keep their names and connections, and
 * what has the name now stays what it is.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/cr/phase.h"

enum { DIR_GONE, BY_SOCKET, BY_FIFO, BY_FILE, RELATIVE, NR };

static int servers[NR], clients[NR], listening, stream[2], newer;
static char names[NR][100];
static ino_t fifo;

static struct sockaddr_un address(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	strcpy(addr.sun_path, name);
	return addr;
}

static int bound(int type, const char *name)
{
	struct sockaddr_un addr = address(name);
	int fd = (int)cr_sys(socket(AF_UNIX, type, 0));

	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static int connected(int type, const char *name)
{
	struct sockaddr_un addr = address(name);
	int fd = (int)cr_sys(socket(AF_UNIX, type, 0));

	cr_sys(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static void setup(void)
{
	char here[64], dir[80];
	struct stat st;

	cr_check(getcwd(here, sizeof(here)) != NULL, "getcwd");
	snprintf(dir, sizeof(dir), "%s/gone", here);
	cr_sys(mkdir(dir, 0700));
	snprintf(names[DIR_GONE], sizeof(*names), "%s/s", dir);
	snprintf(names[BY_SOCKET], sizeof(*names), "%s/socket", here);
	snprintf(names[BY_FIFO], sizeof(*names), "%s/fifo", here);
	snprintf(names[BY_FILE], sizeof(*names), "%s/file", here);
	strcpy(names[RELATIVE], "./gone/../relative");
	for (int i = 0; i < NR; i++) {
		servers[i] = bound(SOCK_DGRAM, names[i]);
		clients[i] = connected(SOCK_DGRAM, names[i]);
		cr_eq(cr_sys(write(clients[i], "a", 1)), 1);
		cr_sys(unlink(names[i]));
	}
	listening = bound(SOCK_STREAM, names[DIR_GONE]);
	cr_sys(listen(listening, 1));
	stream[0] = connected(SOCK_STREAM, names[DIR_GONE]);
	stream[1] = (int)cr_sys(accept(listening, NULL, NULL));
	cr_sys(unlink(names[DIR_GONE]));
	cr_sys(rmdir(dir));
	newer = bound(SOCK_DGRAM, names[BY_SOCKET]);
	cr_sys(mkfifo(names[BY_FIFO], 0600));
	cr_sys(stat(names[BY_FIFO], &st));
	fifo = st.st_ino;
	cr_sys(close((int)cr_sys(open(names[BY_FILE], O_CREAT | O_WRONLY, 0600))));
}

static void has_name(int fd, const char *name)
{
	struct sockaddr_un addr = { 0 };
	socklen_t len = sizeof(addr);

	cr_sys(getsockname(fd, (struct sockaddr *)&addr, &len));
	cr_check(strcmp(addr.sun_path, name) == 0, "the name is %s", addr.sun_path);
}

static void verify(void)
{
	struct stat st;
	char c = 0;
	int fd;

	for (int i = 0; i < NR; i++) {
		has_name(servers[i], names[i]);
		cr_eq(cr_sys(write(clients[i], "b", 1)), 1);
		cr_eq(cr_sys(read(servers[i], &c, 1)), 1);
		cr_eq(c, 'a');
		cr_eq(cr_sys(read(servers[i], &c, 1)), 1);
		cr_eq(c, 'b');
	}
	has_name(listening, names[DIR_GONE]);
	has_name(stream[1], names[DIR_GONE]);
	cr_eq(cr_sys(write(stream[0], "c", 1)), 1);
	cr_eq(cr_sys(read(stream[1], &c, 1)), 1);
	cr_eq(c, 'c');
	fd = connected(SOCK_DGRAM, names[BY_SOCKET]);
	cr_eq(cr_sys(write(fd, "d", 1)), 1);
	cr_eq(cr_sys(read(newer, &c, 1)), 1);
	cr_eq(c, 'd');
	cr_sys(close(fd));
	cr_sys(stat(names[BY_FIFO], &st));
	cr_check(S_ISFIFO(st.st_mode) && st.st_ino == fifo, "the FIFO is another");
	cr_sys(stat(names[BY_FILE], &st));
	cr_check(S_ISREG(st.st_mode), "the file is another");
	cr_eq(access("gone", F_OK), -1);
	cr_eq(access("relative", F_OK), -1);
}

CR_TEST(.setup = setup, .verify = verify);
