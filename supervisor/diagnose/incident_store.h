/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record of incidents on one node, the home of their jobs: STATE_DIR/incidents.db, a SQLite
 * file. For workers: the record is on a disk.
 *
 * An incident is kept by its job's number, uuid and owner, so that a number that is given again
 * leads to no incident of an older job. It has a bundle: the whole report of the diagnosis that
 * confirmed it, with all stacks. Incident and bundle are one transaction, which is synced: after a
 * power cut there are both or none.
 *
 * The file is bounded: incidents of more than INCIDENTS_DAYS go, and of INCIDENTS_MAX or
 * INCIDENTS_BYTES of bundles the oldest of the user who has most bytes, closed ones first.
 * INCIDENTS_OF_JOB bounds one job, whose hangs are likely to be alike.
 */
#ifndef STILLPOINT_DIAGNOSE_INCIDENT_STORE_H
#define STILLPOINT_DIAGNOSE_INCIDENT_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "supervisor/diagnose/incident.h"

#define INCIDENTS_FILE		"incidents.db"
#define INCIDENTS_DAYS		90
#define INCIDENTS_OF_JOB	16
#define INCIDENTS_MAX		1000
#define INCIDENTS_BYTES		(256LL << 20)
#define INCIDENT_BUNDLE_MAX	(8u << 20)

struct incident_store;

/* @writer: make what is missing. -ENOENT: there is no record yet. -EUCLEAN: it is damaged. */
int incident_store_open(const char *path, bool writer, struct incident_store **ret_store,
			struct ckpt_error *error);
/* Let bundles have at most so many bytes instead of INCIDENTS_BYTES. */
void incident_store_bound(struct incident_store *store, int64_t bytes);
void incident_store_close(struct incident_store *store);	/* NULL is fine */

/*
 * incident_store_confirm() - note that a hang was confirmed
 * @incident: of incident_make(), with "uuid"
 * @bundle: text of JSON; NULL: none. Kept only if the incident is a new one
 * @ret_incident: as it is stored now, a new reference
 *
 * The open incident of the job, if there is one, is updated; else a new one is begun. What is too
 * old or too much goes.
 */
int incident_store_confirm(struct incident_store *store, const json_t *incident,
			   const char *bundle, json_t **ret_incident, struct ckpt_error *error);
/*
 * incident_store_move() - note an event of the job's open incident
 * @action: what was done; NULL: as it was. @result: what came of it; NULL: as it was
 *
 * -ENOENT: the job has no open incident. -EINVAL: the event cannot come in its state.
 */
int incident_store_move(struct incident_store *store, int64_t job, const char *uuid,
			enum incident_event event, const char *action, const char *result,
			int64_t now, struct ckpt_error *error);

/*
 * incident_store_acts() - how often a job has been rolled back for its hangs
 * @incident: as it is stored; its own rollback counts as well
 * @after: seconds since 1970
 * @ret_here: for hangs at the incident's place
 * @ret_lately: for hangs that were confirmed since @after
 *
 * What cannot be read counts as many, so that nothing is done again and again.
 */
void incident_store_acts(struct incident_store *store, const json_t *incident, int64_t after,
			 unsigned int *ret_here, unsigned int *ret_lately);

/*
 * incident_store_list() - incidents, the newest first, without "text"
 * @uid: of this user; 0: of all
 * @job: of this number; 0: of all
 * @open: only those that are open
 */
json_t *incident_store_list(struct incident_store *store, uid_t uid, int64_t job, bool open);
/*
 * incident_store_get() - one incident
 * @uid: of the user who asks; 0: root
 * @ret_bundle: a new reference, of which JSON null stands for no bundle; NULL: not wanted
 *
 * A new reference. NULL: there is none of that number, or it is another user's.
 */
json_t *incident_store_get(struct incident_store *store, int64_t incident, uid_t uid,
			   json_t **ret_bundle);

#endif /* STILLPOINT_DIAGNOSE_INCIDENT_STORE_H */
