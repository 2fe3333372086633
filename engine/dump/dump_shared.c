// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the nodes of a job may share, and that are to be of one moment on all of them.
 *
 * The trees of the nodes are frozen at different instants, and on a network file system this node
 * need not see yet what others have written.  So each node writes back what its own tree wrote
 * (dump_shared_flush()) and then waits for all others.  From then on no node writes, and all that
 * was written is on the server: each node asks the server for size and time (dump_shared_see()),
 * which also makes the kernel forget pages that it read before.  No tree runs before all nodes are
 * captured, so what is read until then is of one moment.
 *
 * Each node keeps the content of a shared file for itself, and puts it back at a restart: all
 * write the same bytes.  If one node did it for all, the others might go on with pages of the file
 * that their kernels had read before.
 */
#include "base/error.h"
#include "engine/dump/dump_closed.h"
#include "engine/dump/dump_in_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LUSTRE_MAGIC	0x0bd00bd0
#define GPFS_MAGIC	0x47504653
#define BEEGFS_MAGIC	0x19830326
#define ORANGEFS_MAGIC	0x20030528

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

bool dump_shared_is(const struct ckpt_rec_file *rec)
{
	switch (rec->fs_magic) {
	case NFS_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case LUSTRE_MAGIC:
	case CEPH_SUPER_MAGIC:
	case GPFS_MAGIC:
	case BEEGFS_MAGIC:
	case ORANGEFS_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

int dump_shared_flush(struct dump *d)
{
	if (d->options->nr_nodes < 2 || d->options->files == ENGINE_FILES_IGNORE)
		return 0;
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

/* Size and time of the file as the server has them, in place of those that this kernel knew. */
static void dump_shared_correct(struct dump *d, struct dump_inode *inode, const struct statx *stx)
{
	const struct state *state = d->cap.state;

	inode->at_end = true;
	for (unsigned int i = 0; i < state->nr_files; i++) {
		struct ckpt_rec_file *rec = (struct ckpt_rec_file *)state->files[i].rec;

		if (dump_inode(d, &state->files[i]) != inode)
			continue;
		rec->size = stx->stx_size;
		rec->mtime_ns = (uint64_t)stx->stx_mtime.tv_sec * 1000000000ULL +
				stx->stx_mtime.tv_nsec;
		if (rec->flags & CKPT_FILE_OPEN && (rec->f_flags & O_ACCMODE) != O_RDONLY &&
		    !(rec->f_flags & O_APPEND))
			inode->at_end &= rec->pos == rec->size;
	}
}

int dump_shared_see(struct dump *d)
{
	struct statx stx;
	int ret;

	if (d->options->nr_nodes < 2 || d->options->files == ENGINE_FILES_IGNORE)
		return 0;
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		struct dump_inode *inode = &d->inodes[i];

		if (!inode->track || inode->exec || !dump_shared_may(inode->file->rec))
			continue;
		_cleanup_fd_ int fd = dump_reopen(inode);

		if (fd < 0)
			continue;
		if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE | STATX_MTIME,
			  &stx))
			return error_fail(d->error, -errno, "cannot ask for the size of %s: %s",
					  inode->file->path, strerror(errno));
		dump_shared_correct(d, inode, &stx);
	}
	ret = dump_closed_find(d);
	if (!ret)
		ret = dump_in_place_plan(d);
	return ret ? ret : dump_closed_plan(d);
}
