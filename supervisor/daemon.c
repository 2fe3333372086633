// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptd as a whole: sets up all services in order, and takes them down in reverse.
 *
 * The locks are taken before anything that another ckptd could be using.  Jobs are
 * found before the socket opens, so that a client sees every job that runs.
 * Stopping ckptd ends no job.
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

#include "base/cleanup.h"
#include "base/error.h"
#include "shim/identity.h"
#include "supervisor/control/ctl.h"
#include "supervisor/control/launch_link.h"
#include "supervisor/catalog/first_key.h"
#include "supervisor/job/jobs.h"
#include "supervisor/auto/pruner.h"
#include "supervisor/kevents.h"
#include "supervisor/self_check.h"
#include "base/leftover.h"
#include "image/job_key.h"
#include "supervisor/auto/history_writer.h"
#include "supervisor/auto/merger.h"
#include "supervisor/catalog/name_lock.h"
#include "supervisor/net/nodes.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/checkpoint/coord_peer.h"
#include "supervisor/checkpoint/job_checkpoint.h"
#include "supervisor/checkpoint/ranks_up.h"
#include "supervisor/diagnose/diagnose.h"
#include "supervisor/diagnose/hang_watch.h"
#include "supervisor/diagnose/reach_round.h"
#include "supervisor/iotrace/device_watch.h"
#include "supervisor/iotrace/io_ask.h"
#include "supervisor/iotrace/io_watch.h"
#include "supervisor/devices/nvme_watch.h"
#include "supervisor/parts/may_run.h"
#include "supervisor/parts/parts.h"
#include "supervisor/parts/stale_run.h"
#include "supervisor/auto/flusher.h"
#include "supervisor/auto/writes_watch.h"
#include "supervisor/auto/schedule.h"
#include "supervisor/storage/partner_server.h"
#include "supervisor/storage/level_config_group.h"
#include "supervisor/verbs/verbs.h"
#include "supervisor/vote/release.h"

/* Like mkdir -p; the last directory gets @mode. */
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

/* Warn if others may write in the image directory: they could redirect ckptd's writes. */
static void daemon_check_owner(const struct common *common)
{
	const char *dir = common->config.image_dir;
	struct stat st;

	if (!stat(dir, &st) && is_of_others(&st))
		log_warning(&common->log,
			    "%s is user %u's, mode %04o: whoever may write there decides where "
			    "images and records go; make it root's, mode 0711",
			    dir, st.st_uid, st.st_mode & 07777);
}

/*
 * Make the image directory, but not its parents.  If the parent is missing, the images' disk is
 * perhaps not mounted: ckptd must neither exit then, nor make directories and fill the disk below.
 */
static void make_image_directory(const struct common *common)
{
	const char *dir = common->config.image_dir;
	int err = 0;

	if (!strcmp(dir, CONFIG_IMAGES_DEFAULT))
		err = make_directory(dir, 0711);
	else if (mkdir(dir, 0711) && errno != EEXIST)
		err = -errno;
	if (err)
		log_warning(&common->log, "%s cannot be used: %s%s; no job can be run or restarted",
			    dir, strerror(-err), err == -ENOENT ?
			    " (its parent is not made by itself; is that to be mounted?)" : "");
}

static int make_directories(const struct common *common)
{
	const struct config *config = &common->config;
	char run[PATH_MAX];
	char *slash;
	int err;

	snprintf(run, sizeof(run), "%s", config->socket);
	slash = strrchr(run, '/');
	*(slash == run ? slash + 1 : slash) = '\0';
	err = make_directory(run, 0755);
	if (!err)
		err = make_directory(config->state_dir, 0711);
	if (!err)
		make_image_directory(common);
	daemon_check_owner(common);
	if (err)
		log_error(&common->log, "cannot make the directories for %s and %s: %s",
			  config->socket, config->state_dir, strerror(-err));
	return err;
}

/* Read who holds the lock, from the text that the holder wrote into the lock file. */
static void daemon_read_holder(int fd, char *holder, size_t size)
{
	ssize_t n = pread(fd, holder, size - 1, 0);

	holder[n > 0 ? n : 0] = '\0';
	holder[strcspn(holder, "\n")] = '\0';
	if (!holder[0])
		snprintf(holder, size, "unknown pid");
}

/* Lock the file @path; @what is locked by it, for messages. */
static int take_lock(const struct common *common, const char *path, const char *what, int *ret_lock)
{
	_cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	unsigned int waited_ms = 0;
	char holder[128];
	int err, n;

	do {
		err = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
	} while (leftover_wait(err, &waited_ms));
	if (err) {
		if (err == -EWOULDBLOCK) {
			daemon_read_holder(fd, holder, sizeof(holder));
			log_error(&common->log, "another ckptd (%s) is running on %s", holder,
				  what);
		} else {
			log_error(&common->log, "%s cannot be locked: %s", path, strerror(-err));
		}
		return err;
	}
	n = snprintf(holder, sizeof(holder), "pid %d on node %s\n", (int)getpid(),
		     common->config.node);
	/* The text is for people only: the lock is what counts. */
	if (ftruncate(fd, 0) || pwrite(fd, holder, (size_t)n, 0) != n)
		log_debug(&common->log, "%s cannot be written", path);
	*ret_lock = take_fd(&fd);
	return 0;
}

/* Lock the socket and the state directory (running jobs): only one ckptd may use either. */
static int take_locks(struct daemon *daemon)
{
	struct common *common = &daemon->common;
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s.lock", common->config.socket);
	err = take_lock(common, path, common->config.socket, &daemon->lock);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/.lock", common->config.state_dir);
	return take_lock(common, path, common->config.state_dir, &daemon->state_lock);
}

/* Lock our node name in the image directory: needed to read or make jobs.  -EBUSY if taken. */
static int has_images(struct common *common, struct ckpt_error *error)
{
	return name_lock_take(common->config.image_dir, common->config.node, &common->name_lock,
			      error);
}

static int check_images(struct common *common)
{
	unsigned int waited_ms = 0;
	struct ckpt_error error = {};
	int err;

	do {
		err = has_images(common, &error);
	} while (leftover_wait(err, &waited_ms));
	if (err)
		log_error(&common->log, "%s", error.text);
	return err;
}

static void key_name(void *arg, char ret_name[NODES_KEY_NAME])
{
	struct common *common = arg;

	_Static_assert(NODES_KEY_NAME == FIRST_KEY_NAME, "the same name");
	first_key_name(&common->catalog, ret_name);
}

static const char *own_partner(void *arg)
{
	struct common *common = arg;
	const char *name;

	return partner_of_owner(common, common->config.node, &name) ? NULL : name;
}

static int open_nodes(struct common *common)
{
	const struct nodes_options options = {
		.reactor = common->reactor, .log = &common->log, .node = common->config.node,
		.hosts = common->config.hosts, .node_key = common->config.node_key,
		.image_key = common->catalog.key, .listen = common->config.listen,
		.arg = common, .key_name = key_name, .partner = own_partner,
	};

	return nodes_open(&options, &common->nodes);
}

/*
 * Check the levels' groups of nodes now, so that errors are reported at the start, and not only
 * at the first flush.
 */
static void prepare_levels(struct common *common)
{
	struct level_configs *levels = &common->config.levels;
	struct ckpt_error error;
	unsigned int t;

	common->site = (struct level_site) {
		.node = common->config.node, .socket = common->config.socket,
		.catalog = &common->catalog, .log = &common->log,
	};
	common->site.nodes = nodes_list(common->nodes, &common->site.nr_nodes);
	common->site.silent = calloc(common->site.nr_nodes + 1, 1);
	level_configs_set_site(levels, &common->site);
	for (t = 0; t < levels->nr; t++) {
		if (!level_config_is_group(&levels->conf[t]))
			continue;
		if (level_config_group_check(&levels->conf[t], &error))
			log_error(&common->log, "level %s cannot be used: %s", levels->conf[t].name,
				  error.text);
		else if (!common->config.store)
			log_warning(&common->log,
				    "level %s: without store = DIRECTORY this node keeps no "
				    "parity, and no other can get its images for that",
				    levels->conf[t].name);
	}
}

/*
 * Where image directories are not shared, the nodes take turns in numbering jobs, by their order
 * in the hosts file.
 */
static void number_jobs(struct common *common)
{
	const struct levels_node *list;
	unsigned int i, nr;

	if (common->config.image_dir_shared)
		return;
	list = nodes_list(common->nodes, &nr);
	for (i = 0; i < nr; i++) {
		if (strcmp(list[i].name, common->config.node))
			continue;
		common->catalog.step = nr;
		common->catalog.rest = (i + 1) % nr;
	}
}

static int open_socket(struct daemon *daemon)
{
	struct common *common = &daemon->common;
	const struct ctl_options options = {
		.reactor = common->reactor, .log = &common->log, .socket = common->config.socket,
		.idle_timeout_ms = common->config.idle_timeout_ms, .common = common,
		.allow_users = common->config.allow_users,
		.allow_groups = common->config.allow_groups,
		.socket_group = common->config.socket_group,
		.socket_mode = common->config.socket_mode,
		.jobs = daemon->services.jobs, .services = &daemon->services,
		.launch = common->launch, .find = verb_find,
	};

	return ctl_open(&options, &daemon->ctl);
}

/* The calls that rooms below parts, checkpoint and auto may make into these. */
static const struct job_ops job_ops = {
	.has_images = has_images,
	.parts_open = parts_open,
	.parts_close = parts_close,
	.parts_over = parts_over,
	.parts_cut_off = parts_cut_off,
	.parts_silent = parts_silent,
	.parts_connected = parts_connected,
	.parts_message = parts_message,
	.parts_gone = parts_gone,
	.parts_shim_left = parts_shim_left,
	.parts_signal = parts_signal,
	.parts_cancel = parts_cancel,
	.note_run = stale_run_note_run,
	.end_older = stale_run_end_older,
	.coord_resume = coord_driver_resume,
	.coord_alone = coord_driver_alone,
	.coord_close = coord_driver_close,
	.checkpoint = job_checkpoint_start,
	.ranks_up = ranks_up_wait,
	.describe_auto = schedule_describe,
};

static void on_rolled_back(struct job *job)
{
	vote_release(jobs_common(job->jobs), job->id, job->init);
}

/* Subscribers get each event of jobs in the order of these calls. */
static int open_jobs(struct daemon *daemon, bool keyless)
{
	int err = jobs_open(&daemon->common, &job_ops, keyless, &daemon->services.jobs);

	if (!err)
		err = schedule_open(daemon->services.jobs, &daemon->schedule);
	if (!err)
		err = history_writer_open(daemon->services.jobs, &daemon->history);
	if (!err)
		err = pruner_open(daemon->services.jobs, &daemon->services.pruner);
	if (!err)
		err = writes_watch_open(daemon->services.jobs, &daemon->writes_watch);
	if (!err)
		err = hang_watch_open(daemon->services.jobs, on_rolled_back,
				      &daemon->hang_watch);
	if (!err)
		err = io_watch_open(daemon->services.jobs, &daemon->services.io_watch);
	if (!err)
		err = io_asks_open(&daemon->common, &daemon->services.io_asks);
	if (!err)
		err = device_watch_open(daemon->services.jobs, &daemon->services.devices);
	if (!err)
		err = nvme_watch_open(&daemon->common, &daemon->nvme_watch);
	if (!err)
		jobs_find_again(daemon->services.jobs);
	return err;
}

/* Jobs are checkpointed also where no copies of their keys can be made. */
static void prepare_job_keys(const struct common *common)
{
	struct ckpt_error error = {};

	if (config_has_job_keys(&common->config) &&
	    job_key_set_recovery(common->config.job_keys_dir, common->config.job_keys_recovery,
				 &error))
		log_error(&common->log, "job_keys_recovery cannot be used: %s", error.text);
}

/* Have what no two ckptds may have. */
static int open_node(struct daemon *daemon)
{
	struct common *common = &daemon->common;
	int err = identity_boot(common->boot);

	if (!err)
		err = make_directories(common);
	if (!err)
		err = take_locks(daemon);
	if (!err)
		prepare_job_keys(common);
	return err ? err : check_images(common);
}

/* Others may ask here what ranks do, and whether a node can be reached. */
static int open_diagnosis(struct daemon *daemon)
{
	int err = diagnose_register(daemon->services.jobs);

	return err ?: reach_desk_open(&daemon->common, &daemon->reach);
}

int daemon_start(struct daemon *daemon)
{
	struct common *common = &daemon->common;
	bool keyless = false;
	int err;

	daemon->lock = -1;
	daemon->state_lock = -1;
	common->name_lock = -1;
	common->catalog = (struct catalog) {
		.dir = common->config.image_dir, .key = common->config.key,
		.secret = common->config.secret, .log = &common->log,
	};
	/* Before anything is opened that a forked launcher would have, too. */
	err = launch_link_open(&common->log, daemon->launcher, common->config.shim,
			       &common->launch);
	if (!err)
		err = open_node(daemon);
	/* Without a key ckptd still answers requests for information, and ends jobs. */
	if (!err)
		keyless = first_key_make(&common->catalog, &common->log);
	if (!err)
		err = reactor_create(&common->reactor);
	common->workers.reactor = common->reactor;
	if (!err)
		launch_link_watch(common->launch, common->reactor);
	if (!err)
		err = open_nodes(common);
	if (!err)
		number_jobs(common);
	if (!err)
		prepare_levels(common);
	if (!err)
		err = partner_server_open(common, &daemon->store);
	if (!err)
		err = open_jobs(daemon, keyless);
	if (!err)
		err = stale_run_open(daemon->services.jobs, &daemon->stale_run);
	if (!err)
		err = parts_register(&daemon->services, &daemon->fetches);
	if (!err)
		err = coord_peer_register(daemon->services.jobs);
	if (!err)
		err = verb_ranks_register(daemon->services.jobs);
	if (!err)
		err = open_diagnosis(daemon);
	/* The first flush asks other nodes: its delay begins when all else is open. */
	if (!err)
		err = flusher_open(daemon->services.jobs, daemon->services.devices,
				   &daemon->services.flusher);
	if (!err)
		err = merger_open(daemon->services.jobs, daemon->services.flusher,
				  &daemon->services.merger);
	if (!err)
		err = open_socket(daemon);
	/* The module's events are hints only: everything works without them. */
	if (!err && kevents_open(daemon, &daemon->kevents))
		log_debug(&common->log, "no events of the module");
	return err;
}

void daemon_stop(struct daemon *daemon)
{
	struct common *common = &daemon->common;

	self_check_stop(daemon);
	kevents_close(daemon->kevents);
	ctl_close(daemon->ctl);
	schedule_close(daemon->schedule);
	daemon->schedule = NULL;
	hang_watch_close(daemon->hang_watch);
	daemon->hang_watch = NULL;
	io_watch_close(daemon->services.io_watch);
	daemon->services.io_watch = NULL;
	io_asks_close(daemon->services.io_asks);
	daemon->services.io_asks = NULL;
	writes_watch_close(daemon->writes_watch);
	daemon->writes_watch = NULL;
	history_writer_close(daemon->history);
	daemon->history = NULL;
	flusher_close(daemon->services.flusher);
	daemon->services.flusher = NULL;
	merger_close(daemon->services.merger);
	daemon->services.merger = NULL;
	pruner_close(daemon->services.pruner);
	daemon->services.pruner = NULL;
	nvme_watch_close(daemon->nvme_watch);
	daemon->nvme_watch = NULL;
	device_watch_close(daemon->services.devices);
	daemon->services.devices = NULL;
	stale_run_close(daemon->stale_run);
	jobs_close(daemon->services.jobs);
	parts_fetch_close(daemon->fetches);
	may_run_close(daemon->services.may_run);
	partner_server_close(daemon->store);
	nodes_close(common->nodes);
	launch_link_close(common->launch);
	free(common->site.silent);
	reactor_destroy(common->reactor);
	reach_desk_close(daemon->reach);
	if (common->name_lock >= 0)
		close(common->name_lock);
	if (daemon->state_lock >= 0)
		close(daemon->state_lock);
	if (daemon->lock >= 0)
		close(daemon->lock);
}
