/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The I/O of a job by /proc/PID/io, where BPF is not available: bytes and calls of reading and
 * writing of any kind, without sizes, times and files.
 */
#ifndef STILLPOINT_SOURCE_PROC_H
#define STILLPOINT_SOURCE_PROC_H

#include <sys/types.h>

#include "supervisor/iotrace/bpf/io_trace.h"

/* Parse the text of /proc/PID/io and add it to @counts; -EBADMSG: it is none. */
int io_proc_parse(const char *text, struct io_counts *counts);

/*
 * io_proc_counts() - sum up the processes below @init, with what ended ones have left to their
 *	parents
 *
 * -ESRCH: @init has ended.
 */
int io_proc_counts(pid_t init, struct io_counts *ret_counts);

#endif /* STILLPOINT_SOURCE_PROC_H */
