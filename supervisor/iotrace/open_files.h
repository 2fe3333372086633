/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the files that a job has open when its watch begins: BPF tells the names of files that
 * are opened later. For the collector. No file is looked at, so that none that hangs holds it up.
 */
#ifndef STILLPOINT_OPEN_FILES_H
#define STILLPOINT_OPEN_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "supervisor/iotrace/bpf/io_trace.h"

/* The inode and the mount from the text of /proc/PID/fdinfo/N; -EBADMSG. */
int open_files_parse_info(const char *text, uint64_t *ret_ino, int *ret_mount);
/* The device, as io_file_key has it, of mount @mount in one line of mountinfo; -ENOENT: another. */
int open_files_parse_mount(const char *line, int mount, __u32 *ret_dev);

typedef void (*open_files_fn)(const struct io_name *name, void *arg);
/* Call @fn for each file with a path that processes below @init have open, as @job's. */
void open_files_each(pid_t init, int64_t job, open_files_fn fn, void *arg);

#endif /* STILLPOINT_OPEN_FILES_H */
