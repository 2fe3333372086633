// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules of the verdict; see verdict.h. A rule that calls work a hang costs trust: a rank that
 * may be at work must stay unknown until the others have waited for as long as the patience. Only a
 * stop, a debugger and the end of the process need no time. One sample, which is all that one image
 * has, tells neither work from a loop nor a call that hangs from one that a checkpoint holds.
 */
#include "supervisor/diagnose/verdict.h"

#include <stddef.h>

static const char *const verdict_causes[] = {
	[CAUSE_NONE] = "none", [CAUSE_STOPPED] = "stopped", [CAUSE_TRACED] = "traced",
	[CAUSE_DISK] = "disk", [CAUSE_LOOPS] = "loops", [CAUSE_SLEEPS] = "sleeps",
	[CAUSE_LIBRARY] = "library", [CAUSE_ENDED] = "ended", [CAUSE_FINALIZED] = "finalized",
	[CAUSE_DIFFER] = "differ", [CAUSE_CIRCLE] = "circle", [CAUSE_ARRIVED] = "arrived",
	[CAUSE_SILENT] = "silent", [CAUSE_EARLY] = "early", [CAUSE_UNSEEN] = "unseen",
	[CAUSE_HELD] = "held", [CAUSE_ONCE] = "once",
};

const char *verdict_cause_name(enum verdict_cause cause)
{
	return verdict_causes[cause];
}

const char *verdict_kind_name(enum verdict_kind kind)
{
	return kind == VERDICT_HANGS ? "hangs" : kind == VERDICT_RUNS ? "runs" : "unknown";
}

/* A living suspect that was sampled. */
static enum verdict_cause verdict_sampled(const struct fact_rank *rank, uint64_t waited_ms,
					  uint64_t patience_ms, bool *ret_confirmed)
{
	*ret_confirmed = true;
	if (rank->state == 'T')
		return CAUSE_STOPPED;
	if (rank->state == 't')
		return CAUSE_TRACED;
	*ret_confirmed = false;
	if (waited_ms < patience_ms)
		return CAUSE_EARLY;
	*ret_confirmed = true;
	if (rank->state == 'D')
		return CAUSE_DISK;
	if (rank->doing != FACT_OUTSIDE && (!rank->placed || rank->in_library)) {
		/* waits for others, as in a circle, or is where a checkpoint alone could hold it */
		*ret_confirmed = fact_is_blocked(rank) || rank->samples > 1;
		return *ret_confirmed ? CAUSE_LIBRARY : CAUSE_ONCE;
	}
	*ret_confirmed = rank->samples > 1;
	if (!*ret_confirmed)
		return CAUSE_ONCE;
	if (rank->state == 'S' && !rank->busy)
		return CAUSE_SLEEPS;
	if (rank->busy && rank->placed && rank->steady)
		return CAUSE_LOOPS;
	*ret_confirmed = false;
	return CAUSE_UNSEEN;
}

enum verdict_cause verdict_suspect(const struct fact_rank *rank, uint64_t waited_ms,
				   uint64_t patience_ms, bool *ret_confirmed)
{
	*ret_confirmed = false;
	switch (rank->life) {
	case FACT_SILENT:
		return CAUSE_SILENT;
	case FACT_ENDED:
		/* its shim has reaped it: that is the kernel's word, not the page's */
		*ret_confirmed = true;
		return CAUSE_ENDED;
	case FACT_FINALIZED:
		*ret_confirmed = rank->samples && waited_ms >= patience_ms;
		return CAUSE_FINALIZED;
	default:
		break;
	}
	if (!rank->samples)
		return CAUSE_UNSEEN;
	return verdict_sampled(rank, waited_ms, patience_ms, ret_confirmed);
}

static bool verdict_moves(const struct fact_rank *ranks, const struct match *match)
{
	for (unsigned int i = 0; i < match->nr_suspects; i++) {
		if (ranks[match->suspects[i]].moved)
			return true;
	}
	return false;
}

static bool verdict_is_held(const struct fact_rank *ranks, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (ranks[i].held)
			return true;
	}
	return false;
}

/*
 * Do samples agree that the ranks are in the MPI library and stay there? Without the kernel module
 * nothing is known of where a running thread is, and only its state can disagree.
 */
static bool verdict_stays(const struct fact_rank *rank)
{
	return rank->samples && (!rank->placed || rank->in_library) && rank->state != 'T' &&
	       rank->state != 't';
}

/* The suspects wait themselves: for each other, or in calls that do not match. */
static void verdict_among(const struct fact_rank *ranks, unsigned int nr,
			  const struct match *match, uint64_t patience_ms, struct verdict *v)
{
	bool all = true, seen = true, once = false;

	for (unsigned int i = 0; i < match->nr_suspects; i++) {
		const struct fact_rank *rank = &ranks[match->suspects[i]];

		all = all && verdict_stays(rank);
		seen = seen && rank->samples;
	}
	for (unsigned int i = 0; i < nr; i++)
		once = once || ranks[i].samples == 1;
	v->by_samples = all;
	v->cause = match->kind == MATCH_DIFFER ? CAUSE_DIFFER :
		   match->kind == MATCH_CIRCLE ? CAUSE_CIRCLE : CAUSE_ARRIVED;
	if (match->waited_ms < patience_ms) {
		v->by_samples = false;
		v->cause = CAUSE_EARLY;
	} else if (!seen) {
		v->cause = CAUSE_UNSEEN;
	} else if (once && v->cause == CAUSE_ARRIVED) {
		/* the checkpoint itself held them in the call */
		v->by_samples = false;
		v->cause = CAUSE_ONCE;
	}
}

/* The suspects do not wait. The first whose cause is confirmed counts. */
static void verdict_missing(const struct fact_rank *ranks, const struct match *match,
			    uint64_t patience_ms, struct verdict *v)
{
	for (unsigned int i = 0; i < match->nr_suspects && !v->by_samples; i++) {
		bool confirmed;
		enum verdict_cause cause = verdict_suspect(&ranks[match->suspects[i]],
							   match->waited_ms, patience_ms,
							   &confirmed);

		if (i && !confirmed)
			continue;
		v->cause = cause;
		v->index = i;
		v->by_samples = confirmed;
	}
}

void verdict_make(const struct fact_rank *ranks, unsigned int nr, const struct match *match,
		  uint64_t patience_ms, struct verdict *ret_verdict)
{
	struct verdict v = { .kind = VERDICT_RUNS };

	if (match->kind == MATCH_NOTHING || verdict_moves(ranks, match)) {
		*ret_verdict = v;
		return;
	}
	v.kind = VERDICT_UNKNOWN;
	if (verdict_is_held(ranks, nr)) {
		v.cause = CAUSE_HELD;
		*ret_verdict = v;
		return;
	}
	v.by_pages = match->kind != MATCH_UNKNOWN;
	if (match->kind == MATCH_MISSING)
		verdict_missing(ranks, match, patience_ms, &v);
	else if (match->kind == MATCH_UNKNOWN)
		v.cause = CAUSE_UNSEEN;
	else
		verdict_among(ranks, nr, match, patience_ms, &v);
	if (v.by_pages && v.by_samples)
		v.kind = VERDICT_HANGS;
	*ret_verdict = v;
}
