/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The builder: the process that makes the tree, fills it and lets it go.
 *
 * It is forked from the caller of restore_tree() (or from the init of a new PID
 * namespace), so that it can give up its rights, change what its children inherit,
 * and die without harm to the caller.  Until the commit its death is the tree's death.
 */
#ifndef STILLPOINT_BUILDER_H
#define STILLPOINT_BUILDER_H

#include "base/error.h"
#include "image/reader.h"
#include "engine/core/plan.h"
#include "engine/restore/restore.h"

struct restore_records;
struct rollback_extra;
struct rollback_keep;

/* The steps that the builder of a rollback asks its caller for, by relay_ask(). */
enum builder_step {
	BUILDER_TURNS,		/* the files are right: make the capture a restore */
	BUILDER_COMPLETES,	/* all is filled: the commit comes next */
	BUILDER_LOOKS,		/* files and tree are ready: do others have put theirs back? */
	BUILDER_HELD,		/* all is as it was: may the tree run? (restore_options) */
};

/* The tree is there, frozen, and is filled again. */
struct builder_rollback {
	struct kdev *dev;	/* context of the frozen tree */
	pid_t init;		/* the init of its PID namespace, in the caller's */
	const struct rollback_keep *keep;	/* memory that stays */
	const struct rollback_extra *extra;	/* threads that end */
	bool ranks;		/* rollback_options */
};

struct builder {
	const struct restore_options *options;
	const struct state *state;
	const struct plan *plan;
	struct image_reader *reader;
	const struct write_since *since;	/* NULL: not asked for */
	int relay;		/* to the caller */
	bool new_pidns;
	const struct builder_rollback *rollback;	/* NULL: a restore, which makes the tree */
};

/* Become the builder; never returns. Exit status 0: the tree runs. */
_Noreturn void builder_main(const struct builder *b, pid_t parent);

/* builder_rights.c: while still privileged, raise everything that the tree inherits and needs. */
int builder_prepare(const struct plan *plan, struct ckpt_error *error);
/* builder_rights.c: make an IPC namespace for a tree without a job that had one of its own. */
int builder_ipc(const struct state *state, const struct restore_options *options,
		struct ckpt_error *error);
/*
 * builder_rights.c: make a time namespace for the children, in which the tree's clocks go on.
 * If @beside is not 0, enter that process's time namespace instead; its clocks may be ahead.
 * *begin gets this host's clocks minus those at the freeze.
 */
int builder_clocks(const struct ckpt_rec_system *system, pid_t beside,
		   struct ckpt_restore_begin *begin, struct ckpt_error *error);
/* builder_rights.c: this host's clocks minus those at the freeze. */
void builder_deltas(const struct ckpt_rec_system *system, __s64 *ret_monotonic,
		    __s64 *ret_boottime);
/* builder_rights.c: enter the namespaces of a process, but for its PID namespace. */
int builder_enter(pid_t pid, struct ckpt_error *error);
/* builder_rights.c: become the owner. */
int builder_drop(const struct plan_owner *owner, struct ckpt_error *error);
/*
 * builder_memory.c: make and fill every memory map, in a child. *ret_bytes: written or shared;
 * *ret_copied: by the kernel, from a snapshot.
 */
int builder_fill(const struct builder *b, struct restore_records *s, uint64_t *ret_bytes,
		 uint64_t *ret_copied);
/* builder_rights.c: the capability bounding set of the calling process */
uint64_t builder_bounding(void);

#endif /* STILLPOINT_BUILDER_H */
