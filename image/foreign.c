// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes in an image that are not a user's own; see foreign.h.
 *
 * Only records of threads and memory maps are looked at; the groups are not, as they are no reason
 * to hide addresses from the user whose process it is.
 */
#include "image/foreign.h"

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

static bool is_foreign(const struct image_record *record, uid_t uid, pid_t *ret_pid)
{
	const struct ckpt_rec_thread *thread = record->data;
	const struct ckpt_rec_mm *mm = record->data;
	const struct ckpt_creds *c = &thread->creds;

	if (record->type == CKPT_REC_THREAD && record->len >= sizeof(*thread)) {
		*ret_pid = thread->pid;
		return c->uid != uid || c->euid != uid || c->suid != uid || c->fsuid != uid ||
		       c->cap_permitted || c->cap_inheritable;
	}
	if (record->type == CKPT_REC_MM && record->len >= sizeof(*mm)) {
		*ret_pid = mm->pid;
		return mm->dumpable != 1;
	}
	return false;
}

int image_foreign(struct image_reader *r, uid_t uid, pid_t *ret_pid)
{
	struct image_record record;
	bool found = false;
	int ret = 0;

	if (image_manifest(r)->locked)
		return 0;
	image_state_rewind(r);
	while (!found && (ret = image_state_next(r, &record)) > 0)
		found = is_foreign(&record, uid, ret_pid);
	image_state_rewind(r);
	return found ? 1 : ret;
}
