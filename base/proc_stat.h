/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State, flags and start time of a process, from /proc/PID/stat; see proc(5).
 *
 * A reader that sees -ESRCH may conclude that the process does not exist; any other error
 * says nothing about the process.
 */
#ifndef STILLPOINT_SUPERVISOR_PROC_STAT_H
#define STILLPOINT_SUPERVISOR_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct proc_stat - fields of /proc/PID/stat
 * @state: R, S, D, T, t, Z, X; other kernels know more
 * @flags: PF_… of the kernel
 * @start: when the process began, in clock ticks since boot
 */
struct proc_stat {
	char state;
	unsigned int flags;
	unsigned long long start;
};

/* 0; -ESRCH: no such process; other errors, such as -EMFILE, say nothing about the process. */
int proc_stat_read(pid_t pid, struct proc_stat *ret_stat);

/* The process is dead, and its parent has not waited for it yet. */
bool proc_stat_is_dead(const struct proc_stat *stat);

/* When the process began, in nanoseconds since boot. */
uint64_t proc_stat_start_ns(const struct proc_stat *stat);

#endif /* STILLPOINT_SUPERVISOR_PROC_STAT_H */
