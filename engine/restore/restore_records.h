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
	char *buf;		/* records of the next call; malloc */
	size_t len;
	size_t room;
};

int restore_records_mm(struct restore_records *s, const struct state_mm *mm);
int restore_records_fds(struct restore_records *s, const struct state_fdtable *table);
/* Restore PROC, SIGACTIONS, timers, and each thread of a process. */
int restore_records_proc(struct restore_records *s, const struct state_proc *proc);
/* Restore group, session and status of a zombie, when its parent has entered. */
int restore_records_zombie(struct restore_records *s, const struct state_proc *proc);
void restore_records_done(struct restore_records *s);

#endif /* STILLPOINT_RESTORE_RECORDS_H */
