/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Launches that a script which is itself a job asks for, on the batch step's side.
 *
 * A process in a job cannot start another job of ckptd, and a connection out of a job cannot be
 * saved. So launchers (launcher.h) ask through a socket in a directory of the user's, only while
 * the port is open, and files there tell them what became of their launch:
 *
 *	port		the socket
 *	KEY.runs	the launch is known; its first line is the launch's name
 *	KEY.ended	it is over; its first line is the exit status
 */
#ifndef STILLPOINT_SLURM_PORT_H
#define STILLPOINT_SLURM_PORT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "scheduler/slurm/child.h"

#define PORT_SOCKET		"port"
#define PORT_RUNS		"runs"
#define PORT_ENDED		"ended"
#define PORT_DIRECTORY_MAX	96	/* bytes; addresses of sockets are short */

struct port_launch;

/**
 * struct port - the launches of one run of the batch step
 * @directory: where socket and files are
 * @prefix: of the names of ckptd's jobs: "slurm-CLUSTER-ID."
 * @first: the batch job was never requeued, so that no earlier job is meant by a new name
 * @requeues: how often that was
 * @restored: the script goes on where it was, so that a new launch needs a name of its own
 * @mask: the signals that are blocked in launched jobs
 * @pipe: what SIGPIPE does in launched jobs
 * @fd: the listening socket; -1: the port is shut
 * @launches: those that are known
 * @nr_launches: number of @launches
 * @saved: a launch was saved by somebody else: all has to be saved
 * @asked_again: ckptd did not answer the last launch, which is asked for again
 * @doubt: nobody knows which job a launch is, so that the script must begin anew, and name it
 * @hold: a launch can never go on: why the batch job is to be held; empty: none
 */
struct port {
	const char *directory;
	char prefix[128];
	bool first;
	unsigned int requeues;
	bool restored;
	const sigset_t *mask;
	const struct sigaction *pipe;
	int fd;
	struct port_launch **launches;
	size_t nr_launches;
	bool saved;
	bool asked_again;
	bool doubt;
	char hold[256];
};

/*
 * port_open() - listen for launchers
 *
 * Return: 0, or a negative errno.
 */
int port_open(struct port *port);

/*
 * port_shut() - listen no more; launchers that ask meanwhile try again later
 */
void port_shut(struct port *port);

/* port_take() - take one request of a launcher, if one is there */
void port_take(struct port *port);

/*
 * port_ended() - a child process of ours has ended
 *
 * Return: false if it was none of the port's.
 */
bool port_ended(struct port *port, pid_t pid, int wait_status);

/* port_watch() - end launches whose launcher was killed, and try again what is due for that */
void port_watch(struct port *port);

/* port_cost_ms() - what checkpoints of all launches that run have taken at most; 0: unknown */
int64_t port_cost_ms(const struct port *port);

/* port_runs() - number of launches that run */
size_t port_runs(const struct port *port);

/*
 * port_save() - have each launch that runs saved and ended
 * @why: SAVER_WHY bytes
 *
 * Return: 0, or a negative errno with @why: some may be saved, some run on.
 */
int port_save(struct port *port, char *why, unsigned int size);

/*
 * port_forget() - forget all launches that do not run
 *
 * Their launchers ask again as soon as the port is open, and a saved launch goes on then.
 */
void port_forget(struct port *port);

/* port_close() - shut, end launches that run, forget all, and remove what is in the directory */
void port_close(struct port *port);

#endif /* STILLPOINT_SLURM_PORT_H */
