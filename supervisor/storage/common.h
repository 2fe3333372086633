/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common ground of the rooms from storage/ upwards on one node: log, settings, catalog,
 * event loop, other nodes and workers. Rooms take this struct, never the whole daemon.
 *
 * daemon.c owns the struct and fills it before it opens the services that use it; it stays at its
 * place until they are closed. The event loop's process owns the struct; workers have a copy from
 * their fork. Only daemon.c changes its fields.
 */
#ifndef STILLPOINT_COMMON_H
#define STILLPOINT_COMMON_H

#include "base/log.h"
#include "base/reactor.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/control/worker.h"
#include "supervisor/storage/config.h"

struct launch_link;
struct nodes;

struct common {
	struct log log;
	struct config config;
	struct catalog catalog;		/* its strings belong to config */
	struct level_site site;		/* its strings belong to config */
	struct reactor *reactor;
	struct worker_parent workers;
	struct nodes *nodes;
	struct launch_link *launch;	/* who forks shims */
	char boot[40];
	/* lock on this node's name in the image directory (name_lock.h) */
	int name_lock;
};

#endif /* STILLPOINT_COMMON_H */
