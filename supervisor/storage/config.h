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
 *	shim = /usr/libexec/stillpoint/ckpt-shim
 *	mpi_dir = /usr/lib/stillpoint/mpi	libraries in front of the MPI libraries
 *	lower = /usr/libexec/stillpoint/ckpt-lower
 *	node = NAME				default: the host's name
 *	hosts = /etc/stillpoint/hosts		other nodes; none if it does not exist
 *	node_key = /etc/stillpoint/node.key
 *	listen = ADDRESS			for other nodes; default *: all addresses
 *	may_run = PATH				program that says who of other nodes may run
 *						jobs here (may_run.h); default: none
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
 *	quiesce_timeout_ms = N			0: 30000
 *	node_mtbf = DURATION			mean time between failures of one node; 1y
 *	pipeline_memory = SIZE			buffers of a dump that writes its image; 64M
 *	files_max = SIZE			kept of files that are written in place; 1G
 *	incremental = N				most bases that a generation may have; 0: full
 *	merge_after = N				merge a generation with so many bases; 0: none
 *	merge_limit = SIZE			bytes copied a second; 0: no limit
 *	retain_keep = N				rule after each checkpoint of a job: retention.h
 *	retain_keep_every = N
 *	retain_max_size = SIZE
 *	user_max_jobs = N			limits of one user: user_limits.h; 1000
 *	user_max_records = N			0, as of the next two: no limit
 *	user_max_size = SIZE
 *	user_min_interval = DURATION
 *	level.NAME = KIND:PLACE			levels beyond image_dir, and their settings:
 *						level_config.h
 */
#ifndef STILLPOINT_CONFIG_H
#define STILLPOINT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

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
	char *shim;
	char *mpi_dir;
	char *lower;
	char *node;
	char *hosts;
	char *node_key;
	char *listen;
	char *may_run;			/* NULL: none */
	enum log_level log_level;
	unsigned int idle_timeout_ms;
	unsigned int max_pause_ms;
	unsigned int freeze_timeout_ms;
	unsigned int quiesce_timeout_ms;
	unsigned int node_mtbf_s;
	uint64_t pipeline_memory;
	uint64_t files_max;
	unsigned int incremental;
	unsigned int merge_after;
	uint64_t merge_limit;
	struct retention_rule retain;
	unsigned int user_max_jobs;	/* these four: 0: no limit */
	unsigned int user_max_records;
	uint64_t user_max_size;
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
/* Explain why config_set() refused a setting, and which values are allowed. */
void config_explain(const struct config *config, const char *name, const char *value, int err,
		    char *why, size_t size);

struct config_mistake {
	unsigned int line;
	char text[400];
};

/* Parse a file's text, with each setting at most once; @ret_mistake is filled on failure. */
int config_parse(struct config *config, const char *text, size_t len,
		 struct config_mistake *ret_mistake);

/* -ENOENT: no such file; for other errors @why has a message. */
int config_load(struct config *config, const char *path, char *why, size_t size);

#endif /* STILLPOINT_CONFIG_H */
