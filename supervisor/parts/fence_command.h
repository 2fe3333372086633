/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The site's fence command ("fence_command" in ckptd.conf): makes sure that a node is off.
 *
 * Run as root, in a worker, as
 *
 *	COMMAND NODE "job N is cut off from it"
 *
 * Exit status 0 says that the node is surely off, or was surely restarted, and runs nothing of the
 * job. Anything else says that this is not known, and so does a command that takes longer than
 * FENCE_COMMAND_MS, which is killed with all that it has started.
 */
#ifndef STILLPOINT_FENCE_COMMAND_H
#define STILLPOINT_FENCE_COMMAND_H

#include <jansson.h>
#include <stdint.h>

#define FENCE_COMMAND_MS	120000

struct common;
struct worker;

typedef void (*fence_command_fn)(json_t *outcome, void *arg);

/**
 * struct fence_command - a run of it; the caller's, who keeps it as long as it runs
 * @node: which node shall be off
 * @job: why: the job that the node is cut off from
 * @fn: gets the outcome, which it owns: success if the node is off
 * @command: set by fence_command_start()
 * @worker: set by fence_command_start(); NULL: nothing runs
 */
struct fence_command {
	const char *node;
	int64_t job;
	fence_command_fn fn;
	void *arg;
	const char *command;
	struct worker *worker;
};

/* Return: 0 or a negative errno. */
int fence_command_start(const struct common *common, struct fence_command *fence);
/* End it, if it runs; @fn is not called any more. */
void fence_command_stop(struct fence_command *fence);

#endif /* STILLPOINT_FENCE_COMMAND_H */
