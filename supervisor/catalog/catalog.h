/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The catalog: jobs and their generations on disk.
 *
 *	IMAGE_DIR/.job-number		the highest number ever given (job_number.h)
 *	IMAGE_DIR/ID/job.json		the job's record (sealed)
 *	IMAGE_DIR/ID/gen-N/		an image; the note in its manifest holds what belongs
 *					to it: lengths of the logs, main process
 *	IMAGE_DIR/ID/pin-N.json		pin: generation N must not be removed (pin.h)
 *	IMAGE_DIR/ID/.lock		locked by whoever removes or pins generations
 *	IMAGE_DIR/ID/stdout, stderr	the job's output
 *	IMAGE_DIR/ID/history		what checkpoints and restarts have cost (history.h)
 *
 * The images' manifests are the truth: a generation exists when its manifest does. Nothing
 * is kept in memory, so nothing can disagree with the disk.
 */
#ifndef STILLPOINT_CATALOG_H
#define STILLPOINT_CATALOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Job and generation numbers are below this; a directory named by a higher number is ignored. */
#define CATALOG_NUMBERS	1000000000LL

struct ckpt_error;
struct log;

struct catalog {
	const char *dir;	/* IMAGE_DIR */
	const char *key;	/* path of the key */
	const char *secret;	/* as in struct op_env */
	/*
	 * Where each node has an image directory of its own, no two nodes give the same job
	 * number: this node gives numbers that leave @rest when divided by @step; @step 0:
	 * all numbers.
	 */
	unsigned int rest, step;
	const struct log *log;	/* NULL: nothing is logged */
};

/* Directory of a job, or of a generation; the caller frees it; NULL: no memory. */
char *catalog_job_dir(const struct catalog *catalog, int64_t job);
char *catalog_image_dir(const struct catalog *catalog, int64_t job, int64_t generation);

/*
 * A generation of a job over several nodes has one image for each node, below its
 * directory:
 *	gen-N/node-K/image	the image of the K-th node of the rank map
 *	gen-N/parts.json	names and ranks of the nodes (sealed); makes the images a generation
 */
#define CATALOG_PARTS	"parts.json"
char *catalog_part_dir(const struct catalog *catalog, int64_t job, int64_t generation,
		       unsigned int part);
/* Make the directory that will hold the image of @part. */
int catalog_part_make(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part);
/* Make the images a generation. @parts: "ranks" of the job's record. */
int catalog_generation_commit(const struct catalog *catalog, int64_t job, int64_t generation,
			      const json_t *parts, struct ckpt_error *error);
/* Undo the commit: it is no generation any more; the images stay. */
void catalog_generation_uncommit(const struct catalog *catalog, int64_t job,
				 int64_t generation);
/* Read parts.json. -ENOENT: the generation is one image. */
int catalog_generation_parts(const struct catalog *catalog, int64_t job, int64_t generation,
			     json_t **ret_parts, struct ckpt_error *error);
/* Remove one node's image that is of no generation. -ENOTEMPTY: a foreign file is there. */
int catalog_part_drop(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part);

/*
 * catalog_job_create() - take a job number, above all that were ever given, by making its
 *	directory
 *
 * -EBUSY: another process keeps the numbers locked (job_number.h); -ENOSPC: no number is left.
 */
int catalog_job_create(const struct catalog *catalog, int64_t *ret_job);
/*
 * Make the directory of a job whose number is given; durable. 0 also if it exists: then
 * *@ret_made is false. The number is not given to another job later.
 */
int catalog_job_make(const struct catalog *catalog, int64_t job, bool *ret_made);

/* Ids of all jobs with a record, ascending; and of job directories without a record. */
json_t *catalog_jobs(const struct catalog *catalog);
json_t *catalog_strangers(const struct catalog *catalog);

/*
 * catalog_job_check() - check by "uuid" that the directory of that number belongs to the
 *	job of @record, and by "run" that the record on disk is not of a later run
 *
 * -ESTALE: the directory is another job's, as when IMAGE_DIR was not mounted when the job
 * was started, or the job has been restarted since. 0: it belongs to @record, or has no
 * readable record.
 */
int catalog_job_check(const struct catalog *catalog, int64_t job, const json_t *record,
		      struct ckpt_error *error);
/* -ESTALE as above: neither another job's record nor that of a later run is replaced. */
int catalog_job_write(const struct catalog *catalog, int64_t job,
		      const json_t *record, struct ckpt_error *error);
int catalog_job_read(const struct catalog *catalog, int64_t job,
		     json_t **ret_record, struct ckpt_error *error);
/* Return the first foreign file in the job's directory, if any; it blocks removal. */
bool catalog_job_foreign(const struct catalog *catalog, int64_t job, char *ret_name, size_t size);
/*
 * Remove the job with everything; only if no generation is left. -ENOTEMPTY: a foreign file
 * is there, and the record still exists. The number is not given again; -EBUSY or the like if
 * that cannot be noted, and then nothing was removed.
 */
int catalog_job_remove(const struct catalog *catalog, int64_t job);

/* Names of files in the job's directory. */
#define CATALOG_CLAIM	".restarting"
#define CATALOG_LOCK	".lock"
#define CATALOG_WRITES	"writes"	/* job_writes.h */

/*
 * catalog_claim() - claim the job: only one node restarts it at a time
 * @node: this node; if it has the claim already, the claim is renewed
 * @force: take the claim from another node, which an operator has declared off
 * @holder: on -EBUSY gets the name of the node that has the claim
 */
int catalog_claim(const struct catalog *catalog, int64_t job, const char *node,
		  bool force, char *holder, size_t size);
/* Give the claim back, if @node still has it. */
void catalog_unclaim(const struct catalog *catalog, int64_t job, const char *node);
/* True if a node has claimed the job; @holder gets its name. */
bool catalog_claimed(const struct catalog *catalog, int64_t job, char *holder, size_t size);
/* A number that changes with each claim; 0: the job is not claimed. */
int64_t catalog_claim_stamp(const struct catalog *catalog, int64_t job);

/*
 * catalog_lock() - lock a job's generations against removal and pinning by others
 *
 * Closing @ret_lock unlocks. -EBUSY: another process has the lock. On a file system without
 * locks nobody can hold the lock, and every caller gets it.
 */
int catalog_lock(const struct catalog *catalog, int64_t job, int *ret_lock);

/*
 * Numbers of committed generations, ascending. If the directory cannot be read to its end,
 * only those that were found: before removing something, or taking an older generation,
 * because a number is missing, call catalog_readable().
 */
json_t *catalog_generations(const struct catalog *catalog, int64_t job);
/*
 * The same, of those in @window; older ones are not looked at, so that thousands of them cost
 * little. @ret_all: directories of generations, also of some that were not committed.
 */
struct window;
json_t *catalog_generations_in(const struct catalog *catalog, int64_t job,
			       const struct window *window, size_t *ret_all);
/* Check that the whole job directory can be read, if it exists. 0, -errno. */
int catalog_readable(const struct catalog *catalog, int64_t job);
bool catalog_has(const struct catalog *catalog, int64_t job, int64_t generation);
/* Numbers of all generation directories, committed or not. */
json_t *catalog_traces(const struct catalog *catalog, int64_t job);
/*
 * The number for a new generation: above all existing ones and above @floor. -ERANGE: none
 * is left.
 */
int64_t catalog_next(const struct catalog *catalog, int64_t job, int64_t floor);
int64_t catalog_last(const struct catalog *catalog, int64_t job);	/* 0: none */

/*
 * Remove a generation; the caller has checked that it is not pinned. -EBUSY: it is being
 * restored from. After another error a generation of several nodes may be uncommitted while
 * some of its images stay; @error says so.
 */
int catalog_generation_remove(const struct catalog *catalog, int64_t job,
			      int64_t generation, struct ckpt_error *error);
/* True if the generation is being restored from, or written, on this node. */
bool catalog_generation_in_use(const struct catalog *catalog, int64_t job, int64_t generation);
/*
 * Remove images that never became a generation. Images being written (-EBUSY) and foreign
 * files (-ENOTEMPTY) stay.
 */
int catalog_generation_sweep(const struct catalog *catalog, int64_t job, int64_t generation);

#endif /* STILLPOINT_CATALOG_H */
