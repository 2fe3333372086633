// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptd as a whole: what is set up in which order, and taken down in reverse.
 *
 * The lock comes before anything that another ckptd could be using, the jobs
 * before the socket: who connects finds every job that runs.
 * Stopping ends no job.
 */
#include "supervisor/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/util.h"
#include "shim/identity.h"
#include "supervisor/ctl.h"
#include "supervisor/jobs.h"
#include "supervisor/kevents.h"
#include "supervisor/nodes.h"
#include "supervisor/coord_peer.h"
#include "supervisor/parts.h"
#include "supervisor/schedule.h"
#include "supervisor/verbs.h"

/* mkdir -p; the last part gets @mode. */
static int make_directory(const char *path, mode_t mode)
{
	char copy[PATH_MAX];
	char *at;

	snprintf(copy, sizeof(copy), "%s", path);
	for (at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	if (mkdir(copy, mode) && errno != EEXIST)
		return -errno;
	return 0;
}

static int make_directories(const struct daemon *daemon)
{
	const struct config *config = &daemon->config;
	char run[PATH_MAX];
	char *slash;
	int err;

	snprintf(run, sizeof(run), "%s", config->socket);
	slash = strrchr(run, '/');
	*(slash == run ? slash + 1 : slash) = '\0';
	err = make_directory(run, 0755);
	if (!err)
		err = make_directory(config->state_dir, 0711);
	/* Images may live on a disk that is not there: that is no reason to die. */
	if (!err && make_directory(config->image_dir, 0711))
		log_warning(&daemon->log, "%s cannot be used: %s; no job can be run or restarted",
			    config->image_dir, strerror(errno));
	if (err)
		log_error(&daemon->log, "cannot make the directories for %s and %s: %s",
			  config->socket, config->state_dir, strerror(-err));
	return err;
}

static int take_lock(struct daemon *daemon)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s.lock", daemon->config.socket);
	daemon->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (daemon->lock < 0 || flock(daemon->lock, LOCK_EX | LOCK_NB)) {
		int err = -errno;

		log_error(&daemon->log, err == -EWOULDBLOCK ?
			  "another ckptd is running on %s" : "%s cannot be locked",
			  daemon->config.socket);
		return err;
	}
	return 0;
}

int daemon_start(struct daemon *daemon)
{
	int err;

	daemon->lock = -1;
	daemon->catalog = (struct catalog) {
		.dir = daemon->config.image_dir, .key = daemon->config.key,
	};
	err = identity_boot(daemon->boot);
	if (!err)
		err = make_directories(daemon);
	if (!err)
		err = take_lock(daemon);
	if (!err)
		err = reactor_create(&daemon->reactor);
	if (!err)
		err = nodes_open(daemon, &daemon->nodes);
	if (!err)
		err = jobs_open(daemon, &daemon->jobs);
	if (!err)
		err = parts_register(daemon);
	if (!err)
		err = coord_peer_register(daemon);
	if (!err)
		err = verb_ranks_register(daemon);
	if (!err)
		err = schedule_open(daemon, &daemon->schedule);
	if (!err)
		err = ctl_open(daemon, &daemon->ctl);
	/* Hints only: without them everything works. */
	if (!err && kevents_open(daemon, &daemon->kevents))
		log_debug(&daemon->log, "no events of the module");
	return err;
}

void daemon_stop(struct daemon *daemon)
{
	kevents_close(daemon->kevents);
	ctl_close(daemon->ctl);
	schedule_close(daemon->schedule);
	daemon->schedule = NULL;
	jobs_close(daemon->jobs);
	nodes_close(daemon->nodes);
	reactor_destroy(daemon->reactor);
	if (daemon->lock >= 0)
		close(daemon->lock);
}
