// SPDX-License-Identifier: GPL-2.0-only
/*
 * The marker of a level's directory.
 *
 * Created under another name, synced and linked into place: of two nodes that create
 * one at the same time one wins, and the other reads the winner's.  The marker is
 * never written again, so it cannot be torn, and nobody removes it but an admin.
 *
 * Node names are compared as they are: a node is what its daemon says it is.
 *
 * Must not look at images, nor judge a directory's owner (posix.c does).
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "levels/marker.h"

#define TEXT	"stillpoint level 1\nnode %s\nid %s\n"
#define ROOM	256

bool marker_node_valid(const char *node)
{
	size_t len = strlen(node);

	return len && len <= MARKER_NODE_MAX && node[0] != '.' &&
	       strspn(node, "abcdefghijklmnopqrstuvwxyz"
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static int open_marker(int dir, int access)
{
	int fd = openat(dir, MARKER_NAME, access | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
			O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int marker_read(int dir, const char *path, struct marker *ret_marker,
		struct ckpt_error *error)
{
	_cleanup_fd_ int fd = open_marker(dir, O_RDONLY);
	char text[ROOM], again[ROOM];
	struct marker m = {};
	ssize_t n;

	if (fd < 0)
		return error_set(error, fd, "%.150s/%s: %s", path, MARKER_NAME,
				       strerror(-fd));
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return error_set(error, -errno, "%.150s/%s: %m", path, MARKER_NAME);
	text[n] = '\0';
	/* The file must be byte for byte what would be written from these values. */
	if (sscanf(text, "stillpoint level 1\nnode %63s\nid %32s\n", m.node, m.id) != 2 ||
	    snprintf(again, sizeof(again), TEXT, m.node, m.id) != (int)n ||
	    memcmp(text, again, (size_t)n) || strlen(m.id) != MARKER_ID_CHARS ||
	    !marker_node_valid(m.node))
		return error_set(error, -EBADMSG,
				 "%.100s/%s: not a level's marker; find out what the directory is, "
				 "then remove it",
				 path, MARKER_NAME);
	*ret_marker = m;
	return 0;
}

static int write_text(int dir, const char *tmp, const char *text)
{
	_cleanup_fd_ int fd = -1;
	size_t len = strlen(text);
	ssize_t n;

	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	if ((size_t)n != len)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

int marker_make(int dir, const char *path, const char *node, struct marker *ret_marker,
		struct ckpt_error *error)
{
	uint8_t random[MARKER_ID_CHARS / 2];
	char id[MARKER_ID_CHARS + 1];
	char tmp[sizeof(MARKER_NAME) + 40];
	char text[ROOM];
	int err;

	err = marker_read(dir, path, ret_marker, error);
	if (err != -ENOENT)
		return err;
	if (sodium_init() < 0)
		return error_set(error, -ENOSYS, "libsodium does not work here");
	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(id, sizeof(id), random, sizeof(random));
	snprintf(text, sizeof(text), TEXT, node, id);
	snprintf(tmp, sizeof(tmp), MARKER_NAME ".%s", id);
	err = write_text(dir, tmp, text);
	/* ENOENT: swept by whoever was faster */
	if (!err && linkat(dir, tmp, dir, MARKER_NAME, 0) < 0 && errno != EEXIST &&
	    errno != ENOENT)
		err = -errno;
	unlinkat(dir, tmp, 0);
	if (!err && fsync(dir) < 0)
		err = -errno;
	if (err)
		return error_set(error, err, "%.150s: cannot mark it as this node's: %s",
				       path, strerror(-err));
	return marker_read(dir, path, ret_marker, error);
}

void marker_sweep(int dir)
{
	_cleanup_dir_ DIR *d = NULL;
	struct dirent *e;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, MARKER_NAME ".", strlen(MARKER_NAME ".")))
			unlinkat(dir, e->d_name, 0);
}

int marker_lock(int dir, const char *path, int *ret_fd, struct ckpt_error *error)
{
	/* Open for writing although nothing is written: NFS demands it for an exclusive lock. */
	_cleanup_fd_ int fd = open_marker(dir, O_RDWR);

	if (fd < 0)
		return error_set(error, fd, "%.150s/%s: %s", path, MARKER_NAME,
				       strerror(-fd));
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		*ret_fd = take_fd(&fd);
		return 0;
	}
	if (errno == EWOULDBLOCK)
		return error_set(error, -EBUSY, "%.180s: another ckptd writes there", path);
	if (errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP)
		return error_set(error, -errno, "%.150s/%s: cannot be locked: %m", path,
				       MARKER_NAME);
	*ret_fd = -1;
	return 0;
}

int marker_check(const struct marker *m, const char *path, const char *node,
		 const char *id, struct ckpt_error *error)
{
	if (strcmp(m->node, node))
		return error_set(error, -ENOTUNIQ,
				 "%.100s: belongs to node '%s', this is '%.63s': give each node "
				 "its own directory",
				 path, m->node, node);
	if (id && strcmp(m->id, id))
		return error_set(error, -ESTALE,
				       "%.120s: not the directory it was (id %.8s, now %.8s)",
				       path, id, m->id);
	return 0;
}
