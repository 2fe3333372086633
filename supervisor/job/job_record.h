/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of a job: what the catalog keeps of it (IMAGE_DIR/ID/job.json), what nodes send each
 * other, and what an image carries.
 *
 * JSON is the record's form on disk and on the wire only. job_record_decode() reads it once, when
 * the record is loaded or received; job_record_encode() makes it when the record is saved or sent.
 * In between the record is this struct. Both are pure: no I/O, no clock.
 *
 * Three members are JSON still. @launch goes to the shim as it is, and no room reads a field of
 * it. @ranks is read by the functions of rank_record.h alone, @tombstones by those of tombstone.h;
 * both are sent to workers and to other nodes as they are. A field that this release does not know
 * is kept in @other and written back, so that a node of a later release loses nothing. Every field
 * that a record of an earlier release may lack is optional; an optional field of a wrong type is
 * an error.
 */
#ifndef STILLPOINT_JOB_RECORD_H
#define STILLPOINT_JOB_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define JOB_NODE_MAX	256	/* bytes of a node's name, with the end */
#define JOB_BOOT_MAX	64	/* bytes of a boot's name, with the end */

enum job_state {
	JOB_STARTING,		/* a shim starts or restores it */
	JOB_RUNNING,
	JOB_ENDED,		/* status is valid */
	JOB_SAVED,		/* ended by a checkpoint with --kill */
	JOB_LOST,		/* its node or its processes went away without a status */
	JOB_ELSEWHERE,		/* another node has it, as far as is known */
};

const char *job_state_name(enum job_state state);
bool job_state_parse(const char *name, enum job_state *ret_state);

/**
 * struct job_change - the last change of a job's state; may be copied by assignment
 * @state: "state"
 * @status: "status", as of waitpid(2); 0 if the record has none
 * @since: "since", seconds; 0: not in the record
 * @node: "node" that wrote the change; "": not in the record
 * @boot: "boot" of that node; "": not in the record
 * @failed_rank: "failed_rank", the first rank that failed; -1: none
 * @kill_signal: "kill_signal", by which a request ended the job (job_kill()); 0: none
 */
struct job_change {
	enum job_state state;
	int status;
	int64_t since;
	char node[JOB_NODE_MAX];
	char boot[JOB_BOOT_MAX];
	int failed_rank;
	int kill_signal;
};

/**
 * struct job_automatic - "auto": which checkpoints ckptd takes by itself (auto/schedule.h)
 * @on: false: none, and the other members are 0
 * @every_ms: "every_ms", the interval; 0: it follows from the cost of checkpoints
 * @mtbf_ms: "mtbf_ms", the time between failures of the job; 0: not given
 * @node_mtbf_ms: "node_mtbf_ms", of one of its nodes; 0: not given
 * @other: object of the fields that this release does not know; NULL: none
 */
struct job_automatic {
	bool on;
	int64_t every_ms;
	int64_t mtbf_ms;
	int64_t node_mtbf_ms;
	json_t *other;
};

/**
 * struct job_record - the record of one job
 * @id: "job", the number; 0: not in the record
 * @uuid: owned; tells apart two jobs that have the same number
 * @name: owned; for people
 * @user: owned; name of the owner; NULL: not in the record
 * @uid: the owner
 * @gid: (gid_t)-1: not in the record
 * @host_ns: the job has no namespaces of its own
 * @created: seconds; 0: not in the record
 * @change: the last change of state
 * @floor: no number up to it is given to a generation again; 0: none
 * @generation: the job was restarted from; 0: none
 * @tainted: since this generation the job's memory is known to be wrong, or since it was restarted
 *	from this one, which is doubted (checkpoint/scrub.h); 0: it is not
 * @keep: the owner wants no more than so many of the newest generations; 0: as many as the site's
 *	rule keeps (auto/pruner.h)
 * @run: how often it was restarted; orders the runs of one job (restart.c); 0: never
 * @hidden: argv, env and cwd are encrypted, and the secret is not here (catalog/private.h)
 * @launch: object of argv, env, cwd, umask, limits, groups, stdio, window and sched, each with the
 *	type that the shim's specification wants (shim/spec.h); some may be missing
 * @ranks: object, see rank_record.h; NULL: the job has no ranks
 * @automatic: "auto"
 * @tombstones: "unwanted", see tombstone.h: generations that were removed from a level and are not
 *	copied there again; NULL: none
 * @other: object of the fields that this release does not know
 */
struct job_record {
	int64_t id;
	char *uuid;
	char *name;
	char *user;
	uid_t uid;
	gid_t gid;
	bool host_ns;
	int64_t created;
	struct job_change change;
	int64_t floor;
	int64_t generation;
	int64_t tainted;
	int64_t keep;
	int64_t run;
	bool hidden;
	json_t *launch;
	json_t *ranks;
	struct job_automatic automatic;
	json_t *tombstones;
	json_t *other;
};

/**
 * job_record_decode() - make a record from its JSON
 * @json: stays the caller's; its values may be shared with the record from now on, so whoever
 *	changes them later makes a deep copy first
 * @ret_record: is empty after a failure; free it with job_record_done()
 *
 * Return: 0; -ENOMEM; -EBADMSG if a field is missing or damaged: @error names the field
 */
int job_record_decode(const json_t *json, struct job_record *ret_record, struct ckpt_error *error);

/**
 * job_record_encode() - make the JSON of a record
 *
 * The values of the members that are JSON are shared with the result: make a deep copy before
 * changing any of them.
 *
 * Return: a new object; NULL: out of memory
 */
json_t *job_record_encode(const struct job_record *record);

/*
 * The settings "auto" from and to JSON. Decoding returns 0, -ENOMEM, or -EBADMSG and the field's
 * name in @error; job_automatic_done() frees the result. Encoding returns a new object; NULL: out
 * of memory, or not @on.
 */
int job_automatic_decode(const json_t *json, struct job_automatic *ret_automatic,
			 struct ckpt_error *error);
json_t *job_automatic_encode(const struct job_automatic *automatic);
void job_automatic_done(struct job_automatic *automatic);

/* Free what @record owns, and empty it. */
void job_record_done(struct job_record *record);

/* Put @value (taken over; NULL: nothing) in place of a JSON member of a record. */
void job_record_replace(json_t **member, json_t *value);

/* The node that wrote the last change; NULL: the record does not say. */
const char *job_record_node(const struct job_record *record);

#endif /* STILLPOINT_JOB_RECORD_H */
