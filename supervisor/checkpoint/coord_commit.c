// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which generation counts: the machine's record on this node, and what the catalog has.
 *
 * A node's record names the generation that it has prepared and the one that is committed. The
 * home's catalog decides, which all nodes see if they share it. On one node the image itself is
 * the generation. Over several nodes the home makes their images a generation in the catalog
 * before it writes the record, and takes the generation back if the record cannot be written. A
 * ckptd that starts brings record and catalog together again (driver_settle()).
 *
 * Where each node has an image directory of its own, each node makes its image a part of the
 * generation when the home has told it that the generation is committed.
 */
#include "supervisor/checkpoint/coord_driver_priv.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/job/coord_record.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/rank_record.h"

static bool coord_commit_is_apart(const struct coord_driver *d)
{
	return rank_record_is_apart(d->job->record.ranks);
}

/* True if this node makes images a generation: the home, or each node with its own directory. */
static bool is_ours_to_commit(const struct coord_driver *d)
{
	return d->ranks.nr_nodes > 1 && (!d->ranks.node || coord_commit_is_apart(d));
}

static int commit_generation(const struct coord_driver *d, int64_t generation)
{
	struct ckpt_error error = {};
	int err;

	if (!is_ours_to_commit(d))
		return 0;
	err = catalog_generation_commit(&d->common->catalog, d->job->id, generation,
					d->job->record.ranks, &error);
	if (err)
		log_error(&d->common->log, "job %lld: %s", (long long)d->job->id, error.text);
	return err;
}

/* Take a generation back; the images stay, and the nodes that made them remove them. */
static void coord_commit_uncommit(const struct coord_driver *d, int64_t generation)
{
	if (is_ours_to_commit(d))
		catalog_generation_uncommit(&d->common->catalog, d->job->id, generation);
}

static bool is_same(struct coord_id a, struct coord_id b)
{
	return a.generation == b.generation && a.attempt == b.attempt;
}

bool driver_may_send(const struct coord_driver *d, const struct coord_msg *msg)
{
	return msg->kind != COORD_MSG_ORDER || msg->order.order != COORD_ORDER_COMMIT ||
	       d->ranks.node || is_same(msg->id, d->counts);
}

/* True if @record commits a generation that our last record did not. */
static bool is_new(const struct coord_driver *d, const struct coord_record *record)
{
	return record->committed.generation && !is_same(record->committed, d->counts);
}

/*
 * True if this node learns of the commit of its image only after the dump is gone: ckptd was
 * restarted, or the dump's worker was killed. A commit that our record has had was made a
 * generation then, and the generation may have been removed since.
 */
static bool is_late(const struct coord_driver *d, const struct coord_record *record)
{
	int64_t generation = (int64_t)record->committed.generation;
	_cleanup_free_ char *dir = catalog_part_dir(&d->common->catalog, d->job->id, generation,
						    d->ranks.node);

	return is_ours_to_commit(d) && is_new(d, record) && dir && !access(dir, F_OK) &&
	       !catalog_has(&d->common->catalog, d->job->id, generation);
}

/* Report the commit on a node where no request for the checkpoint waits. */
static void after_commit(const struct coord_driver *d)
{
	const struct job_commit commit = { .taken = false };

	job_events_committed(d->job, &commit);
}

void driver_persist(struct coord_driver *d, const struct coord_action *act)
{
	struct coord_event event = driver_event(COORD_EV_DONE);
	bool commits = d->dump && d->stored && act->record.committed.attempt == d->id.attempt &&
		       act->record.committed.generation == d->id.generation;
	const bool late = !commits && is_new(d, &act->record);

	event.cookie = act->cookie;
	/* The catalog first: it decides after a crash, see driver_settle(). */
	if (commits || is_late(d, &act->record))
		event.error = commit_generation(d, (int64_t)act->record.committed.generation);
	if (!event.error)
		event.error = coord_record_write(d->job->state_dir, &act->record);
	if (event.error) {
		event.reason = COORD_WHY_DISK;
		log_error(&d->common->log, "%s/%s: %s", d->job->state_dir, COORD_RECORD_FILE,
			  strerror(-event.error));
		if (commits)
			coord_commit_uncommit(d, (int64_t)d->id.generation);
	} else {
		d->counts = act->record.committed;
	}
	if (commits && !event.error) {
		/* Committed: let the worker go on, which kills the tree now if asked to. */
		d->decided = true;
		job_dump_go(d->dump);
	}
	if (!event.error && (late || (commits && d->ranks.node)))
		after_commit(d);
	driver_queue(d, &event);
}

/*
 * A prepared generation in the catalog is committed, even if the ckptd that put it there was
 * killed before it wrote the record: users see the generation, and may have pinned it by now.
 */
void driver_settle(const struct coord_driver *d, struct coord_record *record)
{
	if (d->ranks.node || !record->prepared.attempt ||
	    record->committed.generation == record->prepared.generation)
		return;
	if (catalog_has(&d->common->catalog, d->job->id, (int64_t)record->prepared.generation))
		record->committed = record->prepared;
}
