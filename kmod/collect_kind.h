/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of open files whose state needs more than a FILE record, and the records that a
 * restore gives back: one table each, files_kind.c and restore_kinds.c.
 *
 * A kind's own file has its functions.  Those of a capture run with the tree frozen, under the
 * rules of collect.h: what cannot be represented is refused, and the others go on.
 */
#ifndef _CKPT_COLLECT_KIND_H
#define _CKPT_COLLECT_KIND_H

#include <linux/types.h>

#include <linux/ckpt.h>

struct ckpt_collect;
struct ckpt_ctx;
struct ckpt_object;
struct ckpt_thread;

/**
 * struct ckpt_collect_kind - a kind of open files
 * @kinds: its values of enum ckpt_file_kind; 0 ends the list
 * @anon_name: name of the anonymous inode by which the kind is known, or NULL
 * @meet: a descriptor of the tree leads to the file, for the first time: number what else the file
 *	leads to.  Called for every open file, as its kind is not looked at yet.  It runs before
 *	mappings are looked at.
 * @met: once, when all files have been met, and before the first FILE record
 * @collect: the file's FILE record has been written: write the record of its state, or refuse it
 * @finish: once, after all FILE records: write the records of what files share
 *
 * All but @kinds may be NULL.  A file of a kind with @collect or @finish is not refused for its
 * kind.  Each function returns an error only when going on makes no sense.
 */
struct ckpt_collect_kind {
	u32 kinds[3];
	const char *anon_name;
	int (*meet)(struct ckpt_collect *c, struct ckpt_object *file);
	void (*met)(struct ckpt_collect *c);
	int (*collect)(struct ckpt_collect *c, struct ckpt_object *file);
	int (*finish)(struct ckpt_collect *c);
};

/* files_kind.c: all kinds; the last entry is NULL. */
extern const struct ckpt_collect_kind *const ckpt_collect_kinds[];
/* The kind of an enum ckpt_file_kind, or NULL. */
const struct ckpt_collect_kind *ckpt_collect_kind_of(u32 kind);

extern const struct ckpt_collect_kind ckpt_kind_pipe;		/* files_pipe.c */
extern const struct ckpt_collect_kind ckpt_kind_socket;		/* files_socket.c */
extern const struct ckpt_collect_kind ckpt_kind_eventfd;	/* files_event.c */
extern const struct ckpt_collect_kind ckpt_kind_timerfd;
extern const struct ckpt_collect_kind ckpt_kind_signalfd;
extern const struct ckpt_collect_kind ckpt_kind_epoll;		/* files_epoll.c */
extern const struct ckpt_collect_kind ckpt_kind_sysv;		/* sysv.c */
extern const struct ckpt_collect_kind ckpt_kind_mqueue;		/* mqueue.c */
extern const struct ckpt_collect_kind ckpt_kind_uring;		/* uring.c */

/**
 * struct ckpt_restore_kind - a record that CKPT_IOC_RESTORE_STATE applies by itself
 * @type: enum ckpt_rec_type
 * @min_len: a shorter record is refused
 * @apply: apply the record to the parked thread of the command; NULL: it only comes in the
 *	streams of MM and FD, which are applied as a whole
 */
struct ckpt_restore_kind {
	u16 type;
	u16 min_len;
	int (*apply)(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		     const struct ckpt_rec_hdr *hdr);
};

/* restore_kinds.c: the kind of a record type; NULL: such a record is not accepted. */
const struct ckpt_restore_kind *ckpt_restore_kind_of(u16 type);

#endif /* _CKPT_COLLECT_KIND_H */
