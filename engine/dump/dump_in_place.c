// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the tree can write in place: a restart must find their content as of the freeze,
 * or must be refused.
 *
 * A file that the tree only appends to keeps its first bytes: a restart cuts it.  Any other
 * file that the tree may write is kept with the image: as a clone where the file system can
 * share blocks (FICLONE), which takes no time in the pause and is read after the thaw, else as
 * a copy that is read in the pause.  At most files_max bytes are kept.  A file that is not kept
 * is watched: its size and time are recorded so that a restart is refused after any change.
 *
 * The kernel gives a page of a shared mapping a new time of modification only when the page
 * is written for the first time since its last write-back.  So a mapped file that is watched is
 * written back in the pause, before its time is recorded.  dump_shared.c has the rest for files
 * that several nodes may write.
 */
#include "base/error.h"
#include "engine/dump/dump_in_place.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * A file whose every writing description stands at its end looks like a log.  A longer one is
 * not kept, unless the write log says that the tree has written it in place.
 */
#define LOG_KEPT_MAX	(64ULL << 20)

#define TICK_NS		12000000	/* longer than a tick at 100 Hz, the step of files' times */
#define CLOCKS_APART	60U	/* seconds that the clocks of a file server and ours may differ */

/* Does the tree write the file in place now, or has it done so? Else the file may be a log. */
static bool in_place_does(const struct dump_inode *inode)
{
	return inode->maps_write || inode->rewritten || (!inode->at_end && !inode->appends);
}

/*
 * Can the tree change bytes of the file that it has already written? It can open a file again
 * that it has written before. A log that it opens again may be one that it rotates.
 */
static bool in_place_can(const struct dump *d, const struct dump_inode *inode)
{
	if (!inode->track || inode->exec)
		return false;
	if (!inode->writes)
		return inode->logged;
	if (inode->appends && !inode->again && !inode->rewritten)
		return false;
	if (in_place_does(inode))
		return true;
	return d->options->files == ENGINE_FILES_KEEP && inode->file->rec->size <= LOG_KEPT_MAX;
}

/* Those that are surely written in place first, then small ones: most files are kept so. */
static int in_place_order(const void *a, const void *b)
{
	const struct dump_inode *x = *(struct dump_inode *const *)a;
	const struct dump_inode *y = *(struct dump_inode *const *)b;
	bool x_log = x->at_end && !x->maps_write && !x->rewritten;
	bool y_log = y->at_end && !y->maps_write && !y->rewritten;

	if (x_log != y_log)
		return x_log - y_log;
	if (x->file->rec->size != y->file->rec->size)
		return x->file->rec->size < y->file->rec->size ? -1 : 1;
	return x < y ? -1 : x > y;
}

struct dump_file_told *dump_in_place_tell(struct dump *d, const char *path, uint64_t size,
					  enum dump_fate fate)
{
	struct dump_files_told *told = &d->stats.files;
	struct dump_file_told *one;
	size_t len = strlen(path);

	told->nr[fate]++;
	told->bytes[fate] += size;
	if (fate == DUMP_FATE_GROWS || told->nr_told == DUMP_FILES_TOLD)
		return NULL;
	one = &told->told[told->nr_told++];
	one->fate = fate;
	one->size = size;
	/* the end of a long path says most */
	snprintf(one->path, sizeof(one->path), "%s%s", len < sizeof(one->path) ? "" : "...",
		 len < sizeof(one->path) ? path : path + len - (sizeof(one->path) - 4));
	return one;
}

static void in_place_tell(struct dump *d, const struct dump_inode *inode, enum dump_fate fate)
{
	dump_in_place_tell(d, inode->file->path, inode->file->rec->size, fate);
}

/* Bytes of the file that are no hole, as far as its path tells; else its size. */
static uint64_t in_place_bytes(struct dump_probe *p, const struct dump_inode *inode)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	char path[PATH_MAX];
	struct stat st;

	if (dump_probe_path(p, inode->file, path, sizeof(path)) || lstat(path, &st) ||
	    !dump_is_same(rec, &st))
		return rec->size;
	return (uint64_t)st.st_blocks * 512 < rec->size ? (uint64_t)st.st_blocks * 512 : rec->size;
}

/* Keep the file, if it may be kept and fits into what is left of @room bytes. */
static void in_place_plan(struct dump_probe *p, struct dump_inode *inode, uint64_t *room)
{
	struct dump *d = p->d;
	uint64_t size = in_place_bytes(p, inode);
	bool several = d->options->nr_nodes > 1;

	/*
	 * Nodes may have files of one name that are not the same, and a restart may bring them to
	 * one node: only what is surely shared is kept.
	 */
	if (d->options->files != ENGINE_FILES_KEEP || size > *room ||
	    (several && !dump_shared_is(inode->file->rec)) || dump_place(d, inode->file)->handle) {
		/* a long log is cut, as one that is opened for appending */
		inode->watched = inode->writes &&
				 (inode->rewritten || (!inode->appends &&
						       (inode->maps_write || !inode->at_end)));
		if (!inode->writes)	/* any change of a file that is only read is refused */
			return;
		in_place_tell(d, inode, inode->watched ? DUMP_FATE_WATCHED : DUMP_FATE_GROWS);
		return;
	}
	*room -= size;
	inode->kept = true;
	inode->blob_kind = ENGINE_BLOB_FILE;
	/* after captured() other nodes may run, unless all are killed */
	inode->content = d->frozen_to_end && (!several || d->options->kill) ? DUMP_AFTER :
									      DUMP_IN_PAUSE;
}

int dump_in_place_plan(struct dump *d)
{
	struct dump_inode **found = calloc(d->nr_inodes + 1, sizeof(struct dump_inode *));
	struct dump_probe p = { .d = d };
	unsigned int nr = 0;

	d->files_room = d->options->files_max ? d->options->files_max : DUMP_FILES_MAX;
	if (d->options->nr_nodes > 1)	/* each node keeps what they share */
		d->files_room /= d->options->nr_nodes;
	if (!found)
		return error_fail(d->error, -ENOMEM, "out of memory");
	if (d->options->files == ENGINE_FILES_IGNORE) {
		free(found);
		return 0;
	}
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		struct dump_inode *inode = &d->inodes[i];

		if (in_place_can(d, inode))
			found[nr++] = inode;
		else if (inode->track && inode->writes && !inode->exec)
			in_place_tell(d, inode, DUMP_FATE_GROWS);
	}
	qsort(found, nr, sizeof(*found), in_place_order);
	for (unsigned int i = 0; i < nr; i++)
		in_place_plan(&p, found[i], &d->files_room);
	free(found);
	return 0;
}

/* ---------------------------------------------------------------- in the pause */

/* A file without a name on the file system of @file, to hold a clone; -errno. */
static int clone_target(struct dump_probe *p, const struct state_file *file)
{
	char path[PATH_MAX];
	int ret = dump_probe_path(p, file, path, sizeof(path)), fd;

	if (ret)
		return ret;
	fd = open(dirname(path), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* Make inode->clone, which shares the file's blocks; -errno if the file system cannot. */
static int in_place_clone(struct dump_probe *p, struct dump_inode *inode)
{
	_cleanup_fd_ int from = dump_reopen(inode), to = -1;

	if (from < 0)
		return from;
	to = clone_target(p, inode->file);
	if (to < 0)
		return to;
	if (ioctl(to, FICLONE, from))
		return -errno;
	inode->clone = take_fd(&to);
	inode->content = DUMP_AFTER;
	return 0;
}

/*
 * Let so much time pass that a write after the thaw gets a later time than any that was recorded
 * of a watched file.
 */
static void in_place_settle(const struct dump *d)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct timespec now;

	if (d->options->kill || clock_gettime(CLOCK_REALTIME, &now))
		return;
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		const struct dump_inode *inode = &d->inodes[i];
		uint64_t window = dump_shared_may(inode->file->rec) ? CLOCKS_APART : 1;

		if (inode->watched &&
		    inode->watched_mtime_ns / 1000000000ULL + window >= (uint64_t)now.tv_sec) {
			nanosleep(&tick, NULL);
			return;
		}
	}
}

/* Write back a watched file, and record its size and time as they are then. */
static int in_place_watch(struct dump *d, struct dump_inode *inode)
{
	_cleanup_fd_ int fd = dump_reopen(inode);
	struct stat st;

	if (fd < 0)		/* nothing to compare later: a restart finds the time different */
		return 0;
	if (inode->maps_write && !d->frozen_to_end)
		sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				SYNC_FILE_RANGE_WAIT_AFTER);
	if (fstat(fd, &st))
		return error_fail(d->error, -errno, "cannot watch %s: %s", inode->file->path,
				  strerror(errno));
	inode->watched_size = (uint64_t)st.st_size;
	inode->watched_mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ULL +
				  (uint64_t)st.st_mtim.tv_nsec;
	return 0;
}

/* Find the hashes of a kept file, which tell whether the file is still as they were read. */
static void in_place_hashes(struct dump *d, struct dump_inode *inode)
{
	_cleanup_fd_ int fd = d->hashing ? dump_reopen(inode) : -1;

	if (fd >= 0)
		inode->hashes = dump_hashes_of(d, fd, inode->file->rec->size);
}

int dump_in_place_take(struct dump *d)
{
	struct dump_probe p = { .d = d };
	uint64_t cannot = 0;		/* device of the last file system that cannot clone */
	int ret = 0;

	for (unsigned int i = 0; i < d->nr_inodes && !ret; i++) {
		struct dump_inode *inode = &d->inodes[i];
		uint64_t dev = inode->file->rec->dev;

		if (inode->watched)
			ret = in_place_watch(d, inode);
		if (!inode->kept)
			continue;
		in_place_hashes(d, inode);
		/* while the tree stands still to the end, its files need no clone */
		if (!d->frozen_to_end && dev != cannot && in_place_clone(&p, inode))
			cannot = dev;
		in_place_tell(d, inode, inode->clone >= 0 ? DUMP_FATE_CLONED : DUMP_FATE_COPIED);
	}
	if (!ret)
		in_place_settle(d);
	return ret;
}

void dump_in_place_foresee(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_inodes; i++)
		if (d->inodes[i].kept)
			in_place_tell(d, &d->inodes[i], DUMP_FATE_COPIED);
}
