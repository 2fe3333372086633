// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contents of System V objects: values, messages, bytes, and their owners and modes.
 *
 * A value that an undo list belongs to is set by operations, as SETVAL and SETALL would clear what
 * the lists note.
 */
#include "base/error.h"
#include "engine/files/reopen_ipc.h"
#include "engine/files/reopen_ipc_content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/rights.h"

#define VALUE_MIDDLE	16384	/* half of the largest value (SEMVMX) */
#ifndef MSG_COPY
#define MSG_COPY	040000
#endif

/* ---------------------------------------------------------------- sets */

static int ipc_set_all(int id, unsigned short *values)
{
	return semctl(id, 0, SETALL, (union semun){ .array = values }) ? -errno : 0;
}

int reopen_ipc_open_set(struct reopen *r, const struct reopen_ipc *ipc)
{
	unsigned short *values = calloc(ipc->rec->size + 1, sizeof(*values));
	int ret;

	if (!values)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (uint64_t i = 0; i < ipc->rec->size; i++)
		values[i] = VALUE_MIDDLE;
	ret = ipc_set_all(ipc->rec->id, values);
	free(values);
	return ret ? reopen_ipc_failed(r, ipc->rec, ret, "prepare") : 0;
}

/* Bring each value to what it was, by operations that nobody will undo. */
static int move_values(int id, const unsigned short *values, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		int now = semctl(id, (int)i, GETVAL);
		struct sembuf op = {
			.sem_num = (unsigned short)i, .sem_flg = IPC_NOWAIT,
			.sem_op = (short)(values[i] - now),
		};

		if (now < 0 || (values[i] != now && semop(id, &op, 1)))
			return -errno;
	}
	return 0;
}

static int ipc_settle_set(const struct reopen_ipc *ipc)
{
	const struct engine_rec_ipc *rec = ipc->rec;
	unsigned short *values = (unsigned short *)(rec + 1);

	return ipc->undone ? move_values(rec->id, values, rec->size) : ipc_set_all(rec->id, values);
}

static int keep_values(struct reopen_ipc *ipc)
{
	ipc->values = calloc(ipc->rec->size + 1, sizeof(*ipc->values));
	if (!ipc->values)
		return -ENOMEM;
	return semctl(ipc->rec->id, 0, GETALL, (union semun){ .array = ipc->values }) ? -errno : 0;
}

/* ---------------------------------------------------------------- queues */

static int send_message(int id, const struct engine_ipc_message *message)
{
	struct msgbuf *buf = malloc(sizeof(long) + message->len + 1);
	int ret = 0;

	if (!buf)
		return -ENOMEM;
	buf->mtype = (long)message->type;
	memcpy(buf->mtext, message + 1, message->len);
	if (msgsnd(id, buf, message->len, IPC_NOWAIT))
		ret = -errno;
	free(buf);
	return ret;
}

static int send_messages(int id, const char *at, uint32_t nr)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < nr; i++) {
		const struct engine_ipc_message *message = (const void *)at;

		ret = send_message(id, message);
		at += sizeof(*message) + ((message->len + 7ULL) & ~7ULL);
	}
	return ret;
}

static int empty_queue(int id)
{
	struct msgbuf buf;

	while (msgrcv(id, &buf, 1, 0, IPC_NOWAIT | MSG_NOERROR) >= 0)
		;
	return errno == ENOMSG ? 0 : -errno;
}

/* Let the queue hold @bytes; more than the node's limit with raised rights. */
static int size_queue(int id, uint64_t bytes)
{
	struct msqid_ds ds;
	uint64_t before;
	int ret;

	if (msgctl(id, IPC_STAT, &ds))
		return -errno;
	if (ds.msg_qbytes == bytes)
		return 0;
	ds.msg_qbytes = bytes;
	if (!msgctl(id, IPC_SET, &ds))
		return 0;
	if (errno != EPERM || rights_raise(RIGHTS_PIPES, &before))
		return -errno;
	ret = msgctl(id, IPC_SET, &ds) ? -errno : 0;
	rights_lower(before);
	return ret;
}

static int settle_queue(const struct reopen_ipc *ipc)
{
	const struct engine_rec_ipc *rec = ipc->rec;
	int ret = size_queue(rec->id, rec->size);

	if (!ret)
		ret = empty_queue(rec->id);
	return ret ? ret : send_messages(rec->id, (const char *)(rec + 1), rec->nr);
}

static int keep_messages(struct reopen_ipc *ipc)
{
	const struct msqid_ds *ds = &ipc->before.msg;
	struct msgbuf *buf = malloc(sizeof(long) + ds->__msg_cbytes + 1);
	struct ipc_messages *to = &ipc->messages;
	int ret = 0;

	to->buf = calloc(1, ds->__msg_cbytes +
			 ds->msg_qnum * (sizeof(struct engine_ipc_message) + 8) + 1);
	if (!buf || !to->buf)
		ret = -ENOMEM;
	while (!ret && to->nr < ds->msg_qnum) {
		struct engine_ipc_message *message = (void *)(to->buf + to->len);
		ssize_t len = msgrcv(ipc->rec->id, buf, ds->__msg_cbytes, (long)to->nr,
				     MSG_COPY | IPC_NOWAIT);

		if (len < 0) {
			ret = -errno;
			break;
		}
		message->type = buf->mtype;
		message->len = (uint32_t)len;
		memcpy(message + 1, buf->mtext, (size_t)len);
		to->len += sizeof(*message) + (((size_t)len + 7) & ~(size_t)7);
		to->nr++;
	}
	free(buf);
	return ret;
}

/* ---------------------------------------------------------------- segments */

static int settle_segment(struct reopen *r, const struct reopen_ipc *ipc)
{
	char *map;
	int ret = 0;

	if (ipc->found && ipc->file && ipc->file->blob) {
		map = shmat(ipc->rec->id, NULL, 0);
		if (map == (void *)-1)
			return -errno;
		memset(map, 0, ipc->rec->size);
		ret = reopen_blob(r, ipc->file->blob, -1, map);
		shmdt(map);
	}
	if (!ret && ipc->rec->flags & ENGINE_IPC_LOCKED && shmctl(ipc->rec->id, SHM_LOCK, NULL))
		ret = -errno;
	return ret;
}

static int keep_bytes(struct reopen_ipc *ipc)
{
	char *map = shmat(ipc->rec->id, NULL, SHM_RDONLY);

	if (map == (void *)-1)
		return -errno;
	ipc->bytes = malloc(ipc->rec->size);
	if (ipc->bytes)
		memcpy(ipc->bytes, map, ipc->rec->size);
	shmdt(map);
	return ipc->bytes ? 0 : -ENOMEM;
}

static void put_bytes(const struct reopen_ipc *ipc)
{
	char *map = ipc->bytes ? shmat(ipc->rec->id, NULL, 0) : (void *)-1;

	if (map == (void *)-1)
		return;
	memcpy(map, ipc->bytes, ipc->rec->size);
	shmdt(map);
}

/* ---------------------------------------------------------------- all */

int reopen_ipc_keep(struct reopen_ipc *ipc)
{
	return ipc->rec->kind == ENGINE_IPC_SHM ? keep_bytes(ipc) :
	       ipc->rec->kind == ENGINE_IPC_SEM ? keep_values(ipc) : keep_messages(ipc);
}

/* Set owner and mode; a set and a queue keep the rest that @ds tells. */
static int set_attributes(const struct engine_rec_ipc *rec, union ipc_ds *ds)
{
	int ret;

	if (rec->kind == ENGINE_IPC_SHM)
		ret = shmctl(rec->id, IPC_SET, &ds->shm);
	else if (rec->kind == ENGINE_IPC_SEM)
		ret = semctl(rec->id, 0, IPC_SET, (union semun){ .buf = &ds->sem });
	else
		ret = msgctl(rec->id, IPC_SET, &ds->msg);
	return ret ? -errno : 0;
}

static int settle_attributes(const struct engine_rec_ipc *rec)
{
	union ipc_ds ds;
	struct ipc_perm *perm = &ds.shm.shm_perm;
	int ret = reopen_ipc_stat(rec, &ds);

	if (ret)
		return ret;
	perm->uid = rec->uid;
	perm->gid = rec->gid;
	perm->mode = (unsigned short)rec->mode;
	ret = set_attributes(rec, &ds);
	/* after that nobody can attach it: it goes with its last attachment */
	if (!ret && rec->flags & ENGINE_IPC_REMOVED)
		reopen_ipc_remove(rec, rec->id);
	return ret;
}

int reopen_ipc_settle(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && r->ipcs && i < r->state->nr_ipcs; i++) {
		const struct reopen_ipc *ipc = &r->ipcs[i];

		ret = ipc->rec->kind == ENGINE_IPC_SHM ? settle_segment(r, ipc) :
		      ipc->rec->kind == ENGINE_IPC_SEM ? ipc_settle_set(ipc) : settle_queue(ipc);
		if (!ret)
			ret = settle_attributes(ipc->rec);
		if (ret)
			ret = reopen_ipc_failed(r, ipc->rec, ret, "give its content to");
	}
	return ret;
}

static void ipc_undo_one(struct reopen_ipc *ipc)
{
	union ipc_ds ds;
	int id = ipc->rec->id;

	if (ipc->made)
		reopen_ipc_remove(ipc->rec, id);
	if (!ipc->found)
		return;
	/* as a queue may be too small for what it held before */
	ds = ipc->before;
	set_attributes(ipc->rec, &ds);
	if (ipc->values)
		ipc_set_all(id, ipc->values);
	else if (ipc->messages.buf && !empty_queue(id))
		send_messages(id, ipc->messages.buf, ipc->messages.nr);
	put_bytes(ipc);
}

void reopen_ipc_undo(struct reopen *r)
{
	for (unsigned int i = 0; r->ipcs && i < r->state->nr_ipcs; i++)
		if (r->ipcs[i].rec)
			ipc_undo_one(&r->ipcs[i]);
}

void reopen_ipc_done(struct reopen *r)
{
	for (unsigned int i = 0; r->ipcs && i < r->state->nr_ipcs; i++) {
		free(r->ipcs[i].values);
		free(r->ipcs[i].bytes);
		free(r->ipcs[i].messages.buf);
	}
	free(r->ipcs);
	r->ipcs = NULL;
}
