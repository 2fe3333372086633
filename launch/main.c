// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-launch: the launcher as a program of its own, for a ckptd that is confined; see launcher.h.
 *
 * Options, and the socket: systemd's (socket activation), or one that it makes itself. Reads no
 * configuration, no key and no image.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/priority.h"
#include "launch/launcher.h"
#include "libckptctl/version.h"

static const char launch_usage[] =
	"usage: ckpt-launch [--socket PATH] [--shim FILE]\n"
	"\n"
	"  -l, --socket PATH     listen there; default: the socket that systemd passes\n"
	"  -s, --shim FILE       default: ckpt-shim beside ckpt-launch\n"
	"  -h, --help\n"
	"  -V, --version\n";

static int launch_complain(const char *what, const char *why)
{
	fprintf(stderr, "ckpt-launch: %s: %s\n", what, why);
	return 1;
}

/* The shim beside this program. */
static int launch_default_shim(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - sizeof("ckpt-shim"));
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	strcpy(slash + 1, "ckpt-shim");
	return 0;
}

/* Make the socket, root's alone. Return: the descriptor, or negative errno. */
static int launch_listen(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t mask = umask(0177);
	int sock, err = 0;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	unlink(path);
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) || listen(sock, 16)) {
		err = -errno;
		close(sock);
	}
	umask(mask);
	return err ? err : sock;
}

/* Return: the listening socket, or negative errno. */
static int launch_socket(const char *path)
{
	int nr;

	if (path)
		return launch_listen(path);
	nr = sd_listen_fds(1);
	if (nr < 0)
		return nr;
	return nr == 1 && sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1, NULL, 0) > 0 ?
	       SD_LISTEN_FDS_START : -ENOTCONN;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "socket", required_argument, NULL, 'l' },
		{ "shim", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL }
	};
	char shim[PATH_MAX];
	struct launcher launcher = { .shim = NULL, .sock = -1 };
	const char *path = NULL;
	int c, err;

	while ((c = getopt_long(argc, argv, "l:s:hV", longs, NULL)) != -1) {
		if (c == 'l') {
			path = optarg;
		} else if (c == 's') {
			launcher.shim = optarg;
		} else if (c == 'h' || c == 'V') {
			fputs(c == 'h' ? launch_usage : "ckpt-launch " CKPT_VERSION "\n", stdout);
			return fflush(stdout) ? launch_complain("standard output", strerror(errno))
					      : 0;
		} else {
			fputs(launch_usage, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		launch_complain(argv[optind], "is too much");
		return 2;
	}
	log_init(&launcher.log, "ckpt-launch");
	if (geteuid())
		return launch_complain("must be run as root", "shims are root's");
	if (!launcher.shim) {
		if (launch_default_shim(shim, sizeof(shim)))
			return launch_complain("/proc/self/exe", strerror(errno));
		launcher.shim = shim;
	}
	launcher.listener = launch_socket(path);
	if (launcher.listener < 0)
		return launch_complain(path ? path : "no socket of systemd, and no --socket",
				       strerror(-launcher.listener));
	if (priority_get() > PRIORITY_DAEMON)
		priority_set(PRIORITY_DAEMON);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sd_notify(0, "READY=1");
	err = launcher_serve(&launcher);
	return err ? launch_complain("poll", strerror(-err)) : 0;
}
