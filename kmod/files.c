// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptor tables, and one FILE record per open file description.
 *
 * Every descriptor table is walked twice: first to number the files that
 * descriptors refer to, before mappings are looked at, then to emit FD records.
 * A file that is only mapped or executed is known by its inode and the way it
 * was opened, so that ten thousand mappings of one library are one file, unless its
 * description has a lock; a directory is known by its path.
 *
 * All holders of a table are frozen, so the table does not change between the walks, unless
 * threads are left out.  A file that such a thread opens between the walks is not seen; a file
 * that it closes is recorded without a descriptor.  Each walk takes references under file_lock
 * and works on those.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/hugetlb.h>
#include <linux/mount.h>
#include <linux/path.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include "collect.h"
#include "collect_kind.h"
#include "compat/ksyms.h"
#include "compat/lsm.h"
#include "context.h"
#include "records.h"
#include "thread.h"

#define CKPT_FD_BATCH	64

typedef int (*ckpt_fd_fn)(struct ckpt_collect *c, struct ckpt_object *table, int fd,
			  struct file *file, bool cloexec, const void *arg);

struct ckpt_fd_batch {
	unsigned int nr;
	struct {
		int fd;
		bool cloexec;
		struct file *file;	/* reference */
	} fds[CKPT_FD_BATCH];
};

/* ------------------------------------------------------- descriptor tables */

/* Fill the batch from descriptor @fd on; returns the descriptor to go on with, or -1. */
static int ckpt_fds_next(struct files_struct *files, int fd, struct ckpt_fd_batch *batch)
{
	struct fdtable *fdt;
	int next = -1;

	batch->nr = 0;
	spin_lock(&files->file_lock);
	fdt = files_fdtable(files);
	for (; fd < fdt->max_fds; fd++) {
		struct file *file = rcu_dereference_protected(fdt->fd[fd],
				lockdep_is_held(&files->file_lock));

		if (!file)
			continue;
		if (batch->nr == CKPT_FD_BATCH) {
			next = fd;
			break;
		}
		batch->fds[batch->nr].fd = fd;
		batch->fds[batch->nr].cloexec = test_bit(fd, fdt->close_on_exec);
		batch->fds[batch->nr++].file = get_file(file);
	}
	spin_unlock(&files->file_lock);
	return next;
}

/* Call @fn for all descriptors that are not left out, until it returns other than 0. */
static int ckpt_fds_walk(struct ckpt_collect *c, struct ckpt_object *table, ckpt_fd_fn fn,
			 const void *arg)
{
	const struct ckpt_excludes *ex = &c->tree->excludes;
	pid_t pid = ckpt_collect_host_pid(c, table->task);
	struct ckpt_fd_batch *batch;
	int err = 0, next = 0;
	unsigned int i;

	batch = kmalloc(sizeof(*batch), GFP_KERNEL_ACCOUNT);
	if (!batch)
		return -ENOMEM;
	while (next >= 0 && !err) {
		next = ckpt_fds_next(table->files.files, next, batch);
		for (i = 0; i < batch->nr; i++) {
			int fd = batch->fds[i].fd;

			if (!err && !ckpt_excludes_one(ex, CKPT_EXCLUDE_FD, pid, fd) &&
			    !ckpt_file_is_taken_away(c, batch->fds[i].file))
				err = fn(c, table, fd, batch->fds[i].file,
					 batch->fds[i].cloexec, arg);
			fput(batch->fds[i].file);
		}
		if (ckpt_capture_expired(c->ctx))
			err = -ETIMEDOUT;
		else if (fatal_signal_pending(current))
			err = -EINTR;
	}
	kfree(batch);
	return err;
}

/* A descriptor leads to the file, for the first time. */
static int ckpt_file_meet(struct ckpt_collect *c, struct ckpt_object *obj)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && ckpt_collect_kinds[i]; i++)
		if (ckpt_collect_kinds[i]->meet)
			err = ckpt_collect_kinds[i]->meet(c, obj);
	return err;
}

/* Number an open file; *ret_obj is its object. */
static int ckpt_file_number(struct ckpt_collect *c, struct file *file, struct task_struct *task,
			    struct ckpt_object **ret_obj)
{
	struct ckpt_object *obj;
	bool is_new;

	obj = ckpt_object_get(c->objs, CKPT_OBJ_FILE, file, NULL, &is_new);
	if (!obj)
		return -ENOMEM;
	*ret_obj = obj;
	obj->file.flags |= CKPT_FILE_OPEN;
	obj->users++;
	if (!is_new)
		return 0;
	obj->file.file = get_file(file);
	obj->task = task;
	return ckpt_file_meet(c, obj);
}

static int ckpt_fd_number(struct ckpt_collect *c, struct ckpt_object *table, int fd,
			  struct file *file, bool cloexec, const void *arg)
{
	struct ckpt_object *obj;

	return ckpt_file_number(c, file, table->task, &obj);
}

int ckpt_collect_travelling(struct ckpt_collect *c, struct file *file, struct task_struct *task)
{
	struct ckpt_object *obj;
	int err = ckpt_file_number(c, file, task, &obj);

	if (!err)
		obj->file.emitted = true;
	return err;
}

static int ckpt_fd_emit(struct ckpt_collect *c, struct ckpt_object *table, int fd,
			struct file *file, bool cloexec, const void *arg)
{
	struct ckpt_object *obj = ckpt_object_find(c->objs, CKPT_OBJ_FILE, file, NULL);
	struct ckpt_rec_fd *rec;

	if (!obj)
		return 0;	/* opened by a thread left out, or a killed process ends */
	rec = ckpt_records_add(c->recs, CKPT_REC_FD, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	obj->file.emitted = true;
	rec->files_id = table->id;
	rec->fd = fd;
	rec->file = obj->id;
	rec->cloexec = cloexec;
	return 0;
}

int ckpt_collect_files_object(struct ckpt_collect *c, struct task_struct *task)
{
	struct files_struct *files;
	struct ckpt_object *obj;
	bool is_new;
	int err = 0;

	task_lock(task);
	files = task->files;
	if (files)
		atomic_inc(&files->count);
	task_unlock(task);
	if (!files)
		return 0;
	obj = ckpt_object_get(c->objs, CKPT_OBJ_FILES, files, NULL, &is_new);
	if (!obj) {
		ckpt_k(put_files_struct)(files);
		return -ENOMEM;
	}
	obj->users++;
	if (is_new) {
		obj->files.files = files;	/* the object takes the reference over */
		obj->task = task;
		err = ckpt_fds_walk(c, obj, ckpt_fd_number, NULL);
	} else {
		ckpt_k(put_files_struct)(files);
	}
	return err;
}

static void ckpt_files_check_sharing(struct ckpt_collect *c, struct ckpt_object *obj)
{
	pid_t pid;

	if (atomic_read(&obj->files.files->count) <= obj->users + obj->excluded + 1)
		return;
	if (ckpt_collect_find_stranger(c, obj->files.files, &pid))
		ckpt_refuse(c->cap, CKPT_R_SHARED_FILES, obj->task, pid,
			    "shared with pid %d", pid);
}

int ckpt_collect_fds(struct ckpt_collect *c, struct ckpt_object *obj)
{
	ckpt_files_check_sharing(c, obj);
	return ckpt_fds_walk(c, obj, ckpt_fd_emit, NULL);
}

static int ckpt_fd_is(struct ckpt_collect *c, struct ckpt_object *table, int fd,
		      struct file *file, bool cloexec, const void *arg)
{
	return file == arg;
}

int ckpt_collect_table_has(struct ckpt_collect *c, u32 table, const struct file *file)
{
	struct ckpt_object *obj = ckpt_object_by_id(c->objs, CKPT_OBJ_FILES, table);

	return obj ? ckpt_fds_walk(c, obj, ckpt_fd_is, file) : 0;
}

/* --------------------------------------- mapped files, and files by path */

u32 ckpt_collect_mapped_file(struct ckpt_collect *c, struct task_struct *task,
			     struct file *file, u32 flags)
{
	struct ckpt_object *obj;
	unsigned long how;
	bool is_new = false;

	obj = ckpt_object_find(c->objs, CKPT_OBJ_FILE, file, NULL);
	if (!obj && ckpt_file_has_locks(file)) {
		obj = ckpt_object_get(c->objs, CKPT_OBJ_FILE, file, NULL, &is_new);
	} else if (!obj) {
		how = (__force unsigned long)(file->f_mode & (FMODE_READ | FMODE_WRITE));
		obj = ckpt_object_get(c->objs, CKPT_OBJ_FILE, file_inode(file),
				      (void *)(how | 0x100), &is_new);
	}
	if (!obj) {
		c->error = -ENOMEM;
		return 0;
	}
	if (is_new) {
		obj->file.file = get_file(file);
		obj->task = task;
	}
	obj->file.flags |= flags;
	return obj->id;
}

u32 ckpt_collect_path(struct ckpt_collect *c, struct task_struct *task,
		      const struct path *path)
{
	struct ckpt_object *obj;
	bool is_new;

	obj = ckpt_object_get(c->objs, CKPT_OBJ_FILE, path->dentry, path->mnt, &is_new);
	if (!obj) {
		c->error = -ENOMEM;
		return 0;
	}
	if (is_new) {
		obj->file.path = kmemdup(path, sizeof(*path), GFP_KERNEL_ACCOUNT);
		if (obj->file.path)
			path_get(obj->file.path);
		obj->task = task;
	}
	return obj->id;
}

/* -------------------------------------------------------------- FILE records */

static bool ckpt_file_task_root(struct task_struct *task, struct path *ret_root)
{
	bool ok;

	task_lock(task);
	ok = task->fs;
	if (ok)
		get_fs_root(task->fs, ret_root);
	task_unlock(task);
	return ok;
}

/* The path as the process sees it, or as the kernel does if the process cannot see it. */
static char *ckpt_file_path(struct ckpt_object *obj, const struct path *path, char *buf,
			    size_t size)
{
	const struct dentry_operations *ops = path->dentry->d_op;
	struct path root;
	char *p;

	if (ops && ops->d_dname)	/* a name that is no path */
		return d_path(path, buf, size);
	if (!ckpt_file_task_root(obj->task, &root))
		return d_path(path, buf, size);
	p = ckpt_k(__d_path)(path, &root, buf, size);
	path_put(&root);
	if (p)
		return p;
	obj->file.flags |= CKPT_FILE_UNREACHABLE;
	p = ckpt_k(d_absolute_path)(path, buf, size);
	return IS_ERR(p) ? d_path(path, buf, size) : p;
}

/*
 * True if the file has no link any more.  The kernel says " (deleted)" in the names of files it
 * made itself, too; the function takes that word off @name.
 */
static bool ckpt_file_strip_deleted(char *name, struct dentry *dentry)
{
	static const char suffix[] = " (deleted)";
	const size_t n = sizeof(suffix) - 1;
	size_t len = strlen(name);
	bool internal = dentry->d_op && dentry->d_op->d_dname;
	bool has_suffix = len > n && !strcmp(name + len - n, suffix);

	if (!d_unlinked(dentry) && !(internal && has_suffix))
		return false;
	if (has_suffix)
		name[len - n] = '\0';
	return true;
}

char *ckpt_collect_path_text(struct ckpt_object *file_obj, const struct path *path, char *buf,
			     size_t size)
{
	char *name = ckpt_file_path(file_obj, path, buf, size);

	if (!IS_ERR(name))
		ckpt_file_strip_deleted(name, path->dentry);
	return name;
}

static void ckpt_file_seals(struct inode *inode, struct ckpt_rec_file *rec)
{
	if (rec->kind != CKPT_FILE_MEMFD && rec->kind != CKPT_FILE_HUGETLB)
		return;
	if (rec->fs_magic == TMPFS_MAGIC)
		rec->seals = SHMEM_I(inode)->seals;
#ifdef CONFIG_HUGETLBFS
	else if (rec->fs_magic == HUGETLBFS_MAGIC)
		rec->seals = HUGETLBFS_I(inode)->seals;
#endif
}

static int ckpt_file_stat(const struct path *path, struct ckpt_rec_file *rec)
{
	struct kstat stat;
	int err;

	err = vfs_getattr(path, &stat, STATX_BASIC_STATS, AT_STATX_DONT_SYNC);
	if (err)
		return err;
	rec->dev = new_encode_dev(stat.dev);
	rec->rdev = new_encode_dev(stat.rdev);
	rec->ino = stat.ino;
	rec->size = stat.size;
	rec->mode = stat.mode;
	rec->nlink = stat.nlink;
	rec->uid = from_kuid_munged(&init_user_ns, stat.uid);
	rec->gid = from_kgid_munged(&init_user_ns, stat.gid);
	rec->mtime_ns = stat.mtime.tv_sec * NSEC_PER_SEC + stat.mtime.tv_nsec;
	rec->ctime_ns = stat.ctime.tv_sec * NSEC_PER_SEC + stat.ctime.tv_nsec;
	return 0;
}

static void ckpt_file_fill_open(struct ckpt_object *obj, struct ckpt_rec_file *rec)
{
	struct file *file = obj->file.file;
	struct ckpt_object *pipe = obj->file.pipe;

	rec->kind = ckpt_file_kind(file, &rec->object);
	rec->flags |= ckpt_file_tty_flags(file, rec->kind);
	rec->f_flags = file->f_flags;
	rec->f_mode = (__force u32)file->f_mode;
	rec->pos = file->f_pos;
	if (rec->kind != CKPT_FILE_PATH && ckpt_file_has_owner(file))
		rec->flags |= CKPT_FILE_OWNER;
	if (rec->kind == CKPT_FILE_SYSV)
		rec->ino |= CKPT_SYSV_INO;
	if (pipe) {
		rec->object = pipe->id;
		if (pipe->pipe.external)
			rec->flags |= CKPT_FILE_EXTERNAL;
		if (ckpt_file_is_unseen_fifo(file))
			rec->flags |= CKPT_FILE_FIFO_UNSEEN;
	}
}

/* Is the object one open file description, not all that are mapped of an inode? */
static bool ckpt_file_is_description(const struct ckpt_object *obj)
{
	return obj->file.file && obj->key == obj->file.file;
}

/* Write the records that follow a FILE record; @file_kind is that of the record. */
static int ckpt_file_emit_more(struct ckpt_collect *c, struct ckpt_object *obj, u32 file_kind)
{
	const struct ckpt_collect_kind *kind = ckpt_collect_kind_of(file_kind);
	int err = 0;

	/* where no file operation is allowed there are no locks */
	if (ckpt_file_is_description(obj) && file_kind != CKPT_FILE_PATH)
		err = ckpt_collect_locks(c, obj);
	if (!err && kind && kind->collect && obj->file.flags & CKPT_FILE_OPEN)
		err = kind->collect(c, obj);
	return err;
}

static int ckpt_file_emit(struct ckpt_collect *c, struct ckpt_object *obj, char *buf)
{
	const struct path *path = obj->file.path;
	struct ckpt_rec_file *rec;
	size_t len;
	char *name;

	if (obj->file.file)
		path = ckpt_file_user_path(obj->file.file);
	if (!path)
		return -ENOMEM;
	if (!obj->file.emitted)
		obj->file.flags &= ~CKPT_FILE_OPEN;
	name = ckpt_file_path(obj, path, buf, PATH_MAX);
	if (IS_ERR(name))
		name = strcpy(buf, "(path too long)");
	if (ckpt_file_strip_deleted(name, path->dentry))
		obj->file.flags |= CKPT_FILE_DELETED;
	len = strlen(name) + 1;
	rec = ckpt_records_add(c->recs, CKPT_REC_FILE, sizeof(*rec) + len);
	if (!rec)
		return -ENOMEM;
	rec->id = obj->id;
	rec->kind = CKPT_FILE_DIR;
	rec->flags = obj->file.flags;
	rec->fs_magic = path->dentry->d_sb->s_magic;
	rec->pid = ckpt_collect_host_pid(c, obj->task);
	rec->path_len = len;
	memcpy(rec + 1, name, len);
	if (ckpt_file_stat(path, rec))
		ckpt_refuse(c->cap, CKPT_R_FD_KIND, obj->task, obj->id, "cannot stat %s",
			    name);
	if (obj->file.file) {
		ckpt_file_fill_open(obj, rec);
		ckpt_file_seals(file_inode(obj->file.file), rec);
		ckpt_file_check(c, obj, rec->kind);
		ckpt_file_check_mappers(c, obj);
	}
	return ckpt_file_emit_more(c, obj, rec->kind);
}

int ckpt_collect_files(struct ckpt_collect *c)
{
	struct ckpt_object *obj;
	unsigned long id;
	unsigned int i;
	int err = 0;
	char *buf;

	for (i = 0; ckpt_collect_kinds[i]; i++)
		if (ckpt_collect_kinds[i]->met)
			ckpt_collect_kinds[i]->met(c);
	buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_FILE) {
		if (ckpt_capture_expired(c->ctx))
			err = -ETIMEDOUT;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		else
			err = ckpt_file_emit(c, obj, buf);
		if (err)
			break;
	}
	kfree(buf);
	for (i = 0; !err && ckpt_collect_kinds[i]; i++)
		if (ckpt_collect_kinds[i]->finish)
			err = ckpt_collect_kinds[i]->finish(c);
	return err;
}

/* ------------------------------------------------------------- FILE_GET */

/*
 * A file that the kernel opened for a mapping alone cannot be read at a position, so it is opened
 * anew.
 */
static struct file *ckpt_file_open(struct ckpt_ctx *ctx, struct ckpt_object *obj, u32 flags)
{
	struct file *file = obj->file.file;
	const struct path *path = file ? ckpt_file_user_path(file) : NULL;

	if (file && flags & CKPT_FILE_GET_PATH)
		return dentry_open(path, O_PATH, ctx->cred);

	/* an overlay maps a file of a layer, which must not get a descriptor */
	if (file && S_ISREG(file_inode(file)->i_mode) && !(file->f_mode & FMODE_PATH) &&
	    (!(file->f_mode & FMODE_PREAD) || path != &file->f_path))
		return dentry_open(path, O_RDONLY | O_LARGEFILE, ctx->cred);
	if (file)
		return get_file(file);
	if (obj->file.path)
		return dentry_open(obj->file.path, O_PATH | O_DIRECTORY, ctx->cred);
	return ERR_PTR(-EBADFD);
}

static int ckpt_file_install(struct ckpt_ctx *ctx, struct ckpt_object *obj, s32 __user *ufd,
			     u32 flags)
{
	struct file *file;
	int fd, err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = ckpt_file_open(ctx, obj, flags);
	if (IS_ERR(file)) {
		err = PTR_ERR(file);
		goto err_fd;
	}
	/* receive_fd() asks this, too, but would make a socket the caller's in its statistics */
	err = ckpt_file_may_receive(file);
	if (!err && put_user(fd, ufd))
		err = -EFAULT;
	if (err)
		goto err_file;
	fd_install(fd, file);
	return 0;

err_file:
	fput(file);
err_fd:
	put_unused_fd(fd);
	return err;
}

int ckpt_capture_file_get(struct ckpt_ctx *ctx, struct ckpt_file_get *arg)
{
	u32 __user *ids = u64_to_user_ptr(arg->ids);
	s32 __user *fds = u64_to_user_ptr(arg->fds);
	u32 i, id;
	int err;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_COLLECTED);
	if (err)
		return err;
	if (!arg->nr || arg->nr > CKPT_FILE_GET_MAX || arg->pad)
		return -EINVAL;
	for (i = 0; i < arg->nr; i++) {
		struct ckpt_object *obj;

		if (get_user(id, ids + i))
			return -EFAULT;
		obj = ckpt_object_by_id(&ctx->capture->objects, CKPT_OBJ_FILE, id);
		if (!obj)
			return -ENOENT;
		err = ckpt_file_install(ctx, obj, fds + i, arg->flags);
		if (err)
			return err;
	}
	return 0;
}
