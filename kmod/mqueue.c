// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX message queues: their messages, who is told of one, and how many have a queue open.
 *
 * No system call reads a message without taking it, and none tells whom mq_notify(3) has named.
 * All that happens under the queue's own lock and changes nothing.  A descriptor of a queue that a
 * process outside the tree has, too, is refused; other open files of the queue are counted, for the
 * caller to judge.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/ipc_namespace.h>
#include <linux/mount.h>
#include <linux/nsproxy.h>
#include <linux/path.h>
#include <linux/pid.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "collect.h"
#include "collect_kind.h"
#include "compat/layout.h"
#include "compat/mqueue.h"
#include "context.h"
#include "restore.h"
#include "thread.h"

bool ckpt_mqueue_is_known(void)
{
	return IS_ENABLED(CONFIG_POSIX_MQUEUE) && ckpt_layout_fits(CKPT_LAYOUT_MQUEUE) &&
	       ckpt_layout_fits(CKPT_LAYOUT_MQUEUE_LEAF) &&
	       ckpt_layout_fits(CKPT_LAYOUT_MSG_SEGMENT);
}

bool ckpt_collects_mqueue(const struct ckpt_collect *c)
{
	return c->tree->flags & CKPT_TARGET_MQUEUE && ckpt_mqueue_is_known();
}

bool ckpt_file_is_mqueue(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) && !strcmp(inode->i_sb->s_type->name, "mqueue");
}

static int ckpt_mqueue_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	if (!ckpt_collects_mqueue(c))
		ckpt_refuse(c->cap, CKPT_R_FD_KIND, obj->task, obj->id, "POSIX message queue %pD",
			    obj->file.file);
	else
		ckpt_file_is_own(c, obj, CKPT_R_MQUEUE);
	return 0;
}

const struct ckpt_collect_kind ckpt_kind_mqueue = {
	.kinds = { CKPT_FILE_MQUEUE },
	.collect = ckpt_mqueue_collect,
};

static struct ckpt_mqueue *ckpt_mqueue_of(const struct file *file)
{
	return container_of(file_inode(file), struct ckpt_mqueue, vfs_inode);
}

/* ---------------------------------------------------------------- peek */

static void ckpt_msg_copy(const struct msg_msg *msg, u8 *to)
{
	const struct ckpt_msg_segment *segment;
	size_t left = msg->m_ts, part = min_t(size_t, left, CKPT_MSG_FIRST);

	memcpy(to, msg + 1, part);
	for (segment = (const void *)msg->next; segment; segment = segment->next) {
		to += part;
		left -= part;
		part = min_t(size_t, left, CKPT_MSG_SEGMENT);
		memcpy(to, segment + 1, part);
	}
}

/* Copy all messages to @buf, as far as there is room; the room that they need. */
static u64 ckpt_mqueue_copy(const struct ckpt_mqueue *mq, u8 *buf, u64 room)
{
	const struct ckpt_mqueue_leaf *leaf;
	const struct msg_msg *msg;
	struct rb_node *node;
	u64 at = 0;

	for (node = rb_last(&mq->msg_tree); node; node = rb_prev(node)) {
		leaf = rb_entry(node, struct ckpt_mqueue_leaf, rb_node);
		list_for_each_entry(msg, &leaf->msg_list, m_list) {
			u64 len = sizeof(struct ckpt_mq_message) + ALIGN(msg->m_ts, 8);
			struct ckpt_mq_message *to = (void *)(buf + at);

			if (at + len <= room) {
				to->priority = leaf->priority;
				to->len = msg->m_ts;
				ckpt_msg_copy(msg, (u8 *)(to + 1));
			}
			at += len;
		}
	}
	return at;
}

/* Does the kernel still signal the process? Not after an exec; the queue's place stays taken. */
static bool ckpt_mqueue_reaches(const struct ckpt_mqueue *mq)
{
	const struct task_struct *task;
	bool reaches;

	rcu_read_lock();
	task = pid_task(mq->notify_owner, PIDTYPE_TGID);
	reaches = task && task->self_exec_id == mq->notify_self_exec_id;
	rcu_read_unlock();
	return reaches;
}

static void ckpt_mqueue_tell(const struct ckpt_mqueue *mq, struct ckpt_mq_peek *arg)
{
	arg->nr = mq->attr.mq_curmsgs;
	arg->maxmsg = mq->attr.mq_maxmsg;
	arg->msgsize = mq->attr.mq_msgsize;
	arg->notify = CKPT_MQ_NOBODY;
	if (!mq->notify_owner)
		return;
	arg->notify = mq->notify.sigev_notify;
	if (arg->notify == SIGEV_SIGNAL && !ckpt_mqueue_reaches(mq))
		arg->notify = SIGEV_NONE;
	arg->notify_pid = pid_vnr(mq->notify_owner);
	arg->notify_signo = mq->notify.sigev_signo;
	arg->notify_value = (uintptr_t)mq->notify.sigev_value.sival_ptr;
}

/* Open files of the queue: each has its name; the directory has the name, too, if there is one. */
static u32 ckpt_mqueue_users(const struct file *file)
{
	const struct dentry *name = file->f_path.dentry;

	return d_count(name) - (d_unlinked(name) ? 0 : 1);
}

static int ckpt_mqueue_give(const struct file *file, struct ckpt_mq_peek *arg)
{
	struct ckpt_mqueue *mq = ckpt_mqueue_of(file);
	u64 room = arg->len;
	u8 *buf;
	int err = 0;

	if (room > CKPT_MQ_BYTES_MAX)
		room = CKPT_MQ_BYTES_MAX;
	buf = kvzalloc(room + 1, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	spin_lock(&mq->lock);
	arg->users = ckpt_mqueue_users(file);
	ckpt_mqueue_tell(mq, arg);
	arg->len = ckpt_mqueue_copy(mq, buf, room);
	spin_unlock(&mq->lock);
	if (arg->len > CKPT_MQ_BYTES_MAX)
		err = -EFBIG;
	else if (arg->len > room)
		err = -ENOSPC;
	else if (copy_to_user(u64_to_user_ptr(arg->buf), buf, arg->len))
		err = -EFAULT;
	kvfree(buf);
	return err;
}

/* May the caller read the queue, and whoever opened the device? */
static int ckpt_mqueue_permitted(const struct ckpt_ctx *ctx, struct file *file)
{
	int err = file_permission(file, MAY_READ);
	const struct cred *before;

	if (err)
		return err;
	before = override_creds(ctx->cred);
	err = file_permission(file, MAY_READ);
	revert_creds(before);
	return err;
}

static int ckpt_mqueue_peek(struct ckpt_ctx *ctx, struct ckpt_mq_peek *arg)
{
	struct file *file = fget_raw(arg->fd);
	int err = -ENOTTY;

	if (!file)
		return -EBADF;
	if (ckpt_file_is_mqueue(file))
		err = ckpt_mqueue_permitted(ctx, file);
	if (!err)
		err = ckpt_mqueue_give(file, arg);
	fput(file);
	return err;
}

/* ---------------------------------------------------------------- directory */

/* The directory of all queues in the tree's IPC namespace; false: the tree has ended. */
static bool ckpt_mqueue_root(const struct ckpt_tree *tree, struct path *ret_path)
{
	struct vfsmount *mount = NULL;
	unsigned int i;

	for (i = 0; !mount && i < tree->nr_members; i++) {
		struct task_struct *task = tree->members[i].task;

		task_lock(task);
		if (task->nsproxy) {
			mount = task->nsproxy->ipc_ns->mq_mnt;
			*ret_path = (struct path){ .mnt = mount, .dentry = mount->mnt_root };
			path_get(ret_path);
		}
		task_unlock(task);
	}
	return mount;
}

static int ckpt_mqueue_directory(struct ckpt_ctx *ctx, struct ckpt_mq_peek *arg)
{
	struct path path;
	struct file *file;
	int err, fd;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_COLLECTED);
	if (err)
		return err;
	if (!ckpt_mqueue_root(&ctx->capture->tree, &path))
		return -ESRCH;
	file = dentry_open(&path, O_RDONLY | O_DIRECTORY | O_LARGEFILE, ctx->cred);
	path_put(&path);
	if (IS_ERR(file))
		return PTR_ERR(file);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		fput(file);
		return fd;
	}
	fd_install(fd, file);
	arg->fd = fd;
	return 0;
}

int ckpt_mq_peek(struct ckpt_ctx *ctx, struct ckpt_mq_peek *arg)
{
	if (arg->pad)
		return -EINVAL;
	if (!ckpt_mqueue_is_known())
		return -EOPNOTSUPP;
	return arg->flags & CKPT_MQ_PEEK_DIRECTORY ? ckpt_mqueue_directory(ctx, arg) :
						     ckpt_mqueue_peek(ctx, arg);
}

/* ---------------------------------------------------------------- restore */

static int ckpt_mqueue_is_it(const void *inode, struct file *file, unsigned int fd)
{
	return file_inode(file) == inode && !(file->f_mode & FMODE_PATH);
}

/* Has the process the queue open? Its next close ends the registration, under the same lock. */
static bool ckpt_mqueue_is_open(const struct ckpt_mqueue *mq, struct task_struct *task)
{
	bool is_open;

	lockdep_assert_held(&mq->lock);
	task_lock(task);
	is_open = task->files &&
		  iterate_fd(task->files, 0, ckpt_mqueue_is_it, &mq->vfs_inode);
	task_unlock(task);
	return is_open;
}

static int ckpt_mqueue_register(struct ckpt_mqueue *mq, struct task_struct *task,
				const struct ckpt_rec_mq_notify *rec)
{
	struct pid *pid = get_task_pid(task, PIDTYPE_TGID);
	const struct cred *cred;
	int err = 0;

	if (!pid)
		return -ESRCH;
	cred = get_task_cred(task);
	spin_lock(&mq->lock);
	if (mq->notify_owner) {
		err = -EBUSY;
	} else if (!ckpt_mqueue_is_open(mq, task)) {
		err = -EBADF;
	} else {
		memset(&mq->notify, 0, sizeof(mq->notify));
		mq->notify.sigev_notify = rec->notify;
		mq->notify.sigev_signo = rec->signo;
		mq->notify.sigev_value.sival_ptr = (void __user *)(uintptr_t)rec->value;
		mq->notify_self_exec_id = task->self_exec_id;
		mq->notify_user_ns = get_user_ns(cred->user_ns);
		mq->notify_owner = get_pid(pid);
	}
	spin_unlock(&mq->lock);
	put_cred(cred);
	put_pid(pid);
	return err;
}

int ckpt_restore_mq_notify(struct ckpt_thread *thread, const struct ckpt_rec_mq_notify *rec)
{
	struct file *file;
	int err = -EINVAL;

	if (!ckpt_mqueue_is_known())
		return -EOPNOTSUPP;
	if (rec->pad || (rec->notify != SIGEV_NONE && rec->notify != SIGEV_SIGNAL) ||
	    (rec->notify == SIGEV_SIGNAL && !valid_signal(rec->signo)))
		return -EINVAL;
	file = fget(rec->fd);
	if (!file)
		return -EBADF;
	if (ckpt_file_is_mqueue(file))
		err = ckpt_mqueue_register(ckpt_mqueue_of(file), thread->task, rec);
	fput(file);
	return err;
}
