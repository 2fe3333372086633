/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System V objects of an image on this node.
 *
 * An object whose id is free is made anew under that id, in the IPC namespace of the builder.  One
 * that is there already is either the tree's own, left behind by its former run, and gets its
 * recorded content back, or somebody else's, and refuses the restore.
 */
#ifndef STILLPOINT_REOPEN_IPC_H
#define STILLPOINT_REOPEN_IPC_H

#include "engine/files/reopen.h"

/* Make or find all objects; semaphores get values from which undo lists can be noted. */
int reopen_ipc_make(struct reopen *r);
/* A descriptor of a segment, for the kernel to attach. Fills a segment that is new. */
int reopen_ipc_open(struct reopen *r, const struct state_file *file);
/* Last: values, messages, contents of segments that were found, owners and modes. */
int reopen_ipc_settle(struct reopen *r);
/* After a failure: remove what was made, and give what was found its former content. */
void reopen_ipc_undo(struct reopen *r);
void reopen_ipc_done(struct reopen *r);

/* Is this boot of this node the one of the dump? Ids and inodes mean nothing on another. */
bool reopen_is_same_boot(const struct reopen *r);

#endif /* STILLPOINT_REOPEN_IPC_H */
