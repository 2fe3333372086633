/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of the kernel module (generic netlink family "ckpt"): hints for the log, which may
 * be lost.
 */
#ifndef STILLPOINT_KEVENTS_H
#define STILLPOINT_KEVENTS_H

struct daemon;
struct kevents;

/* -ENOENT: the module is not loaded, or has no events. */
int kevents_open(struct daemon *daemon, struct kevents **ret_kevents);
void kevents_close(struct kevents *kevents);	/* NULL is fine */

#endif /* STILLPOINT_KEVENTS_H */
