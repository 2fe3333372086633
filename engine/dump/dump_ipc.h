/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of System V objects (dump_ipc.c), for dump_sysv.c, which knows whose they are.
 *
 * Each runs in the pause and in the object's IPC namespace, and adds an IPC record.  POSIX message
 * queues have their own file, dump_mqueue.c.
 * @flags: ENGINE_IPC_NAMESPACE or 0
 */
#ifndef STILLPOINT_DUMP_IPC_H
#define STILLPOINT_DUMP_IPC_H

#include <stdbool.h>
#include <stdint.h>

struct dump;
struct msqid_ds;
struct semid_ds;
struct shmid_ds;
struct state;

/* dump_sysv.c: is the tree in our IPC namespace? */
bool dump_ipc_is_ours(const struct state *state);

/* dump_mqueue.c: record the tree's message queues; refuse those that others have, too. */
int dump_mqueues(struct dump *d);

int dump_ipc_segment(struct dump *d, int id, const struct shmid_ds *ds, uint32_t flags);
int dump_ipc_set(struct dump *d, int id, const struct semid_ds *ds, uint32_t flags);
int dump_ipc_queue(struct dump *d, int id, const struct msqid_ds *ds, uint32_t flags);

#endif /* STILLPOINT_DUMP_IPC_H */
