// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listening unix sockets, one with a path and one with an abstract name: accepted connections with
 * unread bytes, connections that wait to be accepted in their order, with bytes, one of them
 * closed again, and a thread in accept; names, modes and addresses are as they were.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/cr/phase.h"

static int listener, abstract, client, server, pending[3], idle, gone_client, gone_server;
static struct sockaddr_un path = { .sun_family = AF_UNIX }, name = { .sun_family = AF_UNIX },
	gone = { .sun_family = AF_UNIX };
static socklen_t name_len;
static pthread_t thread;

static int connect_to(const struct sockaddr_un *addr, socklen_t len)
{
	int fd = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));

	cr_sys(connect(fd, (const struct sockaddr *)addr, len));
	return fd;
}

static void *accept_one(void *arg)
{
	return (void *)cr_sys(accept(idle, NULL, NULL));
}

static int listen_at(const struct sockaddr_un *addr, socklen_t len, int backlog)
{
	int fd = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));

	cr_sys(bind(fd, (const struct sockaddr *)addr, len));
	cr_sys(listen(fd, backlog));
	return fd;
}

static void setup_gone(void)
{
	int fd;

	snprintf(gone.sun_path, sizeof(gone.sun_path), "%s", cr_path("gone"));
	fd = listen_at(&gone, sizeof(gone), 1);
	gone_client = connect_to(&gone, sizeof(gone));
	gone_server = (int)cr_sys(accept(fd, NULL, NULL));
	close(fd);
	cr_sys(unlink(gone.sun_path));
}

static void setup(void)
{
	snprintf(path.sun_path, sizeof(path.sun_path), "%s", cr_path("sock"));
	listener = listen_at(&path, sizeof(path), 5);
	cr_sys(chmod(path.sun_path, 0640));
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "cr-%d", getpid());
	name_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       strlen(name.sun_path + 1));
	abstract = listen_at(&name, name_len, 5);
	idle = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));
	cr_sys(bind(idle, (struct sockaddr *)&name, sizeof(name.sun_family)));	/* any name */
	cr_sys(listen(idle, 1));

	client = connect_to(&path, sizeof(path));
	server = (int)cr_sys(accept(listener, NULL, NULL));
	cr_eq(cr_sys(write(client, "to server", 9)), 9);
	cr_eq(cr_sys(write(server, "to client", 9)), 9);
	for (int i = 0; i < 3; i++) {
		pending[i] = connect_to(&name, name_len);
		cr_eq(cr_sys(write(pending[i], &i, sizeof(i))), sizeof(i));
	}
	close(pending[1]);
	setup_gone();
	cr_eq(pthread_create(&thread, NULL, accept_one, NULL), 0);
}

static void check_name(int fd, const struct sockaddr_un *want, bool peer)
{
	struct sockaddr_un got = { 0 };
	socklen_t len = sizeof(got);

	cr_sys(peer ? getpeername(fd, (struct sockaddr *)&got, &len) :
		      getsockname(fd, (struct sockaddr *)&got, &len));
	cr_check(strcmp(got.sun_path, want->sun_path) == 0, "%s", got.sun_path);
	cr_eq(memcmp(got.sun_path + 1, want->sun_path + 1, sizeof(got.sun_path) - 1), 0);
}

static void check_pending(void)
{
	for (int i = 0; i < 3; i++) {
		int fd = (int)cr_sys(accept(abstract, NULL, NULL)), got = -1;

		check_name(fd, &name, false);
		cr_eq(cr_sys(read(fd, &got, sizeof(got))), sizeof(got));
		cr_eq(got, i);
		if (i == 1) {
			cr_eq(cr_sys(read(fd, &got, sizeof(got))), 0);
			continue;
		}
		cr_eq(cr_sys(write(fd, "hi", 2)), 2);
		cr_eq(cr_sys(read(pending[i], &got, sizeof(got))), 2);
	}
}

static void verify(void)
{
	struct sockaddr_un any = { 0 };
	socklen_t len = sizeof(any);
	struct stat st;
	char buf[16];
	void *fd;
	int late;

	cr_eq(cr_sys(read(server, buf, sizeof(buf))), 9);
	cr_eq(memcmp(buf, "to server", 9), 0);
	cr_eq(cr_sys(read(client, buf, sizeof(buf))), 9);
	cr_eq(memcmp(buf, "to client", 9), 0);
	check_name(server, &path, false);
	check_name(client, &path, true);
	check_name(gone_server, &gone, false);
	check_name(gone_client, &gone, true);
	cr_eq(access(gone.sun_path, F_OK), -1);
	cr_sys(stat(path.sun_path, &st));
	cr_eq(st.st_mode, S_IFSOCK | 0640);
	check_pending();
	late = connect_to(&path, sizeof(path));
	cr_sys(accept(listener, NULL, NULL));
	close(late);
	cr_sys(getsockname(idle, (struct sockaddr *)&any, &len));
	connect_to(&any, len);
	cr_eq(pthread_join(thread, &fd), 0);
	cr_check((intptr_t)fd > 2, "accept");
}

CR_TEST(.setup = setup, .verify = verify);
