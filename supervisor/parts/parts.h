/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job whose ranks run on several nodes.  Each node runs one part with a shim of its own;
 * struct parts is a node's view of all of them and belongs to its struct job.
 *
 * Node 0 of the rank map, the node that was asked for the job, is its home.  Only the home
 * writes the job's record.  The other nodes keep the shim's identity in STATE_DIR/ID as for any
 * job; a restarted ckptd learns from the identity and the record that a part runs there.
 *
 * A part reports to the home every two seconds while it runs and every second after it has
 * ended, until the home says that the job is over.  The first failure ends the other parts,
 * unless keep_going; the job's status is that of the rank that failed first, by the nodes'
 * clocks.  A silent part leaves the job running: ps names its node.
 *
 * Questions between ckptds (peer_ask.h); R is the number of restarts of the job:
 *
 *	start	see peer_ask.h; the record is the home's.  With "restore" (job_restore.h)
 *		the part starts from its image and the answer, with the figures of
 *		op_restore(), comes when the ranks run again.  -EAGAIN: ask again
 *	try	{"job": J, "node": k, "record": {...}, "restore": {...}}: could node k start
 *		its part from its image?  Starts nothing.  {"processes": N, "threads": N, ...}
 *	fetch	{"job": J, "node": k, "record": {...}, "token": T, "generation": N,
 *		"was": {...}, "deep": bool, "dry_run": bool}: where image directories are not
 *		shared, get the images that node k needs of the generation.  "was" tells
 *		the generation's ranks; absent: it has one image.  -EAGAIN: not yet, ask again;
 *		then as fetch_run(), with "run", the run of the node's own record
 *	forget	{"job": J, "uuid": U, "generations": [N, ...], "level": NAME, "whole": bool,
 *		"force": bool, "ended": bool}: where image directories are not shared, remove
 *		the node's share of these generations, or of the job; "level": from that
 *		level only
 *	pin	{"job": J, "uuid": U, "generation": N, "pin": bool, "by": uid}: where image
 *		directories are not shared, pin or unpin the node's share of the generation.
 *		{"here": does the node have any of it}
 *	run	{"job": J, "uuid": U}: the run in that node's record of the job.
 *		{"run": R}; 0: no such record
 *	signal	{"job": J, "run": R, "signal": N}: send the signal to the ranks there
 *	end	see peer_ask.h
 *	part	{"job": J, "run": R, "node": k, "state": "restoring" | "running" | "ended",
 *		"status": S, "rank": r (-1), "failed_ns": T, "lost": false,
 *		"lease_ms": length of the lease that the part holds}, to the home.
 *		{"over": B, "restoring": does any other node still read its image,
 *		"lease_ms": of the lease that is granted, from the moment of the question; 0:
 *		none (parts_lease.c)}
 *	over	{"job": J, "run": R}, from the home: forget the part
 */
#ifndef STILLPOINT_PARTS_H
#define STILLPOINT_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/proto.h"

struct ckpt_error;
struct common;
struct flusher;
struct job;
struct job_end;
struct parts;
struct parts_fetches;
struct services;

/*
 * parts_register() - answer questions and messages about parts. Call once, after jobs_open().
 * @ret_fetches: to be closed with parts_fetch_close(); stays as it is where there are no nodes
 */
int parts_register(struct services *services, struct parts_fetches **ret_fetches);

/*
 * parts_open() - make job->parts
 * @fresh: the job is about to be started; else it is believed to run already
 *
 * Return: 0 or negative errno, with @error.
 */
int parts_open(struct job *job, bool fresh, struct ckpt_error *error);
/* True if the node @host (index in the hosts file) has a part of the job. False for NULL. */
bool parts_is_node(const struct parts *parts, unsigned int host);
/* True if the node @host is the home of the job, and not this node. False for NULL. */
bool parts_is_homes(const struct parts *parts, unsigned int host);
/* Free job->parts; a job without parts is fine. */
void parts_close(struct job *job);

/*
 * Tell the shim here that @job, which has ended, is over: ckptd may have died before it said so.
 */
void parts_over(const struct job *job);

/* The previous ckptd died while it started the job: end all parts. */
void parts_cut_off(struct parts *parts);
/*
 * True if this node is not the home and its ranks have ended.  Only the home decides whether
 * the job has ended.  False for NULL.
 */
bool parts_has_ended(const struct parts *parts);
/* True if this node is not the home and starts or restores its part; false for NULL. */
bool parts_starts_here(const struct parts *parts);
/* True if, as far as this node knows, any node still reads its image; false for NULL. */
bool parts_restoring(const struct parts *parts);
/* Home only: names of the nodes silent for PARTS_SILENT_MS, a new reference; NULL: none. */
json_t *parts_silent(const struct parts *parts);
/* Home only: name of the first other node whose part has ended for good; NULL: none. */
const char *parts_first_ended(const struct parts *parts);
/* True if a node is silent: at the home any other node, elsewhere the home. */
bool parts_lost(const struct parts *parts);

/*
 * parts_start() - have the other nodes start their parts; home only, its own part runs
 * @restore: start from images, in the form of job_restore.h, with "credential" if there is one;
 *	NULL: start anew
 * @credential: of a new start: that of the user (hosts/credential.h); NULL: none
 * @held: with "hold" in @restore: the other nodes' parts are held; parts_look() or parts_go() is
 *	next. Else NULL
 * @fn: called once with the outcome, which @fn owns.  After a failure no part of the job is
 *	left.  After a restore the outcome has the other nodes' figures of op_restore()
 */
typedef void (*parts_started_fn)(json_t *outcome, void *arg);
void parts_start(struct parts *parts, const json_t *restore, const json_t *credential,
		 void (*held)(void *arg), parts_started_fn fn, void *arg);
/*
 * Ask held parts again that have not reported of late: they may be gone, and nothing runs yet.
 * True: some are asked, and held() is called once more.
 */
bool parts_ask_unheard(struct parts *parts);
/* Have the parts that are held look at files that others have put back; then @held is called. */
void parts_look(struct parts *parts);
/* Let the parts run that are held. */
void parts_go(struct parts *parts);
/* True if the start has failed, so that its function is called with the reason. */
bool parts_start_failed(const struct parts *parts);
/* The start failed on this node because of @why: end the parts of all nodes. */
void parts_cancel(struct parts *parts, json_t *why);
/*
 * True at the home if all nodes have answered, the start has failed, and the parts that began
 * are being ended.  False for NULL.
 */
bool parts_gives_up(const struct parts *parts);

/*
 * parts_try() - ask the other nodes of @job whether they could restore their parts
 * @job: may be a draft (jobs.h)
 * @how: as in job_restore.h, with dry_run; with rollback, too, they read all of their images, and
 *	the parts may run
 * @own: the outcome of this node; taken over
 * @fn: called once, later or at once, with the sums of all nodes or all nodes' errors
 */
typedef void (*parts_tried_fn)(json_t *outcome, void *arg);
void parts_try(const struct job *job, const json_t *how, json_t *own, parts_tried_fn fn, void *arg);
/*
 * parts_fetch() - where image directories are not shared: have each node of @job, this one
 *	included, get the images that it needs (fetch.h)
 * @job: a draft whose record says where its ranks will be; the caller keeps it until @fn
 * @fn: called once, later or at once, with {"in_l1": have all nodes their images,
 *	"run": the highest run that a node knows, "steps": [text, ...]}, or with the first error
 *
 * how->was is the answer of catalog_generation_parts(); NULL: the generation has one image.
 */
struct parts_fetch {
	struct flusher *flusher;
	int64_t generation;
	json_t *was;
	const json_t *of_run;	/* fetch.h */
	bool deep, dry_run;
};

typedef void (*parts_fetched_fn)(json_t *outcome, void *arg);
void parts_fetch(const struct job *job, const struct parts_fetch *how, parts_fetched_fn fn,
		 void *arg);
void parts_fetch_close(struct parts_fetches *fetches);	/* NULL is fine */
/*
 * parts_forget() - where image directories are not shared: have the other nodes remove
 *	how->generations, and the job if how->whole, as this node has done
 *
 * Does not wait for the other nodes; their errors are logged later.
 */
struct parts_forget {
	const json_t *generations;	/* ascending */
	const char *level;		/* remove from this level only; NULL: from all */
	bool whole;
	bool force;			/* see listing_check_own(), levels_remove() */
};

void parts_forget(const struct job *job, const struct parts_forget *how);
/*
 * parts_pin() - where image directories are not shared: have the nodes @names pin, or unpin,
 *	their share of a generation
 * @fn: called once, later or at once, with {"nodes": {name: did it have any of the
 *	generation}, "failed": {name: why}}, or NULL without memory; parts_pin() frees it
 *
 * parts_pin_nodes() returns the other nodes that, as far as this node knows, may have a share
 * of the generation: a new reference to [name, ...], empty where directories are shared.
 */
struct parts_pin {
	int64_t generation;
	bool pin;
	uid_t by;
};

typedef void (*parts_pinned_fn)(const json_t *result, void *arg);
json_t *parts_pin_nodes(const struct job *job, int64_t generation);
void parts_pin(const struct job *job, json_t *names, const struct parts_pin *how,
	       parts_pinned_fn fn, void *arg);
/* Check that the hosts file has all of @names. Return: NULL, or an outcome with the error. */
json_t *parts_check_names(const struct common *common, const json_t *names);

/*
 * parts_abandon() - end the rest of a job, some nodes of which are known to be off
 *
 * At the home: the parts of silent nodes count as ended, and the job ends.  On another node,
 * whose home is believed to be off: the part here ends, and this node forgets the job.
 */
void parts_abandon(struct parts *parts);
bool parts_is_abandoned(const struct parts *parts);	/* false for NULL */

/* Home only: send @signo to the ranks of the other nodes. */
void parts_signal(struct parts *parts, int signo);

/* Called by job.c: ckptd is connected to the shim. */
void parts_connected(struct parts *parts);
/* Called by job.c with a message of the shim; @msg NULL: its full socket takes more. */
void parts_message(struct parts *parts, const struct shim_msg *msg, const void *data,
		   size_t len);
/* Called by job.c: the job's processes here are gone.  May free the job. */
void parts_gone(struct parts *parts, const struct job_end *end);
/* Called by job.c: the shim closed its connection.  May free the job. */
void parts_shim_left(struct parts *parts);

#endif /* STILLPOINT_PARTS_H */
