/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One context of /dev/ckpt and its commands.
 *
 * A thin layer: a function here is one command of the module.  The layer fills in the
 * size of the argument and returns a negative errno.
 *
 * struct kdev_ops is the seam at which tests put a simulated kernel.
 */
#ifndef STILLPOINT_KDEV_H
#define STILLPOINT_KDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/core/engine.h"

struct kdev;

struct kdev_ops {
	int (*command)(struct kdev *dev, unsigned long command, void *arg);
	ssize_t (*read)(struct kdev *dev, void *buf, size_t len);
	void (*close)(struct kdev *dev);	/* frees dev */
	bool (*expired)(struct kdev *dev);	/* NULL: never */
};

struct kdev {
	const struct kdev_ops *ops;
	int fd;			/* the context's descriptor; -1: simulated */
	struct ckpt_info info;
};

/**
 * kdev_open() - a new context on CKPT_DEVICE, close-on-exec
 *
 * Return: 0, or a negative errno with advice in @error: -ENOENT, -ENXIO, -ENODEV: the module
 * is not loaded; -EPERM, -EACCES: not permitted; -EPROTONOSUPPORT: the module speaks another
 * API
 */
int kdev_open(struct kdev **ret_dev, struct ckpt_error *error);
void kdev_close(struct kdev *dev);	/* NULL is fine */

/* Issue one command; fills in the size of @arg.  0 or a negative errno. */
int kdev_command(struct kdev *dev, unsigned long command, void *arg);

/**
 * kdev_read_records() - read all records that the context holds now
 * @size_hint: expected length; 0: unknown
 * @ret_buf: malloc'ed, 8-byte aligned; the caller frees it
 *
 * Return: 0; -EFBIG for a stream of more than 1 GiB; -ENOMEM; the errno of read(2)
 */
int kdev_read_records(struct kdev *dev, size_t size_hint, void **ret_buf, size_t *ret_len);

/*
 * After a command failed with @err (-EOPNOTSUPP, -EBUSY): add its refusals to @error, and a
 * text made of them. @what names the operation. Returns @err.
 */
int kdev_refusals(struct kdev *dev, int err, const char *what, struct ckpt_error *error);

/* Has the maximum pause ended the freeze of this context? */
bool kdev_expired(struct kdev *dev);

#define KDEV_COMMAND(name, type, number)					\
static inline int kdev_##name(struct kdev *dev, struct type *arg)		\
{										\
	return kdev_command(dev, number, arg);					\
}
KDEV_COMMAND(target, ckpt_target, CKPT_IOC_TARGET)
KDEV_COMMAND(freeze, ckpt_freeze, CKPT_IOC_FREEZE)
KDEV_COMMAND(snapshot, ckpt_snapshot, CKPT_IOC_SNAPSHOT)
KDEV_COMMAND(thaw, ckpt_thaw, CKPT_IOC_THAW)
KDEV_COMMAND(pagemap, ckpt_pagemap, CKPT_IOC_PAGEMAP)
KDEV_COMMAND(pages_read, ckpt_pages, CKPT_IOC_PAGES_READ)
KDEV_COMMAND(file_get, ckpt_file_get, CKPT_IOC_FILE_GET)
KDEV_COMMAND(tty_peek, ckpt_tty_peek, CKPT_IOC_TTY_PEEK)
KDEV_COMMAND(mq_peek, ckpt_mq_peek, CKPT_IOC_MQ_PEEK)
KDEV_COMMAND(drop, ckpt_drop, CKPT_IOC_DROP)
KDEV_COMMAND(sample, ckpt_sample, CKPT_IOC_SAMPLE)
KDEV_COMMAND(writes_start, ckpt_writes_start, CKPT_IOC_WRITES_START)
KDEV_COMMAND(writes_read, ckpt_writes_read, CKPT_IOC_WRITES_READ)
KDEV_COMMAND(writes_add, ckpt_writes_add, CKPT_IOC_WRITES_ADD)
KDEV_COMMAND(lease, ckpt_lease, CKPT_IOC_LEASE)
KDEV_COMMAND(restore_begin, ckpt_restore_begin, CKPT_IOC_RESTORE_BEGIN)
KDEV_COMMAND(enter, ckpt_enter, CKPT_IOC_ENTER)
KDEV_COMMAND(restore_wait, ckpt_restore_wait, CKPT_IOC_RESTORE_WAIT)
KDEV_COMMAND(restore_state, ckpt_restore_state, CKPT_IOC_RESTORE_STATE)
KDEV_COMMAND(pages_write, ckpt_pages, CKPT_IOC_PAGES_WRITE)
KDEV_COMMAND(pages_share, ckpt_pages_share, CKPT_IOC_PAGES_SHARE)
KDEV_COMMAND(pages_drop, ckpt_pages_drop, CKPT_IOC_PAGES_DROP)
KDEV_COMMAND(restore_commit, ckpt_restore_commit, CKPT_IOC_RESTORE_COMMIT)
KDEV_COMMAND(rollback, ckpt_rollback, CKPT_IOC_ROLLBACK)
KDEV_COMMAND(l0_keep, ckpt_l0_keep, CKPT_IOC_L0_KEEP)
KDEV_COMMAND(l0_state, ckpt_l0_state, CKPT_IOC_L0_STATE)
KDEV_COMMAND(l0_find, ckpt_l0_find, CKPT_IOC_L0_FIND)
KDEV_COMMAND(l0_copy, ckpt_l0_copy, CKPT_IOC_L0_COPY)
#undef KDEV_COMMAND

#endif /* STILLPOINT_KDEV_H */
