/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lustre as this node's clients see it: what they read and wrote, how long the requests to each
 * target took, and whether the client is connected to the target. Lustre 2.12 to 2.15.
 *
 * Lustre moved these files: a client has them below /proc/fs/lustre, /sys/fs/lustre or (debugfs)
 * /sys/kernel/debug/lustre, some here and some there. All three are looked at, below a root that
 * tests choose. Only files with counters of the client are read; those that ask a server (filesfree
 * and the like) never. The state of the imports is apart: the kernel gives it under a lock that a
 * client which is being disconnected may hold for long, so a child reads it (asked.h).
 */
#ifndef STILLPOINT_LUSTRE_STATS_H
#define STILLPOINT_LUSTRE_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define LUSTRE_CLIENTS_MAX	32
#define LUSTRE_TARGETS_MAX	4096	/* of all clients */
#define LUSTRE_NAME		64

/* A line of a file "stats": how often, and the sum of its bytes or microseconds. */
struct lustre_count {
	uint64_t count, sum;
};

/* An OST or an MDT of a client. */
struct lustre_target {
	char name[LUSTRE_NAME];		/* "OST0000" */
	bool is_ost;
	char state[16];			/* "FULL", "DISCONN", ...; "": not known */
	struct lustre_count read, write;	/* bytes of requests */
	struct lustre_count read_us, write_us;	/* their time */
	struct lustre_count wait_us;	/* of all requests */
	/* now: requests on their way, and pages that wait for one */
	uint64_t in_flight[2], pending_pages[2];	/* reading, writing */
};

/* A mount: the client of one file system. */
struct lustre_client {
	char fs[LUSTRE_NAME];		/* "scratch" */
	char instance[LUSTRE_NAME];	/* "ffff9a3c40a1b800": another mount has another one */
	struct lustre_count read, write;	/* of programs */
	struct lustre_target *targets;
	size_t nr_targets;
};

struct lustre_clients {
	struct lustre_client *clients;
	size_t nr;
	bool cut;		/* there are more targets, or clients */
};

/*
 * lustre_parse_stats() - take the line @name out of a file "stats"
 *
 *	write_bytes  100 samples [bytes] 4096 1048576 104857600 [...]
 *
 * 0, or -ENOENT: no such line, or one that is cut off; a line without a sum has the sum 0.
 */
int lustre_parse_stats(const char *text, const char *name, struct lustre_count *ret_count);
/* Take the state out of a file "import"; @ret_state: 16 bytes. 0 or -EBADMSG. */
int lustre_parse_import(const char *text, char *ret_state);
/* Take what is on its way now out of a file "rpc_stats". 0, or -EBADMSG: none of it is there. */
int lustre_parse_rpcs(const char *text, uint64_t in_flight[2], uint64_t pending_pages[2]);
/*
 * Divide a directory's name, "scratch-OST0000-osc-ffff9a3c40a1b800", by the kind ("osc").
 * Each of @ret_fs, @ret_target, @ret_instance: LUSTRE_NAME bytes. 0 or -EBADMSG.
 */
int lustre_parse_target(const char *name, const char *kind, char *ret_fs, char *ret_target,
			char *ret_instance);

/*
 * lustre_read() - all clients of this node
 * @root: "" for this machine
 *
 * A file that cannot be read leaves zeroes. 0 or -ENOMEM; without Lustre there are no clients.
 */
int lustre_read(const char *root, struct lustre_clients *ret_clients);
/*
 * lustre_read_states() - add the states of the targets
 * @state_dir: has the lock
 * @ms: the longest time that this waits
 *
 * 0, also without clients; or an error of asked.h, and the states stay unknown.
 */
int lustre_read_states(const char *root, const char *state_dir, unsigned int ms,
		       struct lustre_clients *clients);
void lustre_free(struct lustre_clients *clients);	/* an empty one is fine */

/* The client in @clients that is @client as it was before; NULL: it is new. */
const struct lustre_client *lustre_find(const struct lustre_clients *clients,
					const struct lustre_client *client);
/* The target of @before that is @now as it was; NULL: it is new, or @before is NULL. */
const struct lustre_target *lustre_target_before(const struct lustre_client *before,
						 const struct lustre_target *now);
/* The state is one in which requests can be answered: FULL, or IDLE until there is one. */
bool lustre_state_is_good(const char *state);
struct lustre_count lustre_since(struct lustre_count now, struct lustre_count before);

/*
 * lustre_rates() - the client between two looks, @ms apart
 * @before: NULL: it is new
 *
 * {"fs", "instance", "reads_per_s", "read_bytes_per_s", "read_ms" (of requests to OSTs),
 * "writes_per_s", "write_bytes_per_s", "write_ms", "read_bytes", "written_bytes" (since the
 * mount), "in_flight", "disconnected" (targets), "targets": [{"target", "state", "reads_per_s",
 * "read_bytes_per_s", "read_ms", "writes_per_s", "write_bytes_per_s", "write_ms", "wait_ms" (mean
 * of all requests), "in_flight", "pending_pages"}, ...]}
 */
json_t *lustre_rates(const struct lustre_client *before, const struct lustre_client *now,
		     uint64_t ms);

#endif /* STILLPOINT_LUSTRE_STATS_H */
