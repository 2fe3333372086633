/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Until when do threads sleep?
 */
#ifndef _CKPT_SLEEPERS_H
#define _CKPT_SLEEPERS_H

struct ckpt_tree;

/*
 * Fill in ckpt_restart_block.expires of the members that have a thread which is not
 * attached yet and sleep in a call with a timeout.  Without memory it does
 * nothing: those calls then wait their full timeout again.
 */
void ckpt_sleepers_find(struct ckpt_tree *tree);

#endif /* _CKPT_SLEEPERS_H */
