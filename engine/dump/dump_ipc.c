// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of System V objects: a segment's attributes, a set's values, a queue's messages.
 *
 * Runs in the pause and in the object's IPC namespace, with calls that leave no trace: MSG_COPY
 * takes no message, and none of them changes a time or the number of the last process.
 */
#include "base/error.h"
#include "engine/dump/dump_ipc.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define MESSAGES_MOST	(64ULL << 20)	/* bytes of one queue: they are held in memory */

#ifndef MSG_COPY
#define MSG_COPY	040000
#endif
#ifndef SHM_DEST
#define SHM_DEST	01000
#define SHM_LOCKED	02000
#endif

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

static int dump_ipc_failed(struct dump *d, const char *what, int id, int err)
{
	return error_fail(d->error, err, "cannot read %s %d: %s", what, id, strerror(-err));
}

/* Add a record with @len bytes behind it. */
static int dump_ipc_add(struct dump *d, const struct engine_rec_ipc *rec,
			const struct ipc_perm *perm, const void *tail, size_t len)
{
	struct engine_rec_ipc *to = dump_record_add(d, ENGINE_REC_IPC, sizeof(*to), tail, len);
	struct ckpt_rec_hdr hdr;

	if (!to)
		return error_fail(d->error, -ENOMEM, "out of memory");
	hdr = to->hdr;
	*to = *rec;
	to->hdr = hdr;
	to->key = perm->__key;
	to->mode = perm->mode & 0777;
	to->uid = perm->uid;
	to->gid = perm->gid;
	to->cuid = perm->cuid;
	to->cgid = perm->cgid;
	return 0;
}

int dump_ipc_segment(struct dump *d, int id, const struct shmid_ds *ds, uint32_t flags)
{
	struct engine_rec_ipc rec = {
		.kind = ENGINE_IPC_SHM, .id = id, .size = ds->shm_segsz, .flags = flags,
	};

	if (ds->shm_perm.mode & SHM_DEST)
		rec.flags |= ENGINE_IPC_REMOVED;
	if (ds->shm_perm.mode & SHM_LOCKED)
		rec.flags |= ENGINE_IPC_LOCKED;
	return dump_ipc_add(d, &rec, &ds->shm_perm, NULL, 0);
}

int dump_ipc_set(struct dump *d, int id, const struct semid_ds *ds, uint32_t flags)
{
	struct engine_rec_ipc rec = {
		.kind = ENGINE_IPC_SEM, .id = id, .size = ds->sem_nsems, .flags = flags,
	};
	unsigned short *values = calloc(ds->sem_nsems + 1, sizeof(*values));
	int ret = 0;

	if (!values)
		return error_fail(d->error, -ENOMEM, "out of memory");
	if (semctl(id, 0, GETALL, (union semun){ .array = values }) < 0)
		ret = dump_ipc_failed(d, "semaphore set", id, -errno);
	if (!ret)
		ret = dump_ipc_add(d, &rec, &ds->sem_perm, values,
				   ds->sem_nsems * sizeof(*values));
	free(values);
	return ret;
}

/* Copy all messages of the queue to @to, which has room for them; the bytes in use, or -errno. */
static ssize_t copy_messages(int id, const struct msqid_ds *ds, char *to)
{
	_cleanup_free_ struct msgbuf *buf = malloc(sizeof(long) + ds->__msg_cbytes + 1);
	size_t at = 0;

	if (!buf)
		return -ENOMEM;
	for (unsigned long i = 0; i < ds->msg_qnum; i++) {
		struct engine_ipc_message *message = (void *)(to + at);
		ssize_t len = msgrcv(id, buf, ds->__msg_cbytes, (long)i, MSG_COPY | IPC_NOWAIT);

		if (len < 0)
			return -errno;
		message->type = buf->mtype;
		message->len = (uint32_t)len;
		memcpy(message + 1, buf->mtext, (size_t)len);
		at += sizeof(*message) + (((size_t)len + 7) & ~(size_t)7);
	}
	return (ssize_t)at;
}

int dump_ipc_queue(struct dump *d, int id, const struct msqid_ds *ds, uint32_t flags)
{
	struct engine_rec_ipc rec = {
		.kind = ENGINE_IPC_MSG, .id = id, .size = ds->msg_qbytes, .flags = flags,
		.nr = (uint32_t)ds->msg_qnum,
	};
	struct error_refusal refusal = {
		.reason = CKPT_R_LIMIT, .pid = d->cap.state->procs[0].rec->host_pid,
		.object = (uint64_t)id,
	};
	/* each message may be padded by 7 bytes */
	size_t room = ds->__msg_cbytes + ds->msg_qnum * (sizeof(struct engine_ipc_message) + 8);
	_cleanup_free_ char *buf = NULL;
	ssize_t len;

	if (room > MESSAGES_MOST) {
		error_refuse(d->error, &refusal, "message queue %d holds %lu bytes", id,
			     (unsigned long)ds->__msg_cbytes);
		return 0;
	}
	buf = calloc(1, room + 1);
	if (!buf)
		return error_fail(d->error, -ENOMEM, "out of memory");
	len = copy_messages(id, ds, buf);
	if (len < 0)
		return dump_ipc_failed(d, "message queue", id, (int)len);
	return dump_ipc_add(d, &rec, &ds->msg_perm, buf, (size_t)len);
}
