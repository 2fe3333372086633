// SPDX-License-Identifier: GPL-2.0-only
/*
 * The owner of a tree, and the rights that the restore needs.
 *
 * The owner is who asks for the restore (asker.h).  The whole tree is built with his rights, and
 * an image that asks for more (another user, a foreign group, a capability) is refused.  If root
 * asks, the owner is the user of the first root process; a tree that holds more than its first
 * process is then built by root.
 *
 * The builder keeps CAP_CHECKPOINT_RESTORE (numbers of processes) and other capabilities
 * only if some record needs them; each task drops them all before it enters.  Limits, nice
 * values and oom scores need no capability: the builder takes the best value while it is
 * still privileged, and tasks only lower it.
 */
#include "base/error.h"
#include "engine/core/plan.h"

#include <linux/capability.h>
#include <linux/ioprio.h>
#include <limits.h>
#include <string.h>

#define CAP_BIT(cap)	(1ULL << (cap))

/* linux/sched.h and sched.h cannot both be included. */
#define POLICY_FIFO	1
#define POLICY_RR	2

static const uint32_t *groups_of(const struct state_thread *thread, unsigned int *ret_nr)
{
	*ret_nr = thread->groups ? thread->groups->nr : 0;
	return thread->groups ? (const uint32_t *)(thread->groups + 1) : NULL;
}

static const struct state_thread *first_thread(const struct plan *plan)
{
	for (int i = plan->first_root; i != PLAN_NONE; i = plan->tasks[i].sibling)
		if (plan->tasks[i].role == PLAN_LIVE)
			return &plan->tasks[i].proc->threads[0];
	return NULL;
}

static bool is_owners_groups(const struct plan_owner *owner, const struct state_thread *thread)
{
	const struct ckpt_creds *c = &thread->rec->creds;
	unsigned int nr;
	const uint32_t *groups = groups_of(thread, &nr);

	return c->gid == owner->gid && c->egid == owner->gid && c->sgid == owner->gid &&
	       c->fsgid == owner->gid && nr == owner->nr_groups &&
	       (!nr || memcmp(groups, owner->groups, nr * sizeof(*groups)) == 0);
}

static void needs_of(struct plan_owner *owner, const struct state_thread *thread)
{
	const struct ckpt_rec_thread *rec = thread->rec;

	if (rec->nice < owner->nice)
		owner->nice = rec->nice;
	if (IOPRIO_PRIO_CLASS(rec->ioprio) == IOPRIO_CLASS_RT ||
	    rec->sched_policy == POLICY_FIFO || rec->sched_policy == POLICY_RR)
		owner->keep_caps |= CAP_BIT(CAP_SYS_NICE);
	/* tree_limits() needs CAP_SYS_RESOURCE to set limits of a task with other groups */
	if (!is_owners_groups(owner, thread))
		owner->keep_caps |= CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SYS_RESOURCE);
	if (rec->creds.cap_bounding != owner->bounding || rec->creds.securebits)
		owner->keep_caps |= CAP_BIT(CAP_SETPCAP);
	if (thread->proc->root && strcmp(thread->proc->root->path, "/") != 0)
		owner->keep_caps |= CAP_BIT(CAP_SYS_CHROOT);
}

/* The tree has more rights than its owner, and root allows that: then root builds it. */
static void become_root(struct plan_owner *owner)
{
	owner->uid = 0;
	owner->gid = 0;
	owner->groups = NULL;
	owner->nr_groups = 0;
}

/*
 * Find out whose the tree is.  Whoever asks says so, not the image; only if root asks, who may give
 * anything to anybody, the image's first process does.  True: the tree holds more than that owner
 * may have, and is to be built by root.
 */
static bool find_owner(struct plan *plan, const struct asker *asker,
		       const struct state_thread *first, struct ckpt_error *error)
{
	struct plan_owner *owner = &plan->owner;
	struct ckpt_error found = { 0 };
	struct asker of_first;
	bool more;

	owner->uid = asker ? asker->uid : first->rec->creds.uid;
	owner->gid = first->rec->creds.gid;
	owner->groups = groups_of(first, &owner->nr_groups);
	if (asker) {
		/* the groups, too, are his, or the tree is refused */
		asker_check(asker, plan->state, error);
		return false;
	}
	of_first = (struct asker) {
		.uid = owner->uid, .gid = owner->gid, .groups = (gid_t *)owner->groups,
		.nr_groups = owner->nr_groups,
	};
	if (owner->uid)
		asker_check(&of_first, plan->state, &found);
	more = found.nr_refusals;
	error_done(&found);
	return more;
}

void plan_owner(struct plan *plan, const struct asker *asker, struct ckpt_error *error)
{
	const struct state *state = plan->state;
	const struct state_thread *first = first_thread(plan);
	struct plan_owner *owner = &plan->owner;
	bool more;

	if (!first)		/* all roots are zombies: plan.c has failed already */
		return;
	more = find_owner(plan, asker, first, error);
	owner->keep_caps = CAP_BIT(CAP_CHECKPOINT_RESTORE);
	owner->nice = INT_MAX;
	owner->oom_score_adj = INT_MAX;
	for (unsigned int i = 0; i < state->nr_threads; i++)
		owner->bounding |= state->threads[i].rec->creds.cap_bounding;
	for (unsigned int i = 0; i < state->nr_threads; i++)
		needs_of(owner, &state->threads[i]);
	if (more)
		become_root(owner);
	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (state->procs[i].rec->state != CKPT_PROC_ZOMBIE &&
		    state->procs[i].rec->oom_score_adj < owner->oom_score_adj)
			owner->oom_score_adj = state->procs[i].rec->oom_score_adj;
}
