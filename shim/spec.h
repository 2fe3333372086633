/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The specification that a shim is started with: one job, to be run or to be restored.
 *
 * ckptd writes it as JSON into a memory file; the strings here point into the parsed text. A dry
 * run has another one, see try.h.
 */
#ifndef STILLPOINT_SHIM_SPEC_H
#define STILLPOINT_SHIM_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "shim/ranks.h"

#define SPEC_TTY	"tty"	/* a terminal of the job's own */
#define SPEC_PIPE	"pipe"	/* output is read by the shim and logged; input is the clients' */
#define SPEC_NULL	"null"
/*
 * The phase that a shim reports when the processes that it has restored are held. ckptd answers
 * one byte: they run. The end of the connection instead, also by the end of ckptd, undoes the
 * restore.
 */
#define SPEC_HELD	"held"
/* An image of several is held, and the next one is restored: no answer is waited for. */
#define SPEC_NEXT	"next"
/* As SPEC_HELD; after the answer files of other nodes are looked at, and SPEC_HELD is next. */
#define SPEC_LOOKS	"looks"

struct shim_spec {
	json_t *json;
	json_int_t job;
	json_int_t pages;	/* the job after which the ranks' status pages are named */
	const char *state_dir;	/* of this job, on this node */
	const char *image_dir;	/* of this job: logs, generations */
	const char *key;
	const char *encryption_key;	/* NULL: none */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t nr_groups;
	bool host_ns;
	uint64_t writes_tag;	/* of the job's write logs: write_log_tag() */
	struct ranks ranks;	/* size 0: one main process */
	const char *stdio[3];	/* SPEC_* or an absolute path */
	unsigned int window;	/* rows << 16 | columns */
	/* run */
	char **argv;
	char **env;
	const char *cwd;
	mode_t umask;
	int nice;			/* of the job's processes, if there is no @sched */
	const json_t *sched;		/* their scheduling, base/scheduling.h; NULL: ckptd's */
	uint64_t bounding;	/* capability bounding set of the job */
	const char *apparmor;	/* profile of the job's first processes; NULL: the shim's */
	bool has_limits;
	struct rlimit limits[RLIM_NLIMITS];
	/* restore */
	json_t *restore;	/* arguments of op_restore() for each image; NULL: run */
	bool any_rights;	/* of op_restore(): root asks */
	bool hold;		/* restored processes wait for ckptd's word before they run */
	const json_t *asker;	/* of op_restore(); NULL: root asks, or nobody is known to */
	pid_t main_pid;
	json_int_t log_len[2];	/* the logs are cut to these */
	/*
	 * At the home: lengths [[output, errors], ...] of the logs of nodes that the job had
	 * before, from node ranks.nr_nodes on; NULL: none
	 */
	const json_t *old_logs;
};

/* Read and check the specification in @fd; -EINVAL, -ENOMEM. */
int spec_load(int fd, struct shim_spec *ret_spec, struct ckpt_error *error);
void spec_done(struct shim_spec *spec);

/* True if the ranks have status pages (pages.h): with the glue and a /dev/shm of their own. */
bool spec_has_pages(const struct shim_spec *spec);

/* How many nodes have logs: the job's nodes, and at its home also its former nodes. */
unsigned int spec_log_nodes(const struct shim_spec *spec);

/* True if any of the three streams uses the terminal. */
bool spec_has_tty(const struct shim_spec *spec);

#endif /* STILLPOINT_SHIM_SPEC_H */
