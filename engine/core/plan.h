/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plan of a restore: what is created, in which order, by whom, sharing what.
 *
 * Made of the model of the tree alone: no process, file or device is touched, so
 * that every puzzle of a tree can be tried in a unit test.  What the plan cannot
 * place becomes a refusal.  The plan points into the model, which outlives it,
 * and is not changed once made: the builder and every process it creates read it
 * in copied or shared memory, some of them without a libc.
 */
#ifndef STILLPOINT_PLAN_H
#define STILLPOINT_PLAN_H

#include "base/error.h"
#include "engine/core/engine.h"
#include "engine/core/state.h"

#define PLAN_NONE	(-1)

enum plan_role {
	PLAN_LIVE,	/* goes on */
	PLAN_ZOMBIE,	/* dies at once and is left to its parent */
	PLAN_HELPER,	/* holds a number that a session or group is named after until
			 * the kernel has put the members into it
			 */
};

struct plan_task {
	enum plan_role role;
	pid_t pid;
	const struct state_proc *proc;	/* NULL: helper */
	int parent;			/* index; PLAN_NONE: created by the builder */
	int child;			/* first to be created; PLAN_NONE */
	int sibling;			/* next to be created; PLAN_NONE */
	uint64_t clone_flags;		/* CLONE_FILES, _FS, _VM, _SIGHAND with its creator */
	bool late;			/* created after its parent unshared */
	uint64_t unshare_flags;		/* CLONE_FILES, _FS: between early and late children */
	bool setsid;			/* leads its session */
	bool closer;			/* last to enter of those with its descriptor table */
	bool leader_dead;		/* its leader exits when the other threads are there */
	bool zombies;			/* has zombie children */
};

/* Rights beyond the owner's that the builder keeps until each task has entered. */
struct plan_owner {
	uid_t uid;
	gid_t gid;
	const uint32_t *groups;
	unsigned int nr_groups;
	uint64_t bounding;		/* union over the threads */
	uint64_t keep_caps;
	int nice;			/* least of the threads' */
	int oom_score_adj;		/* least of the processes' */
};

struct plan {
	const struct state *state;
	struct plan_task *tasks;	/* parents before children, helpers first */
	int nr_tasks;
	int nr_helpers;
	int first_root;			/* linked by sibling */
	unsigned int nr_threads;	/* that enter and go on */
	unsigned int nr_closers;	/* of them, last */
	pid_t *pids;			/* every number that is needed, ascending */
	unsigned int nr_pids;
	struct plan_owner owner;
};

/**
 * plan_make() - plan the restore of a tree
 * @any_rights: a tree with rights beyond its owner's is built by root, not refused
 * @error: gets the refusals
 *
 * Return: 0; -EOPNOTSUPP with refusals; -ENOMEM; -EBADMSG for a tree without a
 * process that could go on.
 */
int plan_make(const struct state *state, bool any_rights, struct plan **ret_plan,
	      struct ckpt_error *error);
struct plan *plan_free(struct plan *plan);	/* returns NULL */

/* For plan.c: who shares which table with whom while the tree is built. */
int plan_sharing(struct plan *plan, struct ckpt_error *error);
/* For plan.c: whose rights the tree has; refuses what exceeds its owner's. */
void plan_owner(struct plan *plan, bool any_rights, struct ckpt_error *error);

/* A refusal about a process of the tree. */
__attribute__((format(printf, 4, 5)))
void plan_refuse(struct ckpt_error *error, uint32_t reason, const struct state_proc *proc,
		 const char *format, ...);

#endif /* STILLPOINT_PLAN_H */
