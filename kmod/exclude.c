// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exclusions: parts of a tree that the caller wants left out of a capture.
 *
 * Exclusions are looked up for every thread, descriptor and mapping of the tree
 * while it stands still, and there may be thousands, so they are kept sorted and
 * found by bisection.  Touching ranges of one process are joined, so that a mapping that lies
 * across both is left out wholly.
 *
 * An exclusion that matches nothing is refused if the caller would believe that more is left out
 * (no such process, a leader).  It is accepted if the thing to leave out is merely gone:
 * descriptors and threads come and go.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include <linux/ckpt.h>

#include "capture.h"
#include "context.h"
#include "exclude.h"
#include "tree.h"

/* ------------------------------------------------------------- taking over */

static bool ckpt_exclude_is_sane(const struct ckpt_exclude *e)
{
	if (e->pid < 0)
		return false;
	switch (e->kind) {
	case CKPT_EXCLUDE_RANGE:
		return e->start < e->end && PAGE_ALIGNED(e->start) && PAGE_ALIGNED(e->end);
	case CKPT_EXCLUDE_FD:
		return !e->end && e->start <= INT_MAX;
	case CKPT_EXCLUDE_THREAD:
		return !e->end && e->start && e->start <= INT_MAX;
	default:
		return false;
	}
}

static int ckpt_exclude_compare(const struct ckpt_exclude *e, u32 kind, pid_t pid, u64 start)
{
	if (e->kind != kind)
		return e->kind < kind ? -1 : 1;
	if (e->pid != pid)
		return e->pid < pid ? -1 : 1;
	if (e->start != start)
		return e->start < start ? -1 : 1;
	return 0;
}

static int ckpt_exclude_order(const void *a, const void *b)
{
	const struct ckpt_exclude *e = b;

	return ckpt_exclude_compare(a, e->kind, e->pid, e->start);
}

static void ckpt_excludes_join(struct ckpt_excludes *ex)
{
	unsigned int from, to = 0;

	for (from = 1; from < ex->nr; from++) {
		struct ckpt_exclude *last = &ex->list[to], *e = &ex->list[from];

		if (e->kind == CKPT_EXCLUDE_RANGE && last->kind == e->kind &&
		    last->pid == e->pid && e->start <= last->end)
			last->end = max(last->end, e->end);
		else
			ex->list[++to] = *e;
	}
	ex->nr = to + 1;
}

static void ckpt_exclude_refuse_leader(struct ckpt_ctx *ctx, pid_t pid)
{
	ckpt_refuse_pid(ctx, CKPT_R_EXCLUDE, pid,
			"thread %d is the leader of its process, which cannot be left out", pid);
}

int ckpt_excludes_init(struct ckpt_excludes *ex, const struct ckpt_target *arg,
		       struct ckpt_ctx *ctx)
{
	struct ckpt_exclude *list;
	unsigned int i;

	if (arg->nr_exclude > CKPT_EXCLUDE_MAX)
		return -EINVAL;
	if (!arg->nr_exclude)
		return 0;
	list = vmemdup_user(u64_to_user_ptr(arg->exclude), arg->nr_exclude * sizeof(*list));
	if (IS_ERR(list))
		return PTR_ERR(list);
	ex->list = list;
	ex->nr = arg->nr_exclude;
	for (i = 0; i < ex->nr; i++) {
		if (!ckpt_exclude_is_sane(&list[i]))
			return -EINVAL;
		if (list[i].kind == CKPT_EXCLUDE_THREAD && list[i].pid == list[i].start)
			ckpt_exclude_refuse_leader(ctx, list[i].pid);
	}
	sort(list, ex->nr, sizeof(*list), ckpt_exclude_order, NULL);
	ckpt_excludes_join(ex);
	return 0;
}

void ckpt_excludes_free(struct ckpt_excludes *ex)
{
	kvfree(ex->list);
}

/* --------------------------------------------------------------- looking up */

/* Index of the first exclusion that is not before (kind, pid, start); ex->nr if there is none. */
static unsigned int ckpt_excludes_find(const struct ckpt_excludes *ex, u32 kind, pid_t pid,
				       u64 start)
{
	unsigned int low = 0, high = ex->nr;

	while (low < high) {
		unsigned int mid = low + (high - low) / 2;

		if (ckpt_exclude_compare(&ex->list[mid], kind, pid, start) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool ckpt_excludes_has(const struct ckpt_excludes *ex, u32 kind, pid_t pid, u64 nr)
{
	unsigned int i = ckpt_excludes_find(ex, kind, pid, nr);

	return i < ex->nr && !ckpt_exclude_compare(&ex->list[i], kind, pid, nr);
}

bool ckpt_excludes_one(const struct ckpt_excludes *ex, u32 kind, pid_t pid, u64 nr)
{
	return ex->nr && (ckpt_excludes_has(ex, kind, pid, nr) ||
			  ckpt_excludes_has(ex, kind, 0, nr));
}

bool ckpt_excludes_any(const struct ckpt_excludes *ex, u32 kind, pid_t pid)
{
	unsigned int i = ckpt_excludes_find(ex, kind, pid, 0);

	return i < ex->nr && ex->list[i].kind == kind && ex->list[i].pid == pid;
}

static const struct ckpt_exclude *ckpt_excludes_next_of(const struct ckpt_excludes *ex,
							pid_t pid, u64 from)
{
	unsigned int i = ckpt_excludes_find(ex, CKPT_EXCLUDE_RANGE, pid, from);
	const struct ckpt_exclude *e;

	/* the range before it may begin earlier and reach further */
	for (i -= !!i; i < ex->nr; i++) {
		e = &ex->list[i];
		if (ckpt_exclude_compare(e, CKPT_EXCLUDE_RANGE, pid, U64_MAX) > 0)
			break;
		if (e->kind == CKPT_EXCLUDE_RANGE && e->pid == pid && e->end > from)
			return e;
	}
	return NULL;
}

const struct ckpt_exclude *ckpt_excludes_next(const struct ckpt_excludes *ex, pid_t pid,
					      u64 from)
{
	const struct ckpt_exclude *mine, *all;

	if (!ex->nr)
		return NULL;
	mine = pid ? ckpt_excludes_next_of(ex, pid, from) : NULL;
	all = ckpt_excludes_next_of(ex, 0, from);
	if (!mine || !all)
		return mine ?: all;
	return mine->start < all->start ? mine : all;
}

enum ckpt_excluded ckpt_excludes_range(const struct ckpt_excludes *ex, pid_t pid, u64 start,
				       u64 end)
{
	enum ckpt_excluded found = CKPT_EXCLUDED_NOT;
	const struct ckpt_exclude *e;
	u64 from = start;

	while (from < end) {
		e = ckpt_excludes_next(ex, pid, from);
		if (!e || e->start >= end)
			break;
		if (e->start <= start && e->end >= end)
			return CKPT_EXCLUDED_WHOLLY;
		found = CKPT_EXCLUDED_PARTLY;
		from = e->end;
	}
	return found;
}

/* ----------------------------------------------------------------- checking */

static bool ckpt_excludes_in_tree(const struct ckpt_tree *tree, struct ckpt_ctx *ctx, pid_t pid)
{
	unsigned int i;

	for (i = 0; i < tree->nr_procs; i++)
		if (task_tgid_nr_ns(tree->procs[i].leader, ctx->pid_ns) == pid)
			return true;
	return false;
}

void ckpt_excludes_check(const struct ckpt_excludes *ex, const struct ckpt_tree *tree,
			 struct ckpt_ctx *ctx)
{
	pid_t pid, known = 0;
	unsigned int i;

	for (i = 0; i < ex->nr; i++) {
		pid = ex->list[i].pid;
		if (pid == known)
			continue;
		known = pid;
		cond_resched();
		if (pid && !ckpt_excludes_in_tree(tree, ctx, pid))
			ckpt_refuse_pid(ctx, CKPT_R_EXCLUDE, pid,
					"pid %d is not in the tree", pid);
	}
	for (i = 0; ex->nr && i < tree->nr_procs; i++) {
		pid = task_tgid_nr_ns(tree->procs[i].leader, ctx->pid_ns);
		if (pid && ckpt_excludes_has(ex, CKPT_EXCLUDE_THREAD, 0, pid))
			ckpt_exclude_refuse_leader(ctx, pid);
	}
}
