/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Records of descriptors, open files, locks on them, and pipes; included by
 * linux/ckpt_records.h, which describes the common form of all records.
 *
 * A descriptor (FD) of a table names a file by the file's number; a file (FILE) is one open file
 * description, or a file that no descriptor of the tree refers to.
 */
#ifndef _UAPI_LINUX_CKPT_REC_FILES_H
#define _UAPI_LINUX_CKPT_REC_FILES_H

/* FD: one descriptor of one table (restore: file is a descriptor of the caller) */
struct ckpt_rec_fd {
	struct ckpt_rec_hdr hdr;
	__u32 files_id;
	__s32 fd;
	__s32 file;
	__u32 cloexec;
};

enum ckpt_lock_kind {
	CKPT_LOCK_FLOCK = 1,	/* flock(2): a lock of the description, on the whole file */
	CKPT_LOCK_OFD = 2,	/* F_OFD_SETLK: a lock of the description */
	CKPT_LOCK_POSIX = 3,	/* F_SETLK: a lock of the table, set through the description */
	CKPT_LOCK_LEASE = 4,	/* F_SETLEASE: F_RDLCK of the description; CKPT_TARGET_FLEASE */
};

/**
 * struct ckpt_rec_lock - one lock that is held on a file (restore: POSIX locks only; user space
 *	takes the others through any descriptor of the description)
 * @file: file_id of the description (restore: a descriptor of the caller that the FDs before
 *	this record name)
 * @files_id: POSIX: number of the table that owns the lock; else 0
 * @kind: enum ckpt_lock_kind
 * @type: F_RDLCK or F_WRLCK
 * @start, @end: bytes, both inclusive; end is the largest s64 if there is none
 *
 * The record stands behind the FILE record of @file.
 */
struct ckpt_rec_lock {
	struct ckpt_rec_hdr hdr;
	__s32 file;
	__u32 files_id;
	__u32 kind;
	__u32 type;
	__u64 start;
	__u64 end;
};

enum ckpt_file_kind {
	CKPT_FILE_REG = 1,	/* on hugetlbfs object is the binary logarithm of the page size */
	CKPT_FILE_DIR = 2,
	CKPT_FILE_PIPE = 3,	/* anonymous pipe; object: the pipe's number */
	CKPT_FILE_FIFO = 4,	/* named; object: the pipe's number */
	CKPT_FILE_CHR = 5,	/* character device; rdev is its number */
	CKPT_FILE_PTS = 6,	/* slave; object: pty index */
	CKPT_FILE_PTM = 7,	/* master; object: pty index */
	CKPT_FILE_TTY = 8,	/* opened as /dev/tty */
	CKPT_FILE_SHM = 9,	/* MAP_SHARED|MAP_ANONYMOUS object */
	CKPT_FILE_MEMFD = 10,
	CKPT_FILE_HUGETLB = 11,	/* hugetlb memfd or anonymous hugetlb object; object as above */
	CKPT_FILE_PATH = 12,	/* O_PATH */
	CKPT_FILE_SYMLINK = 13,
	CKPT_FILE_BLK = 14,
	CKPT_FILE_SOCK = 15,	/* object: SOCK_STREAM, …; a SOCK record has the rest */
	CKPT_FILE_EVENTFD = 16,
	CKPT_FILE_EPOLL = 17,
	CKPT_FILE_TIMERFD = 18,
	CKPT_FILE_SIGNALFD = 19,
	CKPT_FILE_INOTIFY = 20,
	CKPT_FILE_PIDFD = 21,
	CKPT_FILE_SYSV = 22,	/* System V shared memory; object: its id */
	CKPT_FILE_URING = 24,	/* ring of io_uring_setup(2): CKPT_TARGET_URING */
	CKPT_FILE_MQUEUE = 23,	/* POSIX message queue: CKPT_TARGET_MQUEUE */
	CKPT_FILE_OTHER = 255,
};

/* in the inode's number of a segment, as that is the id, which another file of tmpfs may have */
#define CKPT_SYSV_INO		(1ULL << 63)

#define CKPT_FILE_DELETED	(1U << 0)	/* no link under @path any more */
#define CKPT_FILE_UNREACHABLE	(1U << 1)	/* path is outside the process's root */
#define CKPT_FILE_OPEN		(1U << 2)	/* some descriptor refers to it */
#define CKPT_FILE_MAPPED	(1U << 3)	/* some mapping refers to it */
#define CKPT_FILE_MAPPED_SHARED_WRITE (1U << 4)	/* shared mapping that may write */
#define CKPT_FILE_EXTERNAL	(1U << 5)	/* a process outside the tree holds the other end */
#define CKPT_FILE_TTY_CLOSED	(1U << 6)	/* PTM: the slave was open, and is closed now */
#define CKPT_FILE_TTY_PACKET	(1U << 7)	/* PTM: packet mode (TIOCPKT) */
#define CKPT_FILE_FIFO_UNSEEN	(1U << 8)	/* FIFO: open to read, no writer has come yet */
#define CKPT_FILE_OWNER		(1U << 9)	/* it signals an owner: CKPT_TARGET_FOWN */

/**
 * struct ckpt_rec_file - one open file description, or one file that is only
 *	mapped, executed or a directory of a process
 * @id: file_id
 * @kind: enum ckpt_file_kind
 * @flags: CKPT_FILE_* bits
 * @f_flags: open flags (O_ACCMODE, O_APPEND, O_NONBLOCK, …)
 * @f_mode: informational
 * @pos: file position
 * @dev, @ino, @mode, @nlink, @size, @mtime_ns, @rdev: of the inode
 * @fs_magic: of the file system
 * @object: see enum ckpt_file_kind
 * @seals: memfd: F_GET_SEALS
 * @pid: host pid of a process that has the file, for /proc
 * @path_len: bytes of the path with its NUL
 *
 * Then: the path as seen from the host_pid's root, NUL-terminated, padded.
 */
struct ckpt_rec_file {
	struct ckpt_rec_hdr hdr;
	__u32 id;
	__u32 kind;
	__u32 flags;
	__u32 f_flags;
	__u64 pos;
	__u64 dev;
	__u64 ino;
	__u64 rdev;
	__u64 size;
	__u64 mtime_ns;
	__u64 ctime_ns;
	__u64 fs_magic;
	__u64 object;
	__u32 mode;
	__u32 nlink;
	__u32 uid;
	__u32 gid;
	__u32 seals;
	__s32 pid;
	__u32 f_mode;
	__u32 path_len;
};

/**
 * struct ckpt_rec_pipe - one pipe and its data
 * @object: number of the pipe, which the FILE records of its ends have
 * @ring_size: capacity in bytes (F_GETPIPE_SZ)
 * @readers, @writers: open descriptions in the whole system
 * @tree_readers, @tree_writers: open descriptions found in the tree
 * @data_len: bytes that follow, padded
 */
struct ckpt_rec_pipe {
	struct ckpt_rec_hdr hdr;
	__u64 object;
	__u32 ring_size;
	__u32 readers;
	__u32 writers;
	__u32 tree_readers;
	__u32 tree_writers;
	__u32 data_len;
};

/* EVENTFD: @flags is EFD_SEMAPHORE or 0 */
struct ckpt_rec_eventfd {
	struct ckpt_rec_of_file of;
	__u64 count;
	__u32 flags;
	__u32 pad;
};

#define CKPT_TIMERFD_ABSOLUTE	(1U << 0)	/* @value_ns is a time of CLOCK_REALTIME */
#define CKPT_TIMERFD_CANCEL	(1U << 1)	/* TFD_TIMER_CANCEL_ON_SET */

/**
 * struct ckpt_rec_timerfd - a timerfd
 * @clock: CLOCK_REALTIME, _MONOTONIC or _BOOTTIME
 * @value_ns: time until the next expiration; 0: not armed
 * @ticks: expirations that nobody has read, up to the freeze
 */
struct ckpt_rec_timerfd {
	struct ckpt_rec_of_file of;
	__u32 clock;
	__u32 flags;
	__u64 value_ns;
	__u64 interval_ns;
	__u64 ticks;
};

/*
 * SIGNALFD: @mask has the signals that it reads; their data are the processes' pending signals.
 * Restore: @of.file is a descriptor of an epoll descriptor; then: of.nr struct ckpt_epoll_item,
 * which watch signalfds, were added by a process that has been reaped, and from now on wait for
 * signals of the process that the call names
 */
struct ckpt_rec_signalfd {
	struct ckpt_rec_of_file of;
	__u64 mask;
};

/**
 * struct ckpt_epoll_item - a file that an epoll descriptor watches
 * @file: file_id of the file (restore: a descriptor of the caller)
 * @fd: the descriptor that was given to epoll_ctl(2), which may have another file by now
 * @events: as the kernel keeps them: an EPOLLONESHOT item that has fired has no event left
 * @owner: of a signalfd: the process that added it, whose signals it waits for; else 0
 */
struct ckpt_epoll_item {
	__u32 file;
	__s32 fd;
	__u32 events;
	__s32 owner;
	__u64 data;
};

/*
 * EPOLL; then: of.nr struct ckpt_epoll_item (restore: sets the events of items that are there).
 * Version 2: an item has an owner
 */
struct ckpt_rec_epoll {
	struct ckpt_rec_of_file of;
};

/*
 * MQ_NOTIFY, of a restore alone: let the process of the call be told of a message, as by
 * mq_notify(3); the fields are those of struct ckpt_mq_peek.  EBUSY: another process is told;
 * EBADF: the process has not got the queue open; ESRCH: it has ended
 */
struct ckpt_rec_mq_notify {
	struct ckpt_rec_hdr hdr;
	__s32 fd;
	__u32 notify;		/* SIGEV_SIGNAL or SIGEV_NONE */
	__s32 signo;
	__u32 pad;
	__u64 value;
};

#endif /* _UAPI_LINUX_CKPT_REC_FILES_H */
