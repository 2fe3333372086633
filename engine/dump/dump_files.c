// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inodes of the tree: what is to be done with each, and a descriptor for it.
 *
 * The decision follows from what a restart on another node will find.  A file without
 * a name (deleted, memfd, shared memory) or in this node's memory (tmpfs) is carried.
 * Every other file stays where it is and is tracked, unless the user asked to carry it or the
 * tree can write it in place (dump_in_place.c).
 * A content that the tree may write is read in the pause, any other after the thaw.
 *
 * Owns dump->inodes and the descriptors in it.  Use them only with dump_reopen(), which
 * makes a description of our own: one of the job must not be moved.
 */
#include "base/error.h"
#include "engine/dump/dump_closed.h"
#include "engine/dump/dump_in_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/core/rights.h"

static bool dump_files_has_content(const struct state_file *file)
{
	switch (file->rec->kind) {
	case CKPT_FILE_REG:
	case CKPT_FILE_SHM:
	case CKPT_FILE_SYSV:
	case CKPT_FILE_MEMFD:
	case CKPT_FILE_HUGETLB:
		return true;
	default:
		return false;
	}
}

static int dump_files_by_inode(const void *a, const void *b)
{
	const struct ckpt_rec_file *x = (*(struct state_file *const *)a)->rec;
	const struct ckpt_rec_file *y = (*(struct state_file *const *)b)->rec;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static bool dump_files_writable(const struct ckpt_rec_file *rec)
{
	return (rec->flags & CKPT_FILE_OPEN) && (rec->f_flags & O_ACCMODE) != O_RDONLY;
}

/* Note one more file of the inode. */
static void inode_add(struct dump *d, struct dump_inode *inode, struct state_file *file)
{
	const struct ckpt_rec_file *rec = file->rec;
	bool named = rec->kind == CKPT_FILE_REG && !dump_deleted(d, file);

	if (!inode->file) {
		inode->file = file;
		inode->owner = d->options->owner;
		inode->fd = -1;
		inode->clone = -1;
		inode->appends = true;
		inode->at_end = true;
	}
	inode->named |= named;
	inode->deleted |= !named;
	if (rec->flags & CKPT_FILE_OPEN)
		inode->open = true;
	/* whoever has the id may attach the segment and write as soon as the tree runs */
	if (rec->flags & CKPT_FILE_MAPPED_SHARED_WRITE || rec->kind == CKPT_FILE_SYSV) {
		inode->writes = true;
		inode->maps_write = true;
		inode->appends = false;
	}
	if (!dump_files_writable(rec))
		return;
	inode->writes = true;
	if (!(rec->f_flags & O_APPEND)) {
		inode->appends = false;
		inode->at_end &= rec->pos == rec->size;
	}
}

static int dump_files_find_inodes(struct dump *d)
{
	struct state *state = d->cap.state;
	struct state_file **files = calloc(state->nr_files + 1, sizeof(*files));
	unsigned int nr = 0;

	d->inodes = calloc(state->nr_files + 1, sizeof(*d->inodes));
	if (!files || !d->inodes) {
		free(files);
		return error_fail(d->error, -ENOMEM, "out of memory");
	}
	for (unsigned int i = 0; i < state->nr_files; i++) {
		state->files[i].user = 0;
		if (dump_files_has_content(&state->files[i]) &&
		    !dump_external_name(d, &state->files[i]))
			files[nr++] = &state->files[i];
	}
	qsort(files, nr, sizeof(*files), dump_files_by_inode);
	for (unsigned int i = 0; i < nr; i++) {
		if (i == 0 || files[i]->rec->dev != files[i - 1]->rec->dev ||
		    files[i]->rec->ino != files[i - 1]->rec->ino)
			d->nr_inodes++;
		inode_add(d, &d->inodes[d->nr_inodes - 1], files[i]);
		files[i]->user = d->nr_inodes;
	}
	free(files);
	return 0;
}

static void find_programs(struct dump *d)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_vmas; i++) {
		const struct state_vma *vma = &state->vmas[i];
		struct dump_inode *inode = vma->file ? dump_inode(d, vma->file) : NULL;

		if (inode && (vma->rec->flags & CKPT_VM_EXEC))
			inode->exec = true;
	}
	for (unsigned int i = 0; i < state->nr_mms; i++) {
		struct state_file *exe = state->mms[i].exe;
		struct dump_inode *inode = exe ? dump_inode(d, exe) : NULL;

		if (inode)
			inode->exec = true;
	}
}

static void plan_inode(struct dump *d, struct dump_inode *inode, dev_t shm_dev)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	bool has_name = !dump_place(d, inode->file)->handle, carry = false;

	if (inode->deleted) {
		inode->blob_kind = ENGINE_BLOB_OBJECT;
		inode->track = inode->named;
		carry = true;
	} else if (shm_dev && rec->dev == shm_dev) {
		return;		/* carried with the directory */
	} else if (rec->fs_magic == SYSFS_MAGIC) {
		return;		/* its size is no real one: it is opened again, nothing more */
	} else if (has_name && (state_file_in_memory(inode->file) ||
				(d->options->files == ENGINE_FILES_CARRY && inode->open &&
				 !inode->exec))) {
		inode->blob_kind = ENGINE_BLOB_FILE;
		carry = true;
	}
	if (!carry) {
		inode->track = true;
		return;
	}
	/* a file that is only appended to keeps its first rec->size bytes, if it is not cut */
	if (d->frozen_to_end || !inode->writes ||
	    (inode->appends && inode->blob_kind == ENGINE_BLOB_FILE))
		inode->content = DUMP_AFTER;
	else
		inode->content = DUMP_IN_PAUSE;
}

int dump_files_plan(struct dump *d)
{
	struct stat st = { 0 };
	int ret;

	if (d->options->shm_dir && stat(d->options->shm_dir, &st))
		return error_fail(d->error, -errno, "%s: %s", d->options->shm_dir,
				   strerror(errno));
	ret = dump_files_find_inodes(d);
	if (ret)
		return ret;
	find_programs(d);
	for (unsigned int i = 0; i < d->nr_inodes; i++)
		plan_inode(d, &d->inodes[i], st.st_dev);
	/* Names and sizes that nodes share are not known yet: dump_shared_see() finds and plans. */
	if (d->options->nr_nodes > 1 && !d->options->dry_run)
		return 0;
	ret = dump_closed_find(d);
	if (!ret)
		ret = dump_in_place_plan(d);
	return ret ? ret : dump_closed_plan(d);
}

/*
 * With an older module: replace the job's description in inode->fd by an O_PATH one of our own.
 * Holding the job's would also hold a lock that the job gives up by closing its file, for as long
 * as we write.  A file that is only mapped has no description of the job's: the kernel made ours.
 */
static int own_description(struct dump *d, struct dump_inode *inode)
{
	char path[40];
	int fd;

	if (!inode->open)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", inode->fd);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return error_fail(d->error, -errno, "cannot get at a file of the tree: %s",
				   strerror(errno));
	close(inode->fd);
	inode->fd = fd;
	return 0;
}

static int get_files(struct dump *d, const __u32 *ids, __s32 *fds, unsigned int nr, __u32 flags)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < nr; i += CKPT_FILE_GET_MAX) {
		struct ckpt_file_get get = {
			.flags = flags, .ids = (uintptr_t)(ids + i), .fds = (uintptr_t)(fds + i) };

		get.nr = nr - i < CKPT_FILE_GET_MAX ? nr - i : CKPT_FILE_GET_MAX;
		ret = kdev_file_get(d->cap.dev, &get);
	}
	return ret;
}

/* Get the inodes that the tree has open, or those that it only maps. */
static int get_inodes(struct dump *d, bool open, __u32 flags)
{
	__u32 *ids = calloc(d->nr_inodes + 1, sizeof(*ids));
	__s32 *fds = calloc(d->nr_inodes + 1, sizeof(*fds));
	unsigned int nr = 0;
	int ret = -ENOMEM;

	if (ids && fds) {
		for (unsigned int i = 0; i < d->nr_inodes; i++)
			if (d->inodes[i].open == open)
				ids[nr++] = d->inodes[i].file->rec->id;
		ret = get_files(d, ids, fds, nr, flags);
		nr = 0;
		for (unsigned int i = 0; !ret && i < d->nr_inodes; i++)
			if (d->inodes[i].open == open)
				d->inodes[i].fd = fds[nr++];
	}
	free(ids);
	free(fds);
	return ret;
}

int dump_files_get(struct dump *d)
{
	bool path = d->cap.dev->info.features & CKPT_FEAT_FILE_PATH;
	int ret = get_inodes(d, true, path ? CKPT_FILE_GET_PATH : 0);

	if (!ret)
		ret = get_inodes(d, false, 0);
	if (ret == -EMFILE)
		return error_fail(d->error, ret,
				   "the tree has %u files, more than this process may open: raise "
				   "its limit of open files", d->nr_inodes);
	if (ret)
		return capture_failed(&d->cap, ret, "cannot get at the tree's files", d->error);
	for (unsigned int i = 0; !ret && !path && i < d->nr_inodes; i++)
		ret = own_description(d, &d->inodes[i]);
	return ret;
}

void dump_files_put(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_inodes; i++) {
		if (d->inodes[i].fd >= 0)
			close(d->inodes[i].fd);
		if (d->inodes[i].clone >= 0)
			close(d->inodes[i].clone);
	}
	dump_hashes_done(d);
	free(d->inodes);
	d->inodes = NULL;
	d->nr_inodes = 0;
}

bool dump_changed_since(int fd, const struct ckpt_rec_file *rec)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       ((uint64_t)st.st_size != rec->size ||
		(uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec !=
		rec->mtime_ns);
}

static int dump_files_reopen_fd(int fd)
{
	char path[40];
	int ret;

	if (fd < 0)
		return -EBADF;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOATIME);
	if (ret < 0 && errno == EPERM)
		ret = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return ret < 0 ? -errno : ret;
}

/* The system call changes this thread's groups; the C library's function changes all threads'. */
static int own_groups_set(const gid_t *groups, size_t nr)
{
	return syscall(SYS_setgroups, nr, groups) ? -errno : 0;
}

int dump_open_as(uid_t uid, gid_t gid, const struct asker *owner, int (*open_it)(void *arg),
		 void *arg)
{
	int fd, old_gid, old_uid, nr = owner ? getgroups(0, NULL) : 0;
	_cleanup_free_ gid_t *mine = nr > 0 ? calloc((size_t)nr, sizeof(*mine)) : NULL;
	uint64_t before;

	if (nr > 0 && (!mine || getgroups(nr, mine) != nr))
		return -EACCES;
	if (rights_raise(0, &before) ||
	    (owner && own_groups_set(owner->groups, owner->nr_groups)))
		return -EACCES;
	old_gid = setfsgid(gid);
	old_uid = setfsuid(uid);
	fd = open_it(arg);
	setfsuid((uid_t)old_uid);
	setfsgid((gid_t)old_gid);
	if (owner && own_groups_set(mine, nr > 0 ? (size_t)nr : 0) && fd >= 0) {
		close(fd);	/* nothing more is to be opened with his groups */
		fd = -EACCES;
	}
	rights_lower(before);	/* setfsuid() may have put permitted capabilities into effect */
	return fd;
}

static int dump_files_reopen_arg(void *arg)
{
	return dump_files_reopen_fd(*(const int *)arg);
}

int dump_reopen(const struct dump_inode *inode)
{
	const struct ckpt_rec_file *rec = inode->file->rec;
	const struct asker *owner = inode->owner;
	int of = inode->fd, fd = dump_files_reopen_fd(of);

	if (fd != -EACCES)
		return fd;
	return dump_open_as(owner ? owner->uid : rec->uid, owner ? owner->gid : rec->gid, owner,
			    dump_files_reopen_arg, &of);
}
