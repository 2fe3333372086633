// SPDX-License-Identifier: GPL-2.0-only
/*
 * See coord_driver.h.
 *
 * Events are queued and fed one by one, so an action never steps the machine it came
 * from. A local action is remembered by kind and cookie until the event that it waits for comes;
 * ABORT takes its place, and the event of the old action is ignored.
 */
#include "supervisor/checkpoint/coord_driver_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "supervisor/checkpoint/coord_peer.h"
#include "supervisor/job/coord_record.h"
#include "supervisor/parts/parts_priv.h"
#include "supervisor/job/rank_record.h"

#define QUIESCE_MS	30000	/* until ranks that are behind in a collective have got there */
#define RETRY_MS	200	/* connections lose nothing; a slow answer is not a lost one */
#define PAUSE_MS	60000	/* if the configuration has none */
/* beyond the pause: until ranks are silent, the worker has begun, all nodes know */
#define STILL_MS	5000
#define DUMP_MS		(4 * 3600 * 1000)
#define RESTART_MS	300000
#define MAX_COMMS	4096
#define MAX_CHANNELS	(1u << 20)

static void perform_all(struct coord_driver *d, const struct coord_action *acts, size_t n);

/* ----------------------------------------------------------------- events */

/* An event was lost, out of memory: fail the attempt, as no cut may be made without it. */
static bool give_up_lost(struct coord_driver *d)
{
	struct coord_event event = driver_event(COORD_EV_FAILED);

	d->lost = false;
	event.reason = COORD_WHY_FAILED;
	event.error = -ENOMEM;
	event.wait.node = d->ranks.node;
	driver_queue(d, &event);
	return !d->lost;
}

/* Note when all nodes have thawed; nobody reads that time of an attempt that is given up. */
static void note_thawed(struct coord_driver *d)
{
	if (d->asked && d->thaw_at && !d->thawed_at &&
	    coord_all_level(d->coord) >= COORD_THAWED)
		d->thawed_at = clock_monotonic_ns();
}

static void step_queued(struct coord_driver *d)
{
	const struct coord_action *acts;
	struct coord_event event;
	size_t n;

	while (d->head < d->nr_queue) {
		event = d->queue[d->head++];
		event.now = clock_monotonic_ns();
		n = coord_step(d->coord, &event, &acts);
		free((void *)(uintptr_t)event.msg);	/* allocated by coord_peer.c */
		perform_all(d, acts, n);
		note_thawed(d);
		if (d->head == d->nr_queue)
			driver_tell_targets(d);
	}
}

void driver_step(struct coord_driver *d)
{
	if (d->feeding)
		return;
	d->feeding = true;
	if (d->lost)
		give_up_lost(d);
	do {
		step_queued(d);
	} while (d->lost && give_up_lost(d));
	d->feeding = false;
}

void driver_queue(struct coord_driver *d, const struct coord_event *event)
{
	if (d->head == d->nr_queue)
		d->head = d->nr_queue = 0;
	if (d->nr_queue == d->room_queue) {
		size_t room = d->room_queue ? 2 * d->room_queue : 64;
		struct coord_event *more = realloc(d->queue, room * sizeof(*more));

		/* Messages are repeated and may be lost; events of this node may not. */
		if (!more) {
			log_error(&d->common->log, "job %lld: out of memory",
				  (long long)d->job->id);
			d->lost = d->lost || event->kind != COORD_EV_MSG;
			free((void *)(uintptr_t)event->msg);
			return;
		}
		d->queue = more;
		d->room_queue = room;
	}
	d->queue[d->nr_queue++] = *event;
}

void driver_feed(struct coord_driver *d, const struct coord_event *event)
{
	driver_queue(d, event);
	driver_step(d);
}

struct coord_event driver_event(enum coord_event_kind kind)
{
	return (struct coord_event) {
		.kind = kind,
		.wait = { .node = COORD_NONE, .rank = COORD_NONE, .peer = COORD_NONE },
	};
}

/* The local action of @kind is over, if it is still the one under way. */
void driver_done(struct coord_driver *d, enum coord_action_kind kind, int error,
		 enum coord_reason reason)
{
	struct coord_event event = driver_event(COORD_EV_DONE);

	if (d->kind != kind)
		return;
	event.cookie = d->cookie;
	event.error = error;
	event.reason = error ? reason : COORD_WHY_NONE;
	d->kind = COORD_ACT_NONE;
	driver_feed(d, &event);
}

/* ---------------------------------------------------------------- actions */

bool driver_is_kill(const struct coord_driver *d)
{
	return json_is_true(json_object_get(d->args, "kill"));
}

bool driver_is_dry_run(const struct coord_driver *d)
{
	return json_is_true(json_object_get(d->args, "dry_run"));
}

static void act_thaw(struct coord_driver *d)
{
	d->thaw_at = clock_monotonic_ns();
	/*
	 * The dry run succeeded on all nodes. Its action DUMP fails, as there is no dump, and
	 * the request is answered with d->failure, the outcome of the dry run.
	 */
	if (driver_is_dry_run(d) && d->asked && !d->failure && outcome_is_ok(d->dumped))
		d->failure = json_incref(d->dumped);
	if (d->dump)
		job_dump_go(d->dump);
	if (!driver_is_kill(d))
		driver_order(d, STATUS_RUN);
	driver_done(d, COORD_ACT_THAW, 0, COORD_WHY_NONE);
}

static void act_abort(struct coord_driver *d)
{
	driver_links_drop(d);
	/* A decided dump is of the generation before, and ends by itself. */
	if (d->dump && !d->decided) {
		job_dump_abort(d->dump);
		return;
	}
	/* An earlier ckptd may have died after it put the part's image in place. */
	if (d->ranks.nr_nodes > 1 && !catalog_has(&d->common->catalog, d->job->id,
						  (int64_t)d->id.generation))
		catalog_part_drop(&d->common->catalog, d->job->id, (int64_t)d->id.generation,
				  d->ranks.node);
	driver_order(d, STATUS_RUN);
	driver_done(d, COORD_ACT_ABORT, 0, COORD_WHY_NONE);
}

static void act_quiesce(struct coord_driver *d)
{
	int err = 0;

	d->nr_targets = 0;	/* of an earlier attempt that was given up */
	/* This ckptd started after the home told the nodes how to dump: it has no arguments. */
	if (!d->args) {
		driver_done(d, COORD_ACT_QUIESCE, -ESTALE, COORD_WHY_LOST);
		return;
	}
	/* While the last dump ends its worker has the tree; on_decided_ended() orders then. */
	if (!d->dump)
		err = driver_order(d, STATUS_QUIESCE);
	if (err)
		driver_done(d, COORD_ACT_QUIESCE, err, COORD_WHY_FAILED);
}

static void act_local(struct coord_driver *d, const struct coord_action *act)
{
	int err = 0;

	d->kind = act->kind;
	d->cookie = act->cookie;
	d->id = act->id;
	switch (act->kind) {
	case COORD_ACT_QUIESCE:
		act_quiesce(d);
		return;
	case COORD_ACT_FREEZE:
		d->cut_at = clock_monotonic_ns();
		d->thaw_at = d->thawed_at = 0;
		err = driver_order(d, STATUS_CUT);
		break;
	case COORD_ACT_SNAPSHOT:
		if (d->dump && !d->captured)
			job_dump_go(d->dump);	/* coord_local_on_captured() follows */
		else	/* captured in FREEZE, or a dry run */
			driver_done(d, act->kind, 0, COORD_WHY_NONE);
		return;
	case COORD_ACT_THAW:
		act_thaw(d);
		return;
	case COORD_ACT_DUMP:
		if (d->stored)
			driver_done(d, act->kind, 0, COORD_WHY_NONE);
		else if (!d->dump)
			err = -ECHILD;
		break;
	case COORD_ACT_ABORT:
		act_abort(d);
		return;
	default:	/* restarts do not go through the machine: restart.c */
		err = -ENOSYS;
	}
	if (err)
		driver_done(d, act->kind, err, COORD_WHY_FAILED);
}

static void coord_driver_on_time(void *arg)
{
	struct coord_driver *d = arg;
	struct coord_event event = driver_event(COORD_EV_TIME);

	d->timer = NULL;
	driver_feed(d, &event);
}

static void act_wake(struct coord_driver *d, uint64_t at)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t ms = at > now ? (at - now + COORD_MS - 1) / COORD_MS : 0;

	reactor_remove(d->timer);
	d->timer = NULL;
	if (reactor_timer(d->common->reactor, ms, coord_driver_on_time, d, &d->timer))
		log_error(&d->common->log, "job %lld: no timer", (long long)d->job->id);
}

static void coord_driver_perform(struct coord_driver *d, const struct coord_action *act)
{
	switch (act->kind) {
	case COORD_ACT_SEND:
		/* The machine repeats a message that is kept back. */
		if (driver_may_send(d, &act->msg))
			coord_peer_send(d, act->node, &act->msg);
		break;
	case COORD_ACT_NONE:
		break;
	case COORD_ACT_CATCH_UP:
		driver_catch_up(d);
		break;
	case COORD_ACT_TARGET:
		driver_target(d, &act->target);
		break;
	case COORD_ACT_DRAIN:
		d->nr_sent = 0;
		if (driver_order(d, STATUS_DRAIN))
			driver_give_up(d, COORD_WHY_FAILED, -EPIPE, COORD_NONE);
		break;
	case COORD_ACT_PERSIST:
		driver_persist(d, act);
		break;
	case COORD_ACT_WAKE:
		act_wake(d, act->at);
		break;
	case COORD_ACT_OUTCOME:
		driver_outcome(d, act);
		break;
	case COORD_ACT_REPLY:
		driver_reply(d, act);
		break;
	default:
		act_local(d, act);
	}
}

/* Write the record first: messages to other nodes must not run ahead of the disk. */
static void perform_all(struct coord_driver *d, const struct coord_action *acts, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (acts[i].kind == COORD_ACT_PERSIST)
			coord_driver_perform(d, &acts[i]);
	}
	for (i = 0; i < n; i++) {
		if (acts[i].kind != COORD_ACT_PERSIST)
			coord_driver_perform(d, &acts[i]);
	}
}

/* ------------------------------------------------------------------- life */

bool coord_driver_wanted(const struct job *job)
{
	return rank_record_has_mpi(job->record.ranks);
}

bool coord_driver_leads(const struct job *job)
{
	return job->parts || coord_driver_wanted(job);
}

/*
 * Room for all channels between ranks here and ranks elsewhere, twice: a hash table of channels
 * needs free slots.
 */
static uint32_t max_channels(const struct ranks *ranks)
{
	uint64_t most = 2ull * ranks->nr * (ranks->size - ranks->nr);

	if (most < 64)
		return 64;
	return most < MAX_CHANNELS ? (uint32_t)most : MAX_CHANNELS;
}

static int coord_driver_create(struct coord_driver *d)
{
	const struct config *config = &d->common->config;
	uint32_t pause = config->max_pause_ms ? config->max_pause_ms : PAUSE_MS;
	uint32_t quiesce = config->quiesce_timeout_ms ? config->quiesce_timeout_ms : QUIESCE_MS;
	struct coord_config cc = {
		.self = d->ranks.node, .nr_nodes = d->ranks.nr_nodes, .arity = 8,
		.incarnation = clock_monotonic_ns(),
		.run = { .attempt = 1 },
		.limits = { .retry = RETRY_MS, .retry_max = 1000, .quiesce = quiesce,
			    .pause = pause + STILL_MS, .dump = DUMP_MS, .restart = RESTART_MS },
		.max_comms = MAX_COMMS, .max_channels = max_channels(&d->ranks),
		.nr_ranks = d->ranks.size, .node_of = d->ranks.node_of,
		.table = &coord_table,
	};
	struct coord_event event = driver_event(COORD_EV_START);
	struct coord_record record;
	int64_t last;
	int err = coord_record_read(d->job->state_dir, &record);

	if (err)
		return err;
	/* The catalog may have a generation that another daemon began and did not record. */
	last = catalog_next(&d->common->catalog, d->job->id,
			    d->job->record.floor) - 1;
	if (last < 0)
		return -ERANGE;
	cc.generation = (uint64_t)last;
	driver_settle(d, &record);
	d->counts = record.committed;
	d->memory = malloc(coord_size(&cc));
	err = d->memory ? coord_create(d->memory, &cc, &record, &d->coord) : -ENOMEM;
	if (!err)
		driver_feed(d, &event);
	return err;
}

int driver_open(struct job *job)
{
	struct coord_driver *d;
	json_t *ranks;
	int err;

	if (job->coord)
		return 0;
	/* The ranks here have ended; nodes ask about the job until its home knows that. */
	if (!job->init)
		return -ESRCH;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	/* The first step of the machine may send, and be answered: it needs job->coord. */
	job->coord = d;
	d->job = job;
	d->common = jobs_common(job->jobs);
	d->plain = !coord_driver_wanted(job);
	ranks = rank_record_spec(job->record.ranks,
				 job->node_index, &d->common->config);
	err = ranks ? ranks_parse(ranks, &d->ranks, NULL) : -ENOMEM;
	json_decref(ranks);
	if (!err)
		err = coord_driver_create(d);
	if (err) {
		job->coord = NULL;
		coord_driver_close(d);
	}
	return err;
}

void coord_driver_resume(struct job *job)
{
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s/%s", job->state_dir, COORD_RECORD_FILE);
	if (!job->parts || access(path, F_OK))
		return;
	err = driver_open(job);
	if (err)
		log_error(&jobs_common(job->jobs)->log,
			  "job %lld: what was under way of its checkpoint cannot be ended: %s",
			  (long long)job->id, strerror(-err));
}

/*
 * End the dump of a job that is gone, perhaps because of this dump.  A committed dump ends by
 * itself.
 */
static void leave_dump(struct coord_driver *d)
{
	if (d->decided)
		return;
	/* The home knows that the image is stored and may have committed it; it alone decides. */
	if (d->stored && d->ranks.node)
		job_dump_go(d->dump);
	else
		job_dump_abort(d->dump);
}

void coord_driver_close(struct coord_driver *d)
{
	if (!d)
		return;
	d->feeding = true;	/* step no event any more */
	rank_link_close(d->link);
	reactor_remove(d->timer);
	reactor_remove(d->watch);
	reactor_remove(d->later);
	d->link = NULL;
	d->timer = d->watch = d->later = NULL;
	/* The ranks may be gone before all nodes have confirmed the commit. */
	d->committed |= d->decided;
	driver_links_drop(d);
	driver_maybe_answer(d);
	if (d->dump || d->preparing || d->reading) {
		if (d->dump && !d->closing)
			leave_dump(d);
		d->closing = true;
		return;
	}
	if (d->asked)
		driver_answer(d, d->failure ? json_incref(d->failure) :
			      outcome_error(-ESRCH, "job %lld ended during its checkpoint",
					    (long long)d->job->id));
	json_decref(d->args);
	json_decref(d->prepare_failure);
	json_decref(d->failure);
	json_decref(d->dumped);
	json_decref(d->refusal);
	free(d->sent);
	free(d->targets);
	for (size_t i = d->head; i < d->nr_queue; i++)
		free((void *)(uintptr_t)d->queue[i].msg);
	free(d->queue);
	free(d->memory);
	ranks_done(&d->ranks);
	free(d);
}
