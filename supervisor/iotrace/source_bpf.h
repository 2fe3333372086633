/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The I/O of jobs, counted in the kernel by BPF programs (bpf/io_trace.bpf.c).
 *
 * For the collector's process alone: loading and unloading wait for the kernel. The programs are
 * attached from io_bpf_open() to io_bpf_close(), and every process of the node pays for them
 * then: open while a job is watched, and close after the last one.
 */
#ifndef STILLPOINT_SOURCE_BPF_H
#define STILLPOINT_SOURCE_BPF_H

#include <stdint.h>

#include "base/error.h"
#include "supervisor/iotrace/bpf/io_trace.h"

struct io_bpf;

/* Load and attach. Negative errno, with the cause as a text for people. */
int io_bpf_open(struct io_bpf **ret_bpf, struct ckpt_error *error);
void io_bpf_close(struct io_bpf *bpf);	/* NULL is fine */

/* Functions that this kernel lacks, so that their calls are not seen; "" if there are none. */
const char *io_bpf_unseen(const struct io_bpf *bpf);
/* Operations of all jobs that could not be counted. */
uint64_t io_bpf_missed(const struct io_bpf *bpf);

/* Count processes in the PID namespace @ns (its inode number) as @job's. -E2BIG: too many jobs. */
int io_bpf_watch(struct io_bpf *bpf, int64_t job, uint32_t ns);
void io_bpf_unwatch(struct io_bpf *bpf, int64_t job, uint32_t ns);

/* Get the counters since io_bpf_watch(). */
int io_bpf_counts(struct io_bpf *bpf, int64_t job, struct io_counts *ret_counts);

/*
 * io_bpf_files() - call @fn for each file that changed since the last call
 *
 * A table that is three quarters full is rid of files that have not changed for a minute; such a
 * file is another entry, with another time of birth, when it is used again.
 * Return: 0, or what @fn returned, which ends the walk.
 */
typedef int (*io_file_fn)(const struct io_file_key *key, const struct io_file *file, void *arg);
int io_bpf_files(struct io_bpf *bpf, io_file_fn fn, void *arg);
/* The same for all files of @job, which leave the table. */
int io_bpf_files_of(struct io_bpf *bpf, int64_t job, io_file_fn fn, void *arg);

/* Take the names that have come. */
typedef int (*io_name_fn)(const struct io_name *name, void *arg);
int io_bpf_names(struct io_bpf *bpf, io_name_fn fn, void *arg);

#endif /* STILLPOINT_SOURCE_BPF_H */
