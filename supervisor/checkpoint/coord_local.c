// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns reports of this node's ranks, their shim, and the dump into events for the machine; see
 * coord_driver.h.
 *
 * The worker of a dump is held when the ranks stand still and their writes to files are for all
 * nodes to see, which ends FREEZE (on one node nobody waits for that), when all is captured, which
 * ends SNAPSHOT, and when the image is in its place, which ends DUMP. The worker goes on when the
 * machine says SNAPSHOT and THAW, and when the commit record is on disk.
 */
#include "supervisor/checkpoint/coord_driver_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "supervisor/parts/parts_priv.h"

static struct coord_wait wait_of(const struct coord_driver *d, const struct shim_wait *wait)
{
	return (struct coord_wait) {
		.node = d->ranks.node, .rank = wait->rank,
		.peer = wait->peer < d->ranks.size ? wait->peer : COORD_NONE,
		.call = (uint16_t)wait->call, .comm = wait->comm, .seq = wait->seq,
	};
}

/* ------------------------------------------------------------- from ranks */

static void coord_local_on_begun(const struct shim_seq *seqs, size_t nr, void *arg)
{
	struct coord_event event = driver_event(COORD_EV_SEQ);
	size_t i;

	for (i = 0; i < nr; i++) {
		event.target = (struct coord_target) { seqs[i].id, seqs[i].seq };
		driver_queue(arg, &event);
	}
	driver_step(arg);
}

static void on_received(struct coord_driver *d, const struct shim_count *counts, size_t nr)
{
	struct coord_event event = driver_event(COORD_EV_RECEIVED);
	size_t i;

	for (i = 0; i < nr; i++) {
		event.channel = (struct coord_channel) {
			counts[i].source, counts[i].dest, counts[i].count };
		driver_queue(d, &event);
	}
	driver_step(d);
}

/* Keep the counts until all are here: the machine wants them sorted by the receiver's node. */
static void coord_local_on_sent(struct coord_driver *d, const struct shim_count *counts, size_t nr)
{
	if (d->nr_sent + nr > d->room_sent) {
		size_t room = 2 * (d->nr_sent + nr);
		struct shim_count *more = realloc(d->sent, room * sizeof(*more));

		if (!more) {
			driver_give_up(d, COORD_WHY_FAILED, -ENOMEM, COORD_NONE);
			return;
		}
		d->sent = more;
		d->room_sent = room;
	}
	memcpy(d->sent + d->nr_sent, counts, nr * sizeof(*counts));
	d->nr_sent += nr;
}

static void coord_local_on_counts(bool received, const struct shim_count *counts, size_t nr,
				  void *arg)
{
	if (received)
		on_received(arg, counts, nr);
	else
		coord_local_on_sent(arg, counts, nr);
}

static int by_node(const void *a, const void *b, void *arg)
{
	const struct coord_driver *d = arg;
	unsigned int na = d->ranks.node_of[((const struct shim_count *)a)->dest];
	unsigned int nb = d->ranks.node_of[((const struct shim_count *)b)->dest];

	return na < nb ? -1 : na > nb;
}

static void tell_sent(struct coord_driver *d)
{
	struct coord_event event = driver_event(COORD_EV_SENT);
	size_t i;

	if (d->nr_sent)
		qsort_r(d->sent, d->nr_sent, sizeof(*d->sent), by_node, d);
	for (i = 0; i < d->nr_sent; i++) {
		event.channel = (struct coord_channel) {
			d->sent[i].source, d->sent[i].dest, d->sent[i].count };
		driver_queue(d, &event);
	}
	d->nr_sent = 0;
	event = driver_event(COORD_EV_CLOSED);
	driver_feed(d, &event);
}

static const struct job_dump_ops dump_ops;

static int start_dump(struct coord_driver *d)
{
	struct catalog *catalog = &d->common->catalog;
	bool parts = d->ranks.nr_nodes > 1;
	json_t *args = json_copy(d->args);
	struct job_dump_options options = {
		.args = args, .held = true, .silent_ns = d->silent_at - d->cut_at,
		.quiesce_ns = d->asked ? d->silent_at - d->asked_at : 0,
	};
	int64_t generation = (int64_t)d->id.generation;
	char *dir = parts ? catalog_part_dir(catalog, d->job->id, generation, d->ranks.node) :
		    catalog_image_dir(catalog, d->job->id, generation);
	int err = args && dir ? 0 : -ENOMEM;

	if (!err && parts)
		err = catalog_part_make(catalog, d->job->id, generation, d->ranks.node);
	if (!err) {
		json_object_set_new(args, "generation", json_integer((json_int_t)d->id.generation));
		json_object_set_new(args, "dir", json_string(dir));
		d->captured = d->stored = d->decided = false;
		err = job_dump_start(d->job, &options, &dump_ops, d, &d->dump);
	}
	json_decref(args);
	free(dir);
	return err;
}

/*
 * True if this node must keep the reason of a failure: for its own request, or for the home,
 * which asks the other nodes (coord_peer.h).
 */
static bool driver_explains(const struct coord_driver *d)
{
	return d->asked || d->ranks.node;
}

static void coord_local_on_reached(uint32_t state, void *arg)
{
	struct coord_driver *d = arg;
	int err;

	if (state == STATUS_QUIESCED) {
		driver_done(d, COORD_ACT_QUIESCE, 0, COORD_WHY_NONE);
	} else if (state == STATUS_DRAINING) {
		tell_sent(d);
	} else if (state == STATUS_SILENT && d->kind == COORD_ACT_FREEZE && !d->dump) {
		d->silent_at = clock_monotonic_ns();
		err = start_dump(d);
		if (err && !d->failure && driver_explains(d))
			d->failure = outcome_error(err,
						   "the dump of job %lld cannot be begun: %s; the "
						   "job runs on",
						   (long long)d->job->id, strerror(-err));
		if (err)
			driver_done(d, COORD_ACT_FREEZE, err, COORD_WHY_FAILED);
	} else if (state == STATUS_RUNNING) {
		rank_link_close(d->link);
		d->link = NULL;
	}
}

static void coord_local_on_caught_up(void *arg)
{
	struct coord_driver *d = arg;
	struct coord_event event = driver_event(COORD_EV_CAUGHT_UP);

	event.sum = coord_sum(d->coord);
	driver_feed(d, &event);
}

static void coord_local_on_stuck(const struct shim_wait *wait, void *arg)
{
	struct coord_driver *d = arg;
	struct coord_event event = driver_event(COORD_EV_WAIT);

	d->stuck = *wait;
	event.wait = wait_of(d, wait);
	driver_feed(d, &event);
}

void driver_give_up(struct coord_driver *d, enum coord_reason reason, int error, uint32_t rank)
{
	struct coord_event event = driver_event(COORD_EV_FAILED);

	event.reason = reason;
	event.error = error;
	event.wait.node = d->ranks.node;
	event.wait.rank = rank;
	driver_feed(d, &event);
}

/*
 * After the thaw the ranks run on and lose nothing by waiting for the home; ranks to be killed
 * stand still, so their checkpoint is given up even then.
 */
void coord_driver_alone(struct job *job)
{
	struct coord_driver *d = job->coord;
	bool held;

	if (!d || coord_is_idle(d->coord) ||
	    (coord_level(d->coord) >= COORD_THAWED && !driver_is_kill(d)))
		return;
	held = coord_level(d->coord) != COORD_IDLE || d->kind == COORD_ACT_QUIESCE;
	driver_give_up(d, COORD_WHY_ROOT_LOST, -EHOSTUNREACH, COORD_NONE);
	if (held && coord_level(d->coord) == COORD_IDLE && d->kind != COORD_ACT_QUIESCE)
		log_warning(&d->common->log,
			    "job %lld: nothing is heard of node %s, its home: the checkpoint is "
			    "given up here, and the ranks run on",
			    (long long)job->id, parts_name(job->parts, 0));
}

static void coord_local_on_failed(uint32_t state, const struct shim_failure *failure, void *arg)
{
	struct coord_driver *d = arg;

	if (!d->failure && driver_explains(d))
		d->failure = outcome_because(outcome_error(-EOPNOTSUPP,
			"job %lld cannot be checkpointed now: rank %u: %s", (long long)d->job->id,
			failure->rank, failure->text), CKPT_R_MPI);
	driver_give_up(d, state == STATUS_ENDED ? COORD_WHY_EXITED : COORD_WHY_REFUSED,
		       -EOPNOTSUPP, failure->rank);
}

/* Word why the ranks cannot be watched in d->failure; the first reason is kept. */
static void coord_local_explain(struct coord_driver *d, int err)
{
	long long id = (long long)d->job->id;

	if (d->failure || !driver_explains(d))
		return;
	if (err == -EOPNOTSUPP)
		d->failure = outcome_because(outcome_error(err,
							   "the ranks of job %lld run without our "
							   "MPI library (--direct, --host-ns, or "
							   "an MPI that is not supported), so they "
							   "cannot be quiesced; start it without "
							   "that option to have checkpoints",
							   id),
					     CKPT_R_MPI);
	else if (err == -EPIPE || err == -ECONNREFUSED || err == -ENOENT)
		d->failure = outcome_error(-EPIPE,
					   "the shim of job %lld has gone away; the job runs on, "
					   "without checkpoints",
					   id);
	else
		d->failure = outcome_error(err,
					   "the shim of job %lld cannot be asked: %s; the job runs "
					   "on",
					   id, strerror(-err));
}

static void on_link_lost(int err, void *arg)
{
	struct coord_driver *d = arg;

	rank_link_close(d->link);
	d->link = NULL;
	coord_local_explain(d, err);
	driver_give_up(d, COORD_WHY_FAILED, err, COORD_NONE);
}

static const struct rank_link_ops link_ops = {
	.begun = coord_local_on_begun,
	.counts = coord_local_on_counts,
	.reached = coord_local_on_reached,
	.caught_up = coord_local_on_caught_up,
	.stuck = coord_local_on_stuck,
	.failed = coord_local_on_failed,
	.lost = on_link_lost,
};

/* Ranks without MPI do not know of an order: nothing is on its way that they could wait for. */
static int coord_local_pretend(struct coord_driver *d, uint32_t intent)
{
	static const uint32_t reached[] = {
		[STATUS_QUIESCE] = STATUS_QUIESCED, [STATUS_DRAIN] = STATUS_DRAINING,
		[STATUS_CUT] = STATUS_SILENT,
	};

	if (intent != STATUS_RUN)
		coord_local_on_reached(reached[intent], d);
	return 0;
}

int driver_order(struct coord_driver *d, uint32_t intent)
{
	char path[4096];
	int err = 0;

	if (d->plain)
		return coord_local_pretend(d, intent);
	if (!d->link && intent == STATUS_RUN)
		return 0;
	snprintf(path, sizeof(path), "%s/shim.sock", d->job->state_dir);
	if (!d->link)
		err = rank_link_open(d->common->reactor, path, d->ranks.size, &link_ops, d,
				     &d->link);
	if (!err)
		err = rank_link_order(d->link, intent);
	if (err && intent == STATUS_RUN) {
		/* The order need not arrive: to the shim the end of the link is that order. */
		rank_link_close(d->link);
		d->link = NULL;
		return 0;
	}
	if (err)
		coord_local_explain(d, err);
	return err;
}

/* ---------------------------------------------------------------- targets */

#define TARGETS_MAX	(SHIM_DATA_MAX / sizeof(struct shim_seq))

static void cannot_tell(struct coord_driver *d, int err)
{
	d->nr_targets = 0;
	coord_local_explain(d, err);
	driver_give_up(d, COORD_WHY_FAILED, err, COORD_NONE);
}

void driver_target(struct coord_driver *d, const struct coord_target *target)
{
	if (d->nr_targets == d->room_targets) {
		size_t room = d->room_targets ? 2 * d->room_targets : 64;
		struct shim_seq *more = realloc(d->targets, room * sizeof(*more));

		if (!more) {
			cannot_tell(d, -ENOMEM);
			return;
		}
		d->targets = more;
		d->room_targets = room;
	}
	d->targets[d->nr_targets++] = (struct shim_seq) { target->comm, target->seq };
}

void driver_tell_targets(struct coord_driver *d)
{
	size_t at, n, nr = d->nr_targets;
	int err = 0;

	/*
	 * Keep the targets: the order to quiesce may still be to come, and makes the shim forget
	 * all earlier targets.
	 */
	if (d->kind == COORD_ACT_QUIESCE)
		return;
	d->nr_targets = 0;
	for (at = 0; at < nr && d->link && !err; at += n) {
		n = nr - at < TARGETS_MAX ? nr - at : TARGETS_MAX;
		err = rank_link_targets(d->link, d->targets + at, n);
	}
	if (err)
		cannot_tell(d, err);
}

void driver_catch_up(struct coord_driver *d)
{
	int err;

	driver_tell_targets(d);
	if (d->plain) {
		coord_local_on_caught_up(d);
		return;
	}
	err = d->link ? rank_link_targets(d->link, NULL, 0) : 0;
	if (err)
		cannot_tell(d, err);
}

/* --------------------------------------------------------------- the dump */

static void coord_local_on_flushed(void *arg)
{
	driver_done(arg, COORD_ACT_FREEZE, 0, COORD_WHY_NONE);
}

static void coord_local_on_links(const struct sock_link *links, unsigned int nr, void *arg)
{
	driver_links(arg, links, nr);
}

/* On one node the worker does not wait before: the action is still FREEZE. */
static void coord_local_on_captured(void *arg)
{
	struct coord_driver *d = arg;

	d->captured = true;
	driver_done(d, d->kind == COORD_ACT_SNAPSHOT ? COORD_ACT_SNAPSHOT : COORD_ACT_FREEZE, 0,
		    COORD_WHY_NONE);
}

static void coord_local_on_stored(void *arg)
{
	struct coord_driver *d = arg;

	d->stored = true;
	driver_done(d, COORD_ACT_DUMP, 0, COORD_WHY_NONE);
}

static void coord_local_on_progress(json_t *progress, void *arg)
{
	struct coord_driver *d = arg;

	if (d->asked && d->checkpoint.progress)
		d->checkpoint.progress(progress, d->checkpoint.arg);
}

void driver_maybe_answer(struct coord_driver *d)
{
	json_t *outcome, *result;

	if (!d->asked || !d->committed || d->dump || !d->dumped || d->reading)
		return;
	outcome = json_incref(d->dumped);
	result = json_object_get(outcome, "result");
	if (result) {
		json_object_set_new(result, "generation",
				    json_integer((json_int_t)d->id.generation));
		json_object_set_new(result, "quiesce_ns",
				    json_integer((json_int_t)(d->silent_at - d->asked_at)));
		driver_add_thaw(d, result, result);
	}
	/* All nodes have stored their images, which may have taken longer than here. */
	if (result && d->ranks.nr_nodes > 1)
		json_object_set_new(result, "total_ns",
				    json_integer((json_int_t)(clock_monotonic_ns() -
							      d->silent_at)));
	if (result && d->ranks.nr_nodes > 1 && !driver_read_figures(d))
		json_decref(outcome);
	else
		driver_answer(d, outcome);
}

/* A committed dump ended. A later attempt may be under way and wait only for this end. */
static void on_decided_ended(struct coord_driver *d)
{
	int err;

	/* A worker that died did not kill the ranks; they are still held, so let them run. */
	if (driver_is_kill(d) && !outcome_is_ok(d->dumped) && d->kind == COORD_ACT_NONE)
		driver_order(d, STATUS_RUN);
	driver_maybe_answer(d);
	if (d->kind != COORD_ACT_QUIESCE)
		return;
	err = driver_order(d, STATUS_QUIESCE);
	if (err)
		driver_done(d, COORD_ACT_QUIESCE, err, COORD_WHY_FAILED);
}

/*
 * The worker died after its image was in place and before a decision. Only the home can end the
 * doubt: it asks the machine to abort while it may. On other nodes the image is as good without
 * its worker.
 */
static void on_worker_lost(struct coord_driver *d)
{
	struct coord_event event = driver_event(COORD_EV_REQUEST);

	if (!d->failure)
		d->failure = json_incref(d->dumped);
	event.request = COORD_ABORT;
	if (!d->ranks.node)
		driver_feed(d, &event);
}

static void on_dump_ended(json_t *outcome, void *arg)
{
	struct coord_driver *d = arg;
	bool early = !d->captured || (!d->stored && !outcome_is_ok(outcome));

	d->dump = NULL;
	driver_links_drop(d);
	json_decref(d->dumped);
	d->dumped = outcome;
	if (d->closing) {
		driver_maybe_answer(d);
		coord_driver_close(d);
		return;
	}
	if (d->decided) {
		on_decided_ended(d);
		return;
	}
	if (d->kind == COORD_ACT_ABORT) {
		driver_order(d, STATUS_RUN);
		driver_done(d, COORD_ACT_ABORT, 0, COORD_WHY_NONE);
		return;
	}
	/* A dry run ends here; act_thaw() comes only if it succeeded on all nodes. */
	if (driver_is_dry_run(d) && outcome_is_ok(outcome)) {
		driver_done(d, COORD_ACT_FREEZE, 0, COORD_WHY_NONE);
		return;
	}
	if (!early && !outcome_is_ok(outcome))
		on_worker_lost(d);
	if (early && !d->failure)
		d->failure = json_incref(outcome);
	if (early && d->kind != COORD_ACT_NONE)
		driver_done(d, d->kind,
			    outcome_is_ok(outcome) ? -ECANCELED : outcome_errno(outcome),
			    COORD_WHY_FAILED);
	else if (early)
		driver_give_up(d, COORD_WHY_FAILED, outcome_errno(outcome), COORD_NONE);
	driver_maybe_answer(d);
}

static const struct job_dump_ops dump_ops = {
	.links = coord_local_on_links,
	.flushed = coord_local_on_flushed,
	.captured = coord_local_on_captured,
	.stored = coord_local_on_stored,
	.progress = coord_local_on_progress,
	.ended = on_dump_ended,
};
