/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The target of a capture: which tree, without what, and for whom.
 *
 * Included by ckpt.h, whose rules for argument structures hold.
 */
#ifndef _UAPI_LINUX_CKPT_TARGET_H
#define _UAPI_LINUX_CKPT_TARGET_H

#include <linux/types.h>

#define CKPT_TARGET_DESCENDANTS	(1U << 0)	/* the roots' descendants, not the roots */
#define CKPT_TARGET_OWNED	(1U << 1)	/* refuse what the owner could not trace */
#define CKPT_TARGET_SYSV	(1U << 2)	/* the caller saves System V objects */
#define CKPT_TARGET_FOWN	(1U << 3)	/* the caller saves owners of files */
#define CKPT_TARGET_PKEYS	(1U << 4)	/* the caller saves PKEYS records */
#define CKPT_TARGET_AIO		(1U << 5)	/* the caller saves AIO records */
#define CKPT_TARGET_SENT	(1U << 6)	/* the caller saves SOCK_SENT records */
#define CKPT_TARGET_MQUEUE	(1U << 7)	/* the caller saves POSIX message queues */
#define CKPT_TARGET_URING	(1U << 8)	/* the caller saves URING records */
#define CKPT_TARGET_FLEASE	(1U << 9)	/* the caller saves leases on files (F_RDLCK) */
#define CKPT_TARGET_FILTER	(1U << 10)	/* the caller saves filters of sockets */
#define CKPT_TARGET_ROLLBACK	(1U << 11)	/* the tree is not saved, but rolled back */
#define CKPT_FEAT_AIO		(1ULL << 21)	/* CKPT_TARGET_AIO, CKPT_VMA_AIO */
#define CKPT_FEAT_SENT		(1ULL << 22)	/* CKPT_TARGET_SENT */
#define CKPT_FEAT_MQUEUE	(1ULL << 25)	/* CKPT_TARGET_MQUEUE: ckpt_mqueue.h */
#define CKPT_FEAT_URING		(1ULL << 26)	/* CKPT_TARGET_URING, CKPT_VMA_URING */
#define CKPT_FEAT_FLEASE	(1ULL << 27)	/* CKPT_TARGET_FLEASE, CKPT_LOCK_LEASE */
#define CKPT_FEAT_FILTER	(1ULL << 28)	/* CKPT_TARGET_FILTER */
#define CKPT_FEAT_TARGET_ROLLBACK (1ULL << 29)	/* CKPT_TARGET_ROLLBACK */
#define CKPT_EXCLUDE_MAX	(1U << 18)	/* enough for a node with a thousand MPI ranks */

enum ckpt_exclude_kind {
	CKPT_EXCLUDE_RANGE = 1,		/* memory [start, end) of pid: no mapping is recorded */
	CKPT_EXCLUDE_FD = 2,		/* descriptor start of pid: not recorded */
	CKPT_EXCLUDE_THREAD = 3,	/* thread start of pid: neither frozen nor recorded */
};

/**
 * struct ckpt_exclude - one thing left out of a capture
 * @kind: enum ckpt_exclude_kind
 * @pid: process, in the caller's PID namespace; 0: every process of the tree
 * @start: address, descriptor or tid; @end: end address (exclusive) of a range, else 0
 *
 * An excluded thing is not looked at; an exclusion that is not possible is refused (EXCLUDE).
 */
struct ckpt_exclude {
	__u32 kind;
	__s32 pid;
	__u64 start;
	__u64 end;
};

/**
 * struct ckpt_target - CKPT_IOC_TARGET: what to capture
 * @flags: CKPT_TARGET_*
 * @nr_roots: number of roots, 1 to 1024
 * @nr_exclude: number of exclusions, at most CKPT_EXCLUDE_MAX
 * @roots: pointer to __s32 pids in the caller's PID namespace; the target is these processes with
 *	all their descendants, which each freeze finds again
 * @exclude: pointer to struct ckpt_exclude
 * @owner_uid: with CKPT_TARGET_OWNED: the user for whom the tree is captured, in the caller's user
 *	namespace, as all of these; without it the fields from here on are 0
 * @owner_gid: his group
 * @nr_owner_groups: number of his supplementary groups, at most 65536
 * @owner_groups: pointer to __u32 group ids
 * @owner_caps: capabilities that he has, CAP_ bits; 0 for an ordinary user
 *
 * With CKPT_TARGET_SYSV (CKPT_FEAT_SYSV) there are FILE records (CKPT_FILE_SYSV) of System V
 * segments: of those that the tree has attached, of all in an IPC namespace that is not the
 * caller's, and in the caller's of those that a process of the tree made or used last.  SEMADJ
 * records tell what SEM_UNDO will undo.  The caller reads sets, queues and what else there is to
 * know of an object itself.  Without the flag all that is refused.
 *
 * With CKPT_TARGET_FOWN (CKPT_FEAT_FOWN) a file that signals an owner (F_SETOWN, F_SETSIG, O_ASYNC)
 * is marked (CKPT_FILE_OWNER), and the caller asks for the owner by fcntl(2); inotify descriptors
 * and pidfds are recorded, and the caller reads their fdinfo.  Without it all that is refused.
 *
 * With CKPT_TARGET_PKEYS (CKPT_FEAT_PKEYS) a PKEYS record tells which protection keys are
 * allocated; without it they are refused.
 *
 * With CKPT_TARGET_AIO (CKPT_FEAT_AIO) rings of io_setup(2) are recorded, each followed by its AIO
 * record; the snapshot waits a moment for requests in flight.  Without it they are refused.
 *
 * With CKPT_TARGET_SENT (CKPT_FEAT_SENT) SOCK_SENT records tell of each connection of TCP to the
 * outside what the tree has sent without an acknowledgement, and where the tree reads on.  With
 * them two trees of one job save a connection between them.
 *
 * With CKPT_TARGET_MQUEUE (CKPT_FEAT_MQUEUE) descriptors of POSIX message queues are recorded, and
 * the caller reads the queues (CKPT_IOC_MQ_PEEK).  Without it they are refused, and so is any queue
 * in an IPC namespace that is not the caller's.
 *
 * With CKPT_TARGET_URING (CKPT_FEAT_URING) idle rings of io_uring are recorded, and so are the
 * files that are registered with them.  Without it all of io_uring is refused.
 *
 * With CKPT_TARGET_FLEASE (CKPT_FEAT_FLEASE) a lease to read is a LOCK record of the file; without
 * it, and to write, a lease is refused.
 *
 * With CKPT_TARGET_FILTER (CKPT_FEAT_FILTER) a socket may have a classic filter, SO_ATTACH_FILTER,
 * which the caller reads with getsockopt(2).  Without it, and on a socket that listens or waits to
 * be accepted, a filter is refused.
 *
 * With CKPT_TARGET_ROLLBACK (CKPT_FEAT_TARGET_ROLLBACK) descriptors, mappings and waits that cannot
 * be saved are no refusals, as CKPT_IOC_ROLLBACK takes them away.  Open files with state of their
 * own are not recorded, but for pipes, and mappings are where they are of memory, files, or the
 * vDSO.  Memory that is left out goes, too: it is left out for the objects that it maps.
 *
 * Makes the context a capture.  Refuses kernel threads, init, the caller and
 * its ancestors.  -EPERM to a caller that could not open the device (any more).
 *
 * With CKPT_TARGET_OWNED each freeze refuses (OWNER) every thread that the owner could not trace,
 * by the rule of ptrace(2): another user, a group that he has not, a capability beyond his,
 * another user namespace, memory that is not dumpable.  File system ids and supplementary groups
 * are held to the same.  The thread is refused before it is told to park, where that is seen; the
 * answer that counts is given when all threads are frozen, and cannot change their credentials.
 */
struct ckpt_target {
	__u32 size;
	__u32 flags;
	__u32 nr_roots;
	__u32 nr_exclude;
	__u64 roots;
	__u64 exclude;
	__u32 owner_uid;
	__u32 owner_gid;
	__u32 nr_owner_groups;
	__u32 pad;
	__u64 owner_groups;
	__u64 owner_caps;
};

#endif /* _UAPI_LINUX_CKPT_TARGET_H */
