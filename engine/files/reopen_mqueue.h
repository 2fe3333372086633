/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * POSIX message queues of an image on this node.
 *
 * A queue whose name is free is made anew, in the IPC namespace of the builder; one without a name
 * gets one for as long as it takes to open it.  A queue that is there already is either the tree's
 * own, left behind by its former run, and gets its recorded messages back, or somebody else's, and
 * refuses the restore.  One that is newer, and looks like the tree's own, is taken if the caller
 * accepts what has changed: an earlier restart has made it, maybe.
 */
#ifndef STILLPOINT_REOPEN_MQUEUE_H
#define STILLPOINT_REOPEN_MQUEUE_H

#include "engine/files/reopen.h"

/* Make or find all queues, empty or as they are. */
int reopen_mqueue_make(struct reopen *r);
/* One more description of the queue. */
int reopen_mqueue_open(struct reopen *r, const struct state_file *file);
/* Last before the commit: messages, owners and modes. */
int reopen_mqueue_fill(struct reopen *r);
/* A descriptor of the queue number @index of the model. */
int reopen_mqueue_fd(const struct reopen *r, unsigned int index);
/* After a failure: remove what was made, and give what was found its former messages. */
void reopen_mqueue_undo(struct reopen *r);
void reopen_mqueue_close(struct reopen *r);	/* after the commit: an undo needs them */
void reopen_mqueue_done(struct reopen *r);

#endif /* STILLPOINT_REOPEN_MQUEUE_H */
