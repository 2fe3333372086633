/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ckptd as a whole: one struct daemon, which owns all its services. The event loop's process
 * owns the struct; workers have a copy from their fork.
 */
#ifndef STILLPOINT_DAEMON_H
#define STILLPOINT_DAEMON_H

#include "supervisor/catalog/catalog.h"
#include "supervisor/auto/services.h"
#include "supervisor/control/worker.h"
#include "supervisor/storage/config.h"
#include "base/log.h"
#include "base/reactor.h"

struct ctl;
struct kevents;
struct nodes;
struct parts_fetches;
struct stale_run;
struct schedule;
struct partner_server;

struct daemon {
	struct log log;
	struct config config;
	struct catalog catalog;		/* its strings belong to config */
	struct level_site site;		/* its strings belong to config */
	struct reactor *reactor;
	struct ctl *ctl;
	struct services services;
	struct kevents *kevents;
	struct nodes *nodes;
	struct stale_run *stale_run;
	/* fetches of parts whose home is another node (parts.h) */
	struct parts_fetches *fetches;
	struct schedule *schedule;
	struct partner_server *store;
	char boot[40];
	struct worker_parent workers;
	int lock;			/* lock on the socket: one ckptd at a time */
	int state_lock;			/* lock on the state directory */
	/* lock on this node's name in the image directory (name_lock.h) */
	int name_lock;
};

/*
 * daemon_start() - make directories, take locks, find jobs again, open the socket
 * @daemon: its log and config are filled in
 *
 * Errors are logged. Call daemon_stop() in any case.
 *
 * Return: 0 or negative errno.
 */
int daemon_start(struct daemon *daemon);
void daemon_stop(struct daemon *daemon);

#endif /* STILLPOINT_DAEMON_H */
