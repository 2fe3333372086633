// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decision at the end of a launched job; see policy.h.
 *
 * A batch job must never be requeued again and again for a job that cannot go on. So the requeue of
 * a saved job needs a generation that this run of the script has taken. A restart has failed if
 * the job is still saved, or if the job soon is lost or crashes: by a signal that tells of broken
 * memory or of a call that is not there. An exit status of the program's own is the program's own.
 *
 * A lost job has no status of its own: a node went down, and ckptd may know minutes before Slurm
 * requeues the batch job for that. It goes on from its newest generation, or begins anew, as if
 * Slurm had been first. One that loses its nodes again and again is held.
 *
 * A saved job is never over, and nobody goes back to an older generation because something is not
 * known: then a person has to look, or to try again.
 */
#include "scheduler/slurm/policy.h"

#include <signal.h>

static bool policy_is_crash(int status)
{
	switch (status - 128) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGABRT:
	case SIGSYS:
		return true;
	default:
		return false;
	}
}

static bool policy_restart_failed(const struct policy_facts *facts)
{
	if (!facts->status)
		return false;
	return facts->saved || (facts->restarted && facts->ran_ms < POLICY_SOON_MS &&
				(facts->lost || policy_is_crash(facts->status)));
}

enum policy policy_decide(const struct policy_facts *facts)
{
	if (facts->status && facts->unknown)
		return POLICY_UNKNOWN;
	if (facts->status && (facts->saved || facts->gone) && facts->newest > facts->before)
		return POLICY_SAVED;
	if (facts->status && facts->gone && !policy_restart_failed(facts))
		return facts->requeues < POLICY_REQUEUES ? POLICY_SAVED : POLICY_HOLD;
	if (!policy_restart_failed(facts) || facts->newest > facts->before)
		return POLICY_DONE;
	if (facts->restarted && (facts->saved || facts->gone) && facts->status == POLICY_FAILED &&
	    facts->again < POLICY_RETRIES)
		return POLICY_AGAIN;
	return facts->older && facts->newest == facts->before && facts->tries + 1 < POLICY_TRIES ?
	       POLICY_OLDER : POLICY_HOLD;
}
