// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which generation counts: the machine's record on this node, and what the catalog has.
 *
 * A node's record says what it has prepared and what is committed. Of one node it decides. Over
 * several nodes the catalog decides, which all of them see: the home makes their images a
 * generation there before it records so, and takes it back if it then cannot. A ckptd that begins
 * brings the two together again.
 */
#include "supervisor/coord_driver_priv.h"

#include <string.h>

#include "supervisor/coord_record.h"
#include "supervisor/promoter.h"

/* Of several nodes the home makes their images a generation. */
static int commit_generation(struct coord_driver *d)
{
	char why[512];
	int err;

	if (d->ranks.nr_nodes < 2 || d->ranks.node)
		return 0;
	err = catalog_generation_commit(&d->daemon->catalog, d->job->id,
					(int64_t)d->id.generation,
					json_object_get(d->job->record, "ranks"), why, sizeof(why));
	if (err)
		log_error(&d->daemon->log, "job %lld: %s", (long long)d->job->id, why);
	return err;
}

/* The images are removed by those who made them. */
static void uncommit(const struct coord_driver *d, int64_t generation)
{
	if (d->ranks.nr_nodes > 1 && !d->ranks.node)
		catalog_generation_uncommit(&d->daemon->catalog, d->job->id, generation);
}

void driver_persist(struct coord_driver *d, const struct coord_action *act)
{
	struct coord_event event = driver_event(COORD_EV_DONE);
	bool commits = d->dump && d->stored && act->record.committed.attempt == d->id.attempt &&
		       act->record.committed.generation == d->id.generation;

	event.cookie = act->cookie;
	/* First what decides after a crash: driver_settle(). */
	if (commits)
		event.error = commit_generation(d);
	if (!event.error)
		event.error = coord_record_write(d->job->state_dir, &act->record);
	if (event.error) {
		event.reason = COORD_WHY_DISK;
		log_error(&d->daemon->log, "%s/%s: %s", d->job->state_dir, COORD_RECORD_FILE,
			  strerror(-event.error));
		if (commits)
			uncommit(d, (int64_t)d->id.generation);
	} else if (commits) {
		/* It counts: a tree that was to be killed is, now. */
		d->decided = true;
		job_dump_go(d->dump);
		/* Elsewhere nobody asked for it, so nobody is told that it has ended. */
		if (d->ranks.node)
			promoter_after_commit(d->daemon->promoter, d->job);
	}
	driver_queue(d, &event);
}

/* Of a ckptd before us that died when its image was there, and not yet committed anywhere. */
static void remove_prepared(const struct coord_driver *d, const struct coord_record *record)
{
	const struct catalog *catalog = &d->daemon->catalog;
	int64_t generation = (int64_t)record->prepared.generation;
	char why[512];

	if (d->ranks.nr_nodes > 1 || !record->prepared.attempt ||
	    record->committed.generation == record->prepared.generation ||
	    !catalog_has(catalog, d->job->id, generation))
		return;
	if (catalog_generation_remove(catalog, d->job->id, generation, why, sizeof(why)))
		log_error(&d->daemon->log, "job %lld: generation %lld was given up and cannot be removed: %s",
			  (long long)d->job->id, (long long)generation, why);
}

/*
 * Over several nodes what is in the catalog is a generation, even if the home was killed before it
 * recorded so.
 */
static void adopt_commit(const struct coord_driver *d, struct coord_record *record)
{
	if (d->ranks.nr_nodes < 2 || d->ranks.node || !record->prepared.attempt ||
	    record->committed.generation == record->prepared.generation)
		return;
	if (catalog_has(&d->daemon->catalog, d->job->id, (int64_t)record->prepared.generation))
		record->committed = record->prepared;
}

void driver_settle(const struct coord_driver *d, struct coord_record *record)
{
	remove_prepared(d, record);
	adopt_commit(d, record);
}
