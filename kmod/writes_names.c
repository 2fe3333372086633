// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names of a write log: what happened to each, and what it was before that.
 *
 * A name enters the log with the next number, and keeps it: so the names that a process first
 * changed after some moment are those with larger numbers than the last one of that moment. What
 * a name was before it entered is told by the event that brings it, or, for the target of a
 * rename, by the next event of the same process. Two kinds of names get a new number: one that was
 * made and removed, when it is made again; that of a long file that is written in place.
 *
 * A log never grows beyond CKPT_WRITES_NAMES_MAX names and CKPT_WRITES_BYTES_MAX bytes.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat/fsnotify.h"
#include "writes.h"

/* These tell where a name comes from; later events do not change them. */
#define CKPT_WRITE_ORIGIN	(CKPT_WRITE_EXISTED | CKPT_WRITE_STATE | CKPT_WRITE_TOLD)

/* A rename of which not all events have come. */
struct ckpt_write_renaming {
	struct list_head link;		/* log->renaming */
	struct task_struct *task;	/* compared only: the task is in rename(2) */
	u64 seq;			/* of the name */
};

static struct hlist_head *ckpt_write_log_bucket(const struct ckpt_write_log *log, const char *path)
{
	return &log->table[siphash(path, strlen(path), &log->key) % CKPT_WRITE_BUCKETS];
}

static struct ckpt_write_name *ckpt_write_log_look(const struct ckpt_write_log *log, dev_t dev,
						   const char *path)
{
	struct ckpt_write_name *name;

	lockdep_assert_held(&log->lock);
	hlist_for_each_entry(name, ckpt_write_log_bucket(log, path), hash)
		if (name->dev == dev && !strcmp(name->path, path))
			return name;
	return NULL;
}

/* Gone again, and nothing before the namespace made it: as if it had never been. */
static bool ckpt_write_is_passed(u32 flags)
{
	return flags & CKPT_WRITE_GONE && !(flags & (CKPT_WRITE_EXISTED | CKPT_WRITE_TOLD));
}

static void ckpt_write_name_set(struct ckpt_write_log *log, struct ckpt_write_name *name,
				u32 flags)
{
	log->nr_gone += !!(flags & CKPT_WRITE_GONE) - !!(name->flags & CKPT_WRITE_GONE);
	log->nr_passed += ckpt_write_is_passed(flags) - ckpt_write_is_passed(name->flags);
	name->flags = flags;
}

static void ckpt_write_log_forget(struct ckpt_write_log *log, struct ckpt_write_name *name)
{
	ckpt_write_name_set(log, name, 0);
	log->nr--;
	log->bytes -= ckpt_write_name_bytes(name->len);
	list_del(&name->link);
	hlist_del(&name->hash);
	kfree(name);
}

void ckpt_write_log_empty(struct ckpt_write_log *log)
{
	struct ckpt_write_renaming *renaming, *after;
	struct ckpt_write_name *name, *next;

	list_for_each_entry_safe(name, next, &log->names, link)
		ckpt_write_log_forget(log, name);
	list_for_each_entry_safe(renaming, after, &log->renaming, link)
		kfree(renaming);
	INIT_LIST_HEAD(&log->renaming);
}

/* Make room: a name that has passed tells nothing, others that are gone tell least. */
static void ckpt_write_log_purge(struct ckpt_write_log *log)
{
	struct ckpt_write_name *name, *next;
	bool all = !log->nr_passed;

	if (!log->nr_gone)
		return;
	list_for_each_entry_safe(name, next, &log->names, link)
		if (all ? name->flags & CKPT_WRITE_GONE : ckpt_write_is_passed(name->flags))
			ckpt_write_log_forget(log, name);
	if (all)
		log->flags |= CKPT_WRITES_FORGOT;
}

static bool ckpt_write_log_is_full(const struct ckpt_write_log *log, u32 len)
{
	return log->nr >= CKPT_WRITES_NAMES_MAX ||
	       log->bytes + ckpt_write_name_bytes(len) > CKPT_WRITES_BYTES_MAX;
}

/* @purge: gone names may be dropped; nobody walks the list */
static struct ckpt_write_name *ckpt_write_log_new(struct ckpt_write_log *log, dev_t dev,
						  const char *path, bool purge)
{
	u32 len = strlen(path) + 1;
	struct ckpt_write_name *name;

	if (purge && ckpt_write_log_is_full(log, len))
		ckpt_write_log_purge(log);
	/* a directory's lock may be held, so nothing may wait for the file system's */
	name = ckpt_write_log_is_full(log, len) ? NULL :
	       kzalloc(struct_size(name, path, len), GFP_NOFS | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!name) {
		log->flags |= CKPT_WRITES_OVERFLOW;
		return NULL;
	}
	name->dev = dev;
	name->len = len;
	name->seq = ++log->seq;
	memcpy(name->path, path, len);
	list_add_tail(&name->link, &log->names);
	hlist_add_head(&name->hash, ckpt_write_log_bucket(log, path));
	log->nr++;
	log->bytes += ckpt_write_name_bytes(len);
	return name;
}

static void ckpt_write_name_state(struct ckpt_write_log *log, struct ckpt_write_name *name,
				  const struct inode *inode, struct timespec64 time)
{
	name->ino = inode->i_ino;
	name->bytes = i_size_read(inode);
	name->mtime_ns = timespec64_to_ns(&time);
	ckpt_write_name_set(log, name, name->flags | CKPT_WRITE_STATE);
}

/* Say what had the name before the change. */
static void ckpt_write_name_before(struct ckpt_write_log *log, struct ckpt_write_name *name,
				   const struct inode *before)
{
	ckpt_write_name_set(log, name, name->flags | CKPT_WRITE_EXISTED);
	if (before)
		ckpt_write_name_state(log, name, before, inode_get_mtime(before));
}

/* Say when the name was made, by the clock of the file system: mtime may be set, ctime may not. */
static void ckpt_write_name_made(struct ckpt_write_log *log, struct ckpt_write_name *name,
				 const struct inode *made)
{
	ckpt_write_name_state(log, name, made, inode_get_ctime(made));
}

/* The name comes again, as the last one. */
static void ckpt_write_log_again(struct ckpt_write_log *log, struct ckpt_write_name *name)
{
	name->seq = ++log->seq;
	list_move_tail(&name->link, &log->names);
}

/* The number of the entry if it is a new one; else 0. */
static u64 ckpt_write_log_change(struct ckpt_write_log *log, dev_t dev, const char *path,
				 const struct ckpt_write_change *change)
{
	struct ckpt_write_name *name = ckpt_write_log_look(log, dev, path);
	u32 add = change->add, drop = change->drop;
	bool fresh = !name;

	if (fresh) {
		name = ckpt_write_log_new(log, dev, path, true);
		if (!name)
			return 0;
		if (change->existed)
			ckpt_write_name_before(log, name, change->before);
		else if (change->made)
			ckpt_write_name_made(log, name, change->made);
	} else if (ckpt_write_is_passed(name->flags) && drop & CKPT_WRITE_GONE) {
		ckpt_write_log_again(log, name);
		fresh = true;
	} else if (add & CKPT_WRITE_IN_PLACE && name->seq <= log->read_seq) {
		ckpt_write_log_again(log, name);
	}
	if (!fresh)
		add &= ~CKPT_WRITE_TOLD;
	/* once closed otherwise, never only appended to */
	if (name->flags & CKPT_WRITE_CLOSED && !(name->flags & CKPT_WRITE_APPENDS))
		drop |= CKPT_WRITE_APPENDS;
	ckpt_write_name_set(log, name, (name->flags | add) & ~drop);
	name->writes = min_t(u64, (u64)name->writes + change->writes, U32_MAX);
	return fresh ? name->seq : 0;
}

void ckpt_write_log_note(struct ckpt_write_log *log, dev_t dev, const char *path,
			 const struct ckpt_write_change *change)
{
	mutex_lock(&log->lock);
	ckpt_write_log_change(log, dev, path, change);
	mutex_unlock(&log->lock);
}

/* ------------------------------------------------------------ renames */

static struct ckpt_write_renaming *ckpt_write_log_renaming(const struct ckpt_write_log *log)
{
	struct ckpt_write_renaming *renaming;

	lockdep_assert_held(&log->lock);
	list_for_each_entry(renaming, &log->renaming, link)
		if (renaming->task == current)
			return renaming;
	return NULL;
}

void ckpt_write_log_rename(struct ckpt_write_log *log, dev_t dev, const char *path,
			   const struct ckpt_write_change *change)
{
	struct ckpt_write_renaming *renaming = kmalloc(sizeof(*renaming), GFP_NOFS);
	u64 seq;

	mutex_lock(&log->lock);
	seq = ckpt_write_log_change(log, dev, path, change);
	if (seq && renaming) {
		renaming->task = current;
		renaming->seq = seq;
		list_add(&renaming->link, &log->renaming);
		renaming = NULL;
	} else if (seq) {
		log->flags |= CKPT_WRITES_OVERFLOW;
	}
	mutex_unlock(&log->lock);
	kfree(renaming);
}

void ckpt_write_log_replaced(struct ckpt_write_log *log, const struct inode *before)
{
	struct ckpt_write_renaming *renaming;
	struct ckpt_write_name *name;

	if (list_empty_careful(&log->renaming))		/* we would have added ours ourselves */
		return;
	mutex_lock(&log->lock);
	renaming = ckpt_write_log_renaming(log);
	/* the name is one of the last */
	if (renaming)
		list_for_each_entry_reverse(name, &log->names, link) {
			if (name->seq == renaming->seq)
				ckpt_write_name_before(log, name, before);
			if (name->seq <= renaming->seq)
				break;
		}
	mutex_unlock(&log->lock);
}

void ckpt_write_log_renamed(struct ckpt_write_log *log)
{
	struct ckpt_write_renaming *renaming;

	if (list_empty_careful(&log->renaming))
		return;
	mutex_lock(&log->lock);
	renaming = ckpt_write_log_renaming(log);
	if (renaming)
		list_del(&renaming->link);
	mutex_unlock(&log->lock);
	kfree(renaming);
}

static void ckpt_write_log_move_name(struct ckpt_write_log *log, struct ckpt_write_name *name,
				     const char *rest, const char *to)
{
	char *path = kasprintf(GFP_NOFS, "%s%s", to, rest);
	struct ckpt_write_name *moved = NULL;

	if (path && strlen(path) < PATH_MAX) {
		moved = ckpt_write_log_look(log, name->dev, path);
		if (!moved)
			moved = ckpt_write_log_new(log, name->dev, path, false);
	} else {
		log->flags |= CKPT_WRITES_OVERFLOW;
	}
	if (moved) {
		ckpt_write_name_set(log, moved, (name->flags & ~CKPT_WRITE_ORIGIN) |
						(moved->flags & CKPT_WRITE_ORIGIN));
		moved->writes = name->writes;
	}
	kfree(path);
}

void ckpt_write_log_moved(struct ckpt_write_log *log, dev_t dev, const char *from, const char *to)
{
	struct ckpt_write_name *name;
	size_t len = strlen(from);
	unsigned int nr, moved = 0;

	mutex_lock(&log->lock);
	nr = log->nr;		/* new names come behind these */
	list_for_each_entry(name, &log->names, link) {
		if (!nr--)
			break;
		cond_resched();
		if (name->dev != dev || strncmp(name->path, from, len) || name->path[len] != '/')
			continue;
		/* the file system's renames wait for this one */
		if (++moved > CKPT_WRITES_MOVED_MAX) {
			log->flags |= CKPT_WRITES_OVERFLOW;
			break;
		}
		ckpt_write_log_move_name(log, name, name->path + len, to);
		ckpt_write_name_set(log, name, name->flags | CKPT_WRITE_GONE);
	}
	mutex_unlock(&log->lock);
}

/* ------------------------------------------------------------ long files */

/* The long file of the inode; a new one takes the place of the oldest. */
static struct ckpt_write_long *ckpt_write_log_long(struct ckpt_write_log *log,
						   const struct inode *inode)
{
	struct ckpt_write_long *one;
	unsigned int i;

	lockdep_assert_held(&log->lock);
	for (i = 0; i < CKPT_WRITE_LONGS; i++) {
		one = &log->longs[i];
		if (one->size && one->ino == inode->i_ino && one->dev == inode->i_sb->s_dev)
			return one;
	}
	one = &log->longs[log->next_long++ % CKPT_WRITE_LONGS];
	*one = (struct ckpt_write_long){ .dev = inode->i_sb->s_dev, .ino = inode->i_ino };
	return one;
}

bool ckpt_write_log_rewrites(struct ckpt_write_log *log, const struct file *file, bool opened)
{
	const struct inode *inode = d_inode(file->f_path.dentry);
	loff_t size = i_size_read(inode);
	struct ckpt_write_long *one;
	bool rewrites;

	mutex_lock(&log->lock);
	one = ckpt_write_log_long(log, inode);
	/* appending descriptors cannot, but two of them may write before either comes here */
	rewrites = !opened && !(file->f_flags & O_APPEND) &&
		   (one->size ? size <= one->size : file->f_pos >= size) &&
		   one->noted != log->reads;
	if (rewrites)
		one->noted = log->reads;
	one->size = size;
	mutex_unlock(&log->lock);
	return rewrites;
}

/* ------------------------------------------------------------ the whole log */

void ckpt_write_log_clear(struct ckpt_write_log *log)
{
	mutex_lock(&log->lock);
	ckpt_write_log_empty(log);
	put_pid(log->quiet);
	WRITE_ONCE(log->quiet, get_pid(task_tgid(current)));
	mutex_unlock(&log->lock);
}

bool ckpt_write_log_is_quiet(const struct ckpt_write_log *log)
{
	const struct pid *tgid = task_tgid(current);

	return READ_ONCE(log->quiet) == tgid || (log->tag && log->init == tgid);
}

void ckpt_write_log_overflow(struct ckpt_write_log *log)
{
	mutex_lock(&log->lock);
	log->flags |= CKPT_WRITES_OVERFLOW;
	mutex_unlock(&log->lock);
}
