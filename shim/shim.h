/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ckpt-shim: the process beside one job on one node.
 *
 *	ckptd ··· shim ─── init ─┬─ main ─── ...
 *	           │        │    └─ or the ranks of this node (ranks.h)
 *	           │        └ pid 1 of the job's namespaces: starts or restores
 *	           │          the job, reaps, writes the exit status
 *	           └ terminal, pipes, logs, socket for ckptd and terminals;
 *	             process management for the ranks (pm.h)
 *
 * Both are root until the job runs and the job's owner after that.  Neither
 * needs ckptd.  The job outlives the shim's death, too, as far as it does not
 * need the terminal and pipes that went with it.
 */
#ifndef STILLPOINT_SHIM_H
#define STILLPOINT_SHIM_H

#include <stdbool.h>
#include <sys/types.h>

#include "shim/fence.h"
#include "shim/follow.h"
#include "shim/pages.h"
#include "shim/pm.h"
#include "shim/proto.h"
#include "shim/spec.h"
#include "shim/stdio.h"
#include "base/log.h"
#include "base/reactor.h"

#define SHIM_GO_MAX	(16u << 20)	/* bytes of the "go" message to init */

struct shim_client;

/* Status pages of the ranks here, and the client that watches them. */
struct shim_watch {
	struct pages *pages;	/* NULL: there are none */
	int error;		/* why a job that should have pages has none */
	struct shim_client *client;	/* the watcher; NULL: none, and the ranks run */
	json_t *envs;		/* after a restore: for the new lower halves, by index */
	int timer;
	struct reactor_source *source;	/* NULL: nothing is under way */
	long pause;		/* between two looks, in nanoseconds */
	bool is_broken;		/* a rank got no new lower half: the job can never go on */
	struct reactor_source *broken;	/* timer that ends such a job; NULL: not begun */
};

struct shim {
	struct log log;
	struct shim_spec spec;
	struct shim_stdio io;
	struct reactor *reactor;
	int report;		/* to ckptd, until the job runs */
	int attach;		/* the first terminal's connection, until the job runs; -1 */
	int listener;
	int exit_file;		/* open for init */
	pid_t init;
	int init_sock;		/* messages to and from init; -1: it is gone */
	struct reactor_source *init_source;	/* NULL: nothing more comes from there */
	pid_t main_pid;		/* in the job's PID namespace; with ranks, the first one's */
	struct pm *pm;		/* NULL: none is needed */
	struct shim_rank *ranks;	/* by index; NULL: the job has none */
	int failed;		/* index of the first rank that failed; -1: none */
	struct shim_fence fence;
	struct shim_watch watch;
	struct shim_follow *follow;	/* other nodes' output; NULL: none */
	bool over;		/* all nodes' ranks have ended */
	bool aborted;		/* process management has ended the job */
	bool ended;
	int status;		/* as of waitpid(2) */
	struct reactor_source *linger;	/* timer: how long terminals have; NULL: not begun */
	struct shim_client *clients;
};

/* init.c: the first process of the job's namespaces; never returns. */
struct shim_init {
	const struct shim *shim;
	/* Stream: "go" from the shim (wire.h), then progress and one outcome to it. */
	int launch;
	int sock;		/* messages */
};
_Noreturn void init_run(const struct shim_init *init);

/* Become the owner of the job for good; 0 or negative errno. */
int shim_drop(const struct shim_spec *spec);

/* shim_ranks.c: the shim's work for ranks; nothing is done for a job without ranks. */
/* Raise limits for up to six descriptors per rank; call before the first is made. */
void shim_ranks_limits(const struct shim *shim);
int shim_ranks_open(struct shim *shim);
/* Make the "go" message for init, with each rank's environment; serve ranks from now on. */
json_t *shim_ranks_go(struct shim *shim, int *ret_err);
void shim_ranks_close(struct shim *shim);
/* SHIM_RENEW; 0, or negative errno: the ranks can never go on. */
int shim_ranks_renew(struct shim *shim, int shm);
/* Take the ranks' pids from init's outcome. */
void shim_ranks_started(struct shim *shim, const json_t *pids);
void shim_ranks_message(struct shim *shim, const struct shim_msg *msg);
/* Take a piece of a fence's answer. */
void shim_ranks_fenced(struct shim *shim, const struct shim_msg *msg, const void *data,
		       size_t len);

/* shim_pages.c; nothing is done for a job without status pages. */
void shim_pages_open(struct shim *shim, int dir);
void shim_pages_close(struct shim *shim);
/* The ranks were rolled back: open the pages in their /dev/shm anew; the ranks find @envs there. */
int shim_pages_renew(struct shim *shim, int shm, json_t *envs);
/* Note that the rank at @index has ended. */
void shim_pages_over(struct shim *shim, unsigned int index);
/* Handle SHIM_WATCH to SHIM_EXCLUDE; 0, or negative errno: drop the client. */
int shim_pages_handle(struct shim *shim, struct shim_client *client,
		      const struct shim_msg *msg, const void *data, size_t len);
/* Forget @client, which is being dropped, as the watcher. */
void shim_pages_unwatch(struct shim *shim, const struct shim_client *client);

/* client.c */
int client_send(struct shim_client *client, const struct shim_msg *msg, const void *data,
		size_t len);
int client_add(struct shim *shim, int sock, bool attached);
/* Serve everyone from the logs; call when they grew or the job ended. */
void clients_wake(struct shim *shim);
/* True if every attached client has been told of the job's end. */
bool clients_served(const struct shim *shim);
unsigned int clients_attached(const struct shim *shim);
/* True if an attached client has taken output since the last call. */
bool clients_moved(struct shim *shim);
/* End the shim if the job has ended and all attached clients were served. */
void shim_maybe_leave(struct shim *shim);
/* Handle all messages that init has sent so far. */
void shim_hear(struct shim *shim);
/* Have init send @signo to the members; -ESRCH when the job has ended. */
int shim_signal(struct shim *shim, int signo);
/* True at the home of a job on several nodes, whose end depends on other nodes' ranks, too. */
bool shim_is_home(const struct shim *shim);
/* Note that all ranks on all nodes have ended; @status is the job's. */
void shim_over(struct shim *shim, int status);
/* End the ranks here; the job's status is @code unless one has failed before. */
int shim_abort(struct shim *shim, int code);

#endif /* STILLPOINT_SHIM_H */
