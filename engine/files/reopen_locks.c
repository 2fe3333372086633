// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks of open file descriptions: flock(2), and F_OFD_SETLK of fcntl(2).
 *
 * They are taken through the builder's descriptors and stay with the descriptions, which the
 * tree has when the builder is gone.  A lock is never waited for: if somebody else has it, the
 * restart fails, as the program believes that it alone has the lock.  The kernel module sets
 * POSIX locks, as their owner is the descriptor table of a process (restore_records.c).
 */
#include "base/error.h"
#include "engine/files/reopen_find.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/cleanup.h"

/* The range of a lock; a length of 0 means up to the end of the file. */
static struct flock range_of(const struct ckpt_rec_lock *rec)
{
	return (struct flock) {
		.l_type = (short)rec->type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)rec->start,
		.l_len = rec->end == INT64_MAX ? 0 : (off_t)(rec->end - rec->start + 1),
	};
}

static int reopen_locks_take(int fd, const struct ckpt_rec_lock *rec)
{
	struct flock range = range_of(rec);
	int ret = rec->kind == CKPT_LOCK_FLOCK ?
		flock(fd, (rec->type == F_WRLCK ? LOCK_EX : LOCK_SH) | LOCK_NB) :
		fcntl(fd, F_OFD_SETLK, &range);

	return ret ? -errno : 0;
}

/* Does somebody else have a lock where a process is to get a POSIX lock? 0, -EAGAIN, -errno. */
static int reopen_locks_look(int fd, const struct ckpt_rec_lock *rec)
{
	struct flock range = range_of(rec);

	if (fcntl(fd, F_OFD_GETLK, &range))
		return -errno;
	return range.l_type == F_UNLCK ? 0 : -EAGAIN;
}

int reopen_locked(struct ckpt_error *error, int err, const struct state_lock *lock)
{
	if (err == -EAGAIN || err == -EACCES)
		return error_fail(error, -EBUSY,
				   "another process has a lock on %s, which the tree had: end it, "
				   "or close its descriptor in the shell that locks for its "
				   "commands (lslocks names who took it; on NFS it may be the node "
				   "that was lost, for a minute or two, with version 3 until that "
				   "is up again), and restart again", lock->file->path);
	return error_fail(error, err, "cannot lock %s as it was: %s", lock->file->path,
			   strerror(-err));
}

int reopen_locks(struct reopen *r, bool late)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_locks; i++) {
		const struct state_lock *lock = &r->state->locks[i];
		int fd = reopen_fd(r, lock->file);

		/* the file that the caller gives for an external was not locked */
		if (lock->file->external || reopen_is_late(r, lock->file) != late ||
		    lock->rec->kind == CKPT_LOCK_LEASE)	/* engine/kinds/lease.c */
			continue;
		ret = lock->rec->kind == CKPT_LOCK_POSIX ? reopen_locks_look(fd, lock->rec) :
							   reopen_locks_take(fd, lock->rec);
		if (ret)
			ret = reopen_locked(r->error, ret, lock);
	}
	return ret;
}

/* ---------------------------------------------------------------- dry run */

/*
 * Has somebody a flock(2) that stands in the way? The kernel tells only those who take it, and
 * its list has none of other PID namespaces and nodes. So it is taken, and given up at once with
 * the description.
 */
static int reopen_locks_flocked(int fd, const struct ckpt_rec_lock *rec)
{
	int ret = reopen_locks_take(fd, rec);

	if (!ret)
		flock(fd, LOCK_UN);
	return ret;
}

int reopen_locks_check(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_locks; i++) {
		const struct state_lock *lock = &r->state->locks[i];
		const struct state_file *file = lock->file;
		const struct reopen_found *found = reopen_find(r, file);
		_cleanup_fd_ int fd = -1;

		if (file->external || reopen_is_late(r, file) || state_file_deleted(file) ||
		    lock->rec->kind == CKPT_LOCK_LEASE ||
		    file->rec->kind != CKPT_FILE_REG || (found && found->anew))
			continue;
		fd = reopen_find_open(r, file, reopen_flags(file) | O_NONBLOCK);
		if (fd < 0)
			continue;	/* not there yet, as it is carried */
		ret = lock->rec->kind == CKPT_LOCK_FLOCK ? reopen_locks_flocked(fd, lock->rec) :
							   reopen_locks_look(fd, lock->rec);
		if (ret)
			ret = reopen_locked(r->error, ret, lock);
	}
	return ret;
}
