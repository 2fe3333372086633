/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State records on their way back to the kernel: the same structures as captured,
 * files replaced by the builder's descriptors.
 */
#ifndef STILLPOINT_RESTORE_RECORDS_H
#define STILLPOINT_RESTORE_RECORDS_H

#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/files/reopen.h"

struct restore_records {
	struct kdev *dev;
	const struct ckpt_cpu *cpu;	/* that the image comes from; NULL: unknown */
	const struct reopen *files;
	struct ckpt_error *error;
	char *buf;		/* of the call being made */
	size_t len;
	size_t room;
};

int restore_records_mm(struct restore_records *s, const struct state_mm *mm);
int restore_records_fds(struct restore_records *s, const struct state_fdtable *table);
/* PROC, SIGACTIONS, each thread */
int restore_records_proc(struct restore_records *s, const struct state_proc *proc);
/* Its group, session and status, when its parent has entered. */
int restore_records_zombie(struct restore_records *s, const struct state_proc *proc);
void restore_records_done(struct restore_records *s);

#endif /* STILLPOINT_RESTORE_RECORDS_H */
