// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decision about a job that has died; see recover_policy.h.
 *
 * The numbers 2 and 3 (go back, give up) follow what restart policies of service managers and
 * of MPI runtimes do: one retry separates a failure of the machine from one of the state.
 */
#include "ckptctl/recover_policy.h"

#include <signal.h>
#include <string.h>

bool recover_is_failure(const struct recover_death *death)
{
	if (death->asked)
		return false;
	if (death->lost)
		return true;
	switch (death->exit_status - 128) {
	case SIGKILL:
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGABRT:
	case SIGTRAP:
	case SIGSYS:
		return true;
	default:
		return false;
	}
}

/* Forget recoveries that are too long ago to count. */
static void recover_forget_old(struct recover_past *past, int64_t since_ms)
{
	unsigned int old = 0;

	while (old < past->nr_recent && past->recent[old] < since_ms)
		old++;
	past->nr_recent -= old;
	memmove(past->recent, past->recent + old, past->nr_recent * sizeof(past->recent[0]));
}

int64_t recover_before(const int64_t *generations, size_t nr, int64_t limit)
{
	int64_t found = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		if (generations[i] < limit)
			found = generations[i];
	return found;
}

static int64_t recover_generation(struct recover_past *past, const struct recover_death *death,
				  const char **ret_why)
{
	int64_t newest = death->nr ? death->generations[death->nr - 1] : 0;
	int64_t from;

	if (!newest) {
		*ret_why = "it has no checkpoint";
		return 0;
	}
	if (newest > past->newest)
		past->here = 0;
	past->newest = newest;
	past->here++;
	if (past->here > 2) {
		*ret_why = "it has died three times without a new checkpoint in between";
		return 0;
	}
	from = past->here == 1 ? newest :
	       recover_before(death->generations, death->nr, past->from);
	if (!from)
		*ret_why = "it has died twice at the same place, and has no older checkpoint";
	return from;
}

int64_t recover_choose(struct recover_past *past, const struct recover_rules *rules,
		       const struct recover_death *death, const char **ret_why)
{
	unsigned int max = rules->max < RECOVER_RECENT_MAX ? rules->max : RECOVER_RECENT_MAX;
	int64_t from;

	recover_forget_old(past, death->at_ms - rules->within_ms);
	if (past->nr_recent >= max) {
		*ret_why = "it was recovered as often as is allowed";
		return 0;
	}
	from = recover_generation(past, death, ret_why);
	if (!from)
		return 0;
	past->from = from;
	past->recent[past->nr_recent++] = death->at_ms;
	return from;
}
