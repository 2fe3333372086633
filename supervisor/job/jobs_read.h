/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs as they are, for requests that only read.
 *
 * Nothing is registered, written, ended or adopted. A job that is alive or busy here is the entry
 * of the registry (jobs.h); any other is read from the catalog each time, as its record is not
 * kept in memory.
 */
#ifndef STILLPOINT_JOBS_READ_H
#define STILLPOINT_JOBS_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct channel_ops;
struct job;
struct jobs;
struct request;
struct worker;
struct worker_spec;

/*
 * jobs_read_for() - the "job" in @request's arguments, for a request that only reads
 * @ret_draft: to be freed with job_draft_free() after the last use of the job; NULL: it is
 *	registered, and alive or busy here
 *
 * A job that is neither is read from disk. Nothing is registered, written, ended or adopted: a
 * job whose record says that it runs on this node, which does not know it, is "lost" until
 * jobs_reconcile() finds its end.
 *
 * NULL, with an outcome: as for jobs_reconcile_for().
 */
const struct job *jobs_read_for(struct request *request, struct job **ret_draft,
				json_t **ret_outcome);
/*
 * struct jobs_wanted - jobs that jobs_read_all() looks for
 * @uid: of this user only, unless @everybody
 * @lost_here: only jobs that are not registered, although their record says that they run here
 */
struct jobs_wanted {
	uid_t uid;
	bool everybody;
	bool lost_here;
};

/* The jobs that a user may see: his own; root's are everybody's. */
static inline struct jobs_wanted jobs_wanted_of(uid_t uid)
{
	return (struct jobs_wanted) { .uid = uid, .everybody = uid == 0 };
}

typedef void (*jobs_read_fn)(const struct job *job, void *arg);

/*
 * jobs_read_all() - call @fn for all jobs that are @wanted, read as by jobs_read_for(), by
 *	ascending number; @fn must not keep the job
 *
 * For a worker that jobs_worker_start() has started: the time grows with the number of all users'
 * jobs. Records of jobs that are not wanted are read once; after that the index (catalog_index.h)
 * has their owner and state.
 */
void jobs_read_all(struct jobs *jobs, const struct jobs_wanted *wanted, jobs_read_fn fn, void *arg);
/*
 * jobs_read_owner() - whose job this is; 0 or negative errno: there is none, or it cannot be read
 *
 * For a worker that jobs_worker_start() has started.
 */
int jobs_read_owner(struct jobs *jobs, int64_t id, uid_t *ret_uid);
/*
 * The jobs that the last jobs_read_all() of this process could not read: [{"job": number,
 * "other_key": the record says that another key has sealed it, "error": text}], ascending; stays
 * @jobs's.
 */
const json_t *jobs_unreadable(const struct jobs *jobs);

#endif /* STILLPOINT_JOBS_READ_H */
