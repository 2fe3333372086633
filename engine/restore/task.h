/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code that runs in the processes and threads of a tree that is being built.
 *
 * Raw system calls only (see rawsys.h): no libc, no errno, no allocation, no locks.  A
 * failure ends the calling task and, by the shared page, the whole build.
 */
#ifndef STILLPOINT_TASK_H
#define STILLPOINT_TASK_H

#include "engine/restore/tree.h"

/* The calling task has failed: tell all others by the shared page, and exit. */
_Noreturn void task_fail(const struct tree *tree, const char *what, long err);

/*
 * task_attr.c: attributes of a process, set by its leader. early: those that children inherit,
 * before they are created; late: those that they must not inherit, after that; sched: when the
 * threads are there.
 */
void task_attr_early(const struct tree *tree, int index);
void task_attr_late(const struct tree *tree, int index);
void task_attr_sched(const struct tree *tree, int index);
/* task_attr.c: attributes of the calling thread, last of all; drops every right. */
void task_attr_thread(const struct tree *tree, const struct state_thread *thread);

#endif /* STILLPOINT_TASK_H */
