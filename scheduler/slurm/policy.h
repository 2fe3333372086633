/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decision at the end of a launched job: is it over, saved, or did its restart fail?
 */
#ifndef STILLPOINT_SLURM_POLICY_H
#define STILLPOINT_SLURM_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define POLICY_SOON_MS	60000	/* a job that crashes sooner after a restart was restored badly */
#define POLICY_TRIES	3	/* generations that are tried in one run of the script */
#define POLICY_REQUEUES	5	/* before a job that is lost without progress has it held */
#define POLICY_RETRIES	2	/* further tries of one generation, where the cause may pass */
#define POLICY_FAILED	1	/* exit status of ckptctl without a refusal, as of a silent node */

/**
 * struct policy_facts - the end of a launched job
 * @restarted: the job was restarted, and not started, by this run of the script
 * @status: exit status of the launch, as a shell has it
 * @ran_ms: for how long the launch ran
 * @requeues: how often Slurm has requeued the batch job
 * @tries: generations whose restarts have failed before in this run of the script
 * @again: tries of this generation before that one
 * @unknown: ckptd does not say what became of the job; the facts from here on are not known
 * @saved: ckptd calls the job saved, or its restart was refused
 * @lost: ckptd calls the job lost: it was ended, and did not come to its own end; or it runs still
 * @gone: ckptd calls the job lost
 * @before: the job's newest generation when it was started or restarted; 0: none
 * @newest: the same now
 * @older: the newest generation older than the one that was tried; 0: none
 */
struct policy_facts {
	bool restarted;
	bool unknown;
	bool saved;
	bool lost;
	bool gone;
	int status;
	int64_t ran_ms;
	int64_t before;
	int64_t newest;
	int64_t older;
	unsigned int requeues;
	int tries;
	int again;
};

/**
 * enum policy - what to do with the batch job
 * @POLICY_DONE: hand the exit status on
 * @POLICY_SAVED: the job is saved, or lost with a node: requeue the batch job
 * @POLICY_AGAIN: the restart has failed, perhaps for a moment: try the same generation again
 * @POLICY_OLDER: the restart has failed: try the older generation
 * @POLICY_HOLD: the restart has failed, and nothing is left to try: hold the batch job
 * @POLICY_UNKNOWN: the job may be saved: hold the batch job
 */
enum policy {
	POLICY_DONE,
	POLICY_SAVED,
	POLICY_AGAIN,
	POLICY_OLDER,
	POLICY_HOLD,
	POLICY_UNKNOWN,
};

enum policy policy_decide(const struct policy_facts *facts);

#endif /* STILLPOINT_SLURM_POLICY_H */
