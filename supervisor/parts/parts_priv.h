/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between parts*.c: see parts.h.
 */
#ifndef STILLPOINT_PARTS_PRIV_H
#define STILLPOINT_PARTS_PRIV_H

#include "base/clock.h"
#include "coord/fence_tree.h"
#include "supervisor/job/jobs.h"
#include "supervisor/net/nodes.h"
#include "supervisor/parts/parts.h"

#define PARTS_TICK_MS	250
#define PARTS_SILENT_MS	8000
#define PARTS_ALONE_MS	16000	/* the home may be about to give up by itself */
#define PARTS_ALONE_TICKS 8	/* and so may we, who did not read what it says */
#define PARTS_START_MS	30000
#define PARTS_RESTORE_MS (360 * 1000)	/* since it was heard; longer than ranks_up.h waits */
#define PARTS_ASK_MS	4000
#define PARTS_QUESTIONS	8
#define PARTS_LOOK_TICKS	(4000 / PARTS_TICK_MS)	/* at the run, if somebody is silent */

struct part {
	struct parts *parts;
	unsigned int number;
	bool ended;
	struct job_end end;	/* valid then */
	int64_t heard_ms;	/* at home of each node, elsewhere of the home */
	uint64_t cookie;	/* of the question that is open; 0: none */
	uint64_t start;		/* of the home: of that which starts it */
	bool again;		/* which is to be asked once more */
	int64_t start_until;	/* if it is not heard by then it has failed */
	bool restoring;		/* its image is being read there, as far as is known */
};

/* Bytes that come or go in pieces. */
struct parts_block {
	uint64_t number;
	char *data;
	size_t len, size, at;
	bool active;
};

struct parts {
	struct job *job;
	struct daemon *daemon;
	unsigned int node, nr;
	uint64_t run;
	bool keep_going;
	struct part *part;	/* [nr] */
	struct fence_tree *tree;
	struct reactor_source *tick;
	unsigned int ticks;
	bool abandoned;		/* nothing is to be left of it, or of what is heard of it */
	struct parts_block in, out;	/* from and to our shim */
	struct parts_block last;	/* the answer that it has kept */
	/* of the home */
	bool starting, ending;
	json_t *restore;	/* how it is started */
	int end_code;		/* with which others were ended; 0: at once */
	unsigned int starts;	/* questions that are open */
	json_t *figures;	/* of the restores of others, added up */
	json_t *failure;	/* why it did not start */
	parts_started_fn fn;
	void *arg;
	unsigned int stuck;	/* ticks that a fence waits for a part that has ended */
	unsigned int
		note_again; /* tick from which on its end is written once more; 0: it was not yet */
	/* of another node */
	struct away_start *start;	/* under way; NULL */
	bool restart;		/* it is being started from its image */
	bool others_restore;	/* as the home said last */
	bool gone;		/* no processes any more */
	unsigned int gone_ticks;
	unsigned int alone_ticks;	/* without a word of the home for too long */
	struct peer_question *ends[PARTS_QUESTIONS];
	unsigned int nr_ends;
};

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
int parts_fence_register(struct daemon *daemon);

/* parts_home.c */
/* Something has changed: end others, finish. May free @parts. */
void parts_check(struct parts *parts);
void parts_home_tick(struct parts *parts);
int parts_home_register(struct daemon *daemon);
/* End all parts but those that have ended, with the status @code; 0: at once. */
void parts_end_all(struct parts *parts, int code, const char *text);

/* parts_away.c */
void parts_away_tick(struct parts *parts);	/* may free @parts */
void parts_away_gone(struct parts *parts);	/* no process, and no more output */
int parts_away_register(struct daemon *daemon);

/* The home has no more use for it; frees the job, too. */
void parts_drop(struct job *job);

/* parts_start.c */
/* Is it the home that asks @q, and are we node @node of the job? */
bool parts_is_home(const struct daemon *daemon, const struct peer_question *q,
		   const json_t *record, int node);
int parts_start_register(struct daemon *daemon);

/* parts_place.c */
/* An outcome, if @job has no place in our image directory. */
json_t *parts_check_place(const struct job *job);
/*
 * Is the key of the home that asks ours, too? NULL, or an outcome: nothing that is saved could
 * be restarted.
 */
json_t *parts_check_key(const struct daemon *daemon, const struct peer_question *q);
/* The same; where ours is not that of other nodes it is made, with the record. */
json_t *parts_take_place(const struct job *job);
/*
 * The last of that. @run: the highest that is known here; a record of an earlier one is written
 * with it. -EEXIST: another job has that number here.
 */
json_t *parts_make_place(const struct daemon *daemon, int64_t id, const json_t *record,
			 json_int_t run);

/* parts_fetch.c */
int parts_fetch_register(struct daemon *daemon);

/* parts_forget.c */
int parts_forget_register(struct daemon *daemon);

/* parts_pin.c */
int parts_pin_register(struct daemon *daemon);

/* parts_try.c */
int parts_try_register(struct daemon *daemon);

json_t *parts_end_pack(const struct job_end *end);
int parts_end_unpack(const json_t *json, struct job_end *ret_end);	/* -EPROTO */

/* The job that a question or message is about, if it is this run; NULL. */
struct job *parts_job(struct daemon *daemon, int64_t id, uint64_t run);
/* End the ranks here. */
void parts_end_here(struct parts *parts, int code, const char *text);

#endif /* STILLPOINT_PARTS_PRIV_H */
