/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by parts*.c only; see parts.h.  Owns struct parts, one node's view of all parts of a
 * job, and the timeouts of parts.  Only the event loop's thread may use what is declared here.
 */
#ifndef STILLPOINT_PARTS_PRIV_H
#define STILLPOINT_PARTS_PRIV_H

#include "base/clock.h"
#include "coord/fence_tree.h"
#include "supervisor/job/jobs.h"
#include "supervisor/net/nodes.h"
#include "supervisor/parts/fence_command.h"
#include "supervisor/parts/lease_rule.h"
#include "supervisor/parts/parts.h"

#define PARTS_TICK_MS	250
#define PARTS_SILENT_MS	8000
#define PARTS_UNHEARD_MS 5000	/* a part that is held reports every two seconds */
#define PARTS_FENCE_MS	12000	/* before a fence; more than what it takes to find a node down */
#define PARTS_ALONE_MS	16000	/* silence of the home; it may be giving up */
#define PARTS_ALONE_TICKS 8	/* more ticks: we may have read its words late */
#define PARTS_START_MS	30000
#define PARTS_RESTORE_MS (360 * 1000)	/* since last heard; > wait of ranks_up.h */
#define PARTS_ASK_MS	4000
#define PARTS_QUESTIONS	8
#define PARTS_ASKING_MS	50	/* time for questions "start" in one tick; each is made anew */
#define PARTS_LOOK_TICKS	(4000 / PARTS_TICK_MS)	/* look at the run if a node is silent */

struct part {
	struct parts *parts;
	unsigned int number;
	bool ended;
	struct job_end end;	/* valid if ended */
	int64_t heard_ms;	/* home: node's last word; elsewhere: the home's */
	uint64_t cookie;	/* of the open question; 0: none */
	uint64_t start;		/* home: cookie of the open question "start" */
	bool again;		/* home: "start" is to be asked, for the first time or again */
	bool asked;		/* home: "start" was asked */
	int64_t start_until;	/* the start fails if the node is silent until then;
				 * 0: it was not asked yet */
	bool restoring;		/* as far as known, the node reads its image */
	uint64_t asked_ns;	/* elsewhere: CLOCK_BOOTTIME of the open question "part" */
	/* home: parts_lease.c */
	struct lease_grant lease;
	struct fence_command fence;
	bool fenced;		/* in this silence the fence command was run */
};

/* A block of fence data that is received or sent in pieces. */
struct parts_block {
	uint64_t number;
	char *data;
	size_t len, size, at;
	bool active;
};

struct parts {
	struct job *job;
	struct common *common;
	unsigned int node, nr;
	uint64_t run;
	bool keep_going;
	struct part *part;	/* [nr] */
	struct fence_tree *tree;
	struct reactor_source *tick;
	unsigned int ticks;
	struct listening listening;	/* by these ticks */
	bool abandoned;		/* end all parts, also parts that are heard of later */
	bool lost;		/* home: a node was lost, so the job has no status */
	struct parts_block in, out;	/* fences from and to our shim */
	struct parts_block last;	/* the last answer, as the shim kept it */
	/* used by the home */
	bool starting, ending;
	bool looking;		/* all parts are held, and are told to look at others' files */
	bool going;		/* all parts are held, and are told to run */
	json_t *restore;	/* how to restore (job_restore.h); NULL: anew */
	json_t *credential;	/* of the user, for a start anew; NULL: none */
	int end_code;		/* code that ended the parts; 0: killed at once */
	unsigned int starts;	/* open questions "start" */
	json_t *figures;	/* sums of the other nodes' restores */
	json_t *failure;	/* why the job did not start */
	void (*held)(void *arg);
	parts_started_fn fn;
	void *arg;
	unsigned int stuck;	/* ticks for which a fence has waited for an ended part */
	unsigned int
		note_again; /* retry writing the job's end from this tick; 0: not tried yet */
	/* used by the other nodes */
	struct away_start *start;	/* the start under way; NULL: none */
	bool restart;		/* the part starts from its image */
	bool went;		/* it was held, and told to run */
	bool others_restore;	/* other nodes restore, the home said last */
	bool gone;		/* the part has no processes any more */
	unsigned int gone_ticks;
	unsigned int alone_ticks;	/* ticks since the home is silent too long */
	int64_t lease_ms;	/* length of the lease held here; 0: none; -1: not known */
	bool lease_refused;	/* the log has said that there is none */
	struct peer_question *ends[PARTS_QUESTIONS];
	unsigned int nr_ends;
};

/* Are parts restored that connect to each other, and wait for each other before? */
bool parts_has_links(const struct parts *parts);
/* Index of the @node-th node in the hosts file. */
int parts_host(const struct parts *parts, unsigned int node);
const char *parts_name(const struct parts *parts, unsigned int node);

/* parts_fence.c */
int parts_fence_open(struct parts *parts, bool fresh);
void parts_fence_close(struct parts *parts);
void parts_fence_message(struct parts *parts, const struct shim_msg *msg, const void *data,
			 size_t len);
void parts_fence_known(struct parts *parts, const struct shim_msg *msg, const void *data,
		       size_t len);
void parts_fence_push(struct parts *parts);
int parts_fence_register(struct jobs *jobs);

/* parts_home.c */
/* Act on a change: end the other parts after a failure, finish the job. May free @parts. */
void parts_check(struct parts *parts);
void parts_home_tick(struct parts *parts);
int parts_home_register(struct jobs *jobs);
/* End all parts that run, with the status @code; 0: kill them at once. */
void parts_end_all(struct parts *parts, int code, const char *text);

/* parts_away.c */
void parts_away_tick(struct parts *parts);	/* may free @parts */
/* The part has no processes and no more output; may free @parts. */
void parts_away_gone(struct parts *parts);
int parts_away_register(struct jobs *jobs);

/* parts_lease.c */
/* A part: take the lease that the home's @answer to a report grants. */
void parts_lease_take(struct parts *parts, uint64_t asked_ns, const json_t *answer);
/* The home: note the lease of a part that reports. Return: the "lease_ms" of the answer. */
json_int_t parts_lease_grant(struct part *part, const json_t *report);
/* The home: find parts whose lease has run out, and fence nodes. */
void parts_lease_tick(struct parts *parts);
void parts_lease_close(struct parts *parts);

/* Forget the part, which the home does not need any more; frees the job, too. */
void parts_drop(struct job *job);

/* parts_start.c */
/* True if the home of @record asks @q and this node is node @node of the job. */
bool parts_is_home(const struct common *common, const struct peer_question *q,
		   const json_t *record, int node);
/*
 * Return: NULL, or an outcome: the node that asks @q may change nothing of @job's images here,
 * as it has no part of the job by this node's record, and no root=yes in the hosts file.
 */
json_t *parts_check_change(const struct job *job, const struct peer_question *q);
int parts_start_register(struct services *services);

/* parts_place.c */
/* Return: NULL, or an outcome if @job has no directory in our image directory. */
json_t *parts_check_place(const struct job *job);
/*
 * Check that the home that asks @q has the same key as this node; with two keys no saved image
 * could be restarted.  Return: NULL, or an outcome.
 */
json_t *parts_check_key(const struct common *common, const struct peer_question *q);
/*
 * As parts_check_place(), but where image directories are not shared, make the job's directory
 * with its record.
 */
json_t *parts_take_place(const struct job *job);
/*
 * Make the job's directory with its record.  @run is the highest run that this node knows; it
 * replaces an earlier run in the record.  Return: NULL, or an outcome; -EEXIST: another job has
 * the number @id here.
 */
json_t *parts_make_place(const struct common *common, int64_t id, const json_t *record,
			 json_int_t run);

/* parts_fetch.c */
int parts_fetch_register(struct services *services, struct parts_fetches **ret_fetches);

/* parts_forget.c */
int parts_forget_register(struct services *services);

/* parts_pin.c */
int parts_pin_register(struct jobs *jobs);

/* parts_try.c */
int parts_try_register(struct services *services);

json_t *parts_end_pack(const struct job_end *end);
int parts_end_unpack(const json_t *json, struct job_end *ret_end);	/* -EPROTO */

/* The job @id if this node has a part of its run @run; else NULL. */
struct job *parts_job(struct jobs *jobs, int64_t id, uint64_t run);
/* End this node's ranks with the status @code; 0: kill them at once. */
void parts_end_here(struct parts *parts, int code, const char *text);

#endif /* STILLPOINT_PARTS_PRIV_H */
