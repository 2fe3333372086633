// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which generation counts: the machine's record on this node, and what the catalog has.
 *
 * A node's record says what it has prepared and what is committed. What the home's catalog has
 * decides, which all nodes see if they share it: of one node the image itself; over several
 * nodes the home makes their images a generation there before it records so, and takes it back
 * if it then cannot. A ckptd that begins brings the two together again.
 *
 * Where each node has an image directory of its own, each makes its image a part of the
 * generation there when the home has told it that it counts.
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
	return rank_record_is_apart(json_object_get(d->job->record, "ranks"));
}

/* Of several nodes the home makes their images a generation, or each its own. */
static bool is_ours_to_commit(const struct coord_driver *d)
{
	return d->ranks.nr_nodes > 1 && (!d->ranks.node || coord_commit_is_apart(d));
}

static int commit_generation(const struct coord_driver *d, int64_t generation)
{
	char why[512];
	int err;

	if (!is_ours_to_commit(d))
		return 0;
	err = catalog_generation_commit(&d->daemon->catalog, d->job->id, generation,
					json_object_get(d->job->record, "ranks"), why, sizeof(why));
	if (err)
		log_error(&d->daemon->log, "job %lld: %s", (long long)d->job->id, why);
	return err;
}

/* The images are removed by those who made them. */
static void coord_commit_uncommit(const struct coord_driver *d, int64_t generation)
{
	if (is_ours_to_commit(d))
		catalog_generation_uncommit(&d->daemon->catalog, d->job->id, generation);
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

/* Our record did not have it. */
static bool is_new(const struct coord_driver *d, const struct coord_record *record)
{
	return record->committed.generation && !is_same(record->committed, d->counts);
}

/*
 * That it counts is learned from another node's record, without the dump that made the image: by a
 * ckptd after that, or when its worker was killed. One that the record has had was made a
 * generation then, and may have been removed since.
 */
static bool is_late(const struct coord_driver *d, const struct coord_record *record)
{
	int64_t generation = (int64_t)record->committed.generation;
	_cleanup_free_ char *dir = catalog_part_dir(&d->daemon->catalog, d->job->id, generation,
						    d->ranks.node);

	return is_ours_to_commit(d) && is_new(d, record) && dir && !access(dir, F_OK) &&
	       !catalog_has(&d->daemon->catalog, d->job->id, generation);
}

/* Where nobody asked for it, so nobody is told that it has ended. */
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
	/* First what decides after a crash: driver_settle(). */
	if (commits || is_late(d, &act->record))
		event.error = commit_generation(d, (int64_t)act->record.committed.generation);
	if (!event.error)
		event.error = coord_record_write(d->job->state_dir, &act->record);
	if (event.error) {
		event.reason = COORD_WHY_DISK;
		log_error(&d->daemon->log, "%s/%s: %s", d->job->state_dir, COORD_RECORD_FILE,
			  strerror(-event.error));
		if (commits)
			coord_commit_uncommit(d, (int64_t)d->id.generation);
	} else {
		d->counts = act->record.committed;
	}
	if (commits && !event.error) {
		/* It counts: a tree that was to be killed is, now. */
		d->decided = true;
		job_dump_go(d->dump);
	}
	if (!event.error && (late || (commits && d->ranks.node)))
		after_commit(d);
	driver_queue(d, &event);
}

/*
 * What is in the catalog is a generation, even if the ckptd that made it one was killed before
 * it recorded so: it is listed, and may be pinned and counted on by now.
 */
void driver_settle(const struct coord_driver *d, struct coord_record *record)
{
	if (d->ranks.node || !record->prepared.attempt ||
	    record->committed.generation == record->prepared.generation)
		return;
	if (catalog_has(&d->daemon->catalog, d->job->id, (int64_t)record->prepared.generation))
		record->committed = record->prepared;
}
