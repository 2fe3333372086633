/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Snapshots that outlive their capture, for a rollback (ckpt_l0.h).
 *
 * A holder is a context in CKPT_PHASE_HOLDER; ctx->l0 is set once, before that phase. Snapshots are
 * found by the map that they were taken of.
 */
#ifndef _CKPT_L0_H
#define _CKPT_L0_H

#include <linux/ckpt.h>

struct ckpt_capture;
struct ckpt_ctx;
struct ckpt_objects;
struct mm_struct;
struct task_struct;
struct workqueue_struct;

int ckpt_l0_init(void);
/* There is no holder any more, as each holds the module; waits for what is still freed. */
void ckpt_l0_exit(void);

/* The commands; STATE needs no lock of the context. */
int ckpt_l0_keep(struct ckpt_ctx *ctx, struct ckpt_l0_keep *arg);
int ckpt_l0_state(struct ckpt_ctx *ctx, struct ckpt_l0_state *arg);
int ckpt_l0_find(struct ckpt_ctx *ctx, struct ckpt_l0_find *arg);

/*
 * The snapshot kept of @mm does not count any more: nothing can say which pages differ from it.
 * It is freed later, or with @wait now. Returns whether there was one.
 */
bool ckpt_l0_forget(struct mm_struct *mm, bool wait);
/*
 * Room is needed at once: free all snapshots that are kept of the tree's maps, and let go of those
 * that CKPT_IOC_L0_FIND has found. Returns whether there was one.
 */
bool ckpt_l0_forget_tree(struct ckpt_objects *objs);
/*
 * Free the snapshots of other trees, too, as far as these have no room for @need pages either: some
 * cgroup above them, or the machine, is as short of memory. Ends when @task has room. Returns
 * whether there was one.
 */
bool ckpt_l0_forget_others(struct task_struct *task, unsigned long need);
/* Has the holder given its snapshots up? */
bool ckpt_l0_is_over(struct ckpt_ctx *ctx);
/* The file of a holder is closed: its snapshots are freed, behind the caller's back. */
void ckpt_l0_release(struct ckpt_ctx *ctx);

/* The snapshot that is kept of @mm and has that token, with a reference; or NULL. */
struct mm_struct *ckpt_l0_kept(const struct mm_struct *mm, u64 token);

/*
 * l0_capture.c. Set ckpt_object.mm.keep of the snapshots that the caller wants kept, and that can
 * be. -ENODATA: there is none.
 */
int ckpt_l0_choose(struct ckpt_capture *cap, const struct ckpt_l0_keep *arg);
/* Is there no room for @need pages beside the reserve, where @task is? */
bool ckpt_l0_is_short(struct task_struct *task, unsigned long need, bool flush);

/*
 * l0_snapshot.c. Bytes that the snapshot holds alone, with its page tables; ends early when *@why
 * is not CKPT_L0_KEPT any more.
 */
u64 ckpt_l0_alone(struct mm_struct *snapshot, const enum ckpt_l0_why *why);
/* Unmap all that a rollback does not copy, in a work item of @wq. */
void ckpt_l0_trim(struct workqueue_struct *wq, struct mm_struct *mm);

#endif /* _CKPT_L0_H */
