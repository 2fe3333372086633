/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ckptd as a whole: the one context that everything hangs from.
 */
#ifndef STILLPOINT_DAEMON_H
#define STILLPOINT_DAEMON_H

#include "supervisor/catalog/catalog.h"
#include "supervisor/config.h"
#include "base/log.h"
#include "base/reactor.h"

struct ctl;
struct jobs;
struct pruner;
struct kevents;
struct merger;
struct nodes;
struct parts_fetches;
struct stale_run;
struct flusher;
struct schedule;
struct partner_server;

struct daemon {
	struct log log;
	struct config config;
	struct catalog catalog;		/* strings are config's */
	struct level_site site;		/* so are these */
	struct reactor *reactor;
	struct ctl *ctl;
	struct jobs *jobs;
	struct pruner *pruner;
	struct kevents *kevents;
	struct merger *merger;
	struct nodes *nodes;
	struct stale_run *stale_run;
	struct parts_fetches *fetches;	/* of parts whose home is elsewhere (parts.h) */
	struct flusher *flusher;
	struct schedule *schedule;
	struct partner_server *store;
	char boot[40];
	bool keyless;			/* the key cannot be used, and that was logged */
	int job_nice;			/* of jobs and workers (base/priority.h) */
	int lock;			/* only one ckptd at a time: on the socket, */
	int state_lock;			/* and on the state directory; */
	int name_lock;			/* and of this name in the image directory (name_lock.h) */
};

/*
 * daemon_start() - directories, lock, jobs found again, socket
 * @daemon: log and config are filled in
 *
 * What goes wrong is logged.  0 or negative errno; daemon_stop() in any case.
 */
int daemon_start(struct daemon *daemon);
void daemon_stop(struct daemon *daemon);

/* Jobs may be read and made: the image directory has no other ckptd of our name.  Else -EBUSY. */
int daemon_has_images(struct daemon *daemon, char *why, size_t size);

#endif /* STILLPOINT_DAEMON_H */
