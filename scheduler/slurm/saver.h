/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job of a launch, as this node's ckptd knows it: what became of it, and save it.
 */
#ifndef STILLPOINT_SLURM_SAVER_H
#define STILLPOINT_SLURM_SAVER_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/slurm/step.h"

#define SAVER_WHY	1024	/* bytes of ckptd's words for a failure */

/**
 * struct saver_job - a job of ckptd
 * @job: its number; 0: there is none
 * @hidden: a record that cannot be read is of a later job, which may be the one of this name
 * @newest: its newest generation that can be read; 0: none
 * @oldest: the oldest such; 0: none
 * @best: the one to go on from: the newest, unless that is suspect or rejected; then the newest
 *	that a vote found right, else the newest that is neither; 0: none
 * @older: the same of those that are older than the one that was asked about
 * @state: as `ckptctl ps` calls it
 * @runs: the job runs, or begins, or ends
 * @saved: the job was saved and ended by a checkpoint
 * @status: exit status of a job that has ended by itself, or was killed
 * @ranks: it has ranks, which may be on several nodes
 * @told: it was told to end by SIGTERM, and ended then, with whatever status
 * @lost: the job was ended, and nobody knows how: it can only go on from a generation
 */
struct saver_job {
	int64_t job;
	bool hidden;
	int64_t newest;
	int64_t oldest;
	int64_t best;
	int64_t older;
	char state[24];
	bool runs;
	bool ranks;
	bool saved;
	bool lost;
	bool told;
	int64_t status;
};

/*
 * saver_find() - the newest job of this user that is called @name
 *
 * Return: 0, or a negative errno if ckptd does not answer: nothing is known of the job then.
 */
int saver_find(const char *name, struct saver_job *ret);

/*
 * saver_find_patiently() - the same, asked again for half a minute; five where there is no place
 * @than: also find @ret->older
 *
 * Return: as saver_find(); at once -EPERM, if this user may not use ckptd.
 */
int saver_find_patiently(const char *name, int64_t than, struct saver_job *ret);

/*
 * saver_steps() - the jobs of this user that step_print() has named for @command, behind @prefix
 * @patient: ask again for half a minute
 * @ret_jobs: to be freed, also where there is none; the newest of each name
 *
 * Return: as saver_find_patiently().
 */
int saver_steps(const char *prefix, uint32_t command, bool patient, struct step_job **ret_jobs,
		size_t *ret_nr);

/*
 * saver_knows() - is there a record of @job?
 *
 * Return: 1, 0, or a negative errno as of saver_find_patiently(); 1 also if records cannot be read.
 */
int saver_knows(int64_t job);

/* saver_cost_ms() - the longest of the last checkpoints of @job; 0: unknown */
int64_t saver_cost_ms(int64_t job);

/*
 * saver_check() and saver_save() wait half a minute for a ckptd that is not there or has no place.
 *
 * saver_check() - ask whether a checkpoint of @job would be taken
 * @pipes: pipes may lead out of the job: whoever has the other end will have closed it
 * @why: SAVER_WHY bytes; the reasons against it
 *
 * Return: 0, or a negative errno.
 */
int saver_check(int64_t job, bool pipes, char *why, unsigned int size);

/*
 * saver_save() - take a checkpoint of @job that ends the job
 * @why: SAVER_WHY bytes; ckptd's words for a failure
 *
 * Return: 0 once the checkpoint is durable, or a negative errno: the job runs on, or had ended.
 */
int saver_save(int64_t job, char *why, unsigned int size);

/*
 * saver_remove() - remove @job, with all of its generations
 * @why: SAVER_WHY bytes
 *
 * Return: 0, or a negative errno.
 */
int saver_remove(int64_t job, char *why, unsigned int size);

#endif /* STILLPOINT_SLURM_SAVER_H */
