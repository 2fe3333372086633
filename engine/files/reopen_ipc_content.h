/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between reopen_ipc.c and reopen_ipc_content.c only: one System V object of the image.
 */
#ifndef STILLPOINT_REOPEN_IPC_CONTENT_H
#define STILLPOINT_REOPEN_IPC_CONTENT_H

#include "engine/files/reopen.h"

#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

/* Each begins with its struct ipc_perm. */
union ipc_ds {
	struct shmid_ds shm;
	struct semid_ds sem;
	struct msqid_ds msg;
};

struct ipc_messages {
	char *buf;		/* struct engine_ipc_message each, as in the record; malloc */
	size_t len;
	uint32_t nr;
};

struct reopen_ipc {
	const struct engine_rec_ipc *rec;
	const struct state_file *file;	/* of a segment whose content was asked for, or NULL */
	bool made;		/* by us */
	bool found;		/* the tree's former run had left it */
	bool undone;		/* undo lists are noted of the set */
	union ipc_ds before;	/* found: its attributes */
	unsigned short *values;	/* found: its values; malloc */
	char *bytes;		/* found: its bytes; malloc */
	struct ipc_messages messages;	/* found: its messages */
};

/* reopen_ipc.c */
int reopen_ipc_failed(struct reopen *r, const struct engine_rec_ipc *rec, int err,
		      const char *what);
int reopen_ipc_stat(const struct engine_rec_ipc *rec, union ipc_ds *ds);
void reopen_ipc_remove(const struct engine_rec_ipc *rec, int id);

/* reopen_ipc_content.c */
/* Keep the content of an object that was found; -errno, not described. */
int reopen_ipc_keep(struct reopen_ipc *ipc);
/* Give a set values from which every operation of an undo list succeeds. */
int reopen_ipc_open_set(struct reopen *r, const struct reopen_ipc *ipc);

#endif /* STILLPOINT_REOPEN_IPC_CONTENT_H */
