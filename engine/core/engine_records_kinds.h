/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's own records of some kinds of state; included by engine_records.h, whose rules hold.
 *
 * Each kind's unit in engine/kinds/ reads and checks its record.
 */
#ifndef STILLPOINT_ENGINE_RECORDS_KINDS_H
#define STILLPOINT_ENGINE_RECORDS_KINDS_H

/* One option of a socket: what getsockopt(2) told. */
struct engine_sock_option {
	__s32 level;
	__s32 name;
	__u32 len;		/* bytes of value */
	__u32 pad;
	__u8 value[16];
};

/*
 * SOCK_OPTIONS: the options of a socket (struct ckpt_rec_sock) that differ from those of a new
 * one.  nr struct engine_sock_option follow.  One with SOCK_OPTION_WAS_ON (sock_options.h) was on
 * when the socket was bound, and is off.
 */
struct engine_rec_sock_options {
	struct ckpt_rec_hdr hdr;
	__u32 sock;
	__u32 nr;
};

enum engine_ipc_kind {
	ENGINE_IPC_SHM = 1,	/* content: that of the FILE with CKPT_FILE_SYSV and the id */
	ENGINE_IPC_SEM = 2,
	ENGINE_IPC_MSG = 3,
};

#define ENGINE_IPC_NAMESPACE	(1U << 0)	/* of an IPC namespace that was not the dumper's */
#define ENGINE_IPC_REMOVED	(1U << 1)	/* SHM: goes with its last attachment */
#define ENGINE_IPC_LOCKED	(1U << 2)	/* SHM: SHM_LOCK */

/*
 * IPC: a System V object of the tree.  SEM: size __u16 values follow; MSG: nr messages, each a
 * struct engine_ipc_message with its bytes, all padded to 8 bytes.
 */
struct engine_rec_ipc {
	struct ckpt_rec_hdr hdr;
	__u32 kind;		/* enum engine_ipc_kind */
	__s32 id;
	__s32 key;
	__u32 mode;		/* permissions alone */
	__u32 uid, gid;
	__u32 cuid, cgid;
	__u32 flags;		/* ENGINE_IPC_* */
	__u32 nr;		/* messages */
	__u64 size;		/* SHM: bytes; SEM: semaphores; MSG: most bytes (msg_qbytes) */
};

struct engine_ipc_message {
	__s64 type;
	__u32 len;
	__u32 pad;
};

#define ENGINE_MQUEUE_NAMESPACE	(1U << 0)	/* of an IPC namespace that was not the dumper's */
#define ENGINE_MQUEUE_UNLINKED	(1U << 1)	/* it has no name any more, and is open */

/*
 * MQUEUE: a POSIX message queue.  Its name follows (NUL-terminated), then nr struct
 * ckpt_mq_message with their bytes, in the order in which they would be received; all padded to 8.
 */
struct engine_rec_mqueue {
	struct ckpt_rec_hdr hdr;
	__u64 dev, ino;		/* as those of FILE records */
	__u64 maxmsg, msgsize;	/* of mq_getattr(3) */
	__u32 mode;		/* permissions alone */
	__u32 uid, gid;
	__u32 flags;		/* ENGINE_MQUEUE_* */
	__u32 nr;
	__u32 name_len;		/* bytes with NUL; the name begins with a slash */
	__u32 notify;		/* of mq_notify(3), as struct ckpt_mq_peek has it */
	__s32 notify_pid;	/* in the tree's PID namespace */
	__s32 notify_signo;
	__u32 pad;
	__u64 notify_value;
};

/*
 * INOTIFY: the watches of a descriptor: of.nr struct engine_inotify_watch, each with its path
 * (NUL-terminated), all padded to 8 bytes.  No event was pending.
 */
struct engine_rec_inotify {
	struct ckpt_rec_of_file of;
};

struct engine_inotify_watch {
	__s32 wd;
	__u32 mask;		/* of inotify_add_watch(2) */
	__u32 mode;		/* type of the file that is watched: S_IFMT bits */
	__u32 path_len;		/* bytes with NUL */
};

/* PIDFD: of.nr is the process, in the tree's PID namespace; 0: it has ended and was waited for */
struct engine_rec_pidfd {
	struct ckpt_rec_of_file of;
};

/* FOWN: whom the open file signals (F_SETOWN_EX, F_SETSIG); of any kind of file */
struct engine_rec_fown {
	struct ckpt_rec_of_file of;
	__s32 type;		/* F_OWNER_* */
	__s32 pid;		/* in the tree's PID namespace; 0: nobody */
	__s32 signo;		/* 0: SIGIO */
	__u32 async;		/* O_ASYNC is set */
};

#endif /* STILLPOINT_ENGINE_RECORDS_KINDS_H */
