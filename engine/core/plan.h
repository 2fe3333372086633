/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plan of a restore: which processes are created, in which order, by which creator,
 * and what they share.
 *
 * It is made from the model of the tree alone: no process, file or device is touched, so
 * that every odd shape of a tree can be tried in a unit test.  A shape that the plan cannot
 * make becomes a refusal.  The plan points into the model, which must outlive it, and never
 * changes once made: the builder and every process that it creates read the plan in copied
 * or shared memory, some of them without a libc.
 */
#ifndef STILLPOINT_PLAN_H
#define STILLPOINT_PLAN_H

#include "base/error.h"
#include "engine/core/asker.h"
#include "engine/core/engine.h"
#include "engine/core/state.h"

#define PLAN_NONE	(-1)

enum plan_role {
	PLAN_LIVE,	/* a process that runs on */
	PLAN_ZOMBIE,	/* a process that dies at once and is left to its parent */
	PLAN_HELPER,	/* takes the number of a session or group until the kernel has put
			 * the members into it
			 */
};

struct plan_task {
	enum plan_role role;
	pid_t pid;
	const struct state_proc *proc;	/* NULL: helper */
	int parent;			/* index; PLAN_NONE: created by the builder */
	int child;			/* first to be created; PLAN_NONE */
	int sibling;			/* next to be created; PLAN_NONE */
	uint64_t clone_flags;		/* CLONE_FILES, _FS, _VM, _SIGHAND: shares with creator */
	bool late;			/* created after its parent unshared */
	uint64_t unshare_flags;		/* CLONE_FILES, _FS: between early and late children */
	bool setsid;			/* leads its session */
	bool closer;			/* last to enter of those with its descriptor table */
	bool leader_dead;		/* its leader exits when the other threads are there */
	bool zombies;			/* has zombie children */
};

/* The owner of the tree, and the rights that the builder needs beyond the owner's. */
struct plan_owner {
	uid_t uid;
	gid_t gid;
	const uint32_t *groups;
	unsigned int nr_groups;
	uint64_t bounding;		/* capability bounding sets of all threads together */
	uint64_t keep_caps;		/* kept by the builder until each task has entered */
	int nice;			/* lowest value of the threads */
	int oom_score_adj;		/* lowest value of the processes */
};

struct plan {
	const struct state *state;
	struct plan_task *tasks;	/* parents before children, helpers first */
	int nr_tasks;
	int nr_helpers;
	int first_root;			/* linked by sibling */
	unsigned int nr_threads;	/* threads that enter and run on */
	unsigned int nr_closers;	/* those of them that enter last */
	pid_t *pids;			/* every pid and tid that is needed, ascending */
	unsigned int nr_pids;
	struct plan_owner owner;
};

/**
 * plan_make() - plan the restore of a tree
 * @asker: who asks; a tree with rights beyond his is refused, and becomes his.  NULL: root asks,
 *	for anything: a tree with rights beyond those of its first process is built by root
 * @error: gets the refusals
 *
 * Return: 0; -EOPNOTSUPP with refusals; -ENOMEM; -EBADMSG for a tree without a
 * process that could go on.
 */
int plan_make(const struct state *state, const struct asker *asker, struct plan **ret_plan,
	      struct ckpt_error *error);
struct plan *plan_free(struct plan *plan);	/* returns NULL */

/* For plan.c: plan how tasks share tables while the tree is built. */
int plan_sharing(struct plan *plan, struct ckpt_error *error);
/* For plan.c: find the owner; refuse a tree with rights beyond those of @asker. */
void plan_owner(struct plan *plan, const struct asker *asker, struct ckpt_error *error);

/* Add a refusal about a process of the tree. */
__attribute__((format(printf, 4, 5)))
void plan_refuse(struct ckpt_error *error, uint32_t reason, const struct state_proc *proc,
		 const char *format, ...);

#endif /* STILLPOINT_PLAN_H */
