/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs and their generations on disk.
 *
 *	IMAGE_DIR/ID/job.json		what the job is (sealed)
 *	IMAGE_DIR/ID/gen-N/		an image; its manifest's note holds what goes
 *					with it: lengths of the logs, main process
 *	IMAGE_DIR/ID/pin-N.json		generation N is not to be removed (pin.h)
 *	IMAGE_DIR/ID/.lock		whoever removes generations or pins them has it
 *	IMAGE_DIR/ID/stdout, stderr	the job's output
 *	IMAGE_DIR/ID/history		what checkpoints and restarts have cost (history.h)
 *
 * The images' manifests are the truth: a generation exists when its manifest
 * does.  Nothing here is kept in memory, so there is nothing that could disagree
 * with the disk.
 */
#ifndef STILLPOINT_CATALOG_H
#define STILLPOINT_CATALOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Numbers of jobs and generations are below this; what is called by another one is none. */
#define CATALOG_NUMBERS	1000000000LL

struct catalog {
	const char *dir;	/* IMAGE_DIR */
	const char *key;	/* path */
	const char *secret;	/* as in struct op_env */
	/*
	 * Where each node has a directory of its own, no two of them give one number: ours are those
	 * that leave @rest when divided by @step; 0: all.
	 */
	unsigned int rest, step;
};

/* Directory of a job or generation; to be freed; NULL without memory. */
char *catalog_job_dir(const struct catalog *catalog, int64_t job);
char *catalog_image_dir(const struct catalog *catalog, int64_t job, int64_t generation);

/*
 * Of a job over several nodes a generation has one image for each, below the directory:
 *	gen-N/node-K/image	the image of the K-th node of the rank map
 *	gen-N/parts.json	their names and ranks (sealed): they are a generation
 */
#define CATALOG_PARTS	"parts.json"
char *catalog_part_dir(const struct catalog *catalog, int64_t job, int64_t generation,
		       unsigned int part);
/* The directory that it will be in. */
int catalog_part_make(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part);
/* @parts: "ranks" of the job's record. */
int catalog_generation_commit(const struct catalog *catalog, int64_t job, int64_t generation,
			      const json_t *parts, char *why, size_t size);
/* No generation any more; the images stay. */
void catalog_generation_uncommit(const struct catalog *catalog, int64_t job,
				 int64_t generation);
/* -ENOENT: it is of one image. */
int catalog_generation_parts(const struct catalog *catalog, int64_t job, int64_t generation,
			     json_t **ret_parts, char *why, size_t size);
/* The image of one node that came to nothing. -ENOTEMPTY: what is there is not all ours. */
int catalog_part_drop(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part);

/* Take the next free job number, of those that are ours to give, by making its directory. */
int catalog_job_create(const struct catalog *catalog, int64_t *ret_job);
/* One that has its number from elsewhere; durable as that.  0 also if it is there: then it was not made. */
int catalog_job_make(const struct catalog *catalog, int64_t job, bool *ret_made);

/* Ids of all jobs with a record, ascending; and of directories without one. */
json_t *catalog_jobs(const struct catalog *catalog);
json_t *catalog_strangers(const struct catalog *catalog);

/*
 * catalog_job_check() - is the directory of that number the job's of @record, by their "uuid", and of no later "run"?
 *
 * -ESTALE: it is another's, as when IMAGE_DIR was not mounted when the job was started, or the job has been
 * restarted since.  0: it is, or has no record that could be read.
 */
int catalog_job_check(const struct catalog *catalog, int64_t job, const json_t *record,
		      char *why, size_t size);
/* As above -ESTALE: another job's record is not replaced, nor that of a later run. */
int catalog_job_write(const struct catalog *catalog, int64_t job,
		      const json_t *record, char *why, size_t size);
int catalog_job_read(const struct catalog *catalog, int64_t job,
		     json_t **ret_record, char *why, size_t size);
/* Has its directory what is not ours, for which it could not be removed? What comes first. */
bool catalog_job_foreign(const struct catalog *catalog, int64_t job, char *ret_name, size_t size);
/*
 * The job with everything; only of one that has no generation left. -ENOTEMPTY: something is not ours,
 * and the record is there yet.
 */
int catalog_job_remove(const struct catalog *catalog, int64_t job);

/* In the job's directory, both. */
#define CATALOG_CLAIM	".restarting"
#define CATALOG_LOCK	".lock"

/*
 * catalog_claim() - of several nodes only one restarts a job at a time
 * @node: ours; a claim that we have already is ours again
 * @force: take it from another node, which is off
 * @holder: on -EBUSY gets the node that has it
 */
int catalog_claim(const struct catalog *catalog, int64_t job, const char *node,
		  bool force, char *holder, size_t size);
/* Given back, if @node still has it. */
void catalog_unclaim(const struct catalog *catalog, int64_t job, const char *node);
/* Who has it, if somebody has. */
bool catalog_claimed(const struct catalog *catalog, int64_t job, char *holder, size_t size);
/* Another number after each claim; 0: nobody has it. */
int64_t catalog_claim_stamp(const struct catalog *catalog, int64_t job);

/*
 * catalog_lock() - alone among the nodes to remove generations of a job, or to pin them
 *
 * It goes with @ret_lock.  -EBUSY: somebody has it. A file system without locks: nobody can
 * have it, and everybody gets it.
 */
int catalog_lock(const struct catalog *catalog, int64_t job, int *ret_lock);

/*
 * Numbers of committed generations, ascending.  Of a directory that cannot be read to its end they are those that were found:
 * who would remove something, or take an older one, on account of what is not there asks catalog_readable() first.
 */
json_t *catalog_generations(const struct catalog *catalog, int64_t job);
/* Can all of the job's directory be read, if there is one?  0, -errno. */
int catalog_readable(const struct catalog *catalog, int64_t job);
bool catalog_has(const struct catalog *catalog, int64_t job, int64_t generation);
/* Numbers of all that there is a directory of, committed or not. */
json_t *catalog_traces(const struct catalog *catalog, int64_t job);
/* The number for a new one: above every one there is, and above @floor. -ERANGE: there is none left. */
int64_t catalog_next(const struct catalog *catalog, int64_t job, int64_t floor);
int64_t catalog_last(const struct catalog *catalog, int64_t job);	/* 0: none */

/*
 * -EBUSY: it is being restored from. Who asks for it has looked for a pin.  Of several nodes it may be no
 * generation any more after an error: an image of it stays, which @why says.
 */
int catalog_generation_remove(const struct catalog *catalog, int64_t job,
			      int64_t generation, char *why, size_t size);
/* Is it being restored from, or written, on this node? */
bool catalog_generation_in_use(const struct catalog *catalog, int64_t job, int64_t generation);
/*
 * Images that no generation came of.  What is being written is left alone (-EBUSY), and what
 * is none of ours (-ENOTEMPTY).
 */
int catalog_generation_sweep(const struct catalog *catalog, int64_t job, int64_t generation);

#endif /* STILLPOINT_CATALOG_H */
