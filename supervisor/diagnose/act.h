/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The choice of what is done about a confirmed hang where the site has set diagnose = recover:
 * tell of it, roll the job back once in place, or hand it over to people.
 *
 * A rollback helps against a lost message, a race, a hiccup of the machine; not against a
 * deadlock that the program meets again. So a hang at the same place as one that was acted upon is
 * handed over, and so is a job that has been rolled back ACTS_LATELY times within a day. Nothing is
 * done about causes that are somebody's wish (a debugger, a signal), or that a rollback cannot
 * reach (a disk, a process that is gone).
 *
 * Pure: no I/O, no clock.
 */
#ifndef STILLPOINT_DIAGNOSE_ACT_H
#define STILLPOINT_DIAGNOSE_ACT_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/diagnose/incident.h"

#define ACTS_LATELY	3
#define ACTS_DAY	86400	/* seconds */

enum act {
	ACT_TELL,
	ACT_ROLL_BACK,
	ACT_HAND_OVER,
};

/**
 * struct act_facts - what the choice is made of
 * @recover: the site's policy
 * @cause: verdict_cause_name() of the verdict; NULL: none
 * @state: of the job's incident
 * @never: why the job's processes could not stay in a rollback; NULL: they could
 * @generation: the newest one that is not doubted and was taken before the hang began; 0: none
 * @here: rollbacks of the job because of a hang at this place
 * @lately: rollbacks of the job because of any hang, of the last ACTS_DAY
 */
struct act_facts {
	bool recover;
	const char *cause;
	enum incident_state state;
	const char *never;
	int64_t generation;
	unsigned int here, lately;
};

/* @ret_why: why no rollback, for people; NULL: the policy asks for none, or there is one */
enum act act_choose(const struct act_facts *facts, const char **ret_why);

#endif /* STILLPOINT_DIAGNOSE_ACT_H */
