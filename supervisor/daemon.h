/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ckptd as a whole: one struct daemon, which all parts hang from. It belongs to the event
 * loop's process; workers have a copy of it from their fork.
 */
#ifndef STILLPOINT_DAEMON_H
#define STILLPOINT_DAEMON_H

#include "supervisor/catalog/catalog.h"
#include "supervisor/config.h"
#include "base/log.h"
#include "base/reactor.h"

struct ctl;
struct job_events_subscriber;
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
	struct catalog catalog;		/* its strings belong to config */
	struct level_site site;		/* the same */
	struct reactor *reactor;
	struct ctl *ctl;
	struct jobs *jobs;
	struct job_events_subscriber *job_subscribers;	/* job_events.h */
	struct pruner *pruner;
	struct kevents *kevents;
	struct merger *merger;
	struct nodes *nodes;
	struct stale_run *stale_run;
	/* fetches of parts whose home is another node (parts.h) */
	struct parts_fetches *fetches;
	struct flusher *flusher;
	struct schedule *schedule;
	struct partner_server *store;
	char boot[40];
	bool keyless;			/* the key cannot be used; logged */
	int job_nice;			/* priority of jobs and workers (base/priority.h) */
	int lock;			/* on the socket: one ckptd at a time */
	int state_lock;			/* on the state directory */
	/* on this node name in the image directory (name_lock.h) */
	int name_lock;
};

/*
 * daemon_start() - make directories, take locks, find jobs again, open the socket
 * @daemon: its log and config are filled in
 *
 * Errors are logged. 0 or negative errno; call daemon_stop() in any case.
 */
int daemon_start(struct daemon *daemon);
void daemon_stop(struct daemon *daemon);

#endif /* STILLPOINT_DAEMON_H */
