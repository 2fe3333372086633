/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The collector's state, shared by its loop (collect.c) and the watched jobs (traced.c). It lives
 * in the collector's process alone.
 */
#ifndef STILLPOINT_COLLECT_PRIV_H
#define STILLPOINT_COLLECT_PRIV_H

#include <jansson.h>

#include "supervisor/iotrace/collect.h"
#include "supervisor/iotrace/io_metrics.h"
#include "supervisor/iotrace/io_program.h"
#include "supervisor/iotrace/io_store.h"
#include "supervisor/iotrace/source_bpf.h"

#define IO_TRACED_DEVICES	32	/* files on more have no place */

struct collector;

/* A watched job. */
struct io_traced {
	struct collector *collector;
	struct io_store_job job;	/* its texts are below */
	struct io_store_span span;	/* its job is the key, as in the kernel's maps */
	char name[64];
	char uuid[IO_STORE_UUID];
	char program[IO_PROGRAM_MAX];
	char *nodes;		/* as of io_store_job */
	char why[600];
	pid_t init;
	int pidfd;
	uint32_t ns;		/* PID namespace; 0: not counted by BPF */
	struct reactor_source *end;
	bool noted;		/* the store has job and span */
	__u32 devices[IO_TRACED_DEVICES];	/* whose places were looked for */
	unsigned int nr_devices;
	bool confirmed;		/* by the ckptd that is connected now */
	struct io_counts base;		/* by /proc: what was before the watch */
	struct io_counts stored;	/* what the store has of this span */
	struct io_counts seen;		/* what the sample sums have */
	int64_t phases_s;		/* phases before this second are stored */
	struct io_traced *next;
};

struct collector {
	const struct common *common;
	struct reactor *reactor;
	struct io_store *store;
	struct io_bpf *bpf;	/* NULL: no job is counted by it */
	struct io_traced *jobs;
	unsigned int nr_jobs;
	int listen, client;	/* @client -1: no ckptd is connected */
	struct reactor_source *client_source;
	struct reactor_source *tick;
	struct io_metrics metrics;
	int64_t alone_ms;	/* since when no ckptd is connected, or nothing is watched */
	int64_t idle_ms;	/* since when no job needs the BPF programs; 0: one does */
	int64_t confirm_ms;	/* when jobs that ckptd has not named are dropped; 0: never */
	int64_t expire_ms;	/* when old rows are removed next */
	int64_t phases_ms;	/* when phases of jobs that go on are stored next */
	int64_t clock_s;	/* wall clock of the last tick */
	uint64_t missed;	/* as last stored */
	bool failing;		/* the last transaction failed */
	char *metrics_path;	/* as the last ckptd said; NULL: none */
	bool metrics_failing;
	unsigned int ticks, room_ticks;
};

/*
 * traced_watch() - count @message's job from now on
 *
 * A job that is watched already, with the same init, goes on.
 * Return: the answer, a new reference.
 */
json_t *traced_watch(struct collector *collector, const json_t *message);
void traced_unwatch(struct collector *collector, int64_t number);
/* A new ckptd is connected: jobs that it does not name soon are not watched any more. */
void traced_ask_again(struct collector *collector);
/* One transaction: all that has changed since the last one. */
void traced_tick(struct collector *collector);

#endif /* STILLPOINT_COLLECT_PRIV_H */
