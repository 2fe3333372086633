/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the caller wants left out of a capture.
 *
 * A restore brings nothing of it back, so it is not looked at either: it may be of
 * a kind that is refused elsewhere, and strangers may share it.
 *
 * Ranges of memory: mappings that lie in one are not recorded and not cloned.  One that
 * lies in it partly is refused, and so is a recorded thread that has its instruction,
 * stack, TLS or rseq area there (INSIDE: try again).
 *
 * Descriptors: the other end of a pipe, if it is recorded, has its peer outside.
 *
 * Threads, but leaders: neither parked nor recorded.  They run on while the tree stands
 * still, so they must leave alone what is recorded.  A thread that one of them makes is
 * parked and recorded as any other if the freeze finds it, and runs on if it is made
 * later.
 *
 * What several processes share counts as that of the first which has it, parents
 * before children: exclusions name that one or are refused.
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
	struct ckpt_exclude *list;	/* by kind, pid, start; ranges of one pid do not touch */
};

enum ckpt_excluded {
	CKPT_EXCLUDED_NOT,
	CKPT_EXCLUDED_PARTLY,
	CKPT_EXCLUDED_WHOLLY,
};

/* Take them over from user space; what can never be is refused. */
int ckpt_excludes_init(struct ckpt_excludes *ex, const struct ckpt_target *arg,
		       struct ckpt_ctx *ctx);
void ckpt_excludes_free(struct ckpt_excludes *ex);
/* Is @nr of kind CKPT_EXCLUDE_FD or _THREAD of process @pid left out? */
bool ckpt_excludes_one(const struct ckpt_excludes *ex, u32 kind, pid_t pid, u64 nr);
/* Is anything of this kind of process @pid left out, named by its pid? */
bool ckpt_excludes_any(const struct ckpt_excludes *ex, u32 kind, pid_t pid);
enum ckpt_excluded ckpt_excludes_range(const struct ckpt_excludes *ex, pid_t pid, u64 start,
				       u64 end);
/* The first range of @pid that ends behind @from, or NULL. */
const struct ckpt_exclude *ckpt_excludes_next(const struct ckpt_excludes *ex, pid_t pid,
					      u64 from);
/* After a scan: refuse what names no process of the tree, or a leader. */
void ckpt_excludes_check(const struct ckpt_excludes *ex, const struct ckpt_tree *tree,
			 struct ckpt_ctx *ctx);

#endif /* _CKPT_EXCLUDE_H */
