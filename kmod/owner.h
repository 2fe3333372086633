/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The owner of a capture: the user for whom a tree is captured, and what he has no right to.
 *
 * The caller of /dev/ckpt may read every process. It acts for somebody who may not; this is his
 * identity, to which each task of the tree is held as ptrace(2) would hold it.
 */
#ifndef _CKPT_OWNER_H
#define _CKPT_OWNER_H

#include <linux/capability.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct ckpt_capture;
struct ckpt_ctx;
struct ckpt_target;
struct cred;
struct task_struct;

struct ckpt_owner {
	bool set;			/* false: the caller captures for itself */
	kuid_t uid;
	u64 caps;			/* CAP_ bits */
	kgid_t *gids;			/* ascending; vfree */
	unsigned int nr_gids;
	const struct cred *passed;	/* of the last task that passed, while nothing runs */
};

/* Take the owner over from user space. */
int ckpt_owner_init(struct ckpt_owner *owner, const struct ckpt_target *arg,
		    struct ckpt_ctx *ctx);
void ckpt_owner_free(struct ckpt_owner *owner);
/* Note a refusal and return true if the owner has no right to @task; may sleep. */
bool ckpt_owner_refuses(struct ckpt_capture *cap, struct task_struct *task);
/*
 * The same for every thread of the tree. Call when all are frozen: credentials cannot change then,
 * and no earlier answer counts.
 */
void ckpt_owner_check(struct ckpt_capture *cap);

#endif /* _CKPT_OWNER_H */
