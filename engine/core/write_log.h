/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write log of a PID namespace: which names of files its processes changed
 * (<linux/ckpt_writes.h>), with paths as one of its processes sees them.
 *
 * The module knows file systems and paths in them; this file knows where they are mounted.
 */
#ifndef STILLPOINT_WRITE_LOG_H
#define STILLPOINT_WRITE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kdev;

struct write_log_name {
	const char *path;	/* absolute, without symbolic links, as the process sees it */
	uint32_t flags;		/* CKPT_WRITE_* */
	uint32_t writes;
};

/**
 * struct write_log - a log, as it was read
 * @flags: CKPT_WRITES_*
 * @since_ns: when it began, CLOCK_REALTIME
 * @names: @nr of them, in the order in which they came; no path is in it twice
 * @text: memory of the paths
 */
struct write_log {
	uint32_t flags;
	uint64_t since_ns;
	struct write_log_name *names;
	unsigned int nr;
	char *text;
};

/**
 * write_log_start() - begin the log of a PID namespace, or let it know new file systems
 * @init: the namespace's init; its mounts are those that count
 *
 * Only file systems that hold files are logged: neither proc nor sysfs and the like, nor those
 * that are mounted read-only, nor the private /dev/shm.
 *
 * Return: 0; -EOPNOTSUPP: the module has no logs; -EINVAL: @init is no init of a namespace of its
 * own; negative errno
 */
int write_log_start(struct kdev *dev, pid_t init);

/* The same with a context of its own; -ENOENT, -ENXIO and others if there is no module. */
int write_log_begin(pid_t init);

/**
 * write_log_read() - read the log of the namespace of @pid
 *
 * A name on a file system that the process does not see is left out.
 *
 * Return: 0; -ENODATA: there is no log; -EOPNOTSUPP: the module has no logs; negative errno
 */
int write_log_read(struct kdev *dev, pid_t pid, struct write_log *ret_log);
void write_log_done(struct write_log *log);

/**
 * write_log_add() - note a name in the log of the caller's namespace
 * @dir: the directory of @name
 *
 * Return: 0; -ENODATA: there is no log; negative errno
 */
int write_log_add(struct kdev *dev, int dir, const char *name, uint32_t flags, uint32_t writes);

/* Empty the log of the caller's namespace; -ENODATA: there is none. */
int write_log_clear(struct kdev *dev);

#endif /* STILLPOINT_WRITE_LOG_H */
