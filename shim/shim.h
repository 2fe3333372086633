/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ckpt-shim: what stands beside one job on one node.
 *
 *	ckptd ··· shim ─── init ─── main ─── ...
 *	           │        └ pid 1 of the job's namespaces: starts or restores
 *	           │          the job, reaps, writes the exit status
 *	           └ terminal, pipes, logs, socket for ckptd and terminals
 *
 * Both are root until the job runs and the job's owner after that.  Neither
 * needs ckptd.  The job outlives the shim's death, too, as far as it does not
 * need the terminal and pipes that went with it.
 */
#ifndef STILLPOINT_SHIM_H
#define STILLPOINT_SHIM_H

#include <stdbool.h>
#include <sys/types.h>

#include "shim/spec.h"
#include "shim/stdio.h"
#include "supervisor/log.h"
#include "supervisor/reactor.h"

struct shim_client;

struct shim {
	struct log log;
	struct shim_spec spec;
	struct shim_stdio io;
	struct reactor *reactor;
	int report;		/* to ckptd, until the job runs */
	int listener;
	int exit_file;		/* open for init */
	pid_t init;
	int init_sock;		/* messages to and from init; -1: it is gone */
	pid_t main_pid;		/* in the job's PID namespace */
	bool ended;
	int status;		/* as of waitpid(2) */
	struct shim_client *clients;
};

/* init.c: the first process of the job's namespaces; never returns. */
struct shim_init {
	const struct shim *shim;
	int launch;		/* stream to the shim: progress, then one outcome (wire.h) */
	int sock;		/* messages */
};
_Noreturn void init_run(const struct shim_init *init);

/* Become the owner of the job for good; 0 or negative errno. */
int shim_drop(const struct shim_spec *spec);

/* client.c */
int client_add(struct shim *shim, int sock, bool attached);
/* Serve everyone from the logs; call when they grew or the job ended. */
void clients_wake(struct shim *shim);
/* Nobody attached waits for anything any more. */
bool clients_served(const struct shim *shim);
unsigned int clients_attached(const struct shim *shim);
/* To init; -ESRCH when the job has ended. */
int shim_signal(struct shim *shim, int signo);

#endif /* STILLPOINT_SHIM_H */
