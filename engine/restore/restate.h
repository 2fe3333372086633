/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State records on their way back to the kernel: the same structures as captured,
 * files replaced by the builder's descriptors.
 */
#ifndef STILLPOINT_RESTATE_H
#define STILLPOINT_RESTATE_H

#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/files/reopen.h"

struct restate {
	struct kdev *dev;
	const struct ckpt_cpu *cpu;	/* that the image comes from; NULL: unknown */
	const struct reopen *files;
	struct ckpt_error *error;
	char *buf;		/* of the call being made */
	size_t len;
	size_t room;
};

int restate_mm(struct restate *s, const struct state_mm *mm);
int restate_fds(struct restate *s, const struct state_fdtable *table);
/* PROC, SIGACTIONS, each thread */
int restate_proc(struct restate *s, const struct state_proc *proc);
/* Its group, session and status, when its parent has entered. */
int restate_zombie(struct restate *s, const struct state_proc *proc);
void restate_done(struct restate *s);

#endif /* STILLPOINT_RESTATE_H */
