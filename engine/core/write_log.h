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

/**
 * struct write_log_name - a name, also of a directory (CKPT_WRITE_DIR)
 * @path: absolute, without symbolic links, as the process sees it
 * @flags: CKPT_WRITE_*
 * @seq, @ino, @bytes, @mtime_ns: as in struct ckpt_write_state
 */
struct write_log_name {
	const char *path;
	uint32_t flags;
	uint32_t writes;
	uint64_t seq;
	uint64_t ino, bytes, mtime_ns;
};

/**
 * struct write_log - a log, as it was read
 * @flags: CKPT_WRITES_*
 * @unplaced: names that are there, and of which no mount of the process tells a path
 * @since_ns: when it began, CLOCK_REALTIME
 * @seq: the last number of a name
 * @names: @nr of them, in the order in which they came; no path is in it twice
 * @text: memory of the paths
 */
struct write_log {
	uint32_t flags;
	unsigned int unplaced;
	uint64_t since_ns;
	uint64_t seq;
	struct write_log_name *names;
	unsigned int nr;
	char *text;
};

/* The tag of the logs of a job with that label; never 0. */
uint64_t write_log_tag(const char *label);

/**
 * write_log_start() - begin the log of a PID namespace, or let it know new file systems
 * @init: the namespace's init; its mounts are those that count
 * @tag: by which the log can be read when the namespace has ended; 0: none
 *
 * Only file systems that hold files are logged: neither proc nor sysfs and the like, nor those
 * that are mounted read-only, nor the private /dev/shm.
 *
 * Return: 0; -EOPNOTSUPP: the module has no logs; -EINVAL: @init is no init of a namespace of its
 * own; negative errno
 */
int write_log_start(struct kdev *dev, pid_t init, uint64_t tag);

/*
 * write_log_extend() - the same for a log that there may be: let it know later mounts
 *
 * A file system that the log did not know was mounted after the log began: the namespace may have
 * changed files there. So the log says then that names are missing, unless it is a tmpfs or an
 * overlay whose root is not the user's.
 */
int write_log_extend(struct kdev *dev, pid_t init, uint64_t tag);

/* As write_log_start(), with a context of its own; -ENOENT, -ENXIO, others: there is no module. */
int write_log_begin(pid_t init, uint64_t tag);

/**
 * write_log_read() - read the log of the namespace of @pid
 * @after: names with larger numbers only; 0: all
 *
 * A name on a file system that the process does not see is left out.
 *
 * Return: 0; -ENODATA: there is no log; -EOPNOTSUPP: the module has no logs, or older ones;
 * negative errno
 */
int write_log_read(struct kdev *dev, pid_t pid, uint64_t after, struct write_log *ret_log);

/*
 * The same for the oldest log with that tag whose namespace has ended: CKPT_WRITES_ENDED is among
 * its flags. Paths are those that the caller sees. The log stays until write_log_drop_ended().
 */
int write_log_read_ended(struct kdev *dev, uint64_t tag, struct write_log *ret_log);
int write_log_drop_ended(struct kdev *dev, uint64_t tag);

void write_log_done(struct write_log *log);

/**
 * write_log_add() - note a name in the log of the caller's namespace
 * @dir: the directory of @name
 *
 * Return: 0; -ENODATA: there is no log; negative errno
 */
int write_log_add(struct kdev *dev, int dir, const char *name, uint32_t flags, uint32_t writes);

/*
 * Empty the log of the caller's namespace; -ENODATA: there is none. @lost: names are missing
 * from what the caller will add, so that no later checkpoint calls the log complete.
 */
int write_log_clear(struct kdev *dev, bool lost);

#endif /* STILLPOINT_WRITE_LOG_H */
