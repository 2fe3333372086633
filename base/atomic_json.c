// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small JSON files that are replaced atomically; see atomic_json.h.
 *
 * Files are created with mode 0600, because they hold environments of jobs.  A read is
 * bounded in size and follows no symbolic link.
 */
#include "base/atomic_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) ? -errno : 0;
}

static int write_new(int dir, const char *name, const json_t *json)
{
	_cleanup_free_ char *text = json_dumps(json, JSON_INDENT(1));
	_cleanup_fd_ int fd = -1;

	if (!text)
		return -ENOMEM;
	if (strlen(text) > ATOMIC_JSON_MAX)
		return -EFBIG;	/* nobody could read it */
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	return write_all(fd, text, strlen(text));
}

int atomic_json_write(const char *dir_path, const char *name, const json_t *json)
{
	_cleanup_fd_ int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char new[128];
	int err;

	if (dir < 0)
		return -errno;
	snprintf(new, sizeof(new), ".%s.new", name);
	err = write_new(dir, new, json);
	if (!err && renameat(dir, new, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, new, 0);
	else if (fsync(dir))
		err = -errno;
	return err;
}

/*
 * jansson reads a descriptor byte by byte.  On a network file system that can cost a round trip
 * per byte, which adds up to seconds in ckptd's loop, so the file is read in one go first.
 */
int atomic_json_load(int fd, size_t flags, json_t **ret_json, json_error_t *error)
{
	_cleanup_free_ char *text = malloc(ATOMIC_JSON_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;

	if (!text)
		return -ENOMEM;
	while (n > 0 && len <= ATOMIC_JSON_MAX) {
		n = read(fd, text + len, ATOMIC_JSON_MAX + 1 - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return -errno;
		else
			len += (size_t)n;
	}
	if (len > ATOMIC_JSON_MAX)
		return -E2BIG;
	*ret_json = json_loadb(text, len, flags, error);
	return *ret_json ? 0 : -EBADMSG;
}

int atomic_json_read(const char *dir_path, const char *name, json_t **ret_json)
{
	_cleanup_fd_ int dir = open(dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd = -1;
	struct stat st;
	json_t *json;
	int err;

	if (dir < 0)
		return -errno;
	/* O_NONBLOCK: opening a FIFO that somebody put there must not block */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)ATOMIC_JSON_MAX)
		return -EBADMSG;
	err = atomic_json_load(fd, JSON_REJECT_DUPLICATES, &json, NULL);
	if (err)
		return err == -E2BIG ? -EBADMSG : err;
	if (!json_is_object(json)) {
		json_decref(json);
		return -EBADMSG;
	}
	*ret_json = json;
	return 0;
}
