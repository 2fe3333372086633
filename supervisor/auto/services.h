/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The services of auto/ as the rooms above find them: parts/, restart/ and verbs/ hold, stop and
 * tell them by name, with the jobs that they are about.
 *
 * daemon.c owns the struct and fills it. @jobs is set before parts/ registers its questions; the
 * others before the event loop runs, and NULL again once they are closed.
 */
#ifndef STILLPOINT_SERVICES_H
#define STILLPOINT_SERVICES_H

struct device_watch;
struct flusher;
struct io_asks;
struct io_watch;
struct jobs;
struct may_run;
struct merger;
struct pruner;

struct services {
	struct jobs *jobs;
	struct may_run *may_run;	/* NULL: no other nodes */
	struct pruner *pruner;
	struct flusher *flusher;
	struct merger *merger;
	struct io_watch *io_watch;
	struct io_asks *io_asks;
	struct device_watch *devices;	/* NULL: degraded_devices = off */
};

#endif /* STILLPOINT_SERVICES_H */
