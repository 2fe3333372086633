/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dump of a job's processes on this node, in a worker. Checkpoints of all kinds use it; the
 * caller decides when a held dump goes on.
 *
 * A held dump stops and waits for job_dump_go(): of a job over several nodes, when the tree stands
 * still and what it wrote to files is for all nodes to see; when all is captured (the tree stands
 * still until then); and when the image is in its place (a tree to be killed stands still until
 * then, too).
 */
#ifndef STILLPOINT_JOB_DUMP_H
#define STILLPOINT_JOB_DUMP_H

#include "supervisor/job/jobs.h"

struct job_dump;
struct sock_link;

/* The answer about a connection to the outside: sock_link.link and .role. */
struct job_dump_link {
	uint32_t link, role;
};

struct job_dump_ops {
	/*
	 * A held dump of a job over several nodes without MPI waits for job_dump_links(): it tells
	 * the tree's connections to the outside (engine/core/sock_link.h).
	 */
	void (*links)(const struct sock_link *links, unsigned int nr, void *arg);
	/* a held dump waits at one of its stops */
	void (*flushed)(void *arg);
	void (*captured)(void *arg);
	void (*stored)(void *arg);
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/* Called once, last; takes over @outcome. The dump has been freed. */
	void (*ended)(json_t *outcome, void *arg);
};

struct job_dump_options {
	/*
	 * As of op_dump(), copied; and "any_rights": true if root asks, so that the tree may hold
	 * more than the job's owner has.  It is in here because it goes to the other nodes, too.
	 */
	json_t *args;
	bool held;
	uint64_t silent_ns;	/* time until the ranks were silent; for the image's note */
	uint64_t quiesce_ns;	/* time since the checkpoint was asked for; 0: not asked here */
};

int job_dump_start(struct job *job, const struct job_dump_options *options,
		   const struct job_dump_ops *ops, void *arg, struct job_dump **ret_dump);
/* Answer links(), with as many as it told. Ignored where the dump waits for nothing of the kind. */
void job_dump_links(struct job_dump *dump, const struct job_dump_link *links, unsigned int nr);
/* Let a dump that waits after flushed(), captured() or stored() go on. */
void job_dump_go(struct job_dump *dump);
/*
 * Abandon the dump at any stage; ended() follows, and no image is left. A dump that was let go on
 * after stored() counts: it ends as if job_dump_abort() had not been called.
 */
void job_dump_abort(struct job_dump *dump);

#endif /* STILLPOINT_JOB_DUMP_H */
