// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of unix sockets.
 *
 * A name is the text that bind(2) was given.  If it is a path, bind(2) makes a file, which stays
 * when its socket is gone: a restart finds the file of the job that ended.  It is replaced if it
 * is a socket that nobody has any more; another file, and a socket that somebody has, are not
 * touched.  A relative text is bound from the directory where it leads to the file's path.  The
 * file of a name that had been removed is made elsewhere (reopen_sock_gone.c).  Sockets are
 * connected by an O_PATH descriptor of their file, not by their text.
 */
#include "engine/files/reopen_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/rights.h"

static socklen_t reopen_sock_text(const char *name, uint32_t len, struct sockaddr_un *ret)
{
	bool abstract = len && !name[0];

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len > sizeof(ret->sun_path))
		len = sizeof(ret->sun_path);
	memcpy(ret->sun_path, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
			   (!abstract && len < sizeof(ret->sun_path)));
}

socklen_t reopen_sock_address(const struct state_sock *sock, int place, struct sockaddr_un *ret)
{
	if (place < 0)
		return reopen_sock_text(sock->name, sock->rec->name_len, ret);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d", place);
	return sizeof(*ret);
}

static int reopen_sock_connect_once(int fd, const struct sockaddr_un *addr, socklen_t len)
{
	return connect(fd, (const struct sockaddr *)addr, len) ? -errno : 0;
}

int reopen_sock_connect(int fd, const struct sockaddr_un *addr, socklen_t len)
{
	int ret = reopen_sock_connect_once(fd, addr, len);
	uint64_t before;

	if (ret == -EACCES && !rights_raise(RIGHTS_FILES, &before)) {
		ret = reopen_sock_connect_once(fd, addr, len);
		rights_lower(before);
	}
	return ret;
}

/* ---------------------------------------------------------------- relative names */

int reopen_sock_go(int dir)
{
	uint64_t before;
	int ret = fchdir(dir) ? -errno : 0;

	if (ret == -EACCES && !rights_raise(RIGHTS_FILES, &before)) {
		ret = fchdir(dir) ? -errno : 0;
		rights_lower(before);
	}
	return ret;
}

int reopen_sock_here(void)
{
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t before;

	if (here < 0 && errno == EACCES && !rights_raise(RIGHTS_FILES, &before)) {
		here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (here < 0)
			here = -errno;
		rights_lower(before);
		return here;
	}
	return here < 0 ? -errno : here;
}

/* Go where a relative name leads to its file; *ret_back: where we were, -1: we have not moved. */
static int reopen_sock_enter(const struct state_sock *sock, int *ret_back)
{
	_cleanup_free_ char *text = strndup(sock->name, sock->rec->name_len);
	_cleanup_free_ char *path = strdup(sock->path);
	const char *tail = text;
	size_t len, path_len;
	int ret;

	*ret_back = -1;
	if (!text || !path)
		return -ENOMEM;
	if (!text[0] || text[0] == '/')
		return 0;
	while (strncmp(tail, "./", 2) == 0)
		tail += 2;
	len = strlen(tail);
	path_len = strlen(path);
	if (path_len <= len || path[path_len - len - 1] != '/' ||
	    strcmp(path + path_len - len, tail) != 0)
		return -ENOENT;		/* its file was moved */
	path[path_len - len] = 0;
	ret = reopen_sock_here();
	if (ret < 0)
		return ret;
	*ret_back = ret;
	ret = chdir(path) ? -errno : 0;
	if (ret) {
		close(*ret_back);
		*ret_back = -1;
	}
	return ret;
}

static int reopen_sock_leave(int back)
{
	int ret = 0;

	if (back >= 0) {
		ret = reopen_sock_go(back);
		close(back);
	}
	return ret;
}

/* ---------------------------------------------------------------- bind */

/* Is the file at the address a socket that nobody has any more? */
static bool reopen_sock_is_stale(const struct state_sock *sock, const struct sockaddr_un *addr,
				 socklen_t len)
{
	_cleanup_fd_ int fd = reopen_sock_new(sock);
	struct stat st;

	return fd >= 0 && lstat(addr->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       reopen_sock_connect_once(fd, addr, len) == -ECONNREFUSED;
}

static int reopen_sock_bind_here(struct reopen *r, const struct state_sock *sock, int fd,
				 int *ret_place)
{
	struct sockaddr_un addr;
	socklen_t len = reopen_sock_text(sock->name, sock->rec->name_len, &addr);
	int ret = bind(fd, (struct sockaddr *)&addr, len) ? -errno : 0;

	if (ret == -EADDRINUSE && addr.sun_path[0] && reopen_sock_is_stale(sock, &addr, len) &&
	    unlink(addr.sun_path) == 0)
		ret = bind(fd, (struct sockaddr *)&addr, len) ? -errno : 0;
	if (ret || !addr.sun_path[0])
		return ret;
	/* a full sun_path has no NUL of its own */
	_cleanup_free_ char *name = strndup(addr.sun_path, sizeof(addr.sun_path));

	*ret_place = name ? open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (*ret_place < 0)
		return name ? -errno : -ENOMEM;
	if (sock->rec->flags & CKPT_SOCK_UNLINKED)
		return unlink(name) ? -errno : 0;
	return sock->path[0] ? reopen_created(r, sock->path) : 0;
}

int reopen_sock_bind(struct reopen *r, const struct state_sock *sock, int fd, int *ret_place)
{
	int back, ret, left;
	bool lost;

	*ret_place = -1;
	if (sock->rec->flags & CKPT_SOCK_UNLINKED && sock->rec->name_len && sock->name[0]) {
		ret = reopen_sock_bind_gone(sock, fd, ret_place, &lost);
		if (lost)
			return reopen_sock_failed(r, sock, ret, "go back after naming");
		if (!ret)
			return 0;
		/* without the right to change the root directory: at the name itself */
	}
	ret = reopen_sock_enter(sock, &back);
	if (!ret)
		ret = reopen_sock_bind_here(r, sock, fd, ret_place);
	left = reopen_sock_leave(back);
	if (!ret)
		ret = left;
	if (ret == -EADDRINUSE)
		return reopen_sock_failed(r, sock, ret, "give its name to");
	return ret ? reopen_sock_failed(r, sock, ret, "name") : 0;
}

/* The directory of @path, if nobody but this user and root can move what this user makes there. */
static int reopen_sock_safe_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct stat st;

	if (fd < 0)
		return dir ? -errno : -ENOMEM;
	if (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX))) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Is the file @last in @dir a socket of this user that nobody has any more? */
static bool reopen_sock_is_left(int dir, const char *last, const struct sockaddr_un *addr,
				socklen_t len)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && !fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode) &&
	       st.st_uid == geteuid() && reopen_sock_connect_once(fd, addr, len) == -ECONNREFUSED;
}

/* Bind @fd, and remove the file that this makes in @dir. */
static int reopen_sock_bind_once(int fd, int dir, const char *last, const struct sockaddr_un *addr,
				 socklen_t len)
{
	struct stat st;

	if (bind(fd, (const struct sockaddr *)addr, len))
		return -errno;
	if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) || !S_ISSOCK(st.st_mode) ||
	    st.st_uid != geteuid() || unlinkat(dir, last, 0))
		return -EADDRNOTAVAIL;
	return 0;
}

/*
 * The name is that of a sender who has gone, perhaps of a stranger, who chose it. So nothing that
 * is there gives way to it but the file that a socket of this user left behind, which gets its name
 * back; and the directory has to be one where files stay this user's own.
 */
int reopen_sock_bind_bare(int fd, const char *name, uint32_t len)
{
	struct sockaddr_un addr;
	socklen_t addr_len = reopen_sock_text(name, len, &addr);
	char path[sizeof(addr.sun_path) + 1] = "", aside[sizeof(path) + 16];
	const char *last;
	struct stat st;
	bool moved;
	int ret;

	memcpy(path, addr.sun_path, sizeof(addr.sun_path));
	if (!path[0])
		return bind(fd, (struct sockaddr *)&addr, addr_len) ? -errno : 0;
	_cleanup_fd_ int dir = reopen_sock_safe_dir(path);

	if (dir < 0)
		return dir;
	last = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	snprintf(aside, sizeof(aside), "%s.ckpt~", last);
	moved = reopen_sock_is_left(dir, last, &addr, addr_len) &&
		!renameat2(dir, last, dir, aside, RENAME_NOREPLACE);
	if (!moved && !fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW))
		return -EADDRINUSE;
	ret = reopen_sock_bind_once(fd, dir, last, &addr, addr_len);
	if (moved && renameat2(dir, aside, dir, last, RENAME_NOREPLACE) && !ret)
		ret = -errno;
	return ret;
}

int reopen_sock_own_name(struct reopen *r, const struct state_sock *sock, int *place)
{
	const struct ckpt_rec_sock *rec = sock->rec;
	char path[40];
	struct stat st;
	uint64_t before;
	int ret = 0;

	if (*place < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *place);
	if (fstat(*place, &st) || chmod(path, rec->mode & 07777))
		ret = -errno;
	if (!ret && (st.st_uid != rec->uid || st.st_gid != rec->gid)) {
		if (rights_raise(RIGHTS_FILES, &before))
			ret = -EPERM;
		else if (fchownat(*place, "", rec->uid, rec->gid, AT_EMPTY_PATH))
			ret = -errno;
		if (!ret)
			rights_lower(before);
	}
	close(*place);
	*place = -1;
	return ret ? reopen_sock_failed(r, sock, ret, "set owner and mode of") : 0;
}
