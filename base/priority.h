/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who gets the processor first.
 *
 * Ranks that wait in MPI spin. So that an order for them, or their output, does not wait for a
 * processor behind them, ckptd and its shims have a better nice value than what they start: jobs,
 * and workers that compress and copy.
 */
#ifndef STILLPOINT_PRIORITY_H
#define STILLPOINT_PRIORITY_H

/* of ckptd and shims */
#define PRIORITY_DAEMON	(-10)

/*
 * priority_set() - the nice value of this process (its only thread)
 *
 * Where the kernel groups tasks by session (sched(7), autogroup) nice values count within one
 * only: that of the session's group is set alike if this process leads one, so call it after
 * setsid(). Where it is not allowed nothing changes.
 */
void priority_set(int nice);

/* The nice value this process has; after setsid(), priority_set(priority_get()) has its group follow. */
int priority_get(void);

#endif /* STILLPOINT_PRIORITY_H */
