/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mounts of NFS by /proc/self/mountstats: counters that the kernel's client keeps in memory, so
 * that a server that does not answer delays nobody who looks.
 *
 * Several mounts of one file system (its parts, bind mounts) have one set of counters: the first
 * stands for all of them. Of an operation the kernel counts, in milliseconds summed up, how long
 * requests waited to be sent (queue), from sending to the answer (rtt), and both with all else
 * (execute). A request that is sent twice is two transmissions of one operation.
 */
#ifndef STILLPOINT_NFS_STATS_H
#define STILLPOINT_NFS_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisor/devices/mount_table.h"

#define NFS_MOUNTS_MAX	1024	/* that are read; homes are mounted one by one */
#define NFS_OPS_MAX	128	/* of a mount; NFS 4.2 has 68 */
#define NFS_OP_NAME	32

struct nfs_op {
	char name[NFS_OP_NAME];
	uint64_t count, transmissions, timeouts, sent, received;
	uint64_t queue_ms, rtt_ms, execute_ms;
	uint64_t errors;	/* 0 before Linux 5.3, which does not count them */
};

struct nfs_mount {
	char *source, *dir;	/* "srv:/export"; without escapes */
	char number[24];	/* of the device, "0:45"; "": not known */
	bool is_v4;
	uint64_t age_s;
	uint64_t read_bytes, written_bytes;	/* of requests to the server */
	struct nfs_op *ops;	/* @nr_ops of them, which were used */
	size_t nr_ops;
};

struct nfs_mounts {
	struct nfs_mount *mounts;
	size_t nr;
	bool cut;		/* there are more than NFS_MOUNTS_MAX */
};

/*
 * nfs_mounts_parse() - take the mounts of NFS out of the text of mountstats
 * @table: gives the devices' numbers, by which mounts are known as one; NULL: none is
 *
 * A line that is cut off, or has a number that is none, counts as not there. 0 or -ENOMEM.
 */
int nfs_mounts_parse(FILE *f, const struct mount_table *table, struct nfs_mounts *ret_mounts);
/* The same of this process. Negative errno; -ENOENT: the kernel has no such file. */
int nfs_mounts_read(struct nfs_mounts *ret_mounts);
void nfs_mounts_free(struct nfs_mounts *mounts);	/* an empty one is fine */

/* The mount in @mounts that is @mount as it was before; NULL: it is new. */
const struct nfs_mount *nfs_mounts_find(const struct nfs_mounts *mounts,
					const struct nfs_mount *mount);
/* The mount of the device "MAJOR:MINOR"; NULL: none. */
const struct nfs_mount *nfs_mounts_of(const struct nfs_mounts *mounts, const char *number);
/* The mount's operation by its name, as "WRITE"; NULL: it was not used. */
const struct nfs_op *nfs_mount_op(const struct nfs_mount *mount, const char *name);

/*
 * nfs_op_since() - what came since @before; its name is @now's
 * @before: NULL: all of @now
 */
struct nfs_op nfs_op_since(const struct nfs_op *now, const struct nfs_op *before);
/* Requests that were sent again: transmissions beyond the operations. */
uint64_t nfs_op_again(const struct nfs_op *op);

/*
 * nfs_rates() - the mount between two looks, @ms apart
 * @before: NULL: the mount is new, all of its counters came in between
 *
 * {"source", "dir", "number", "version": 3 or 4, "age_s", "read_bytes", "written_bytes" (since the
 * mount), "reads_per_s", "read_bytes_per_s", "read_ms" (mean rtt), "writes_per_s",
 * "write_bytes_per_s", "write_ms", "retransmissions", "timeouts", "operations": [{"name",
 * "total", "per_s", "queue_ms", "rtt_ms", "execute_ms" (means), "retransmissions", "timeouts",
 * "errors", "sent_bytes", "received_bytes"}, ...]}; without a word: in between.
 */
json_t *nfs_rates(const struct nfs_mount *before, const struct nfs_mount *now, uint64_t ms);

#endif /* STILLPOINT_NFS_STATS_H */
