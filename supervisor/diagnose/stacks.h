/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks of sampled threads, for the worker of a diagnosis: unwound with libdw from the registers
 * of the last sample and the memory of the process, which runs on meanwhile. The outer frames of a
 * thread that waits are right; inner ones of a thread that runs may be of another moment.
 */
#ifndef STILLPOINT_DIAGNOSE_STACKS_H
#define STILLPOINT_DIAGNOSE_STACKS_H

#include <jansson.h>

#include "supervisor/diagnose/threads.h"

/*
 * stacks_add() - add "frames", places from the innermost, to the "thread" of each row of look.h
 *
 * The programs' files are the owner's, and are read with his rights: from here on this process
 * has no others. The caller must have nothing left to do that needs them. 0; negative errno: no
 * row was changed
 */
int stacks_add(json_t *rows, const struct threads *threads, uid_t uid, gid_t gid);

/**
 * struct stack_source - a thread whose stack is to be unwound
 * @pid, @tid: any numbers that tell threads apart
 * @last: its registers
 * @report: tell libdw of the modules in @places (libdwfl.h); 0, or the stack is @last's place alone
 */
struct Dwfl;
struct places;
struct stack_source {
	struct places *places;
	pid_t pid, tid;
	const struct thread_sample *last;
	int (*report)(struct Dwfl *dwfl, void *arg);
	void *arg;
};

/* The frames, from the innermost, as places; a new reference. Reads the modules' files. */
json_t *stacks_frames(const struct stack_source *of);
/* Give up root's rights for those of the owner, for good. */
int stacks_become(uid_t uid, gid_t gid);

#endif /* STILLPOINT_DIAGNOSE_STACKS_H */
