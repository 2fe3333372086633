// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files whose recorded inode was not found.
 *
 * A copy of the file may take its place: on another node, in a directory that moved, from a
 * backup. It is known for one by its content before the recorded position, as far as the image
 * has marks of that. On the file system of the checkpoint, where the inode itself could be
 * found if it were there, all of the content must be covered by the mark; elsewhere its end
 * must do. Output that is only appended to has no old position, so there the caller may accept
 * any file, and an empty one may be made. All else is refused, whatever the caller accepts.
 */
#include "engine/files/reopen_find.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NULL_DEVICE	"/dev/null"

/* Is this another file system than the file was on, or one whose inode numbers do not last? */
static bool reopen_other_is_elsewhere(const struct reopen *r, const struct state_file *file,
				      const struct stat *st)
{
	const struct ckpt_rec_file *rec = file->rec;
	char host[64] = "";

	if (file->mapped || st->st_dev != rec->dev || rec->fs_magic == FUSE_SUPER_MAGIC ||
	    rec->fs_magic == V9FS_MAGIC)
		return true;
	gethostname(host, sizeof(host) - 1);
	return r->state->tree && strncmp(host, r->state->tree->hostname, sizeof(host) - 1) != 0;
}

static bool reopen_other_accepted(const struct reopen *r)
{
	return r->options->accept_changed || r->options->files == ENGINE_FILES_IGNORE;
}

bool reopen_other_fits(const struct reopen *r, const struct state_file *file,
		       const struct reopen_found *found, const struct stat *st, bool same,
		       bool *ret_cut, const char **ret_why)
{
	const struct engine_rec_file_track *track = file->track;
	uint64_t size = (uint64_t)st->st_size;
	bool appends;

	*ret_cut = false;
	reopen_writes(r, file, &appends);
	if (appends && reopen_other_accepted(r))
		return true;
	if (track->size) {
		bool whole = !track->tail_start || reopen_other_is_elsewhere(r, file, st);

		*ret_cut = size > track->size;
		if (same && whole && size >= track->size)
			return true;
		*ret_why = found->exists ?
			   "another file has its name; it lies elsewhere on its file system" :
			   appends ? "another file has its name; --accept-changed appends to it" :
			   "another file has its name, with other content";
		return false;
	}
	*ret_cut = size && r->options->accept_changed;
	*ret_why = found->exists ?
		   "another file has its name; it lies elsewhere on its file system" :
		   "another file has its name; --accept-changed cuts that, keeping the content";
	return !size || (*ret_cut && !found->exists);
}

bool reopen_other_anew(const struct reopen *r, const struct state_file *file,
		       struct reopen_found *found)
{
	const char *name = "";
	_cleanup_fd_ int dir = reopen_parent(file->path, &name);
	bool appends;

	if (found->at != REOPEN_AT_NOWHERE || found->exists || dir < 0 ||
	    !reopen_writes(r, file, &appends) ||
	    faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) ||
	    faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return false;
	if (file->track->size && (!appends || !reopen_other_accepted(r)))
		return false;
	found->anew = true;
	return true;
}

int reopen_other_make(struct reopen *r, const struct state_file *file, int flags)
{
	const struct ckpt_rec_file *rec = file->rec;
	_cleanup_fd_ int fd = reopen_path(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret;

	if (fd == -EEXIST)	/* made for another description of it */
		return reopen_path(file, flags, 0);
	if (fd < 0)
		return fd;
	ret = reopen_created(r, file->path);
	if (ret)
		return ret;
	reopen_mode_later(r, rec->mode & 07777);
	if (fchown(fd, rec->uid, rec->gid) && errno != EPERM)
		return -errno;
	return reopen_again(fd, flags);
}

/* ---------------------------------------------------------------- left out */

bool reopen_other_left_out(const struct state_file *file)
{
	return file->mapped && !strcmp(file->path, NULL_DEVICE);
}

const char *reopen_other_needed(const struct reopen *r, const struct state_file *file)
{
	for (unsigned int i = 0; i < r->state->nr_mms; i++)
		if (r->state->mms[i].exe == file)
			return "the program itself cannot be left out";
	for (unsigned int i = 0; i < r->state->nr_vmas; i++)
		if (r->state->vmas[i].file == file)
			return "it is mapped into memory and cannot be left out";
	for (unsigned int i = 0; i < r->state->nr_locks; i++)
		if (r->state->locks[i].file == file)
			return "it is locked and cannot be left out";
	return NULL;
}
