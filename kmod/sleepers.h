/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadlines of sleeping threads.
 */
#ifndef _CKPT_SLEEPERS_H
#define _CKPT_SLEEPERS_H

struct ckpt_tree;

/*
 * Fill in ckpt_restart_block.expires of members whose thread has not been told yet and sleeps in a
 * call with a timeout.  The work depends on these threads alone, whatever timers others have.
 */
void ckpt_sleepers_find(struct ckpt_tree *tree);

#endif /* _CKPT_SLEEPERS_H */
