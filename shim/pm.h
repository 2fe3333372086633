/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process-management server: what an MPI library's MPI_Init talks to.
 *
 * There is one per shim, for the ranks of its node; it runs in the shim, as the
 * job's owner, from before the first rank exists.  Its life:
 *
 *	create()	before init is forked: what ranks inherit is made here
 *	serve()		in the shim, rights given up: may listen and start threads
 *	rank_env()	what one rank needs to find the server; goes to init with "go"
 *	forget()	in init, once all ranks have theirs: only close descriptors
 *	...		rank_ended(), fence_done()
 *	renew()		once the ranks were rolled back; then rank_env() again
 *	destroy()
 *
 * A restart makes a new one: ranks that were restored are told rank_env() and
 * load a new MPI library against it (PM_LATE: nothing can be inherited then).
 * A rollback in place renews the one that there is, to the same effect.
 *
 * Fences.  After a fence all ranks may get the values that ranks put before it.
 * When all ranks of this node are in, fence() is called with their values, an opaque
 * block; fence_done() brings the blocks of all nodes, this one's among them, one after
 * the other in any order.  There is one fence at a time.  A job of one node has
 * no fences: the server lets its ranks go by itself.
 */
#ifndef STILLPOINT_SHIM_PM_H
#define STILLPOINT_SHIM_PM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/ranks.h"
#include "base/reactor.h"

#define PM_FENCE_MAX	(64u << 20)	/* bytes of one fence, all nodes */

struct pm;

/* A server's calls to the shim; never from inside create() or destroy(). */
struct pm_events {
	/* MPI_Abort, or a rank left without MPI_Finalize: end the job. */
	void (*abort)(int code, const char *text, void *arg);
	void (*fence)(const void *data, size_t len, void *arg);
};

#define PM_LATE	(1U << 0)	/* the ranks exist already: they were restored */

struct pm_config {
	struct reactor *reactor;
	const struct ranks *ranks;	/* both live as long as the server */
	const struct pm_events *events;
	void *arg;
	long long job;
	unsigned int flags;
	char *const *env;	/* what the job was started with; lives as long as the server */
	uid_t uid;
	gid_t gid;
};

struct pm_ops {
	const char *name;
	int (*create)(const struct pm_config *config, struct pm **ret_pm);
	int (*serve)(struct pm *pm);
	/* Append to @env strings NAME=VALUE, or NAME for a variable that must be unset. */
	int (*rank_env)(struct pm *pm, unsigned int index, json_t *env);
	/* The descriptor that this rank alone inherits; -1: none. */
	int (*rank_fd)(const struct pm *pm, unsigned int index);
	void (*forget)(struct pm *pm);
	/* The rank's process is gone, @status as of waitpid(2). */
	void (*rank_ended)(struct pm *pm, unsigned int index, int status);
	/* -EBADMSG: @data is no block of such a server. */
	int (*fence_done)(struct pm *pm, const void *data, size_t len);
	/*
	 * All ranks' processes are there and have lost their MPI library, and their connections:
	 * forget what was, and serve them anew (PM_LATE). After an error only destroy() is left.
	 */
	int (*renew)(struct pm *pm);
	void (*destroy)(struct pm *pm);		/* NULL is fine */
};

/* Each server's struct pm begins with this. */
struct pm_base {
	const struct pm_ops *ops;
};

extern const struct pm_ops pm_pmi1;	/* MPICH and its ABI family */
extern const struct pm_ops pm_pmix;	/* Open MPI; in libckpt-pmix.so */

#endif /* STILLPOINT_SHIM_PM_H */
