/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nice values of Stillpoint's processes.
 *
 * Ranks that wait in MPI spin.  An order to them, or their output, must not wait for a processor
 * behind them.  So ckptd and its shims have a better nice value than the processes that they
 * start: jobs, and workers that compress and copy.
 */
#ifndef STILLPOINT_PRIORITY_H
#define STILLPOINT_PRIORITY_H

/* nice value of ckptd and of the shims */
#define PRIORITY_DAEMON	(-10)

/*
 * priority_set() - set the nice value of this process, which must have one thread only
 *
 * If the kernel groups tasks by session (sched(7), autogroup), a nice value counts only within
 * its session.  So a session leader also sets the nice value of its session's group: call this
 * after setsid().  Without the permission to change it, the nice value stays as it is.
 */
void priority_set(int nice);

/* Nice value of this process. priority_set(priority_get()) after setsid() gives it to the group. */
int priority_get(void);

#endif /* STILLPOINT_PRIORITY_H */
