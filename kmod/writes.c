// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write logs are fed from here: marks of fsnotify on file systems, and what their events
 * mean.
 *
 * One group has a mark on every file system that a log was started or extended with. Every
 * process that closes a written file there, or changes a name, comes by; if no namespace of the
 * process has a log, that costs one look. A mark pins nothing: unmounting takes it away. When no
 * log is left, the marks go.
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

#define CKPT_WRITES_EVENTS	(FS_CLOSE_WRITE | FS_CREATE | FS_DELETE | FS_RENAME)
#define CKPT_WRITES_SWEEP_MS	10000

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

static void ckpt_writes_closed(struct ckpt_write_log *log, const struct path *path, char *buf)
{
	struct dentry *dentry = path->dentry;
	bool appends = ckpt_fsnotify_file(path)->f_flags & O_APPEND;
	char *name;

	if (!d_is_reg(dentry) || d_unlinked(dentry))
		return;
	name = ckpt_writes_path(dentry, NULL, buf);
	if (IS_ERR(name))
		ckpt_write_log_overflow(log);
	else
		ckpt_write_log_note(log, dentry->d_sb->s_dev, name, CKPT_WRITE_CLOSED |
				    (appends ? CKPT_WRITE_APPENDS : 0), CKPT_WRITE_GONE |
				    (appends ? 0 : CKPT_WRITE_APPENDS), 1);
}

static void ckpt_writes_entry(struct ckpt_write_log *log, u32 mask, struct inode *dir,
			      const struct qstr *name, char *buf)
{
	char *path = ckpt_writes_path_in(dir, name, buf);

	if (IS_ERR(path))
		ckpt_write_log_overflow(log);
	else if (mask & FS_DELETE)
		ckpt_write_log_gone(log, dir->i_sb->s_dev, path);
	else
		ckpt_write_log_note(log, dir->i_sb->s_dev, path, CKPT_WRITE_CREATED,
				    CKPT_WRITE_GONE, 0);
}

static void ckpt_writes_renamed(struct ckpt_write_log *log, u32 mask, struct dentry *moved,
				struct inode *dir, const struct qstr *name, char *buf)
{
	char *from = ckpt_writes_path_in(dir, name, buf), *room, *to;
	dev_t dev = dir->i_sb->s_dev;

	room = kmalloc(PATH_MAX, GFP_NOFS);
	to = room ? ckpt_writes_path(moved, NULL, room) : ERR_PTR(-ENOMEM);
	if (IS_ERR(from) || IS_ERR(to)) {
		ckpt_write_log_overflow(log);
	} else if (mask & FS_ISDIR) {
		ckpt_write_log_moved(log, dev, from, to);
	} else {
		ckpt_write_log_gone(log, dev, from);
		ckpt_write_log_note(log, dev, to, CKPT_WRITE_RENAMED,
				    CKPT_WRITE_GONE | CKPT_WRITE_APPENDS, 1);
	}
	kfree(room);
}

static void ckpt_writes_event(struct ckpt_write_log *log, u32 mask, const void *data,
			      int data_type, struct inode *dir, const struct qstr *name)
{
	const struct path *path = fsnotify_data_path(data, data_type);
	struct dentry *dentry = fsnotify_data_dentry(data, data_type);
	struct inode *inode = fsnotify_data_inode(data, data_type);
	char *buf = kmalloc(PATH_MAX, GFP_NOFS);

	if (!buf)
		ckpt_write_log_overflow(log);
	else if (mask & FS_CLOSE_WRITE && path)
		ckpt_writes_closed(log, path, buf);
	else if (mask & FS_RENAME && dentry && dir && name)
		ckpt_writes_renamed(log, mask, dentry, dir, name, buf);
	else if (mask & (FS_CREATE | FS_DELETE) && dir && name && inode && S_ISREG(inode->i_mode))
		ckpt_writes_entry(log, mask, dir, name, buf);
	kfree(buf);
}

static int ckpt_writes_handle(struct fsnotify_group *group, u32 mask, const void *data,
			      int data_type, struct inode *dir, const struct qstr *name,
			      u32 cookie, struct fsnotify_iter_info *iter)
{
	struct ckpt_write_log *log;

	if (mask & FS_ISDIR && !(mask & FS_RENAME))
		return 0;
	log = ckpt_write_log_get();
	if (!log)
		return 0;
	if (!ckpt_write_log_is_quiet(log))
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

static int ckpt_writes_mark_fd(int fd)
{
	struct file *file = fget_raw(fd);
	int ret;

	if (!file)
		return -EBADF;
	ret = ckpt_writes_mark(file->f_path.dentry->d_sb);
	fput(file);
	return ret;
}

static int ckpt_writes_mark_all(struct ckpt_writes_start *arg)
{
	const s32 __user *fds = u64_to_user_ptr(arg->fds);
	unsigned int i;
	int ret = 0;
	s32 fd;

	for (i = 0; i < arg->nr && ret >= 0; i++) {
		if (get_user(fd, fds + i))
			return -EFAULT;
		ret = ckpt_writes_mark_fd(fd);
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
		err = ckpt_write_logs_add(pid);
		if (!err) {
			err = ckpt_writes_mark_all(arg);
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
	struct qstr name = { .name = room + PATH_MAX, .len = arg->name_len };
	char *path;

	if (copy_from_user(room + PATH_MAX, u64_to_user_ptr(arg->name), arg->name_len))
		return -EFAULT;
	if (memchr(name.name, '/', name.len) || memchr(name.name, 0, name.len))
		return -EINVAL;
	path = ckpt_writes_path(dir, &name, room);
	if (IS_ERR(path))
		return PTR_ERR(path);
	ckpt_write_log_note(log, dir->d_sb->s_dev, path, arg->write_flags, 0, arg->writes);
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
	if (log && arg->flags)
		ckpt_write_log_clear(log);
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
