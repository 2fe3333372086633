// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks that the tree holds on a file: flock(2), and records of fcntl(2).
 *
 * A lock of an open file description is identified by the description. A lock of a process
 * (POSIX) is identified by its descriptor table and the description it was set through, which
 * the table still has: closing any descriptor of the inode drops all these locks.  A lock that
 * the tree only waits for is not recorded: the thread begins to wait again.
 *
 * A description lives, and keeps its locks, also while only a mapping has it, as all its
 * descriptors are closed.
 *
 * What a file system keeps to itself (FUSE with locks of its own) is not seen here.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "collect.h"
#include "records.h"

#define CKPT_LOCKS_SEEN_MAX	16384U	/* on a file, whoever holds them */
#define CKPT_LOCK_TRIES		3	/* the tree stands still, so the second look has room */

struct ckpt_lock_list {
	struct ckpt_rec_lock *recs;	/* array of @room; headers are not filled in */
	unsigned int room;
	unsigned int nr;		/* locks found; may be more than @room */
	const char *bad;		/* a lock that cannot be saved, or NULL */
	bool too_many;			/* not all were looked at */
};

/* Number of the descriptor table in the tree that owns a POSIX lock, or 0. */
static u32 ckpt_lock_table(struct ckpt_collect *c, const struct file_lock *lock)
{
	struct ckpt_object *obj;

	if (lock->ckpt_fl_flags & FL_OFDLCK)
		return 0;
	obj = ckpt_object_find(c->objs, CKPT_OBJ_FILES, lock->ckpt_fl_owner, NULL);
	return obj ? obj->id : 0;
}

static void ckpt_lock_note(struct ckpt_lock_list *list, const struct ckpt_object *obj,
			   const struct file_lock *lock, u32 kind, u32 table)
{
	if (list->nr < list->room)
		list->recs[list->nr] = (struct ckpt_rec_lock) {
			.file = obj->id,
			.files_id = table,
			.kind = kind,
			.type = lock->ckpt_fl_type,
			.start = lock->fl_start,
			.end = lock->fl_end,
		};
	list->nr++;
}

/*
 * The list of an inode has the record locks of everybody, and is walked under a spinlock: how long
 * others have made that list must not decide how long the walk takes.
 */
static bool ckpt_locks_too_many(struct ckpt_lock_list *list, unsigned int nr)
{
	if (nr < CKPT_LOCKS_SEEN_MAX)
		return false;
	list->too_many = true;
	return true;
}

/*
 * A lease to read.  One to write is broken by whoever opens the file, and to read its content is to
 * open the file.
 */
static void ckpt_lease_note(struct ckpt_collect *c, struct ckpt_lock_list *list,
			    const struct ckpt_object *obj, const struct ckpt_file_lease *lease)
{
	if (!(c->tree->flags & CKPT_TARGET_FLEASE) || !(lease->ckpt_fl_flags & FL_LEASE))
		list->bad = "lease";
	else if (lease->ckpt_fl_flags & (FL_UNLOCK_PENDING | FL_DOWNGRADE_PENDING))
		list->bad = "lease that is being broken";
	else if (lease->ckpt_fl_type != F_RDLCK)
		list->bad = "lease to write";
	else if (!(obj->file.flags & CKPT_FILE_OPEN))
		list->bad = "lease that only a mapping keeps";
	else if (list->nr++ < list->room)
		list->recs[list->nr - 1] = (struct ckpt_rec_lock) {
			.file = obj->id,
			.kind = CKPT_LOCK_LEASE,
			.type = F_RDLCK,
			.end = OFFSET_MAX,
		};
}

static void ckpt_lock_note_record(struct ckpt_collect *c, struct ckpt_lock_list *list,
				  const struct ckpt_object *obj, const struct file_lock *lock)
{
	u32 table = ckpt_lock_table(c, lock);
	const struct ckpt_object *other;

	if (lock->ckpt_fl_file == obj->file.file && lock->ckpt_fl_flags & FL_OFDLCK) {
		ckpt_lock_note(list, obj, lock, CKPT_LOCK_OFD, 0);
	} else if (lock->ckpt_fl_file == obj->file.file && table) {
		ckpt_lock_note(list, obj, lock, CKPT_LOCK_POSIX, table);
	} else if (table) {	/* recorded with its own file, if that is saved */
		other = ckpt_object_find(c->objs, CKPT_OBJ_FILE, lock->ckpt_fl_file, NULL);
		if (!other || !other->file.emitted)
			list->bad = "POSIX lock of a descriptor left out";
	}
}

/* Find all locks that the file's description holds, or descriptor tables through it. */
static void ckpt_locks_look(struct ckpt_collect *c, const struct ckpt_object *obj,
			    struct ckpt_lock_list *list)
{
	struct file_lock_context *flctx = locks_inode_context(file_inode(obj->file.file));
	const struct file_lock *lock;
	const struct ckpt_file_lease *lease;
	unsigned int nr = 0;

	list->nr = 0;
	spin_lock(&flctx->flc_lock);
	list_for_each_entry(lock, &flctx->flc_flock, ckpt_fl_list) {
		if (ckpt_locks_too_many(list, nr++))
			break;
		if (lock->ckpt_fl_file == obj->file.file)
			ckpt_lock_note(list, obj, lock, CKPT_LOCK_FLOCK, 0);
	}
	list_for_each_entry(lock, &flctx->flc_posix, ckpt_fl_list) {
		if (ckpt_locks_too_many(list, nr++))
			break;
		ckpt_lock_note_record(c, list, obj, lock);
	}
	list_for_each_entry(lease, &flctx->flc_lease, ckpt_fl_list)
		if (lease->ckpt_fl_file == obj->file.file)
			ckpt_lease_note(c, list, obj, lease);
	spin_unlock(&flctx->flc_lock);
}

bool ckpt_file_has_locks(struct file *file)
{
	struct file_lock_context *flctx = locks_inode_context(file_inode(file));
	const struct ckpt_file_lease *lease;
	struct ckpt_lock_list list = {};
	const struct file_lock *lock;
	unsigned int nr = 0;
	bool found = false;

	if (!flctx)
		return false;
	spin_lock(&flctx->flc_lock);
	list_for_each_entry(lock, &flctx->flc_flock, ckpt_fl_list) {
		found |= lock->ckpt_fl_file == file;
		if (found || ckpt_locks_too_many(&list, nr++))
			break;
	}
	list_for_each_entry(lock, &flctx->flc_posix, ckpt_fl_list) {
		found |= lock->ckpt_fl_file == file && lock->ckpt_fl_flags & FL_OFDLCK;
		if (found || ckpt_locks_too_many(&list, nr++))
			break;
	}
	list_for_each_entry(lease, &flctx->flc_lease, ckpt_fl_list)
		found |= lease->ckpt_fl_file == file;
	spin_unlock(&flctx->flc_lock);
	return found || list.too_many;	/* it may have one */
}

/* 1 if each table with a lock has a saved descriptor of the file, 0 if one has not, or -errno. */
static int ckpt_locks_owned(struct ckpt_collect *c, const struct ckpt_object *obj,
			    const struct ckpt_lock_list *list)
{
	unsigned int i;
	u32 seen = 0;
	int ret = 1;

	if (!c->tree->excludes.nr)
		return 1;
	for (i = 0; i < list->nr && ret > 0; i++) {
		if (!list->recs[i].files_id || list->recs[i].files_id == seen)
			continue;
		seen = list->recs[i].files_id;
		ret = ckpt_collect_table_has(c, seen, obj->file.file);
	}
	return ret;
}

static int ckpt_locks_emit(struct ckpt_collect *c, const struct ckpt_lock_list *list)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		struct ckpt_rec_lock *rec = ckpt_records_add(c->recs, CKPT_REC_LOCK, sizeof(*rec));
		struct ckpt_rec_hdr hdr;

		if (!rec)
			return -ENOMEM;
		hdr = rec->hdr;
		*rec = list->recs[i];
		rec->hdr = hdr;
	}
	return 0;
}

int ckpt_collect_locks(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_lock_list list = {};
	unsigned int tries;
	int err = -EBUSY;

	if (!locks_inode_context(file_inode(obj->file.file)))
		return 0;
	for (tries = 0; err && tries < CKPT_LOCK_TRIES; tries++) {
		ckpt_locks_look(c, obj, &list);
		if (list.nr <= list.room) {
			err = 0;
			break;
		}
		kvfree(list.recs);
		list.room = list.nr;
		list.recs = kvmalloc_array(list.room, sizeof(*list.recs), GFP_KERNEL_ACCOUNT);
		if (!list.recs)
			return -ENOMEM;
	}
	if (!err && !list.bad && !list.too_many) {
		err = ckpt_locks_owned(c, obj, &list);
		if (!err)
			list.bad = "POSIX lock of a descriptor left out";
		err = min(err, 0);
	}
	if (list.too_many)
		ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, obj->id, "more than %u locks on %pD4",
			    CKPT_LOCKS_SEEN_MAX, obj->file.file);
	else if (list.bad)
		ckpt_refuse(c->cap, CKPT_R_FILE_LOCK, obj->task, obj->id, "%s on %pD4",
			    list.bad, obj->file.file);
	if (!err)
		err = ckpt_locks_emit(c, &list);
	kvfree(list.recs);
	return err;
}
