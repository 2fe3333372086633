// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holding a tree to the rights of its owner; see owner.h.
 *
 * The rule is that of __ptrace_may_access() for a tracer with the owner's credentials: the same
 * user in all places, groups that he has, no capability beyond his, the same user namespace, and a
 * memory map that may be dumped. That function cannot be called, as it takes the tracer from
 * current. The file system ids and supplementary groups are held to the same, because a capture,
 * other than a trace, is there to make them again.
 *
 * Security modules are not asked: their hooks know no other tracer than current, either.
 */
#include <linux/bsearch.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/coredump.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include <linux/ckpt.h>

#include "capture.h"
#include "context.h"
#include "owner.h"

static int ckpt_owner_gid_order(const void *a, const void *b)
{
	const kgid_t *x = a, *y = b;

	if (gid_eq(*x, *y))
		return 0;
	return gid_lt(*x, *y) ? -1 : 1;
}

static int ckpt_owner_gids(struct ckpt_owner *owner, const struct ckpt_target *arg,
			   struct user_namespace *ns)
{
	unsigned int nr = arg->nr_owner_groups, i;
	u32 *list = NULL;
	int err = 0;

	if (nr) {
		list = vmemdup_user(u64_to_user_ptr(arg->owner_groups), nr * sizeof(*list));
		if (IS_ERR(list))
			return PTR_ERR(list);
	}
	owner->gids = kvcalloc(nr + 1, sizeof(*owner->gids), GFP_KERNEL_ACCOUNT);
	if (!owner->gids)
		err = -ENOMEM;
	for (i = 0; i < nr + 1 && !err; i++) {
		owner->gids[i] = make_kgid(ns, i < nr ? list[i] : arg->owner_gid);
		if (!gid_valid(owner->gids[i]))
			err = -EINVAL;
	}
	kvfree(list);
	if (err)
		return err;
	owner->nr_gids = nr + 1;
	sort(owner->gids, owner->nr_gids, sizeof(*owner->gids), ckpt_owner_gid_order, NULL);
	return 0;
}

int ckpt_owner_init(struct ckpt_owner *owner, const struct ckpt_target *arg,
		    struct ckpt_ctx *ctx)
{
	struct user_namespace *ns = ctx->cred->user_ns;

	if (!(arg->flags & CKPT_TARGET_OWNED))
		return arg->owner_uid || arg->owner_gid || arg->nr_owner_groups ||
		       arg->owner_groups || arg->owner_caps || arg->pad ? -EINVAL : 0;
	if (arg->nr_owner_groups > NGROUPS_MAX || arg->pad)
		return -EINVAL;
	owner->uid = make_kuid(ns, arg->owner_uid);
	if (!uid_valid(owner->uid))
		return -EINVAL;
	owner->caps = arg->owner_caps;
	owner->set = true;
	return ckpt_owner_gids(owner, arg, ns);
}

void ckpt_owner_free(struct ckpt_owner *owner)
{
	kvfree(owner->gids);
	owner->gids = NULL;
}

/* ------------------------------------------------------------- the rule */

static bool ckpt_owner_has_gid(const struct ckpt_owner *owner, kgid_t gid)
{
	return bsearch(&gid, owner->gids, owner->nr_gids, sizeof(gid), ckpt_owner_gid_order);
}

/* A supplementary group that the owner has not; INVALID_GID: there is none. */
static kgid_t ckpt_owner_foreign(const struct ckpt_owner *owner, const struct group_info *groups)
{
	int i;

	for (i = 0; i < groups->ngroups; i++)
		if (!ckpt_owner_has_gid(owner, groups->gid[i]))
			return groups->gid[i];
	return INVALID_GID;
}

static bool ckpt_owner_is_his(const struct ckpt_owner *owner, const struct cred *cred)
{
	return uid_eq(cred->uid, owner->uid) && uid_eq(cred->euid, owner->uid) &&
	       uid_eq(cred->suid, owner->uid) && uid_eq(cred->fsuid, owner->uid);
}

static bool ckpt_owner_has_gids(const struct ckpt_owner *owner, const struct cred *cred)
{
	return ckpt_owner_has_gid(owner, cred->gid) && ckpt_owner_has_gid(owner, cred->egid) &&
	       ckpt_owner_has_gid(owner, cred->sgid) && ckpt_owner_has_gid(owner, cred->fsgid);
}

static bool ckpt_owner_refuses_cred(struct ckpt_capture *cap, struct task_struct *task,
				    const struct cred *cred)
{
	struct user_namespace *ns = cap->ctx->cred->user_ns;
	const struct ckpt_owner *owner = &cap->owner;
	u64 caps = ckpt_cap_to_u64(cred->cap_permitted) |
		   ckpt_cap_to_u64(cred->cap_inheritable);
	kgid_t foreign;

	if (cred->user_ns != ns) {
		ckpt_refuse(cap, CKPT_R_OWNER, task, 0, "user namespace");
		return true;
	}
	if (!ckpt_owner_is_his(owner, cred)) {
		ckpt_refuse(cap, CKPT_R_OWNER, task, 0, "users %u, %u, %u, %u; owner %u",
			    from_kuid_munged(ns, cred->uid), from_kuid_munged(ns, cred->euid),
			    from_kuid_munged(ns, cred->suid), from_kuid_munged(ns, cred->fsuid),
			    from_kuid_munged(ns, owner->uid));
		return true;
	}
	if (!ckpt_owner_has_gids(owner, cred)) {
		ckpt_refuse(cap, CKPT_R_OWNER, task, 0, "groups %u, %u, %u, %u",
			    from_kgid_munged(ns, cred->gid), from_kgid_munged(ns, cred->egid),
			    from_kgid_munged(ns, cred->sgid), from_kgid_munged(ns, cred->fsgid));
		return true;
	}
	foreign = ckpt_owner_foreign(owner, cred->group_info);
	if (gid_valid(foreign)) {
		ckpt_refuse(cap, CKPT_R_OWNER, task, 0, "supplementary group %u",
			    from_kgid_munged(ns, foreign));
		return true;
	}
	if (caps & ~owner->caps) {
		ckpt_refuse(cap, CKPT_R_OWNER, task, 0, "capabilities %#llx", caps);
		return true;
	}
	return false;
}

/* A map that must not be dumped: of a set-user-ID program, an unreadable one, PR_SET_DUMPABLE. */
static bool ckpt_owner_is_undumpable(struct task_struct *task)
{
	bool undumpable;

	task_lock(task);
	undumpable = task->mm && get_dumpable(task->mm) != SUID_DUMP_USER;
	task_unlock(task);
	return undumpable;
}

bool ckpt_owner_refuses(struct ckpt_capture *cap, struct task_struct *task)
{
	struct ckpt_owner *owner = &cap->owner;
	const struct cred *cred;
	bool refused = false;

	if (!owner->set)
		return false;
	cred = get_task_cred(task);
	/* capable of tracing anything in his user namespace */
	if (cred->user_ns == cap->ctx->cred->user_ns && owner->caps & BIT_ULL(CAP_SYS_PTRACE))
		goto out;
	if (cred != owner->passed)
		refused = ckpt_owner_refuses_cred(cap, task, cred);
	if (!refused && ckpt_owner_is_undumpable(task)) {
		ckpt_refuse(cap, CKPT_R_OWNER, task, 0, "its memory is not for dumps");
		refused = true;
	}
out:
	put_cred(cred);
	return refused;
}

void ckpt_owner_check(struct ckpt_capture *cap)
{
	struct ckpt_tree *tree = &cap->tree;
	unsigned int i;

	if (!cap->owner.set)
		return;
	for (i = 0; i < tree->nr_members; i++) {
		struct task_struct *task = tree->members[i].task;

		/* threads of a process mostly share their credentials, which stay while we look */
		if (!ckpt_owner_refuses(cap, task))
			cap->owner.passed = rcu_access_pointer(task->real_cred);
		cond_resched();
	}
	cap->owner.passed = NULL;
}
