/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Configuration of ckptd: key = value lines, '#' starts a comment.
 *
 *	socket = /run/stillpoint/ckptd.sock
 *	socket_group = GROUP			of the socket; default: that of ckptd
 *	socket_mode = MODE			of the socket, octal; 0666
 *	allow_users = LIST			who may use the socket: access.h; default, if
 *	allow_groups = LIST			neither is set: everybody
 *	state_dir = /var/lib/stillpoint/jobs	this node's running jobs
 *	image_dir = /var/lib/stillpoint/images	jobs and their generations
 *	image_dir_shared = yes|no		no: each node of the hosts file has its own
 *	key = /etc/stillpoint/key
 *	encryption_key = PATH | keyring:NAME	encrypts images; default: none, not encrypted
 *	job_keys = off | on | only		jobs have keys of their own (job_key.h); only:
 *						images of jobs without such a key are refused
 *	job_keys_recovery = KEY			public key of the site, for copies of jobs' keys
 *	shim = /usr/libexec/stillpoint/ckpt-shim
 *	mpi_dir = /usr/lib/stillpoint/mpi	libraries in front of the MPI libraries
 *	lower = /usr/libexec/stillpoint/ckpt-lower
 *	node = NAME				default: the host's name
 *	hosts = /etc/stillpoint/hosts		other nodes; none if it does not exist
 *	node_key = /etc/stillpoint/node.key
 *	listen = ADDRESS			for other nodes; default *: all addresses
 *	may_run = PATH				program that says who of other nodes may run
 *						jobs here (may_run.h); default: none
 *	munge = yes|no				yes: users of other nodes need a credential
 *						(hosts/credential.h)
 *	lease = DURATION			of a job's processes on other nodes than its
 *						home (parts_lease.c); 0: none
 *	fence_command = PATH			program that makes sure that a node is off
 *						(fence_command.h); default: none
 *	store = DIR				keep copies of other nodes' images there
 *						(partner_server.h); default: none
 *	store_max = SIZE			limit of these copies; 0: as many as fit
 *	store_port = N				the partner server's port; 0: any free port
 *	store_encrypt = yes|no			no: transfers are not encrypted if the other
 *						node says no, too
 *	log_level = error|warning|info|debug
 *	idle_timeout_ms = N			0: never close an idle connection; 300000
 *	max_pause_ms = N			0: as long as the module allows
 *	freeze_timeout_ms = N
 *	sockets = RULES				refuse, close or reset: sock_rules.h
 *	quiesce_timeout_ms = N			0: 30000
 *	node_mtbf = DURATION			mean time between failures of one node; 1y
 *	diagnose = off | notify | recover	jobs that hang: diagnose/hang_watch.h; off
 *	diagnose_every = DURATION		from one look to the next; 1m
 *	diagnose_patience = DURATION		shorter waits may be work; 10m
 *	io_trace = on | off			count the I/O of all jobs: iotrace/collect.h; off
 *	metrics_file = PATH			for node_exporter: iotrace/io_metrics.h
 *	degraded_devices = off | notify | avoid	of devices that got slow: iotrace/device_health.h;
 *						notify
 *	pipeline_memory = SIZE			buffers of a dump that writes its image; 64M
 *	files_max = SIZE			kept of files that are written in place; 1G
 *	l0_memory = SIZE | off			kept for rollbacks, of a job: job_l0.h; off
 *	incremental = N				most bases that a generation may have; 0: full
 *	scrub = off | report | stop		compare unwritten memory with the base: scrub.h
 *	scrub_every = N				one N-th of it with each checkpoint; 8
 *	merge_after = N				merge a generation with so many bases; 0: none
 *	merge_limit = SIZE			bytes copied a second; 0: no limit
 *	retain_keep = N				rule after each checkpoint of a job: retention.h
 *	retain_keep_every = N
 *	retain_max_size = SIZE
 *	user_max_jobs = N			limits of one user: user_limits.h; 1000
 *	user_max_records = N			0, as of the next two: no limit
 *	user_max_size = SIZE
 *	user_reserve = PERCENT			of image_dir's file system: user_size.h; 5
 *	user_min_interval = DURATION
 *	level.NAME = KIND:PLACE			levels beyond image_dir, and their settings:
 *						level_config.h
 */
#ifndef STILLPOINT_CONFIG_H
#define STILLPOINT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "supervisor/catalog/retention.h"
#include "supervisor/storage/level_config.h"

#define CONFIG_DEFAULT	"/etc/stillpoint/ckptd.conf"
#define CONFIG_IMAGES_DEFAULT	"/var/lib/stillpoint/images"

struct config {
	char *socket;
	char *socket_group;		/* NULL: ckptd's */
	unsigned int socket_mode;
	char *allow_users, *allow_groups;	/* NULL: not set */
	char *state_dir;
	char *image_dir;
	bool image_dir_shared;		/* by all nodes of the hosts file */
	char *key;
	char *encryption_key;		/* NULL: none */
	char *job_keys;			/* "off", "on", "only" */
	char *job_keys_recovery;	/* the site's public key; NULL: none */
	char *job_keys_dir;		/* these two are made of the others by config_secret() */
	char *secret;			/* for image_key_secret(); NULL: none */
	char *shim;
	char *mpi_dir;
	char *lower;
	char *node;
	char *hosts;
	char *node_key;
	char *listen;
	char *may_run;			/* NULL: none */
	bool munge;			/* users of other nodes have to prove that they ask */
	unsigned int lease_s;		/* 0: none */
	char *fence_command;		/* NULL: none */
	enum log_level log_level;
	unsigned int idle_timeout_ms;
	unsigned int max_pause_ms;
	unsigned int freeze_timeout_ms;
	char *sockets;			/* engine/core/sock_rules.h */
	unsigned int quiesce_timeout_ms;
	unsigned int node_mtbf_s;
	char *diagnose;			/* "off", "notify", "recover" */
	unsigned int diagnose_every_s;
	unsigned int diagnose_patience_s;
	bool io_trace;
	char *metrics_file;		/* NULL: none */
	char *degraded_devices;		/* "off", "notify", "avoid" */
	uint64_t l0_memory;		/* 0: off */
	uint64_t pipeline_memory;
	uint64_t files_max;
	unsigned int incremental;
	char *scrub;
	unsigned int scrub_every;	/* at least 1 */
	unsigned int merge_after;
	uint64_t merge_limit;
	struct retention_rule retain;
	unsigned int user_max_jobs;	/* these five: 0: no limit */
	unsigned int user_max_records;
	uint64_t user_max_size;
	unsigned int user_reserve;	/* percent */
	unsigned int user_min_interval_s;
	char *store;			/* NULL: none */
	uint64_t store_max;
	unsigned int store_port;
	bool store_encrypt;
	struct level_configs levels;
};

/* Set the defaults; -ENOMEM. */
int config_init(struct config *config);
void config_done(struct config *config);

/* Apply one setting of a line or an option; -EINVAL (value), -ENOENT (name), -E2BIG (levels). */
int config_set(struct config *config, const char *name, const char *value);
/*
 * Explain in @error why config_set() refused a setting with @err, and which values are allowed.
 * Return: @err
 */
int config_explain(const struct config *config, const char *name, const char *value, int err,
		   struct ckpt_error *error);

/* Parse a file's text, with each setting at most once. @ret_line: the line that @error is about. */
int config_parse(struct config *config, const char *text, size_t len, unsigned int *ret_line,
		 struct ckpt_error *error);

/* Find out where secrets are, when all settings have been applied. -ENOMEM */
int config_secret(struct config *config);
/* Can this node keep keys of jobs? */
bool config_has_job_keys(const struct config *config);

/* -ENOENT: there is no such file. */
int config_load(struct config *config, const char *path, struct ckpt_error *error);

#endif /* STILLPOINT_CONFIG_H */
