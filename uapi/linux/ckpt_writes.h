/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Part of ckpt.h, which includes it: the log of file names that the processes of a PID
 * namespace changed.
 *
 * A log belongs to one PID namespace, not to a context: it lives from the first
 * CKPT_IOC_WRITES_START until the namespace's init is gone or the module is unloaded, whoever
 * closes the device.  It has one entry for each name of a regular file that a process of the
 * namespace (or of one below it) opened for writing, cut, created, linked, renamed or removed, on
 * the file systems that were given to it.  Names are paths in their file system, from the root of
 * that file system, whatever is mounted where.  Directories and symbolic links that were made,
 * renamed or removed are there, too (CKPT_WRITE_DIR; nothing tells a link).
 *
 * Each name has a number, by which names that came after a certain moment can be told: entries
 * tell what their names were just before they came (CKPT_WRITE_EXISTED, struct ckpt_write_state).
 * A name that the namespace had made and removed, and makes again, comes again, with a new number.
 * So does that of a long file that was written in place (CKPT_WRITE_IN_PLACE), once after each
 * time that the log was read.
 *
 * A log with a tag stays readable by the tag when its namespace has ended.  The oldest of those
 * go when there are more than CKPT_WRITES_ENDED_MAX, or more than CKPT_WRITES_ENDED_BYTES.
 *
 * A log is bounded.  A full one first forgets names that it saw made and removed, then others
 * that do not exist any more (CKPT_WRITES_FORGOT), then takes no new name
 * (CKPT_WRITES_OVERFLOW).  Both flags stay set.  So does a log in which more than
 * CKPT_WRITES_MOVED_MAX names are below a directory when that is renamed: other renames of the
 * file system wait meanwhile.
 */
#ifndef _UAPI_LINUX_CKPT_WRITES_H
#define _UAPI_LINUX_CKPT_WRITES_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CKPT_WRITES_NAMES_MAX	65536U		/* names in one log */
#define CKPT_WRITES_MOVED_MAX	4096U		/* … below a directory that is renamed */
#define CKPT_WRITES_BYTES_MAX	(8U << 20)	/* bytes of one log, as read */
#define CKPT_WRITES_FS_MAX	1024U		/* file systems in one command */
#define CKPT_WRITES_ENDED_MAX	256U		/* logs of namespaces that have ended */
#define CKPT_WRITES_ENDED_BYTES	(32U << 20)	/* … and of these, as read */
#define CKPT_WRITES_LONG	(64U << 20)	/* a longer file is long */

/* Flags of a log, and of a name. */
#define CKPT_WRITES_OVERFLOW	(1U << 0)	/* log: names are missing */
#define CKPT_WRITES_FORGOT	(1U << 1)	/* log: names that were gone are missing */
#define CKPT_WRITES_ENDED	(1U << 2)	/* log: nothing comes any more */

#define CKPT_WRITE_CLOSED	(1U << 0)	/* closed after it was open for writing */
#define CKPT_WRITE_APPENDS	(1U << 1)	/* … each time with O_APPEND */
#define CKPT_WRITE_CREATED	(1U << 2)	/* the name was made: open(2), link(2) */
#define CKPT_WRITE_RENAMED	(1U << 3)	/* another name was renamed to it */
#define CKPT_WRITE_GONE		(1U << 4)	/* removed, or renamed away, at last */
#define CKPT_WRITE_EXISTED	(1U << 5)	/* a file had the name before the entry came */
#define CKPT_WRITE_STATE	(1U << 6)	/* … or the name was made: ckpt_write_state */
#define CKPT_WRITE_TOLD		(1U << 7)	/* the entry came by CKPT_IOC_WRITES_ADD */
#define CKPT_WRITE_DIR		(1U << 8)	/* a directory */
#define CKPT_WRITE_IN_PLACE	(1U << 9)	/* a long file was written and did not grow */

#define CKPT_WRITES_START_LOST	(1U << 0)	/* names are missing: CKPT_WRITES_OVERFLOW */

/**
 * struct ckpt_writes_start - CKPT_IOC_WRITES_START: begin a log, or add file systems to it
 * @flags: CKPT_WRITES_START_LOST: the caller found a file system that was mounted before it could
 *	be added
 * @pid: the init of the PID namespace, in the caller's PID namespace; not the first namespace's
 * @nr: number of @fds, at most CKPT_WRITES_FS_MAX
 * @fds: pointer to __s32 descriptors (O_PATH is enough), one on each file system
 * @nr_added: out: file systems that the log did not have before
 * @pad: 0
 * @tag: for CKPT_IOC_WRITES_READ after the end; 0: none.  Nothing if the log has one.
 *
 * A log that exists stays as it is.  A file system is left when nobody needs it: it can be
 * unmounted.
 *
 * Errors: EPERM: the caller could not open the device; ESRCH; EINVAL: @pid is no init of a PID
 * namespace of its own; ENOSPC: too many logs.
 */
struct ckpt_writes_start {
	__u32 size;
	__u32 flags;
	__s32 pid;
	__u32 nr;
	__u64 fds;
	__u32 nr_added;
	__u32 pad;
	__u64 tag;
};

/**
 * struct ckpt_write - one name, as CKPT_IOC_WRITES_READ yields it
 * @len: bytes to the next one, a multiple of 8
 * @flags: CKPT_WRITE_*
 * @major: device of the file system, as in /proc/PID/mountinfo
 * @minor: likewise
 * @writes: how often the file was closed after writing, or renamed onto
 * @path_len: bytes of the path that follows, with its NUL
 */
struct ckpt_write {
	__u32 len;
	__u32 flags;
	__u32 major;
	__u32 minor;
	__u32 writes;
	__u32 path_len;
};

/**
 * struct ckpt_write_state - one name with CKPT_WRITES_READ_STATE; the path follows this
 * @write: as without
 * @seq: number of the entry, ascending
 * @ino: inode that had the name when the entry came, before the change; with CKPT_WRITE_STATE, as
 *	@bytes and @mtime_ns: the file's size and time of modification. With CKPT_WRITE_STATE and
 *	without CKPT_WRITE_EXISTED the name was made then: @ino and @bytes of what was made, and
 *	@mtime_ns is its time of change (ctime) just after that
 */
struct ckpt_write_state {
	struct ckpt_write write;
	__u64 seq;
	__u64 ino;
	__u64 bytes;
	__u64 mtime_ns;
};

#define CKPT_WRITES_READ_STATE	(1U << 0)	/* yields struct ckpt_write_state */
#define CKPT_WRITES_READ_DROP	(1U << 1)	/* with @tag: the log is not needed any more */

/**
 * struct ckpt_writes_read - CKPT_IOC_WRITES_READ: copy a log
 * @flags: CKPT_WRITES_READ_*
 * @pid: a process of the PID namespace, in the caller's PID namespace; 0 with @tag
 * @log_flags: out: CKPT_WRITES_*
 * @len: in: room in @buf; out: bytes of the log
 * @buf: pointer to struct ckpt_write (out), in the order in which the names came
 * @since_ns: out: when the log began, CLOCK_REALTIME; no other log of this module has it
 * @after: yield entries with larger numbers only
 * @seq: out: the last number that was given
 * @tag: the oldest log with this tag whose namespace has ended; else 0
 *
 * Errors: EPERM: the caller could not open the device; ESRCH: no such process; EINVAL: @pid and
 * @tag, or CKPT_WRITES_READ_DROP without @tag; ENODATA: its PID namespace has no log, or there is
 * none with @tag; ENOSPC: @len is the room that is needed.
 */
struct ckpt_writes_read {
	__u32 size;
	__u32 flags;
	__s32 pid;
	__u32 log_flags;
	__u64 len;
	__u64 buf;
	__u64 since_ns;
	__u64 after;
	__u64 seq;
	__u64 tag;
};

#define CKPT_WRITES_ADD_CLEAR	(1U << 0)	/* begin anew, without the caller's changes */
#define CKPT_WRITES_ADD_LOST	(1U << 1)	/* names are missing: CKPT_WRITES_OVERFLOW */

/**
 * struct ckpt_writes_add - CKPT_IOC_WRITES_ADD: note a name in the log of the caller's namespace
 * @flags: CKPT_WRITES_ADD_CLEAR: forget all names before, and note nothing more of what the
 *	caller's process changes; then @name_len may be 0: add none; CKPT_WRITES_ADD_LOST
 *	likewise: the caller knows that it cannot add all
 * @dir: descriptor of the directory of the name (O_PATH is enough)
 * @name_len: bytes of @name without a NUL, at most 255
 * @name: pointer to the name
 * @write_flags: CKPT_WRITE_*
 * @writes: as in struct ckpt_write
 *
 * A restored tree had changed files before it was checkpointed.  The log of its new namespace
 * has to know them.  A name that is in the log gets the sum of both.
 *
 * Errors: ENODATA: the caller's PID namespace has no log; EBADF; EINVAL; ENAMETOOLONG.
 */
struct ckpt_writes_add {
	__u32 size;
	__u32 flags;
	__s32 dir;
	__u32 name_len;
	__u64 name;
	__u32 write_flags;
	__u32 writes;
};

#define CKPT_IOC_WRITES_START	_IOWR(CKPT_IOC_MAGIC, 0x19, struct ckpt_writes_start)
#define CKPT_IOC_WRITES_READ	_IOWR(CKPT_IOC_MAGIC, 0x1a, struct ckpt_writes_read)
#define CKPT_IOC_WRITES_ADD	_IOWR(CKPT_IOC_MAGIC, 0x1b, struct ckpt_writes_add)

#endif /* _UAPI_LINUX_CKPT_WRITES_H */
