/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory that the processes of a job on this node have in use: a guess at the size of its
 * first checkpoint. Safe to call in ckptd's event loop: the number of processes looked at is
 * limited.
 */
#ifndef STILLPOINT_JOB_MEMORY_H
#define STILLPOINT_JOB_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Resident bytes of all processes below @init; memory that several share is counted for each. 0:
 * no process was seen.
 */
uint64_t job_memory(pid_t init);

#endif /* STILLPOINT_JOB_MEMORY_H */
