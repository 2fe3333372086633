/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ckptd as a whole: one struct daemon, which owns all its services. The event loop's process
 * owns the struct; workers have a copy from their fork.
 */
#ifndef STILLPOINT_DAEMON_H
#define STILLPOINT_DAEMON_H

#include "supervisor/auto/services.h"
#include "supervisor/storage/common.h"

struct ctl;
struct kevents;
struct parts_fetches;
struct reach_desk;
struct stale_run;
struct history_writer;
struct schedule;
struct partner_server;
struct worker;
struct hang_watch;
struct nvme_watch;
struct writes_watch;

struct daemon {
	struct common common;
	struct ctl *ctl;
	struct services services;
	struct kevents *kevents;
	struct stale_run *stale_run;
	struct reach_desk *reach;
	/* fetches of parts whose home is another node (parts.h) */
	struct parts_fetches *fetches;
	struct schedule *schedule;
	struct history_writer *history;
	struct writes_watch *writes_watch;
	struct nvme_watch *nvme_watch;
	struct hang_watch *hang_watch;	/* NULL: not wanted */
	struct partner_server *store;
	struct worker *self_check;	/* looks for what this node lacks; NULL: is over */
	const char *launcher;		/* socket of ckpt-launch; NULL: fork a launcher */
	int lock;			/* lock on the socket: one ckptd at a time */
	int state_lock;			/* lock on the state directory */
};

/*
 * daemon_start() - make directories, take locks, find jobs again, open the socket
 * @daemon: log and config of @common are filled in
 *
 * Errors are logged. Call daemon_stop() in any case.
 *
 * Return: 0 or negative errno.
 */
int daemon_start(struct daemon *daemon);
void daemon_stop(struct daemon *daemon);

#endif /* STILLPOINT_DAEMON_H */
