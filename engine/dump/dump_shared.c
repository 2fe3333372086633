// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of a job over several nodes: which of them nodes may share, and how such a file is watched.
 *
 * The trees of the nodes are frozen at different instants, and on a network file system this node
 * need not see yet what others have written.  So each node writes back in its pause what its own
 * tree wrote (dump_shared_flush()).  When the nodes have agreed that all of them are captured, all
 * that was written before is on the server.  Each node then asks the server for size and time
 * (dump_shared_watch()), before its own tree runs on.
 *
 * Another node's tree may run by then, and its writes may be in what is recorded here.  They are
 * not in what that node itself recorded before it let its tree run: its part of the restart finds
 * another size or time and is refused.  Where nobody wrote since, all nodes have recorded the same.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool dump_shared_may(const struct ckpt_rec_file *rec)
{
	switch (rec->fs_magic) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
		return false;
	default:	/* a network file system, or one that we do not know */
		return true;
	}
}

int dump_shared_flush(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		const struct dump_inode *inode = &d->inodes[i];

		if (!inode->track || !inode->writes || inode->exec ||
		    !dump_shared_may(inode->file->rec))
			continue;
		_cleanup_fd_ int fd = dump_reopen(inode);

		/* the next process that asks would not hear of the error again */
		if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != EROFS)
			return error_fail(d->error, -errno,
					  "what the job wrote to %s could not be written back: %s",
					  inode->file->path, strerror(errno));
	}
	return 0;
}

/* Ask the server of the file for its size and time. */
static int dump_shared_ask(struct dump *d, struct dump_inode *inode)
{
	_cleanup_fd_ int fd = dump_reopen(inode);
	struct statx stx;

	if (fd < 0)		/* nothing to compare later: a restart finds the time different */
		return 0;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE | STATX_MTIME, &stx))
		return error_fail(d->error, -errno, "cannot watch %s: %s", inode->file->path,
				  strerror(errno));
	/* other nodes wrote at what looks like the end of a log from here */
	if (!inode->watched && stx.stx_size != inode->file->rec->size)
		dump_in_place_watch_log(d, inode);
	inode->watched_size = stx.stx_size;
	inode->watched_mtime_ns = (uint64_t)stx.stx_mtime.tv_sec * 1000000000ULL +
				  stx.stx_mtime.tv_nsec;
	return 0;
}

int dump_shared_watch(struct dump *d)
{
	int ret = 0;

	if (!d->options->many_nodes || d->options->files == ENGINE_FILES_IGNORE)
		return 0;
	for (unsigned int i = 0; i < d->nr_inodes && !ret; i++) {
		struct dump_inode *inode = &d->inodes[i];

		if (inode->watched || (inode->track && inode->writes && !inode->exec &&
				       !inode->appends && dump_shared_may(inode->file->rec)))
			ret = dump_shared_ask(d, inode);
	}
	if (!ret)
		dump_in_place_settle(d);
	return ret;
}
