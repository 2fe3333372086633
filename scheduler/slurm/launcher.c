// SPDX-License-Identifier: GPL-2.0-only
/*
 * The waiting process of a launch in a script's job; see launcher.h.
 *
 * A connection could not be saved. So a request has a connection of its own, and between requests
 * this process only looks for two files that port.c writes: KEY.runs tells that the launch is
 * known there, and its name; KEY.ended its exit status. If neither is there, the batch step does
 * not know the launch (yet, or any more, after a restart of the script): it is asked for again, by
 * its name, and goes on where it was.
 */
#include "scheduler/slurm/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/slurm/port.h"
#include "scheduler/slurm/request.h"
#include "scheduler/slurm/say.h"

#define LOOK_FIRST_NS	20000000
#define LOOK_LAST_NS	500000000

struct launcher {
	const char *directory;
	char key[REQUEST_KEY_MAX];
	char name[REQUEST_NAME_MAX];	/* empty: the launch was not accepted yet */
	char **argv;
	sigset_t handled;
	int signal;			/* to be handed on; 0: none */
};

/* ------------------------------------------------------------ the port */

/* Read the first line of the state file KEY.@what; false: there is none. */
static bool launcher_state(const struct launcher *launcher, const char *what, char *line,
			   size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%s", launcher->directory, launcher->key, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, size - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return n > 0;
}

static int launcher_connect(const struct launcher *launcher)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if ((size_t)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" PORT_SOCKET,
			     launcher->directory) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Send the standard streams with the first byte, and then all others. */
static int launcher_send(int sock, const char *bytes, size_t size)
{
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec first = { .iov_base = (char *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &first, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	const int fds[3] = { 0, 1, 2 };
	ssize_t n;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(header), fds, sizeof(fds));
	n = sendmsg(sock, &message, MSG_NOSIGNAL);
	while (n >= 0 && (size_t)n < size) {
		bytes += n;
		size -= (size_t)n;
		n = send(sock, bytes, size, MSG_NOSIGNAL);
	}
	return n < 0 ? -errno : 0;
}

/* Ask for the launch, or for @signal to be sent to it; true: the port has taken the request. */
static bool launcher_request(struct launcher *launcher, int signal)
{
	char directory[PATH_MAX], *bytes, answer = 0;
	struct request request = {
		.signal = signal, .key = launcher->key, .name = launcher->name,
		.directory = getcwd(directory, sizeof(directory)) ? directory : "/",
		.argv = signal ? NULL : launcher->argv, .env = signal ? NULL : environ,
	};
	size_t size;
	int sock = launcher_connect(launcher);
	bool taken;

	if (sock < 0)
		return false;
	bytes = request_pack(&request, &size);
	taken = bytes && !launcher_send(sock, bytes, size) && read(sock, &answer, 1) == 1;
	free(bytes);
	close(sock);
	return taken;
}

/* ---------------------------------------------------------------- waiting */

static void launcher_key(struct launcher *launcher)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	snprintf(launcher->key, sizeof(launcher->key), "%016llx", (unsigned long long)number);
}

/* Signals that were ignored when we were started (nohup) stay so. */
static void launcher_signals(struct launcher *launcher)
{
	static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct sigaction action;
	size_t i;

	sigemptyset(&launcher->handled);
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		if (!sigaction(handled[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&launcher->handled, handled[i]);
	}
	sigprocmask(SIG_BLOCK, &launcher->handled, NULL);
}

/* Sleep until a signal comes, at most @ns. */
static void launcher_sleep(struct launcher *launcher, long ns)
{
	struct timespec time = { .tv_nsec = ns };
	int signo = sigtimedwait(&launcher->handled, NULL, &time);

	if (signo > 0)
		launcher->signal = signo;
}

/* One look; true: the launch is over, with *@ret_status. */
static bool launcher_look(struct launcher *launcher, int *ret_status)
{
	char line[REQUEST_NAME_MAX];

	if (launcher_state(launcher, PORT_ENDED, line, sizeof(line))) {
		*ret_status = atoi(line);
		return true;
	}
	if (launcher_state(launcher, PORT_RUNS, line, sizeof(line))) {
		strcpy(launcher->name, line);
		if (launcher->signal && launcher_request(launcher, launcher->signal))
			launcher->signal = 0;
		return false;
	}
	if (launcher->signal && !*launcher->name) {
		*ret_status = 128 + launcher->signal;
		return true;
	}
	launcher_request(launcher, 0);
	return false;
}

int launcher_run(const char *directory, char **argv)
{
	struct launcher launcher = { .directory = directory, .argv = argv };
	long pause = LOOK_FIRST_NS;
	int status = 1;

	if (strlen(directory) > PORT_DIRECTORY_MAX) {
		say_line(LAUNCHER_VARIABLE "=%s is too long", directory);
		return status;
	}
	launcher_key(&launcher);
	launcher_signals(&launcher);
	while (!launcher_look(&launcher, &status)) {
		launcher_sleep(&launcher, pause);
		pause = pause * 2 > LOOK_LAST_NS ? LOOK_LAST_NS : pause * 2;
	}
	return status;
}
