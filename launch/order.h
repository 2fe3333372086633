/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An order to ckpt-launch: start one shim, and put it where its job has to stand. ckptd gives
 * orders, by a connection that only root has; both are of one build and on one machine.
 *
 * An order is one message: struct launch_text, and the descriptors beside it. It holds nothing
 * that a user has written: command line and environment of the job are in the specification,
 * which the launcher hands on unread.
 *
 *	hello	launcher to ckptd, first: LAUNCH_VERSION, with the launcher's credentials
 *	order	ckptd to launcher, any number of times; there is no answer. The shim, or the
 *		launcher if there is no shim, reports on the descriptor @report.
 */
#ifndef STILLPOINT_LAUNCH_ORDER_H
#define STILLPOINT_LAUNCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LAUNCH_VERSION		1
#define LAUNCH_HIERARCHIES	32	/* of control groups: one of v2, and each of v1 */

/* Namespaces that a shim can enter, in the order in which it does. */
enum launch_ns {
	LAUNCH_NS_NET,
	LAUNCH_NS_UTS,
	LAUNCH_NS_IPC,
	LAUNCH_NS_CGROUP,
	LAUNCH_NS_COUNT,
};

/* The name of a namespace in /proc/PID/ns. */
const char *launch_ns_name(enum launch_ns ns);

/**
 * struct launch_text - what is in an order beside descriptors
 * @version: LAUNCH_VERSION
 * @pid: the process beside which the job stands, for messages
 * @role: follows "process N" in messages
 * @group: its control group of v2, for messages
 * @loginuid: audit id to take; "": none
 * @confined: the fields above and below count, and so do descriptors but the first three
 * @no_new_privs: set no_new_privs
 */
struct launch_text {
	uint32_t version;
	int32_t pid;
	char role[32];
	char group[256];
	char loginuid[16];
	uint8_t confined, no_new_privs;
};

/**
 * struct launch_order - an order
 * @text: see there
 * @spec: the specification, a file (shim/spec.h)
 * @report: the stream on which the shim reports
 * @attach: the connection of a terminal; -1: none
 * @v2: directory of a control group of v2 to enter; -1: stay
 * @tasks: cgroup.procs of control groups of v1 to enter, open for writing
 * @nr_tasks: how many of @tasks
 * @ns: namespaces to enter; -1: stay
 */
struct launch_order {
	struct launch_text text;
	int spec, report, attach, v2;
	int tasks[LAUNCH_HIERARCHIES];
	unsigned int nr_tasks;
	int ns[LAUNCH_NS_COUNT];
};

/* An order without descriptors, of a job that is not confined. */
void launch_order_init(struct launch_order *order);

/* Send @order; its descriptors stay the caller's. Never waits: -EAGAIN, other negative errno. */
int launch_order_send(int sock, const struct launch_order *order);

/*
 * launch_order_receive() - wait for an order; its descriptors are the caller's
 *
 * Return: 1; 0: the connection has ended; -EPROTO: this is no order; other negative errno.
 */
int launch_order_receive(int sock, struct launch_order *ret_order);

/* Close all descriptors of @order. */
void launch_order_done(struct launch_order *order);

#endif /* STILLPOINT_LAUNCH_ORDER_H */
