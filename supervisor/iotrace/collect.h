/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The collector: a process that counts the I/O of the watched jobs of this node, once a second,
 * and writes it into the store (io_store.h).
 *
 * ckptd starts the collector as a worker that stays, and tells it the jobs over a socket,
 * STATE_DIR/io.sock. The collector outlives ckptd, so that nothing is missed while ckptd is
 * restarted: the next ckptd connects to the same collector. A collector without watched jobs, or
 * of another version, or that no ckptd has connected to for ten minutes, leaves.
 *
 * Messages are JSON, one a packet (SOCK_SEQPACKET).
 *
 *	to the collector: {"hello": IO_HELLO, "metrics_file": PATH or ""}, first
 *			  {"watch": JOB, "uuid": T, "pid": INIT, "uid": U, "name": N,
 *			  "host_ns": B, "program": T (io_program.h), "ranks": N,
 *			  "nodes": [NAME, ...], if there are several}
 *			  {"unwatch": JOB}
 *	from it:	  {"job": JOB, "source": "bpf" | "proc" | "", "why": TEXT}
 */
#ifndef STILLPOINT_COLLECT_H
#define STILLPOINT_COLLECT_H

#include "libckptctl/version.h"
#include "supervisor/storage/common.h"

#define IO_SOCKET	"io.sock"
/* a collector that gets another one leaves: it changes with the messages and with the store */
#define IO_HELLO	CKPT_VERSION " 3"
#define IO_MESSAGE_MAX	65536
#define IO_NODES_MAX	49152	/* of it, as text; a job with more has none in the record */

struct collect {
	const struct common *common;
	int listen;		/* socket that listens; kept by the worker */
};

/* The worker's kind; its argument is a struct collect. */
extern const struct worker_kind collect_work;

#endif /* STILLPOINT_COLLECT_H */
