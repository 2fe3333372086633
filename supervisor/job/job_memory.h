/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much memory the processes of a job on this node have in use: a guess at what a
 * checkpoint of it would have to write.
 */
#ifndef STILLPOINT_JOB_MEMORY_H
#define STILLPOINT_JOB_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes, of all processes below @init; what they share is counted for each. 0: none seen. */
uint64_t job_memory(pid_t init);

#endif /* STILLPOINT_JOB_MEMORY_H */
