/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small things that everything in user space shares: scoped cleanup and the
 * text that goes with a negative errno.
 *
 *	_cleanup_fd_ int fd = open(…);
 *	_cleanup_free_ char *name = strdup(…);
 *	return take_fd(&fd);		ownership goes to the caller
 */
#ifndef STILLPOINT_IMAGE_UTIL_H
#define STILLPOINT_IMAGE_UTIL_H

#include <dirent.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define _cleanup_(fn)	__attribute__((cleanup(fn)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define _cleanup_free_	_cleanup_(cleanup_free)
#define _cleanup_fd_	_cleanup_(cleanup_fd)
#define _cleanup_dir_	_cleanup_(cleanup_dir)

static inline int take_fd(int *fd)
{
	int ret = *fd;

	*fd = -1;
	return ret;
}

/* Somebody but root and this user decides what it is. */
static inline bool is_of_others(const struct stat *st)
{
	return (st->st_uid && st->st_uid != geteuid()) || st->st_mode & 022;
}

#define take_ptr(p) ({ __typeof__(p) take_ptr_ = (p); (p) = NULL; take_ptr_; })

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What went wrong, for people: names the file, the place and the cause. */
struct image_error {
	char text[256];
};

/* Of a path for which there is no room the end: job, generation and node are there. */
static inline const char *image_dir_tail(const char *dir)
{
	size_t len = strlen(dir);

	return len > 80 ? dir + len - 80 : dir;
}

/**
 * image_error_set() - describe a failure; ends a line: return image_error_set(…)
 * @error: may be NULL
 * @err: negative errno; its strerror is not appended
 *
 * Return: @err
 */
__attribute__((format(printf, 3, 4)))
int image_error_set(struct image_error *error, int err, const char *fmt, ...);

#endif /* STILLPOINT_IMAGE_UTIL_H */
