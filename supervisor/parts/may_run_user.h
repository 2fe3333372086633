/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The right of one user to be on this node, as may_run.h describes it. Waits for the user
 * database, /proc and the site's program: for a worker only.
 */
#ifndef STILLPOINT_MAY_RUN_USER_H
#define STILLPOINT_MAY_RUN_USER_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "hosts/credential.h"

struct config;
struct stand_process;

/**
 * struct may_run_user - for whom another node asks
 * @uid: the job's owner
 * @gid: his group, by the record
 * @groups: his further groups, by the record; borrowed, NULL: none
 * @env: environment of the job, borrowed; NULL: not known
 * @asker: of a restart: who asks for it (op_asker.h), borrowed; NULL: no restart, or root asks
 * @launcher: parent of the shims here (launch_link.h)
 * @any_step: a batch step of any Slurm job will do (stand.h)
 * @trusted: the node that asks has root=yes
 * @home: name of the node that asks
 * @job: number of the job
 * @purpose: that @credential has to have (hosts/credential.h); "": none is needed
 * @credential: that came with the question, borrowed; NULL: none
 */
struct may_run_user {
	uid_t uid;
	gid_t gid;
	const json_t *groups, *env, *asker;
	pid_t launcher;
	bool any_step, trusted;
	const char *home;
	json_int_t job;
	char purpose[CREDENTIAL_TEXT];
	const char *credential;
};

/*
 * Read uid, gid, groups and env from a job's record. -EPROTO: it has no user or no group.
 */
int may_run_user_parse(const json_t *record, struct may_run_user *ret_user);

/*
 * All that a decision depends on, as a new reference: user, groups, job, batch job, credential and
 * its purpose, and who asks for a restart. Two questions that are equal have the same answer.
 * NULL: out of memory, which equals nothing.
 */
json_t *may_run_user_question(const struct may_run_user *user);

/*
 * may_run_user_check() - may the user run here, and beside which process of his
 * @ret_process: set if he may; pid 0: no batch step of his is here
 *
 * Return: NULL: he may run here; else an outcome that says why not, and what to do.
 */
json_t *may_run_user_check(const struct may_run_user *user, const struct config *config,
			   struct stand_process *ret_process);

#endif /* STILLPOINT_MAY_RUN_USER_H */
