// SPDX-License-Identifier: GPL-2.0-only
/*
 * Giving a unix socket the name of a file that was removed.
 *
 * The directory of such a file may be gone, and somebody else's file may have its name by now. The
 * socket is therefore bound while an empty directory of our own is the root directory: the text of
 * its name is the same there, and no file of anybody is touched. Only the place of the file is
 * another, which nobody sees, as it is removed at once.
 */
#include "engine/files/reopen_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/rights.h"

#define LAST_RESORT	"/tmp"

/* Make the current directory the root directory. */
static int reopen_sock_gone_root(void)
{
	uint64_t before;
	int ret = rights_raise(RIGHTS_ROOT, &before);

	if (ret)
		return ret;
	ret = chroot(".") ? -errno : 0;
	rights_lower(before);
	return ret;
}

/* Make the directories on the way to @path, or with @remove remove those that are empty. */
static void reopen_sock_gone_dirs(char *path, bool remove)
{
	for (size_t at = strlen(path); remove && at > 1; at--) {
		if (path[at - 1] != '/')
			continue;
		path[at - 1] = 0;
		rmdir(path);
		path[at - 1] = '/';
	}
	for (size_t at = 1; !remove && at < strlen(path); at++) {
		if (path[at] != '/')
			continue;
		path[at] = 0;
		mkdir(path, 0700);	/* if it fails, bind(2) tells why */
		path[at] = '/';
	}
}

/* Bind @fd here, open the file that this makes, and remove it with its directories. */
static int reopen_sock_gone_bind(const struct state_sock *sock, int fd, int *ret_place)
{
	struct sockaddr_un addr;
	socklen_t len = reopen_sock_address(sock, -1, &addr);
	_cleanup_free_ char *path = strndup(addr.sun_path, sizeof(addr.sun_path));
	int place = -1, ret;

	if (!path)
		return -ENOMEM;
	reopen_sock_gone_dirs(path, false);
	ret = bind(fd, (struct sockaddr *)&addr, len) ? -errno : 0;
	if (!ret) {
		place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		ret = place < 0 ? -errno : 0;
	}
	unlink(path);
	reopen_sock_gone_dirs(path, true);
	if (!ret)
		*ret_place = place;
	return ret;
}

/* Go back to the directories @root and @here. */
static int reopen_sock_gone_back(int root, int here)
{
	int ret = reopen_sock_go(root);

	if (!ret)
		ret = reopen_sock_gone_root();
	return ret ? ret : reopen_sock_go(here);
}

int reopen_sock_bind_gone(const struct state_sock *sock, int fd, int *ret_place, bool *ret_lost)
{
	_cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int here = reopen_sock_here();
	char dir[] = LAST_RESORT "/.stillpoint-XXXXXX";
	int ret, back;

	*ret_lost = false;
	if (root < 0 || here < 0)
		return root < 0 ? -errno : here;
	if (!mkdtemp(dir))
		return -errno;
	ret = chdir(dir) ? -errno : reopen_sock_gone_root();
	if (!ret) {
		ret = reopen_sock_gone_bind(sock, fd, ret_place);
		back = reopen_sock_gone_back(root, here);
	} else {
		back = reopen_sock_go(here);
	}
	*ret_lost = back != 0;
	if (!back)
		rmdir(dir);
	return back ? back : ret;
}
