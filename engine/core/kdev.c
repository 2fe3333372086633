// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ckpt from user space.
 *
 * Owns the descriptor of one context and nothing else.  Closing it thaws a capture or
 * kills an uncommitted restore, also when this process dies.  So no program that
 * outlives us may inherit it: the descriptor is always close-on-exec.
 * No policy here, no retry.
 */
#include "engine/core/kdev.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RECORDS_MAX	(1UL << 30)	/* a stream beyond this is nonsense */

static int real_command(struct kdev *dev, unsigned long command, void *arg)
{
	return ioctl(dev->fd, command, arg) < 0 ? -errno : 0;
}

static ssize_t real_read(struct kdev *dev, void *buf, size_t len)
{
	ssize_t ret = read(dev->fd, buf, len);

	return ret < 0 ? -errno : ret;
}

static void real_close(struct kdev *dev)
{
	if (dev->fd >= 0)
		close(dev->fd);
	free(dev);
}

static bool real_expired(struct kdev *dev)
{
	struct pollfd poll_fd = { .fd = dev->fd };	/* POLLERR is always reported */

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLERR;
}

static const struct kdev_ops real_ops = {
	.command = real_command,
	.read = real_read,
	.close = real_close,
	.expired = real_expired,
};

static int open_failed(int err, struct ckpt_error *error)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return error_fail(error, err,
				   "%s is not there: the kernel module is not loaded; "
				   "run 'modprobe ckpt' (or 'insmod ckpt.ko') as root",
				   CKPT_DEVICE);
	case -EPERM:
	case -EACCES:
		return error_fail(error, err,
				   "not permitted to open %s: run as root, or let ckptd do it "
				   "(leave out --standalone)", CKPT_DEVICE);
	default:
		return error_fail(error, err, "cannot open %s: %s", CKPT_DEVICE,
				   strerror(-err));
	}
}

int kdev_open(struct kdev **ret_dev, struct ckpt_error *error)
{
	struct kdev *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev)
		return error_fail(error, -ENOMEM, "out of memory");
	dev->ops = &real_ops;
	dev->fd = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	if (dev->fd < 0) {
		ret = open_failed(-errno, error);
		goto undo;
	}
	ret = kdev_command(dev, CKPT_IOC_INFO, &dev->info);
	if (ret) {
		error_fail(error, ret, "%s does not answer as the ckpt module does: %s",
			    CKPT_DEVICE, strerror(-ret));
		goto undo;
	}
	if (dev->info.api != CKPT_API) {
		ret = error_fail(error, -EPROTONOSUPPORT,
				  "the loaded ckpt module speaks API %u, this program API %u: load "
				  "the module of this release (rmmod ckpt, then modprobe ckpt)",
				  dev->info.api, CKPT_API);
		goto undo;
	}
	*ret_dev = dev;
	return 0;
undo:
	kdev_close(dev);
	return ret;
}

void kdev_close(struct kdev *dev)
{
	if (dev)
		dev->ops->close(dev);
}

int kdev_command(struct kdev *dev, unsigned long command, void *arg)
{
	*(__u32 *)arg = _IOC_SIZE(command);	/* every argument begins with its size */
	return dev->ops->command(dev, command, arg);
}

bool kdev_expired(struct kdev *dev)
{
	return dev->ops->expired && dev->ops->expired(dev);
}

int kdev_read_records(struct kdev *dev, size_t size_hint, void **ret_buf, size_t *ret_len)
{
	size_t room = size_hint ? size_hint + 1 : 1 << 16, len = 0;
	char *buf = NULL, *more;
	ssize_t ret;

	do {
		if (len == room)
			room *= 2;
		if (room > RECORDS_MAX) {
			free(buf);
			return -EFBIG;
		}
		more = realloc(buf, room);
		if (!more) {
			free(buf);
			return -ENOMEM;
		}
		buf = more;
		ret = dev->ops->read(dev, buf + len, room - len);
		if (ret > 0)
			len += (size_t)ret;
	} while (ret > 0);
	if (ret < 0) {
		free(buf);
		return (int)ret;
	}
	*ret_buf = buf;
	*ret_len = len;
	return 0;
}

int kdev_refusals(struct kdev *dev, int err, const char *what, struct ckpt_error *error)
{
	const struct ckpt_rec_refusal *rec;
	void *buf = NULL;
	size_t len = 0;

	if (kdev_read_records(dev, 0, &buf, &len))
		len = 0;
	for (size_t at = 0; at + sizeof(*rec) <= len; at += rec->hdr.len) {
		rec = (const void *)((const char *)buf + at);
		if (rec->hdr.len < sizeof(rec->hdr) || rec->hdr.len > len - at ||
		    rec->hdr.len % 8)
			break;
		if (rec->hdr.type != CKPT_REC_REFUSAL || rec->hdr.len < sizeof(*rec))
			continue;
		struct error_refusal found = {
			.reason = rec->reason,
			.pid = rec->pid,
			.tid = rec->tid,
			.object = rec->object,
		};
		memcpy(found.comm, rec->comm, sizeof(found.comm) - 1);
		error_refuse(error, &found, "%.*s", (int)sizeof(rec->detail) - 1, rec->detail);
	}
	free(buf);
	error_refused(error, what);
	return error_fail(error, err, "%s failed: %s", what, strerror(-err));
}
