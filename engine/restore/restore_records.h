/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Giving state records back to the kernel: the structures that were captured, with the
 * files replaced by the builder's descriptors.
 *
 * The caller owns the struct; s->files must be open.
 */
#ifndef STILLPOINT_RESTORE_RECORDS_H
#define STILLPOINT_RESTORE_RECORDS_H

#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/files/reopen.h"

struct restore_records {
	struct kdev *dev;
	const struct ckpt_cpu *cpu;	/* CPU that the image comes from; NULL: unknown */
	const struct reopen *files;
	struct ckpt_error *error;
	bool in_place;		/* a rollback: each process has its group and session */
	char *buf;		/* records of the next call; malloc */
	size_t len;
	size_t room;
};

/* Append room for a record of @len bytes, zeroed, with its length; NULL without memory. */
void *restore_records_append(struct restore_records *s, size_t len);
/* Give the appended records to the kernel, as those of thread @pid, and forget them. */
int restore_records_call(struct restore_records *s, pid_t pid, const char *what);
/* Forget the appended records; -ENOMEM with its text. */
int restore_records_no_memory(struct restore_records *s);
/* The tid of a living thread of the process: the leader may be dead. */
pid_t restore_records_tid(const struct state_proc *proc);

int restore_records_mms(struct restore_records *s);
int restore_records_fds(struct restore_records *s, const struct state_fdtable *table);
/* Restore PROC, SIGACTIONS, the kinds of state of a process, and each thread of it. */
int restore_records_proc(struct restore_records *s, const struct state_proc *proc);
/* Restore group, session and status of a zombie, when its parent has entered. */
int restore_records_zombie(struct restore_records *s, const struct state_proc *proc);
void restore_records_done(struct restore_records *s);

#endif /* STILLPOINT_RESTORE_RECORDS_H */
