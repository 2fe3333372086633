// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write logs are fed from here: marks of fsnotify on file systems, and what their events
 * mean.
 *
 * One group has a mark on every file system that a log was started or extended with. Every
 * process that opens, writes or closes a file there, or changes a name, comes by; if no namespace
 * of the process has a log, that costs one look, and less for writes. A mark pins nothing:
 * unmounting takes it away. When no log is left, the marks go.
 *
 * A file is noted when it is opened for writing, as nobody may be left to note more after that,
 * and as it is still what it was. FS_MODIFY with a dentry means a change of the size by
 * truncate(2) or open(2); a write has a path instead, and counts only for long files, which are
 * not kept if they merely grow. A hard link gives a file a name under which it may be written, so
 * its other names are noted then. A rename comes as FS_RENAME, FS_ATTRIB of
 * the inode that it replaces, if it does, and FS_MOVE_SELF.
 *
 * Events come with locks of directories held. A handler may sleep, but must not wait for file
 * systems.
 */
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "compat/fsnotify.h"
#include "context.h"
#include "writes.h"

#define CKPT_WRITES_EVENTS	(FS_OPEN | FS_MODIFY | FS_CLOSE_WRITE | FS_CREATE | FS_DELETE | \
				 FS_RENAME | FS_ATTRIB | FS_MOVE_SELF)
#define CKPT_WRITES_SWEEP_MS	10000
#define CKPT_WRITES_LINKS	32	/* names of one file that are noted with a new one */

struct ckpt_write_fs {
	struct fsnotify_mark mark;
	struct list_head link;		/* ckpt_writes.fs */
};

static void ckpt_writes_sweep(struct work_struct *work);

/* Lock order: ckpt_writes.lock, then what fsnotify_add_mark() and _destroy_mark() take. */
static struct {
	struct mutex lock;		/* protects fs */
	struct list_head fs;
	struct fsnotify_group *group;	/* set once at load */
	struct delayed_work sweep;
} ckpt_writes = {
	.lock = __MUTEX_INITIALIZER(ckpt_writes.lock),
	.fs = LIST_HEAD_INIT(ckpt_writes.fs),
	.sweep = __DELAYED_WORK_INITIALIZER(ckpt_writes.sweep, ckpt_writes_sweep, 0),
};

/* ------------------------------------------------------------ events */

char *ckpt_writes_path(struct dentry *dentry, const struct qstr *name, char *buf)
{
	size_t more = name ? name->len + 1 : 0;
	char *path, *end;

	if (more >= PATH_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	path = dentry_path_raw(dentry, buf, PATH_MAX - more);
	if (IS_ERR(path) || !name)
		return path;
	end = buf + PATH_MAX - more - 1;
	if (end - path != 1)	/* not the root, which ends with its slash */
		*end++ = '/';
	memcpy(end, name->name, name->len);
	end[name->len] = '\0';
	return path;
}

/* The path of @name in @dir; the directory has but one dentry. */
static char *ckpt_writes_path_in(struct inode *dir, const struct qstr *name, char *buf)
{
	struct dentry *dentry = d_find_any_alias(dir);
	char *path;

	if (!dentry)
		return ERR_PTR(-ENOENT);
	path = ckpt_writes_path(dentry, name, buf);
	dput(dentry);
	return path;
}

/* Note a change of the file that has a name. */
static void ckpt_writes_file(struct ckpt_write_log *log, struct dentry *dentry,
			     const struct ckpt_write_change *change, char *buf)
{
	char *name;

	if (!d_is_reg(dentry) || d_unlinked(dentry))
		return;
	name = ckpt_writes_path(dentry, NULL, buf);
	if (IS_ERR(name))
		ckpt_write_log_overflow(log);
	else
		ckpt_write_log_note(log, dentry->d_sb->s_dev, name, change);
}

/* Opened for writing: the file is as it was. With O_TRUNC, it was cut just before. */
static void ckpt_writes_opened(struct ckpt_write_log *log, const struct path *path, char *buf)
{
	const struct ckpt_write_change change = {
		.existed = true, .before = d_inode(path->dentry),
	};

	ckpt_writes_file(log, path->dentry, &change, buf);
}

static void ckpt_writes_cut(struct ckpt_write_log *log, struct dentry *dentry, char *buf)
{
	const struct ckpt_write_change change = { .drop = CKPT_WRITE_APPENDS, .existed = true };

	ckpt_writes_file(log, dentry, &change, buf);
}

/* A long file was written: note a write that did not make it longer. */
static void ckpt_writes_long(struct ckpt_write_log *log, const struct path *path, char *buf)
{
	const struct ckpt_write_change change = {
		.add = CKPT_WRITE_IN_PLACE, .drop = CKPT_WRITE_APPENDS, .existed = true,
	};

	if (ckpt_write_log_rewrites(log, ckpt_fsnotify_file(path), false))
		ckpt_writes_file(log, path->dentry, &change, buf);
}

static void ckpt_writes_closed(struct ckpt_write_log *log, const struct path *path, char *buf)
{
	bool appends = ckpt_fsnotify_file(path)->f_flags & O_APPEND;
	const struct ckpt_write_change change = {
		.add = CKPT_WRITE_CLOSED | (appends ? CKPT_WRITE_APPENDS : 0),
		.drop = CKPT_WRITE_GONE | (appends ? 0 : CKPT_WRITE_APPENDS),
		.writes = 1, .existed = true,
	};

	ckpt_writes_file(log, path->dentry, &change, buf);
}

static u32 ckpt_writes_kind(u32 mask)
{
	return mask & FS_ISDIR ? CKPT_WRITE_DIR : 0;
}

/* The kinds that the name is not of by now. */
static u32 ckpt_writes_not_kind(u32 mask)
{
	return CKPT_WRITE_DIR & ~ckpt_writes_kind(mask);
}

/* The file has got one name more: note the others, as nothing of them may be noted later. */
static void ckpt_writes_linked(struct ckpt_write_log *log, struct inode *inode, char *buf)
{
	const struct ckpt_write_change change = { .existed = true, .before = inode };
	struct dentry *others[CKPT_WRITES_LINKS], *dentry;
	unsigned int nr = 0;
	bool all = true;

	spin_lock(&inode->i_lock);
	hlist_for_each_entry(dentry, &inode->i_dentry, d_u.d_alias) {
		spin_lock(&dentry->d_lock);
		if (d_unhashed(dentry))
			;
		else if (nr < CKPT_WRITES_LINKS)
			others[nr++] = dget_dlock(dentry);
		else
			all = false;
		spin_unlock(&dentry->d_lock);
	}
	spin_unlock(&inode->i_lock);
	if (!all)
		ckpt_write_log_overflow(log);
	/* the new name is noted by now, and stays as it is */
	while (nr--) {
		ckpt_writes_file(log, others[nr], &change, buf);
		dput(others[nr]);
	}
}

static void ckpt_writes_entry(struct ckpt_write_log *log, u32 mask, struct inode *dir,
			      const struct qstr *name, struct inode *inode, char *buf)
{
	const struct ckpt_write_change made = {
		.add = CKPT_WRITE_CREATED | ckpt_writes_kind(mask),
		.drop = CKPT_WRITE_GONE | ckpt_writes_not_kind(mask),
		.made = inode,
	}, gone = {
		.add = CKPT_WRITE_GONE | ckpt_writes_kind(mask), .existed = true, .before = inode,
	};
	char *path = ckpt_writes_path_in(dir, name, buf);

	if (IS_ERR(path))
		ckpt_write_log_overflow(log);
	else
		ckpt_write_log_note(log, dir->i_sb->s_dev, path, mask & FS_DELETE ? &gone : &made);
	if (mask & FS_CREATE && S_ISREG(inode->i_mode))
		ckpt_writes_linked(log, inode, buf);
}

/* The file that has the name after a rename: only if the two were exchanged. With a reference. */
static struct dentry *ckpt_writes_exchanged(struct inode *dir, const struct qstr *name)
{
	struct dentry *parent = d_find_any_alias(dir), *dentry = NULL;
	struct qstr again = { .name = name->name, .len = name->len };

	if (parent)
		dentry = d_hash_and_lookup(parent, &again);
	dput(parent);
	if (IS_ERR_OR_NULL(dentry) || d_is_positive(dentry))
		return IS_ERR(dentry) ? NULL : dentry;
	dput(dentry);
	return NULL;
}

static void ckpt_writes_note_rename(struct ckpt_write_log *log, u32 mask, dev_t dev,
				    const struct dentry *moved, const struct dentry *other,
				    const char *from, const char *to)
{
	const u32 kind = ckpt_writes_kind(mask);
	const struct ckpt_write_change gone = {
		.add = kind | (other ? CKPT_WRITE_RENAMED : CKPT_WRITE_GONE),
		.drop = other ? CKPT_WRITE_GONE | CKPT_WRITE_APPENDS : 0, .writes = !!other,
		.existed = true, .before = d_inode(moved),
	}, come = {
		.add = CKPT_WRITE_RENAMED | kind,
		.drop = CKPT_WRITE_GONE | CKPT_WRITE_APPENDS | ckpt_writes_not_kind(mask),
		.writes = 1, .existed = other, .before = other ? d_inode(other) : NULL,
	};

	ckpt_write_log_note(log, dev, from, &gone);
	if (other)
		ckpt_write_log_note(log, dev, to, &come);
	else
		ckpt_write_log_rename(log, dev, to, &come);
	if (kind)
		ckpt_write_log_moved(log, dev, from, to);
}

static void ckpt_writes_renamed(struct ckpt_write_log *log, u32 mask, struct dentry *moved,
				struct inode *dir, const struct qstr *name, char *buf)
{
	char *from = ckpt_writes_path_in(dir, name, buf), *room, *to;
	struct dentry *other = ckpt_writes_exchanged(dir, name);

	room = kmalloc(PATH_MAX, GFP_NOFS);
	to = room ? ckpt_writes_path(moved, NULL, room) : ERR_PTR(-ENOMEM);
	if (IS_ERR(from) || IS_ERR(to))
		ckpt_write_log_overflow(log);
	else
		ckpt_writes_note_rename(log, mask, dir->i_sb->s_dev, moved, other, from, to);
	dput(other);
	kfree(room);
}

/* Is a name of the inode worth noting? A symbolic link leads to a file, or to another. */
static bool ckpt_writes_has_names(const struct inode *inode)
{
	return S_ISREG(inode->i_mode) || S_ISDIR(inode->i_mode) || S_ISLNK(inode->i_mode);
}

static void ckpt_writes_event(struct ckpt_write_log *log, u32 mask, const void *data,
			      int data_type, struct inode *dir, const struct qstr *name)
{
	const struct path *path = fsnotify_data_path(data, data_type);
	struct dentry *dentry = fsnotify_data_dentry(data, data_type);
	struct inode *inode = fsnotify_data_inode(data, data_type);
	bool entry = dir && name && inode;
	char *buf = kmalloc(PATH_MAX, GFP_NOFS);

	if (!buf)
		ckpt_write_log_overflow(log);
	else if (mask & FS_MODIFY && path)	/* which has a dentry, too */
		ckpt_writes_long(log, path, buf);
	else if (mask & FS_MODIFY && dentry)
		ckpt_writes_cut(log, dentry, buf);
	else if (mask & FS_OPEN && path)
		ckpt_writes_opened(log, path, buf);
	else if (mask & FS_CLOSE_WRITE && path)
		ckpt_writes_closed(log, path, buf);
	else if (mask & FS_RENAME && dentry && entry)
		ckpt_writes_renamed(log, mask, dentry, dir, name, buf);
	else if (mask & (FS_CREATE | FS_DELETE) && entry && ckpt_writes_has_names(inode))
		ckpt_writes_entry(log, mask, dir, name, inode, buf);
	kfree(buf);
}

static bool ckpt_writes_is_long(const struct path *path)
{
	return path && i_size_read(d_inode(path->dentry)) > CKPT_WRITES_LONG;
}

/* Opens for reading, and writes of files that are not long, are many and tell nothing. */
static bool ckpt_writes_matters(u32 mask, const void *data, int data_type)
{
	const struct path *path = fsnotify_data_path(data, data_type);

	if (mask & FS_MODIFY)
		return data_type == FSNOTIFY_EVENT_DENTRY || ckpt_writes_is_long(path);
	if (mask & FS_OPEN)
		return path && ckpt_fsnotify_file(path)->f_mode & FMODE_WRITE;
	return true;
}

static int ckpt_writes_handle(struct fsnotify_group *group, u32 mask, const void *data,
			      int data_type, struct inode *dir, const struct qstr *name,
			      u32 cookie, struct fsnotify_iter_info *iter)
{
	const struct inode *inode = fsnotify_data_inode(data, data_type);
	const struct path *path = fsnotify_data_path(data, data_type);
	struct ckpt_write_log *log;

	if (!ckpt_writes_matters(mask, data, data_type))
		return 0;
	log = ckpt_write_log_get();
	if (!log)
		return 0;
	if (mask & FS_OPEN && ckpt_writes_is_long(path))	/* by a restart, too */
		ckpt_write_log_rewrites(log, ckpt_fsnotify_file(path), true);
	if (ckpt_write_log_is_quiet(log))
		;
	else if (mask & FS_MOVE_SELF)
		ckpt_write_log_renamed(log);
	else if (mask & FS_ATTRIB && !(mask & FS_MODIFY))
		ckpt_write_log_replaced(log, inode);
	else
		ckpt_writes_event(log, mask, data, data_type, dir, name);
	ckpt_write_log_put(log);
	return 0;
}

/* ------------------------------------------------------------ marks */

static void ckpt_writes_free_mark(struct fsnotify_mark *mark)
{
	kfree(container_of(mark, struct ckpt_write_fs, mark));
}

static const struct fsnotify_ops ckpt_writes_ops = {
	.handle_event = ckpt_writes_handle,
	.free_mark = ckpt_writes_free_mark,
};

/* 1: the file system has a mark now; 0: it had one before */
static int ckpt_writes_mark(struct super_block *sb)
{
	struct fsnotify_mark *mark = ckpt_fsnotify_find(sb, ckpt_writes.group);
	struct ckpt_write_fs *fs;
	int err;

	lockdep_assert_held(&ckpt_writes.lock);
	if (mark) {
		fsnotify_put_mark(mark);
		return 0;
	}
	fs = kzalloc(sizeof(*fs), GFP_KERNEL_ACCOUNT);
	if (!fs)
		return -ENOMEM;
	fsnotify_init_mark(&fs->mark, ckpt_writes.group);
	fs->mark.mask = CKPT_WRITES_EVENTS;
	err = ckpt_fsnotify_add(&fs->mark, sb);
	if (err) {
		fsnotify_put_mark(&fs->mark);
		return err;
	}
	list_add(&fs->link, &ckpt_writes.fs);	/* with our reference */
	return 1;
}

/* Forget marks of file systems that are unmounted, or all. */
static void ckpt_writes_unmark(bool all)
{
	struct ckpt_write_fs *fs, *next;

	lockdep_assert_held(&ckpt_writes.lock);
	list_for_each_entry_safe(fs, next, &ckpt_writes.fs, link) {
		if (!all && fs->mark.flags & FSNOTIFY_MARK_FLAG_ATTACHED)
			continue;
		list_del(&fs->link);
		fsnotify_destroy_mark(&fs->mark, ckpt_writes.group);
		fsnotify_put_mark(&fs->mark);
	}
}

static void ckpt_writes_sweep(struct work_struct *work)
{
	unsigned int left;

	mutex_lock(&ckpt_writes.lock);
	left = ckpt_write_logs_sweep(false);
	ckpt_writes_unmark(!left);
	if (left)
		schedule_delayed_work(&ckpt_writes.sweep, msecs_to_jiffies(CKPT_WRITES_SWEEP_MS));
	mutex_unlock(&ckpt_writes.lock);
}

/* ------------------------------------------------------------ commands */

static struct pid *ckpt_writes_pid(struct ckpt_ctx *ctx, pid_t nr)
{
	struct pid *pid;

	rcu_read_lock();
	pid = get_pid(find_pid_ns(nr, ctx->pid_ns));
	rcu_read_unlock();
	return pid;
}

static int ckpt_writes_mark_fd(struct pid *init, int fd)
{
	struct file *file = fget_raw(fd);
	int ret;

	if (!file)
		return -EBADF;
	ret = ckpt_write_logs_root(init, &file->f_path);
	if (!ret)
		ret = ckpt_writes_mark(file->f_path.dentry->d_sb);
	fput(file);
	return ret;
}

static int ckpt_writes_mark_all(struct pid *init, struct ckpt_writes_start *arg)
{
	const s32 __user *fds = u64_to_user_ptr(arg->fds);
	unsigned int i;
	int ret = 0;
	s32 fd;

	for (i = 0; i < arg->nr && ret >= 0; i++) {
		if (get_user(fd, fds + i))
			return -EFAULT;
		ret = ckpt_writes_mark_fd(init, fd);
		if (ret > 0)
			arg->nr_added++;
	}
	return min(ret, 0);
}

int ckpt_writes_start(struct ckpt_ctx *ctx, struct ckpt_writes_start *arg)
{
	struct pid *pid;
	int err;

	if (arg->pad || arg->nr > CKPT_WRITES_FS_MAX)
		return -EINVAL;
	if (!ckpt_ctx_permitted())
		return -EPERM;
	arg->nr_added = 0;
	pid = ckpt_writes_pid(ctx, arg->pid);
	if (!pid)
		return -ESRCH;
	err = -EINVAL;
	if (is_child_reaper(pid) && ns_of_pid(pid)->parent) {
		mutex_lock(&ckpt_writes.lock);
		err = ckpt_write_logs_add(pid, arg->tag, arg->flags & CKPT_WRITES_START_LOST);
		if (!err) {
			err = ckpt_writes_mark_all(pid, arg);
			schedule_delayed_work(&ckpt_writes.sweep,
					      msecs_to_jiffies(CKPT_WRITES_SWEEP_MS));
		}
		mutex_unlock(&ckpt_writes.lock);
	}
	put_pid(pid);
	return err;
}

int ckpt_writes_read(struct ckpt_ctx *ctx, struct ckpt_writes_read *arg)
{
	struct pid *pid;
	int err;

	if (!ckpt_ctx_permitted())
		return -EPERM;
	if (arg->tag && arg->pid)
		return -EINVAL;
	if (arg->tag)
		return ckpt_write_logs_read(NULL, arg);
	if (arg->flags & CKPT_WRITES_READ_DROP)
		return -EINVAL;
	pid = ckpt_writes_pid(ctx, arg->pid);
	if (!pid)
		return -ESRCH;
	err = ckpt_write_logs_read(ns_of_pid(pid), arg);
	put_pid(pid);
	return err;
}

static int ckpt_writes_add_at(struct ckpt_write_log *log, struct dentry *dir,
			      const struct ckpt_writes_add *arg, char *room)
{
	const struct ckpt_write_change change = {
		.add = arg->write_flags | CKPT_WRITE_TOLD, .writes = arg->writes,
	};
	struct qstr name = { .name = room + PATH_MAX, .len = arg->name_len };
	char *path;

	if (copy_from_user(room + PATH_MAX, u64_to_user_ptr(arg->name), arg->name_len))
		return -EFAULT;
	if (memchr(name.name, '/', name.len) || memchr(name.name, 0, name.len))
		return -EINVAL;
	path = ckpt_writes_path(dir, &name, room);
	if (IS_ERR(path))
		return PTR_ERR(path);
	ckpt_write_log_note(log, dir->d_sb->s_dev, path, &change);
	return 0;
}

int ckpt_writes_add(struct ckpt_ctx *ctx, struct ckpt_writes_add *arg)
{
	const u32 known = CKPT_WRITE_CLOSED | CKPT_WRITE_APPENDS | CKPT_WRITE_CREATED |
			  CKPT_WRITE_RENAMED | CKPT_WRITE_GONE;
	struct ckpt_write_log *log;
	struct file *file;
	char *room;
	int err;

	if ((!arg->name_len && !arg->flags) || arg->write_flags & ~known)
		return -EINVAL;
	if (arg->name_len > NAME_MAX)
		return -ENAMETOOLONG;
	log = ckpt_write_log_get();
	if (log && arg->flags & CKPT_WRITES_ADD_CLEAR)
		ckpt_write_log_clear(log);
	if (log && arg->flags & CKPT_WRITES_ADD_LOST)
		ckpt_write_log_overflow(log);
	if (!arg->name_len) {
		if (log)
			ckpt_write_log_put(log);
		return log ? 0 : -ENODATA;
	}
	file = fget_raw(arg->dir);
	if (!file) {
		if (log)
			ckpt_write_log_put(log);
		return -EBADF;
	}
	room = kmalloc(PATH_MAX + NAME_MAX + 1, GFP_KERNEL);
	if (!log)
		err = -ENODATA;
	else if (!room)
		err = -ENOMEM;
	else if (!d_is_dir(file->f_path.dentry))
		err = -EINVAL;
	else
		err = ckpt_writes_add_at(log, file->f_path.dentry, arg, room);
	kfree(room);
	if (log)
		ckpt_write_log_put(log);
	fput(file);
	return err;
}

/* ------------------------------------------------------------ life */

int __init ckpt_writes_init(void)
{
	struct fsnotify_group *group = fsnotify_alloc_group(&ckpt_writes_ops, 0);

	if (IS_ERR(group))
		return PTR_ERR(group);
	ckpt_writes.group = group;
	return 0;
}

void ckpt_writes_exit(void)
{
	cancel_delayed_work_sync(&ckpt_writes.sweep);
	mutex_lock(&ckpt_writes.lock);
	ckpt_writes_unmark(true);
	mutex_unlock(&ckpt_writes.lock);
	fsnotify_wait_marks_destroyed();
	fsnotify_put_group(ckpt_writes.group);
	ckpt_write_logs_sweep(true);
	rcu_barrier();
}
