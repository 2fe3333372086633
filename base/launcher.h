/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the programs by which MPI libraries and batch systems start MPI jobs.
 *
 * Such a job is no job of ranks here: its ranks are children of a launcher that holds sockets to
 * them, so no checkpoint is possible. Whoever meets one says that ckptrun starts jobs that can be
 * checkpointed.
 */
#ifndef STILLPOINT_LAUNCHER_H
#define STILLPOINT_LAUNCHER_H

#include <stdbool.h>

/*
 * True if @program, a path or the name of a process (which may be cut off after 15 bytes), is a
 * launcher or one of its helpers; endings such as .openmpi do not count.
 */
bool launcher_is(const char *program);

#endif /* STILLPOINT_LAUNCHER_H */
