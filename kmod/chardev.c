// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ckpt: open makes a context, release ends it, ioctl dispatches.
 *
 * This file copies argument structures in and out and enforces the size rules
 * of the contract; capture.h and restore.h have the commands.  A command gets a structure of
 * this kernel's size, zeroed behind the end of the caller's, and the structure is copied back
 * when the command ends, also when it fails.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>

#include <linux/ckpt.h>

#include "aio.h"
#include "arch.h"
#include "capture.h"
#include "chardev.h"
#include "collect.h"
#include "compat/layout.h"
#include "context.h"
#include "l0.h"
#include "lease.h"
#include "records.h"
#include "restore.h"
#include "uring.h"
#include "sample.h"
#include "thread.h"
#include "writes.h"

union ckpt_arg {
	struct {
		__u32 size;
		__u32 flags;
	} head;
	struct ckpt_info info;
	struct ckpt_target target;
	struct ckpt_freeze freeze;
	struct ckpt_snapshot snapshot;
	struct ckpt_thaw thaw;
	struct ckpt_pagemap pagemap;
	struct ckpt_pages pages;
	struct ckpt_file_get file_get;
	struct ckpt_tty_peek tty_peek;
	struct ckpt_mq_peek mq_peek;
	struct ckpt_drop drop;
	struct ckpt_sample sample;
	struct ckpt_writes_start writes_start;
	struct ckpt_writes_read writes_read;
	struct ckpt_writes_add writes_add;
	struct ckpt_lease lease;
	struct ckpt_restore_begin restore_begin;
	struct ckpt_enter enter;
	struct ckpt_restore_wait restore_wait;
	struct ckpt_restore_state restore_state;
	struct ckpt_pages_share pages_share;
	struct ckpt_pages_drop pages_drop;
	struct ckpt_restore_commit restore_commit;
	struct ckpt_rollback rollback;
	struct ckpt_l0_keep l0_keep;
	struct ckpt_l0_state l0_state;
	struct ckpt_l0_find l0_find;
	struct ckpt_l0_copy l0_copy;
};

struct ckpt_cmd {
	unsigned int size;	/* of the structure in this kernel */
	unsigned int flags;	/* flags that the command knows */
	bool beside;		/* may run at the same time as any other command */
	bool shared;		/* may run at the same time as other shared commands */
	int (*run)(struct ckpt_ctx *ctx, union ckpt_arg *arg);
};

/* The features of every kernel, and those that not all have. */
#define CKPT_FEATS_ALWAYS(op)						\
	CKPT_FEAT_SNAPSHOT op CKPT_FEAT_SHARE op CKPT_FEAT_EVENTS op	\
	CKPT_FEAT_DEADLINES op CKPT_FEAT_OWNER op CKPT_FEAT_WRITES op	\
	CKPT_FEAT_WRITES_STATE op CKPT_FEAT_SOCK_CREDS op CKPT_FEAT_LEASE op \
	CKPT_FEAT_SAMPLE op CKPT_FEAT_FOWN op CKPT_FEAT_PKEYS op	\
	CKPT_FEAT_FILE_PATH op CKPT_FEAT_ROLLBACK op CKPT_FEAT_SENT op	\
	CKPT_FEAT_KEEP op CKPT_FEAT_L0 op CKPT_FEAT_FLEASE op	\
	CKPT_FEAT_FILTER op CKPT_FEAT_TARGET_ROLLBACK
#define CKPT_FEATS(op)							\
	CKPT_FEATS_ALWAYS(op) op CKPT_FEAT_SYSV op CKPT_FEAT_AIO op	\
	CKPT_FEAT_URING op CKPT_FEAT_MQUEUE op CKPT_FEAT_TTY_PEEK op CKPT_FEAT_TRACK

/* Each has a bit of its own. */
static_assert((CKPT_FEATS(|)) == (CKPT_FEATS(+)));

static int ckpt_cmd_info(struct ckpt_ctx *ctx, union ckpt_arg *arg)
{
	struct ckpt_info *info = &arg->info;

	info->api = CKPT_API;
	info->max_threads = CKPT_MAX_THREADS;
	info->max_pause_ms = CKPT_MAX_PAUSE_MS;
	info->features = CKPT_FEATS_ALWAYS(|);
	if (ckpt_sysv_is_known())
		info->features |= CKPT_FEAT_SYSV;
	if (ckpt_aio_is_known())
		info->features |= CKPT_FEAT_AIO;
	if (ckpt_uring_is_known())
		info->features |= CKPT_FEAT_URING;
	if (ckpt_mqueue_is_known())
		info->features |= CKPT_FEAT_MQUEUE;
	if (ckpt_layout_fits(CKPT_LAYOUT_N_TTY))
		info->features |= CKPT_FEAT_TTY_PEEK;
	if (IS_ENABLED(CONFIG_MEM_SOFT_DIRTY))
		info->features |= CKPT_FEAT_TRACK;
	ckpt_arch_info(info);
	strscpy(info->release, init_utsname()->release, sizeof(info->release));
	return 0;
}

#define CKPT_CMD_FN(name, member)					\
	static int ckpt_cmd_##name(struct ckpt_ctx *ctx, union ckpt_arg *arg) \
	{								\
		return ckpt_##name(ctx, &arg->member);			\
	}
CKPT_CMD_FN(capture_target, target)
CKPT_CMD_FN(capture_freeze, freeze)
CKPT_CMD_FN(capture_snapshot, snapshot)
CKPT_CMD_FN(capture_thaw, thaw)
CKPT_CMD_FN(capture_pagemap, pagemap)
CKPT_CMD_FN(capture_pages_read, pages)
CKPT_CMD_FN(capture_file_get, file_get)
CKPT_CMD_FN(capture_tty_peek, tty_peek)
CKPT_CMD_FN(mq_peek, mq_peek)
CKPT_CMD_FN(capture_drop, drop)
CKPT_CMD_FN(capture_sample, sample)
CKPT_CMD_FN(writes_start, writes_start)
CKPT_CMD_FN(writes_read, writes_read)
CKPT_CMD_FN(writes_add, writes_add)
CKPT_CMD_FN(lease, lease)
CKPT_CMD_FN(restore_begin, restore_begin)
CKPT_CMD_FN(restore_enter, enter)
CKPT_CMD_FN(restore_wait, restore_wait)
CKPT_CMD_FN(restore_state, restore_state)
CKPT_CMD_FN(restore_pages_write, pages)
CKPT_CMD_FN(restore_pages_share, pages_share)
CKPT_CMD_FN(restore_pages_drop, pages_drop)
CKPT_CMD_FN(restore_commit, restore_commit)
CKPT_CMD_FN(restore_rollback, rollback)
CKPT_CMD_FN(l0_keep, l0_keep)
CKPT_CMD_FN(l0_state, l0_state)
CKPT_CMD_FN(l0_find, l0_find)
CKPT_CMD_FN(restore_l0_copy, l0_copy)

#define CKPT_CMD(cmd, fn, struct_name, ...)				\
	[_IOC_NR(CKPT_IOC_##cmd)] = { .size = sizeof(struct struct_name), \
				      .run = ckpt_cmd_##fn, __VA_ARGS__ }

/* By number. Two commands of one number do not compile: one would hide the other. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Woverride-init"
static const struct ckpt_cmd ckpt_cmds[] = {
	CKPT_CMD(INFO, info, ckpt_info, .beside = true),
	CKPT_CMD(TARGET, capture_target, ckpt_target,
		 .flags = CKPT_TARGET_DESCENDANTS | CKPT_TARGET_OWNED | CKPT_TARGET_SYSV |
			  CKPT_TARGET_FOWN | CKPT_TARGET_PKEYS | CKPT_TARGET_AIO |
			  CKPT_TARGET_SENT | CKPT_TARGET_MQUEUE | CKPT_TARGET_URING |
			  CKPT_TARGET_FLEASE | CKPT_TARGET_FILTER | CKPT_TARGET_ROLLBACK),
	CKPT_CMD(FREEZE, capture_freeze, ckpt_freeze),
	CKPT_CMD(SNAPSHOT, capture_snapshot, ckpt_snapshot,
		 .flags = CKPT_SNAPSHOT_NO_COW | CKPT_SNAPSHOT_DRY | CKPT_SNAPSHOT_TRACK),
	CKPT_CMD(THAW, capture_thaw, ckpt_thaw, .flags = CKPT_THAW_KILL),
	CKPT_CMD(PAGEMAP, capture_pagemap, ckpt_pagemap,
		 .flags = CKPT_PAGES_LIVE | CKPT_PAGES_KEPT),
	CKPT_CMD(PAGES_READ, capture_pages_read, ckpt_pages, .flags = CKPT_PAGES_LIVE),
	CKPT_CMD(FILE_GET, capture_file_get, ckpt_file_get, .flags = CKPT_FILE_GET_PATH),
	CKPT_CMD(TTY_PEEK, capture_tty_peek, ckpt_tty_peek, .flags = CKPT_TTY_PEEK_SLAVE),
	CKPT_CMD(MQ_PEEK, mq_peek, ckpt_mq_peek, .flags = CKPT_MQ_PEEK_DIRECTORY),
	CKPT_CMD(DROP, capture_drop, ckpt_drop),
	CKPT_CMD(SAMPLE, capture_sample, ckpt_sample),
	CKPT_CMD(WRITES_START, writes_start, ckpt_writes_start,
		 .flags = CKPT_WRITES_START_LOST, .beside = true),
	CKPT_CMD(WRITES_READ, writes_read, ckpt_writes_read,
		 .flags = CKPT_WRITES_READ_STATE | CKPT_WRITES_READ_DROP, .beside = true),
	CKPT_CMD(WRITES_ADD, writes_add, ckpt_writes_add,
		 .flags = CKPT_WRITES_ADD_CLEAR | CKPT_WRITES_ADD_LOST, .beside = true),
	CKPT_CMD(LEASE, lease, ckpt_lease, .beside = true),
	CKPT_CMD(RESTORE_BEGIN, restore_begin, ckpt_restore_begin),
	CKPT_CMD(ENTER, restore_enter, ckpt_enter, .beside = true),
	CKPT_CMD(RESTORE_WAIT, restore_wait, ckpt_restore_wait),
	CKPT_CMD(RESTORE_STATE, restore_state, ckpt_restore_state),
	CKPT_CMD(PAGES_WRITE, restore_pages_write, ckpt_pages, .flags = CKPT_PAGES_DENSE,
		 .shared = true),
	CKPT_CMD(PAGES_SHARE, restore_pages_share, ckpt_pages_share, .shared = true),
	CKPT_CMD(PAGES_DROP, restore_pages_drop, ckpt_pages_drop, .shared = true),
	CKPT_CMD(RESTORE_COMMIT, restore_commit, ckpt_restore_commit),
	CKPT_CMD(ROLLBACK, restore_rollback, ckpt_rollback),
	CKPT_CMD(L0_KEEP, l0_keep, ckpt_l0_keep),
	CKPT_CMD(L0_STATE, l0_state, ckpt_l0_state, .beside = true),
	CKPT_CMD(L0_FIND, l0_find, ckpt_l0_find),
	CKPT_CMD(L0_COPY, restore_l0_copy, ckpt_l0_copy, .shared = true),
};
#pragma GCC diagnostic pop

static const struct ckpt_cmd *ckpt_cmd_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != CKPT_IOC_MAGIC ||
	    _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE) || nr >= ARRAY_SIZE(ckpt_cmds))
		return NULL;
	nr = array_index_nospec(nr, ARRAY_SIZE(ckpt_cmds));
	return ckpt_cmds[nr].run ? &ckpt_cmds[nr] : NULL;
}

static int ckpt_cmd_run(const struct ckpt_cmd *cmd, struct ckpt_ctx *ctx,
			union ckpt_arg *arg)
{
	int err;

	if (cmd->beside)
		return cmd->run(ctx, arg);
	if (cmd->shared) {
		err = down_read_killable(&ctx->cmd_lock);
		if (err)
			return err;
		err = cmd->run(ctx, arg);
		up_read(&ctx->cmd_lock);
		return err;
	}
	err = down_write_killable(&ctx->cmd_lock);
	if (err)
		return err;
	err = cmd->run(ctx, arg);
	up_write(&ctx->cmd_lock);
	return err;
}

static long ckpt_chardev_ioctl(struct file *file, unsigned int nr, unsigned long uarg)
{
	const struct ckpt_cmd *cmd = ckpt_cmd_find(nr);
	struct ckpt_ctx *ctx = file->private_data;
	void __user *user = (void __user *)uarg;
	unsigned int size = _IOC_SIZE(nr);
	union ckpt_arg arg;
	int err;

	if (!cmd)
		return -ENOTTY;
	if (size < sizeof(arg.head))
		return -EINVAL;
	memset(&arg, 0, sizeof(arg));
	err = copy_struct_from_user(&arg, cmd->size, user, size);
	if (err)
		return err;
	if (arg.head.size != size || arg.head.flags & ~cmd->flags)
		return -EINVAL;

	err = ckpt_cmd_run(cmd, ctx, &arg);

	arg.head.size = size;
	if (copy_to_user(user, &arg, min(size, cmd->size)))
		return -EFAULT;
	return err;
}

static int ckpt_chardev_open(struct inode *inode, struct file *file)
{
	struct ckpt_ctx *ctx;

	if (!ckpt_ctx_permitted())
		return -EPERM;
	ctx = ckpt_ctx_create();
	if (!ctx)
		return -ENOMEM;
	file->private_data = ctx;
	return 0;
}

static int ckpt_chardev_release(struct inode *inode, struct file *file)
{
	struct ckpt_ctx *ctx = file->private_data;

	ckpt_capture_release(ctx);
	ckpt_restore_release(ctx);
	ckpt_l0_release(ctx);
	spin_lock(&ctx->lock);
	WRITE_ONCE(ctx->phase, CKPT_PHASE_DEAD);
	spin_unlock(&ctx->lock);
	ckpt_threads_thaw(ctx);
	ckpt_threads_reap(ctx);
	ckpt_ctx_put(ctx);
	return 0;
}

static ssize_t ckpt_chardev_read(struct file *file, char __user *buf, size_t len,
				 loff_t *pos)
{
	struct ckpt_ctx *ctx = file->private_data;
	ssize_t ret;

	ret = down_write_killable(&ctx->cmd_lock);
	if (ret)
		return ret;
	ckpt_capture_note_expiry(ctx);
	ret = ctx->records ? ckpt_records_read(ctx->records, buf, len, pos) : 0;
	up_write(&ctx->cmd_lock);
	return ret;
}

static loff_t ckpt_chardev_llseek(struct file *file, loff_t offset, int whence)
{
	struct ckpt_ctx *ctx = file->private_data;
	loff_t ret;

	ret = down_write_killable(&ctx->cmd_lock);
	if (ret)
		return ret;
	ckpt_capture_note_expiry(ctx);
	ret = fixed_size_llseek(file, offset, whence,
				ctx->records ? ckpt_records_len(ctx->records) : 0);
	up_write(&ctx->cmd_lock);
	return ret;
}

/*
 * Readable: there are records to read.  Priority: every thread that entered has parked.
 * Error: the maximum pause has passed, or a holder has given its snapshots up.
 */
static __poll_t ckpt_chardev_poll(struct file *file, poll_table *wait)
{
	struct ckpt_ctx *ctx = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &ctx->wq, wait);
	spin_lock(&ctx->lock);
	if (ctx->nr_threads && ctx->nr_parked == ctx->nr_threads)
		mask |= EPOLLPRI;
	switch (ctx->phase) {
	case CKPT_PHASE_EXPIRED:
		mask |= EPOLLERR;
		break;
	case CKPT_PHASE_HOLDER:
		if (ckpt_l0_is_over(ctx))
			mask |= EPOLLERR;
		break;
	case CKPT_PHASE_COLLECTED:
	case CKPT_PHASE_THAWED:
		mask |= EPOLLIN | EPOLLRDNORM;
		break;
	default:
		break;
	}
	spin_unlock(&ctx->lock);
	return mask;
}

static const struct file_operations ckpt_fops = {
	.owner = THIS_MODULE,
	.open = ckpt_chardev_open,
	.release = ckpt_chardev_release,
	.unlocked_ioctl = ckpt_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = ckpt_chardev_read,
	.llseek = ckpt_chardev_llseek,
	.poll = ckpt_chardev_poll,
};

struct ckpt_ctx *ckpt_chardev_ctx(struct file *file)
{
	return file->f_op == &ckpt_fops ? file->private_data : NULL;
}

static struct miscdevice ckpt_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ckpt",
	.fops = &ckpt_fops,
	.mode = 0600,
};

int __init ckpt_chardev_init(void)
{
	return misc_register(&ckpt_misc);
}

void ckpt_chardev_exit(void)
{
	misc_deregister(&ckpt_misc);
}
