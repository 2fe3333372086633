/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The I/O of a job by /proc/PID/io, where BPF is not available: bytes and calls of reading and
 * writing of any kind, without sizes, times and files.
 */
#ifndef STILLPOINT_SOURCE_PROC_H
#define STILLPOINT_SOURCE_PROC_H

#include <sys/types.h>

#include "supervisor/iotrace/bpf/io_trace.h"

/* Read a small file of /proc as text. 0 or negative errno. */
int io_proc_read(const char *path, char *buf, size_t size);

typedef void (*io_proc_fn)(pid_t pid, void *arg);
/* Call @fn for @init and all processes below it. */
void io_proc_each(pid_t init, io_proc_fn fn, void *arg);

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
