/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small things that everything in user space shares: scoped cleanup, handing over
 * ownership, and the length of an array.
 *
 *	_cleanup_fd_ int fd = open(…);
 *	_cleanup_free_ char *name = strdup(…);
 *	return take_fd(&fd);		ownership goes to the caller
 */
#ifndef STILLPOINT_CLEANUP_H
#define STILLPOINT_CLEANUP_H

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

/* True if a user other than root and this one owns the file or may write to it. */
static inline bool is_of_others(const struct stat *st)
{
	return (st->st_uid && st->st_uid != geteuid()) || st->st_mode & 022;
}

#define take_ptr(p) ({ __typeof__(p) take_ptr_ = (p); (p) = NULL; take_ptr_; })

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#endif /* STILLPOINT_CLEANUP_H */
