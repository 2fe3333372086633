// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that stay where they are: they are made durable, and described so that a restart
 * can tell whether they have changed.
 *
 * Durable means: after the commit no power cut takes back what the job had written before
 * the freeze, also to files that it has closed since.  So the file systems of working
 * directories and of files open for writing are synced as a whole; those of programs are
 * not, as they would often be the node's own.  Then each file open for writing is synced,
 * because only fsync(2) reports its errors.  All syncs use descriptions of our own: an
 * error reported to us must still reach the job.
 *
 * The tail of a file that the tree may write is hashed while the tree stands still,
 * whatever the file's size: after the thaw the content may change without the size.
 * A file that the tree only reads is hashed later.  If somebody else has changed it by
 * then, its content at the freeze is not known, and the record says so.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_TAILS	256U	/* files with a long tail hashed in the pause; short for the rest */
#define CLOCKS_APART	60U	/* seconds that the clocks of a file server and ours may differ */

/* Hash the last @most bytes. A file that cannot be read has no hash; the record says so. */
static void hash_tail(struct dump_inode *inode, int fd, uint32_t most)
{
	uint64_t size = inode->file->rec->size;

	inode->tail_seen = true;
	inode->tail_len = size < most ? (uint32_t)size : most;
	inode->tail_hashed = file_identity_tail(fd, size - inode->tail_len, inode->tail_len,
						inode->tail_hash) == 0;
}

void dump_track_content(const struct dump *d, struct dump_inode *inode, int fd)
{
	if (inode->kept && inode->track && inode->writes && !d->frozen_to_end)
		hash_tail(inode, fd, FILE_TAIL_WRITTEN);
}

int dump_track_tails(struct dump *d)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		struct dump_inode *inode = &d->inodes[i];

		/* of a clone the tail is hashed when it is read */
		if (inode->track && inode->writes && !d->frozen_to_end && !inode->tail_seen &&
		    inode->clone < 0) {
			_cleanup_fd_ int fd = dump_reopen(inode);

			if (fd >= 0)
				hash_tail(inode, fd, nr++ < LONG_TAILS ? FILE_TAIL_WRITTEN :
						     FILE_TAIL_READ);
		}
	}
	return 0;
}

/*
 * Was the file written since the freeze? A time of modification other than the recorded one
 * says little by itself: on some file systems the kernel learns the right time only when it
 * is asked for.  So the time of change must also be later than the freeze.
 */
static bool dump_track_replaced(const struct dump *d, const struct ckpt_rec_file *rec, int fd)
{
	struct stat st;

	return dump_changed_since(fd, rec) && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_ctim.tv_sec + CLOCKS_APART >= d->frozen_at;
}

/* Hash the tail of a file that the tree does not write, or cannot write as it stands still. */
static void hash_late(const struct dump *d, struct dump_inode *inode, int fd)
{
	hash_tail(inode, fd, inode->writes ? FILE_TAIL_WRITTEN : FILE_TAIL_READ);
	if (!inode->writes && dump_track_replaced(d, inode->file->rec, fd))
		inode->tail_hashed = false;
}

/* ---------------------------------------------------------------- durable */

static bool on_storage(const struct ckpt_rec_file *rec)
{
	switch (rec->fs_magic) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEVPTS_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
		return false;
	default:
		return true;
	}
}

static bool known_dev(const uint64_t *devs, unsigned int nr, uint64_t dev)
{
	for (unsigned int i = 0; i < nr; i++)
		if (devs[i] == dev)
			return true;
	return false;
}

/* Note the file systems of working directories: files that were closed may lie on them. */
void dump_sync_prepare(struct dump *d)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_procs; i++) {
		const struct state_proc *proc = &state->procs[i];
		char path[40];
		int fd;

		if (!proc->cwd || !on_storage(proc->cwd->rec) ||
		    d->nr_sync == DUMP_SYNC_MAX ||
		    known_dev(d->sync_devs, d->nr_sync, proc->cwd->rec->dev))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/cwd", proc->rec->host_pid);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;	/* open files on it are synced one by one */
		d->sync_fds[d->nr_sync] = fd;
		d->sync_devs[d->nr_sync++] = proc->cwd->rec->dev;
	}
}

static int sync_failed(struct dump *d, const char *path, int err)
{
	return error_fail(d->error, err,
			   "what the job wrote to %s could not be made durable: %s",
			   path, strerror(-err));
}

int dump_sync(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		struct dump_inode *inode = &d->inodes[i];
		const struct ckpt_rec_file *rec = inode->file->rec;
		int fd;

		if (!inode->track || !inode->writes || !on_storage(rec) ||
		    d->nr_sync == DUMP_SYNC_MAX ||
		    known_dev(d->sync_devs, d->nr_sync, rec->dev))
			continue;
		fd = dump_reopen(inode);
		if (fd < 0)
			continue;	/* sync_file() reports it */
		d->sync_fds[d->nr_sync] = fd;
		d->sync_devs[d->nr_sync++] = rec->dev;
	}
	for (unsigned int i = 0; i < d->nr_sync; i++)
		if (syncfs(d->sync_fds[i]) && errno != EROFS && errno != ENOSYS)
			return sync_failed(d, "its file systems", -errno);
	return 0;
}

/*
 * Has the syncfs written all that an fsync of the file would write?  NULL: no; else the flag
 * of the file system that says whether its disk's cache was flushed since.
 */
static bool *synced_whole(struct dump *d, const struct ckpt_rec_file *rec, int fd)
{
	struct fsxattr attr;

	switch (rec->fs_magic) {
	case EXT4_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		break;
	case XFS_SUPER_MAGIC:	/* its realtime files are on a device of their own */
		if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) == 0 &&
		    !(attr.fsx_xflags & FS_XFLAG_REALTIME))
			break;
		return NULL;
	default:
		return NULL;
	}
	for (unsigned int i = 0; i < d->nr_sync; i++)
		if (d->sync_devs[i] == rec->dev)
			return &d->sync_flushed[i];
	return NULL;
}

/*
 * The file cannot be opened again.  An fsync through the job's own description would report
 * an error to us that the job then never hears of.  So the sync of the whole file system must
 * suffice, and the record does not claim more.
 */
static int sync_unseen(struct dump *d, const struct dump_inode *inode, int err)
{
	const struct ckpt_rec_file *rec = inode->file->rec;

	if (!on_storage(rec) || known_dev(d->sync_devs, d->nr_sync, rec->dev))
		return 0;
	return sync_failed(d, inode->file->path, err);
}

/*
 * An fsync flushes the disk's cache each time, even if nothing is written: with many files
 * that is most of the dump.  One fsync per file system flushes the cache for all its files
 * (not every syncfs does); for the other files a wait for writes, of which there are none,
 * reports their errors.
 */
static int sync_file(struct dump *d, struct dump_inode *inode, int fd)
{
	bool *flushed;
	int ret;

	if (fd < 0)
		return sync_unseen(d, inode, fd);
	flushed = synced_whole(d, inode->file->rec, fd);
	if (flushed && *flushed)
		ret = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE);
	else
		ret = fsync(fd);
	if (ret && errno != EINVAL && errno != EROFS)
		return sync_failed(d, inode->file->path, -errno);
	if (flushed && !ret)
		*flushed = true;
	inode->synced = true;
	return 0;
}

void dump_sync_done(struct dump *d)
{
	while (d->nr_sync)
		close(d->sync_fds[--d->nr_sync]);
}

/* ---------------------------------------------------------------- records */

static int track_record(struct dump *d, const struct dump_inode *inode,
			const struct state_file *file)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	struct engine_rec_file_track *track;

	track = dump_record_add(d, ENGINE_REC_FILE_TRACK, sizeof(*track), NULL, 0);
	if (!track)
		return error_fail(d->error, -ENOMEM, "out of memory");
	track->file_id = file->rec->id;
	track->size = inode->watched ? inode->watched_size : rec->size;
	track->mtime_ns = inode->watched ? inode->watched_mtime_ns : rec->mtime_ns;
	track->dev = rec->dev;
	track->ino = rec->ino;
	track->tail_len = inode->tail_len;
	track->tail_start = rec->size - track->tail_len;
	track->build_id_len = inode->build_id_len;
	memcpy(track->tail_hash, inode->tail_hash, sizeof(track->tail_hash));
	memcpy(track->build_id, inode->build_id, inode->build_id_len);
	track->flags = (inode->writes ? ENGINE_TRACK_WRITES : 0) |
		       (inode->synced ? ENGINE_TRACK_SYNCED : 0) |
		       (inode->tail_hashed ? ENGINE_TRACK_TAIL : 0) |
		       (inode->build_id_len ? ENGINE_TRACK_BUILD_ID : 0) |
		       (inode->watched ? ENGINE_TRACK_WATCHED : 0) |
		       (inode->kept ? ENGINE_TRACK_KEPT : 0) |
		       (inode->exec ? ENGINE_TRACK_EXEC : 0);
	return 0;
}

static int track_inode(struct dump *d, struct dump_inode *inode)
{
	_cleanup_fd_ int fd = dump_reopen(inode);
	int ret = inode->writes ? sync_file(d, inode, fd) : 0;

	if (ret || fd < 0)
		return ret;
	if (!inode->writes || d->frozen_to_end)
		hash_late(d, inode, fd);
	if (inode->exec)
		inode->build_id_len = (unsigned int)file_identity_build_id(fd, inode->build_id);
	return 0;
}

int dump_track_records(struct dump *d)
{
	struct state *state = d->cap.state;
	int ret = 0;

	for (unsigned int i = 0; i < d->nr_inodes && !ret; i++)
		if (d->inodes[i].track)
			ret = track_inode(d, &d->inodes[i]);
	for (unsigned int i = 0; i < state->nr_files && !ret; i++) {
		const struct dump_inode *inode = dump_inode(d, &state->files[i]);

		if (inode && inode->track)
			ret = track_record(d, inode, &state->files[i]);
	}
	return ret;
}
