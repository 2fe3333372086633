/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupted system calls: the steps of the park that spare the program an EINTR or a longer
 * wait, and the record of such a call.
 */
#ifndef _CKPT_RESTART_BLOCK_H
#define _CKPT_RESTART_BLOCK_H

#include <linux/types.h>

struct ckpt_restart;
struct ckpt_thread;
struct task_struct;

/* Differences to add to recorded deadlines: this host's clocks minus those of the record. */
struct ckpt_clock_deltas {
	s64 monotonic_ns;
	s64 boottime_ns;
};

/* Data of a thread in a capture; ckpt_thread.side. */
struct ckpt_restart_block {
	u64 expires;		/* CLOCK_MONOTONIC deadline of the sleep that was found; 0: none */
	unsigned long nvcsw;	/* voluntary switches then; unchanged: it is still the same sleep */
	u64 parked_ns;
	int shrink_nr; /* call whose timeout in user memory must shrink by the pause; -1: none */
};

/* Prepare @thread, which is not attached yet, to handle its interrupted call. */
int ckpt_restart_block_prepare(struct ckpt_thread *thread);
/* True if @task seems to sleep in a call whose deadline must be learnt before it is woken. */
bool ckpt_restart_block_wants_deadline(struct task_struct *task);

/*
 * Describe the restart block of @task, which is parked or stopped.  -EOPNOTSUPP if its
 * kind is not known.
 */
int ckpt_restart_to_record(struct task_struct *task, struct ckpt_restart *ret_rec);
/* True if the values of the record are valid. */
bool ckpt_restart_is_ok(const struct ckpt_restart *rec);
/* Set the restart block of current from such a record, its deadline moved by @deltas. */
void ckpt_restart_from_record(const struct ckpt_restart *rec,
			      const struct ckpt_clock_deltas *deltas);

/* Before the module goes: no task may keep a restart block that points here. */
void ckpt_restart_block_exit(void);

#endif /* _CKPT_RESTART_BLOCK_H */
