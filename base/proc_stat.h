/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What /proc/PID/stat says of a process, proc(5).
 */
#ifndef STILLPOINT_SUPERVISOR_PROC_STAT_H
#define STILLPOINT_SUPERVISOR_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct proc_stat
 * @state: R, S, D, T, t, Z, X and what other kernels know
 * @flags: PF_… of the kernel
 * @start: when it began, in ticks since boot
 */
struct proc_stat {
	char state;
	unsigned int flags;
	unsigned long long start;
};

/* 0; -ESRCH: there is no such process; other errors, such as -EMFILE, say nothing about it. */
int proc_stat_read(pid_t pid, struct proc_stat *ret_stat);

/* It is dead and was not waited for yet. */
bool proc_stat_is_dead(const struct proc_stat *stat);

/* proc_stat.start in nanoseconds. */
uint64_t proc_stat_start_ns(const struct proc_stat *stat);

#endif /* STILLPOINT_SUPERVISOR_PROC_STAT_H */
