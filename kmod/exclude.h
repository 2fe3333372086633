/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exclusions: parts of the tree that the caller wants left out of a capture.
 *
 * A restore does not bring an excluded part back, so the capture does not look at it either: the
 * part may be of a kind that is refused elsewhere, and strangers may share it.
 *
 * Ranges of memory: mappings that lie in a range are not recorded and not cloned.  A mapping that
 * lies in a range partly is refused, and so is a recorded thread that has its instruction, stack,
 * TLS or rseq area in a range (INSIDE: try again).
 *
 * Descriptors: if an end of a pipe is excluded and the other end is recorded, that end has its
 * peer outside.
 *
 * Threads, except leaders: they are neither parked nor recorded.  They run on while the tree
 * stands still, so they must not change recorded state.  A thread that one of them makes is
 * parked and recorded as any other if the freeze finds it, and runs on if it is made later.
 *
 * An object that several processes share counts as that of the first process that has it, parents
 * before children: an exclusion names that process, or is refused.
 */
#ifndef _CKPT_EXCLUDE_H
#define _CKPT_EXCLUDE_H

#include <linux/types.h>

struct ckpt_ctx;
struct ckpt_exclude;
struct ckpt_target;
struct ckpt_tree;

struct ckpt_excludes {
	unsigned int nr;
	struct ckpt_exclude *list;	/* by kind, pid, start; ranges of one pid never touch */
};

enum ckpt_excluded {
	CKPT_EXCLUDED_NOT,
	CKPT_EXCLUDED_PARTLY,
	CKPT_EXCLUDED_WHOLLY,
};

/* Copy the exclusions from user space; exclusions that can never match are refused. */
int ckpt_excludes_init(struct ckpt_excludes *ex, const struct ckpt_target *arg,
		       struct ckpt_ctx *ctx);
void ckpt_excludes_free(struct ckpt_excludes *ex);
/* True if descriptor or thread @nr (CKPT_EXCLUDE_FD, _THREAD) of process @pid is left out. */
bool ckpt_excludes_one(const struct ckpt_excludes *ex, u32 kind, pid_t pid, u64 nr);
/* True if an exclusion of this kind names process @pid. */
bool ckpt_excludes_any(const struct ckpt_excludes *ex, u32 kind, pid_t pid);
enum ckpt_excluded ckpt_excludes_range(const struct ckpt_excludes *ex, pid_t pid, u64 start,
				       u64 end);
/* The first range of @pid that ends behind @from, or NULL. */
const struct ckpt_exclude *ckpt_excludes_next(const struct ckpt_excludes *ex, pid_t pid,
					      u64 from);
/* After a scan: refuse exclusions that name no process of the tree, or a leader. */
void ckpt_excludes_check(const struct ckpt_excludes *ex, const struct ckpt_tree *tree,
			 struct ckpt_ctx *ctx);

#endif /* _CKPT_EXCLUDE_H */
