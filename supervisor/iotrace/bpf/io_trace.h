/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of a job's I/O as the BPF programs (io_trace.bpf.c) keep them in maps and ckptd's
 * collector reads them. No functions; both sides include it, so only types of the includer.
 *
 * The includer defines __u32 and __u64 before.
 */
#ifndef STILLPOINT_IO_TRACE_H
#define STILLPOINT_IO_TRACE_H

#include <linux/types.h>

/* Reads and writes of regular files and block devices; OTHER: of pipes, sockets, terminals. */
enum io_op {
	IO_READ, IO_WRITE, IO_READ_OTHER, IO_WRITE_OTHER,
	IO_OPEN, IO_CREATE, IO_CLOSE, IO_FSYNC, IO_RENAME, IO_UNLINK, IO_OPS
};

/* Histograms: sizes in bytes, and how long a call took. */
enum io_hist { IO_READ_SIZE, IO_WRITE_SIZE, IO_READ_NS, IO_WRITE_NS, IO_META_NS, IO_HISTS };

/* Bucket N has values from 2^(N-1) to 2^N - 1, bucket 0 the value 0, the last one all above. */
#define IO_BUCKETS	40
#define IO_JOBS_MAX	1024
#define IO_FILES_MAX	65536
#define IO_NAMES_SIZE	(4 << 20)	/* bytes of the ring */
#define IO_PATH_MAX	1024

struct io_op_counts {
	__u64 count;
	__u64 errors;
	__u64 bytes;
	__u64 ns;
};

struct io_counts {
	struct io_op_counts op[IO_OPS];
	__u64 hist[IO_HISTS][IO_BUCKETS];
	__u64 names_lost;		/* the ring was full: told at the next open */
	__u64 files_lost;		/* operations on files that the table had no room for */
};

/* Counters of one job are spread over stripes, so that processors seldom write to one line. */
#define IO_STRIPES	16

struct io_counts_key {
	__u64 job;
	__u32 stripe;
	__u32 zero;
};

struct io_file_key {
	__u64 job;
	__u64 ino;
	__u32 dev;		/* of the super block, as the kernel packs it: 12 and 20 bits */
	__u32 zero;
};

#define IO_FILE_NAMED		1u
#define IO_FILE_READERS		2u	/* more than one process reads */
#define IO_FILE_WRITERS		4u

/* One side, reading or writing, of a file. */
struct io_side {
	__u64 count;
	__u64 bytes;
	__u64 sequential;		/* began where the last one ended */
	__u64 end;
	__u64 processes;		/* a bit for each, by its number modulo 64 */
	__u32 first;		/* number of the first process; 0: none */
	__u32 zero;
};

struct io_file {
	struct io_side side[2];	/* reading, writing */
	__u64 opens;
	__u64 born;		/* time of the entry, CLOCK_MONOTONIC */
	__u64 flags;
	__u32 tick;		/* of the collector, at the last change */
	__u32 zero;
};

/* A file's name, in the ring, when a job first opens the file. */
struct io_name {
	struct io_file_key key;
	__u64 born;
	__u32 partial;		/* the last part of the path only */
	__u32 zero;
	char path[IO_PATH_MAX];
};

#endif /* STILLPOINT_IO_TRACE_H */
