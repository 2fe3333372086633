// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rights that a restore may give to a tree; see asker.h.
 *
 * Two passes over the model, in this order: asker_check() finds what is refused, asker_lower()
 * changes the values that may be lowered.  Both see every live thread: a rule that looked at the
 * first process only would be led by the image.
 */
#include "engine/core/asker.h"

#include <inttypes.h>
#include <linux/ioprio.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/error.h"
#include "engine/core/plan.h"

/* linux/sched.h and sched.h cannot both be included. */
enum policy { POLICY_NORMAL, POLICY_FIFO, POLICY_RR, POLICY_DEADLINE = 6 };

/* ---------------------------------------------------------------- refused */

static bool asker_has_group(const struct asker *asker, gid_t gid)
{
	if (gid == asker->gid)
		return true;
	for (unsigned int i = 0; i < asker->nr_groups; i++)
		if (asker->groups[i] == gid)
			return true;
	return false;
}

static void check_groups(const struct asker *asker, const struct state_thread *thread,
			 struct ckpt_error *error)
{
	const uint32_t *groups = thread->groups ? (const uint32_t *)(thread->groups + 1) : NULL;
	unsigned int nr = thread->groups ? thread->groups->nr : 0;
	const struct ckpt_creds *c = &thread->rec->creds;

	if (!asker_has_group(asker, c->gid) || !asker_has_group(asker, c->egid) ||
	    !asker_has_group(asker, c->sgid) || !asker_has_group(asker, c->fsgid))
		plan_refuse(error, CKPT_R_PERMISSION, thread->proc,
			    "thread %d: groups %u, %u, %u, %u; user %u, who asks, has group %u and "
			    "%u others", thread->rec->tid, c->gid, c->egid, c->sgid, c->fsgid,
			    asker->uid, asker->gid, asker->nr_groups);
	for (unsigned int i = 0; i < nr; i++)
		if (!asker_has_group(asker, groups[i])) {
			plan_refuse(error, CKPT_R_PERMISSION, thread->proc,
				    "thread %d: supplementary group %u, which user %u, who asks, "
				    "has not", thread->rec->tid, groups[i], asker->uid);
			break;
		}
}

static void asker_check_thread(const struct asker *asker, const struct state_thread *thread,
			       struct ckpt_error *error)
{
	const struct ckpt_creds *c = &thread->rec->creds;

	if (c->uid != asker->uid || c->euid != asker->uid || c->suid != asker->uid ||
	    c->fsuid != asker->uid)
		plan_refuse(error, CKPT_R_PERMISSION, thread->proc,
			    "thread %d: users %u, %u, %u, %u; user %u asks", thread->rec->tid,
			    c->uid, c->euid, c->suid, c->fsuid, asker->uid);
	check_groups(asker, thread, error);
	if (c->cap_permitted || c->cap_effective || c->cap_inheritable || c->cap_ambient)
		plan_refuse(error, CKPT_R_PERMISSION, thread->proc,
			    "thread %d: capabilities %#llx", thread->rec->tid,
			    (unsigned long long)(c->cap_permitted | c->cap_effective |
						 c->cap_inheritable | c->cap_ambient));
	if (c->securebits & ~(1U << SECURE_KEEP_CAPS))
		plan_refuse(error, CKPT_R_PERMISSION, thread->proc,
			    "thread %d: securebits %#x", thread->rec->tid, c->securebits);
}

void asker_check(const struct asker *asker, const struct state *state, struct ckpt_error *error)
{
	for (unsigned int i = 0; i < state->nr_threads; i++)
		asker_check_thread(asker, &state->threads[i], error);
}

/* ---------------------------------------------------------------- lowered */

enum lowered {
	LOWERED_NICE = ASKER_LIMITS,	/* below it: a resource limit */
	LOWERED_OOM,
	LOWERED_POLICY,
	LOWERED_IOPRIO,
	LOWERED__COUNT,
};

struct lowering {
	const struct asker *asker;
	struct {
		pid_t pid;		/* the first */
		uint64_t was, is;
		unsigned int nr;
	} found[LOWERED__COUNT];
};

static void found_one(struct lowering *l, unsigned int what, pid_t pid, uint64_t was, uint64_t is)
{
	if (!l->found[what].nr++) {
		l->found[what].pid = pid;
		l->found[what].was = was;
		l->found[what].is = is;
	}
}

bool asker_lower_limit(const struct asker *asker, unsigned int i, uint64_t *soft, uint64_t *hard)
{
	bool lowered = *hard > asker->hard[i];

	if (lowered)
		*hard = asker->hard[i];
	if (*soft > *hard)
		*soft = *hard;
	return lowered;
}

static void lower_limits(struct lowering *l, struct ckpt_rec_proc *rec)
{
	for (unsigned int i = 0; i < ASKER_LIMITS; i++) {
		uint64_t soft = rec->limits[i][0], hard = rec->limits[i][1];

		if (asker_lower_limit(l->asker, i, &soft, &hard))
			found_one(l, i, rec->pid, rec->limits[i][1], hard);
		rec->limits[i][0] = soft;
		rec->limits[i][1] = hard;
	}
	if (rec->oom_score_adj < l->asker->oom_score_adj) {
		found_one(l, LOWERED_OOM, rec->pid, (uint64_t)(int64_t)rec->oom_score_adj,
			  (uint64_t)(int64_t)l->asker->oom_score_adj);
		rec->oom_score_adj = (int16_t)l->asker->oom_score_adj;
	}
	/* a lower value here would let the process lower its score itself */
	if (rec->oom_score_adj_min < l->asker->oom_score_adj)
		rec->oom_score_adj_min = (int16_t)l->asker->oom_score_adj;
}

/* The best nice value: his own, or the one that RLIMIT_NICE lets him set. */
static int best_nice(const struct asker *asker)
{
	uint64_t limit = asker->hard[RLIMIT_NICE];
	int best = limit >= 40 ? -20 : 20 - (int)limit;

	return asker->nice < best ? asker->nice : best;
}

bool asker_lower_nice(const struct asker *asker, int *nice)
{
	int best = best_nice(asker);

	if (*nice >= best)
		return false;
	*nice = best;
	return true;
}

static bool is_realtime(uint32_t policy)
{
	return policy == POLICY_FIFO || policy == POLICY_RR;
}

/* The highest real-time priority: his own, or the one that RLIMIT_RTPRIO lets him set; 0: none. */
static uint32_t best_priority(const struct asker *asker)
{
	uint64_t limit = asker->hard[RLIMIT_RTPRIO];
	uint32_t best = limit > 99 ? 99 : (uint32_t)limit;

	if (is_realtime((uint32_t)asker->policy) && (uint32_t)asker->priority > best)
		best = (uint32_t)asker->priority;
	return best;
}

bool asker_lower_policy(const struct asker *asker, uint32_t *policy, uint32_t *priority)
{
	uint32_t best = is_realtime(*policy) ? best_priority(asker) : 0;

	if (*policy != POLICY_DEADLINE && (!is_realtime(*policy) || *priority <= best))
		return false;
	*priority = best;
	if (!best)
		*policy = POLICY_NORMAL;
	return true;
}

/* Only root may choose the real-time class; children of a process that has it get it, too. */
bool asker_lower_ioprio(const struct asker *asker, uint32_t *ioprio)
{
	uint32_t his = (uint32_t)asker->ioprio;

	if (IOPRIO_PRIO_CLASS(*ioprio) != IOPRIO_CLASS_RT ||
	    (IOPRIO_PRIO_CLASS(his) == IOPRIO_CLASS_RT &&
	     IOPRIO_PRIO_DATA(*ioprio) >= IOPRIO_PRIO_DATA(his)))
		return false;
	*ioprio = his;
	return true;
}

static void lower_thread(struct lowering *l, struct ckpt_rec_thread *rec)
{
	uint32_t policy = rec->sched_policy, priority = rec->sched_priority, io = rec->ioprio;
	int nice = rec->nice;

	if (asker_lower_nice(l->asker, &nice))
		found_one(l, LOWERED_NICE, rec->pid, (uint64_t)(int64_t)rec->nice,
			  (uint64_t)(int64_t)nice);
	if (asker_lower_policy(l->asker, &policy, &priority))
		found_one(l, LOWERED_POLICY, rec->pid, rec->sched_policy, priority);
	if (asker_lower_ioprio(l->asker, &io))
		found_one(l, LOWERED_IOPRIO, rec->pid, rec->ioprio, io);
	rec->nice = nice;
	rec->sched_policy = policy;
	rec->sched_priority = priority;
	rec->ioprio = io;
}

const char *asker_limit_name(unsigned int i)
{
	static const char *const names[ASKER_LIMITS] = {
		"cpu time", "file size", "data size", "stack size", "core file size",
		"resident set", "processes", "open files", "locked memory", "address space",
		"file locks", "pending signals", "message queues", "nice priority",
		"real-time priority", "real-time timeout",
	};

	return names[i];
}

static const char *limit_text(uint64_t value, char *buf, size_t size)
{
	if (value == RLIM64_INFINITY)
		return "unlimited";
	snprintf(buf, size, "%" PRIu64, value);
	return buf;
}

static void tell_lowered(const struct lowering *l, unsigned int what, engine_note_fn note,
			 void *arg)
{
	static const char *const names[LOWERED__COUNT] = {
		[LOWERED_NICE] = "nice value", [LOWERED_OOM] = "OOM score adjustment",
		[LOWERED_POLICY] = "scheduling policy", [LOWERED_IOPRIO] = "I/O priority",
	};
	const uint64_t was = l->found[what].was, is = l->found[what].is;
	char text[256], one[24], two[24], who[96];

	snprintf(who, sizeof(who), "process %d%s of the image", (int)l->found[what].pid,
		 l->found[what].nr > 1 ? " and others" : "");
	if (what < ASKER_LIMITS)
		snprintf(text, sizeof(text),
			 "the limit of %s of %s, %s, is lowered to that of who asks, %s",
			 asker_limit_name(what), who, limit_text(was, one, sizeof(one)),
			 limit_text(is, two, sizeof(two)));
	else if (what == LOWERED_POLICY && !is)
		snprintf(text, sizeof(text),
			 "the real-time scheduling of %s is not given back: who asks may not set "
			 "it", who);
	else if (what == LOWERED_POLICY)
		snprintf(text, sizeof(text),
			 "the real-time priority of %s is lowered to that of who asks, %" PRIu64,
			 who, is);
	else if (what == LOWERED_IOPRIO)
		snprintf(text, sizeof(text),
			 "the real-time I/O priority of %s is not given back: who asks may not set "
			 "it", who);
	else
		snprintf(text, sizeof(text), "the %s of %s, %lld, becomes that of who asks, %lld",
			 names[what], who, (long long)was, (long long)is);
	note(text, arg);
}

/*
 * The records lie in the stream of the image, which the restore has read for itself and which
 * nobody else has; the model's pointers are const because its other users only read.
 */
void asker_lower(const struct asker *asker, struct state *state, engine_note_fn note, void *arg)
{
	struct lowering l = { .asker = asker };

	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (state->procs[i].rec->state != CKPT_PROC_ZOMBIE)
			lower_limits(&l, (struct ckpt_rec_proc *)state->procs[i].rec);
	for (unsigned int i = 0; i < state->nr_threads; i++)
		lower_thread(&l, (struct ckpt_rec_thread *)state->threads[i].rec);
	for (unsigned int what = 0; note && what < LOWERED__COUNT; what++)
		if (l.found[what].nr)
			tell_lowered(&l, what, note, arg);
}
