/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The launcher: the parent of shims. A process inherits whatever confines its parent, and a job
 * has to be free of that which confines ckptd; so shims are forked here, by orders of ckptd
 * (order.h). It runs as the program ckpt-launch, or as a child of a ckptd that was started by hand.
 *
 * The launcher keeps nothing of a shim: it neither waits for the shim nor knows whether the shim
 * runs. The end of the launcher ends no job.
 */
#ifndef STILLPOINT_LAUNCHER_H
#define STILLPOINT_LAUNCHER_H

#include "base/log.h"

/**
 * struct launcher - how to serve
 * @shim: path of ckpt-shim
 * @log: for bad orders
 * @listener: a listening socket; -1: none
 * @sock: a connection that is there already; -1: none
 */
struct launcher {
	const char *shim;
	struct log log;
	int listener, sock;
};

/*
 * launcher_serve() - take orders
 *
 * Call in a process of one thread, as root. Nothing in it waits for a shim.
 *
 * Return: 0: the last connection has ended, and there is no listener; else negative errno.
 */
int launcher_serve(struct launcher *launcher);

#endif /* STILLPOINT_LAUNCHER_H */
