// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice of what is done about a confirmed hang; see act.h. Owns the table of causes that a
 * rollback may help against. Must not read a clock, nor do any I/O: each fact is the caller's.
 * Facts that are unknown lead to no rollback.
 */
#include "supervisor/diagnose/act.h"

#include <string.h>

#include "base/cleanup.h"
#include "supervisor/diagnose/verdict.h"

/* NULL: a rollback may help. Causes that are missing here are those of no confirmed hang. */
static const struct {
	enum verdict_cause cause;
	const char *why;
} act_causes[] = {
	{ CAUSE_LOOPS, NULL },
	{ CAUSE_SLEEPS, NULL },
	{ CAUSE_LIBRARY, NULL },
	{ CAUSE_DIFFER, NULL },
	{ CAUSE_CIRCLE, NULL },
	{ CAUSE_ARRIVED, NULL },
	{ CAUSE_STOPPED, "somebody has stopped a process by a signal; SIGCONT lets it go on" },
	{ CAUSE_TRACED, "a debugger holds a process" },
	{ CAUSE_DISK, "a process waits for a device, which no rollback gets out of" },
	{ CAUSE_ENDED, "a process is gone; a restart brings it back" },
	{ CAUSE_FINALIZED, "a rank has ended its work in MPI" },
};

/* Why no rollback helps against @cause; NULL: one may. */
static const char *act_why_not(const char *cause)
{
	for (size_t i = 0; cause && i < ARRAY_SIZE(act_causes); i++) {
		if (!strcmp(cause, verdict_cause_name(act_causes[i].cause)))
			return act_causes[i].why;
	}
	return "it is not known how to help";
}

enum act act_choose(const struct act_facts *f, const char **ret_why)
{
	*ret_why = NULL;
	if (!f->recover || f->state == INCIDENT_HANDED_OVER)
		return ACT_TELL;
	if (f->state == INCIDENT_ACTED || f->here) {
		*ret_why = "it hangs at the same place although it was rolled back";
		return ACT_HAND_OVER;
	}
	if (f->lately >= ACTS_LATELY) {
		*ret_why = "it has been rolled back too often within a day";
		return ACT_HAND_OVER;
	}
	*ret_why = act_why_not(f->cause);
	if (!*ret_why)
		*ret_why = f->never;
	if (!*ret_why && !f->generation)
		*ret_why = "no generation is older than the hang and not doubted";
	return *ret_why ? ACT_TELL : ACT_ROLL_BACK;
}
