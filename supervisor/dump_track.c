// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that stay where they are: made durable, and described so that a restart
 * can tell whether they are still what they were.
 *
 * Durable means: after the commit no power cut takes back what the job had
 * written before the freeze, also to files it has closed since; so the file
 * systems it works on are synced as a whole, then each file it has open for
 * writing, whose errors only fsync tells.  It is done through descriptions of
 * our own: an error reported to us must still reach the job.
 *
 * The tail is hashed after the thaw, except of files that the tree rewrites in
 * place: those are hashed while it stands still.
 */
#include "supervisor/dump_run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/file_identity.h"

static uint64_t tail_len(const struct dump_inode *inode)
{
	uint64_t most = inode->writes ? FILE_TAIL_WRITTEN : FILE_TAIL_READ;
	uint64_t size = inode->file->rec->size;

	return size < most ? size : most;
}

/* A file that cannot be read has no hash: the record says so. */
static void hash_tail(struct dump_inode *inode, int fd)
{
	uint64_t len = tail_len(inode);

	inode->tail_hashed = file_identity_tail(fd, inode->file->rec->size - len, len,
						inode->tail_hash) == 0;
}

int dump_track_tails(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		struct dump_inode *inode = &d->inodes[i];

		if (inode->track && inode->rewrites && !d->frozen_to_end) {
			_cleanup_fd_ int fd = dump_reopen(inode->fd);

			if (fd >= 0)
				hash_tail(inode, fd);
		}
	}
	return 0;
}

static int track_record(struct dump *d, const struct dump_inode *inode,
			const struct state_file *file, const uint8_t *build_id,
			unsigned int build_id_len, bool synced)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	struct engine_rec_file_track *track;

	track = dump_record_add(d, ENGINE_REC_FILE_TRACK, sizeof(*track), NULL, 0);
	if (!track)
		return engine_fail(d->error, -ENOMEM, "out of memory");
	track->file_id = file->rec->id;
	track->size = rec->size;
	track->mtime_ns = rec->mtime_ns;
	track->dev = rec->dev;
	track->ino = rec->ino;
	track->tail_len = tail_len(inode);
	track->tail_start = rec->size - track->tail_len;
	track->build_id_len = build_id_len;
	memcpy(track->tail_hash, inode->tail_hash, sizeof(track->tail_hash));
	memcpy(track->build_id, build_id, build_id_len);
	track->flags = (inode->writes ? ENGINE_TRACK_WRITES : 0) |
		       (inode->tail_hashed ? ENGINE_TRACK_TAIL : 0) |
		       (build_id_len ? ENGINE_TRACK_BUILD_ID : 0) |
		       (synced ? ENGINE_TRACK_SYNCED : 0) |
		       (inode->exec ? ENGINE_TRACK_EXEC : 0);
	return 0;
}

int dump_track_records(struct dump *d)
{
	struct state *state = d->cap.state;
	int ret = 0;

	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		struct dump_inode *inode = &d->inodes[i];
		uint8_t build_id[FILE_BUILD_ID_MAX];
		int build_id_len = 0;

		if (!inode->track)
			continue;
		_cleanup_fd_ int fd = dump_reopen(inode->fd);

		if (fd >= 0 && !inode->tail_hashed)
			hash_tail(inode, fd);
		if (fd >= 0 && inode->exec)
			build_id_len = file_identity_build_id(fd, build_id);
		for (unsigned int f = 0; f < state->nr_files && !ret; f++)
			if (state->files[f].user == i + 1)
				ret = track_record(d, inode, &state->files[f], build_id,
						   (unsigned int)build_id_len, inode->writes);
		if (ret)
			return ret;
	}
	return 0;
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

/* Working directories tell the file systems on which closed files may lie. */
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
			continue;	/* its files that are open are synced all the same */
		d->sync_fds[d->nr_sync] = fd;
		d->sync_devs[d->nr_sync++] = proc->cwd->rec->dev;
	}
}

static int sync_failed(struct dump *d, const char *path, int err)
{
	return engine_fail(d->error, err,
			   "what the job wrote to %s could not be made durable: %s",
			   path, strerror(-err));
}

static int sync_filesystems(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		struct dump_inode *inode = &d->inodes[i];
		const struct ckpt_rec_file *rec = inode->file->rec;
		int fd;

		if (!inode->track || !inode->writes || !on_storage(rec) ||
		    d->nr_sync == DUMP_SYNC_MAX ||
		    known_dev(d->sync_devs, d->nr_sync, rec->dev))
			continue;
		fd = dump_reopen(inode->fd);
		if (fd < 0)
			continue;	/* fsync below says it */
		d->sync_fds[d->nr_sync] = fd;
		d->sync_devs[d->nr_sync++] = rec->dev;
	}
	for (unsigned int i = 0; i < d->nr_sync; i++)
		if (syncfs(d->sync_fds[i]) && errno != EROFS && errno != ENOSYS)
			return sync_failed(d, "its file systems", -errno);
	return 0;
}

int dump_sync(struct dump *d)
{
	int ret = sync_filesystems(d);

	for (unsigned int i = 0; i < d->nr_inodes && !ret; i++) {
		struct dump_inode *inode = &d->inodes[i];

		if (!inode->track || !inode->writes)
			continue;
		_cleanup_fd_ int fd = dump_reopen(inode->fd);

		/* not readable for us: the job's own description must do */
		if (fsync(fd >= 0 ? fd : inode->fd) && errno != EINVAL && errno != EROFS)
			ret = sync_failed(d, inode->file->path, -errno);
	}
	return ret;
}

void dump_sync_done(struct dump *d)
{
	while (d->nr_sync)
		close(d->sync_fds[--d->nr_sync]);
}
