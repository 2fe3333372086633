/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decides whether another node's ckptd may have a user's processes started here. The home of a
 * job has checked who asks it; this node decides for itself whether that user may be on it.
 *
 * Processes of root need root=yes at the home's line of the hosts file. Without that, a restart
 * that root asked for gives a user's job the rights of its owner only. For any other user, in
 * this order:
 *
 *	1. the user is known here, and has the groups that the record gives him, unless the
 *	   home has root=yes
 *	2. with may_run set, that program alone decides (below)
 *	3. otherwise allow_users or allow_groups names him, or a process of his runs in a batch
 *	   step on this node: a cgroup that slurmstepd has made, for the Slurm job of the record
 *
 * A part of a user's job stands beside that process, if there is one, also if 2 or 3 let the user
 * in without it: stand.h says which process counts. Without one it stands where ckptd stands. In
 * both cases the record and the restart of a home without root=yes are lowered to what the user
 * may have here: part_bounds.h.
 *
 * may_run is called as root with the arguments UID JOB HOME, in an environment of PATH, CKPT_UID,
 * CKPT_USER, CKPT_JOB, CKPT_HOME and CKPT_BATCH_JOB (SLURM_JOB_ID of the job's environment, as
 * its user wrote it; may be empty). Exit status 0: yes. Anything else, or no end within
 * MAY_RUN_HOOK_MS: no; the first line of its output is the reason given.
 *
 * For all of them the node must have what the ranks need installed (rank_record_check()).
 *
 * At most CHECK_SEATS_BEGUN checks of one user are made at a time, more wait (check_seats.h).
 * A check that has not ended within MAY_RUN_MS is a no. A yes holds for MAY_RUN_HOLDS_MS, for the
 * same kind of question, while the process lives: a home asks again while images are fetched.
 */
#ifndef STILLPOINT_MAY_RUN_H
#define STILLPOINT_MAY_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#define MAY_RUN_HOOK_MS		5000	/* a home takes 8 s of silence for a lost node */
#define MAY_RUN_MS		7000	/* time for the whole check */
#define MAY_RUN_HOLDS_MS	60000

struct common;
struct confines;
struct may_run;
struct peer_question;

/* may_run_open() - make the keeper of decisions; 0 or -ENOMEM. @common outlives it. */
int may_run_open(const struct common *common, struct may_run **ret_may);
/* End the checks under way; their questions stay unanswered. NULL is fine. */
void may_run_close(struct may_run *may);

/* The request of another node for the job. */
enum may_run_what {
	MAY_RUN_FETCH,		/* images for a restart: no process is started */
	MAY_RUN_RESTART,	/* also its dry run */
	MAY_RUN_START,
};

/**
 * typedef may_run_fn - go on with a question that was checked
 * @no: NULL: the user may run here; else why not, which the function owns
 * @confines: where the part stands, which the function owns; NULL: where ckptd stands
 */
typedef void (*may_run_fn)(struct peer_question *question, json_t *no, struct confines *confines,
			   void *arg);

/**
 * may_run_check() - may the job of @record be run here for the node that asks @question?
 * @record: the job's record, as that node sent it; lives as long as @question. Unless the node has
 *	root=yes, its limits and scheduling are lowered
 * @how: of MAY_RUN_RESTART (job_restore.h), else NULL; loses any_rights unless the node has
 *	root=yes, and who asks gets the owner's bounds
 * @fn: called once, at once or later; never after may_run_close(). Not called for a question that
 *	the same node asks again before the answer: the first one is answered with -ECANCELED. So
 *	@fn and @arg must be the same for all questions of one kind
 */
void may_run_check(struct may_run *may, struct peer_question *question, enum may_run_what what,
		   json_t *record, json_t *how, may_run_fn fn, void *arg);

#endif /* STILLPOINT_MAY_RUN_H */
