/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The name by which the init of a restored tree is known (restore/nsinit.h): the restore gives
 * it, a dump asks for it.
 */
#ifndef STILLPOINT_NSINIT_NAME_H
#define STILLPOINT_NSINIT_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#define NSINIT_NAME	"stillpoint-init"	/* in /proc/PID/comm: 15 bytes at most */

/**
 * nsinit_is() - whether a process is one that nsinit_create() made
 * @pid: as the caller sees it
 *
 * It is what a restore in a new PID namespace returns as the root, and no part of
 * the tree: that are its descendants.
 */
bool nsinit_is(pid_t pid);

#endif /* STILLPOINT_NSINIT_NAME_H */
