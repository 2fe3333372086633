// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V objects: shared memory, semaphores with what SEM_UNDO will undo, message queues.
 *
 * engine/dump/dump_sysv.c finds those of the tree in the pause, before the policy is asked.  A
 * segment's content is that of a file, which the kernel module records.  engine/files/reopen_ipc.c
 * makes all again; the processes note what is to be undone (engine/restore/task_attr.c).
 */
#include "engine/core/state_parse.h"
#include "engine/files/reopen_ipc.h"
#include "engine/kinds/kinds.h"

#include <errno.h>

/* Do the record's messages end where it ends? */
static bool messages_fit(const struct engine_rec_ipc *rec)
{
	size_t room = rec->hdr.len - sizeof(*rec);
	const char *at = (const char *)(rec + 1);

	for (uint32_t i = 0; i < rec->nr; i++) {
		const struct engine_ipc_message *message = (const void *)at;
		size_t len;

		if (room < sizeof(*message))
			return false;
		room -= sizeof(*message);
		len = ((size_t)message->len + 7) & ~(size_t)7;
		if (len > room || message->type <= 0)
			return false;
		room -= len;
		at += sizeof(*message) + len;
	}
	return true;
}

static int sysv_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_ipc *rec = (const void *)hdr;
	size_t room = hdr->len - sizeof(*rec);
	bool ok = rec->id >= 0 && rec->mode <= 0777 && rec->size <= INT64_MAX;

	switch (rec->kind) {
	case ENGINE_IPC_SHM:
		ok = ok && rec->size;
		break;
	case ENGINE_IPC_SEM:
		ok = ok && rec->size && rec->size <= room / sizeof(uint16_t);
		break;
	case ENGINE_IPC_MSG:
		ok = ok && messages_fit(rec);
		break;
	default:
		ok = false;
	}
	if (!ok)
		return state_fail(p, -EBADMSG, "impossible System V object %d", rec->id);
	p->state->ipcs[p->state->nr_ipcs++] = rec;
	return 0;
}

static int sysv_parse_adj(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_semadj *rec = (const void *)hdr;

	if (!p->proc || p->proc->rec->pid != rec->pid)
		return state_fail(p, -EBADMSG, "undo list away from process %d", rec->pid);
	if (rec->id < 0 || rec->nr > (hdr->len - sizeof(*rec)) / sizeof(int16_t))
		return state_fail(p, -EBADMSG, "impossible undo list of process %d", rec->pid);
	if (!p->proc->semadjs)
		p->proc->semadjs = rec;
	else if (p->semadjs_end != hdr)
		return state_fail(p, -EBADMSG, "undo lists of %d are not in one place", rec->pid);
	p->semadjs_end = (const char *)hdr + hdr->len;
	p->proc->nr_semadjs++;
	return 0;
}

const struct state_kind state_kind_sysv = {
	.name = "System V object",
	.records = {
		{ ENGINE_REC_IPC, sizeof(struct engine_rec_ipc), STATE_OWNER_ALL, sysv_parse },
		{ CKPT_REC_SEMADJ, sizeof(struct ckpt_rec_semadj), STATE_OWNER_PROC,
		  sysv_parse_adj },
	},
	.files = { CKPT_FILE_SYSV },
	.policy = kind_passes,
	.prepare = reopen_ipc_make,
	.open = reopen_ipc_open,
	.arm = reopen_ipc_settle,
	.undo = reopen_ipc_undo,
};
