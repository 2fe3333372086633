// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checking that the files of this node are those of the image.
 *
 * Programs and libraries must be the same build: other code in the same place would crash,
 * so the caller cannot accept that.  A file that the tree only reads must have the recorded
 * content, as far as that was recorded.  Output that only grew since the dump is cut to its
 * recorded length before the tree runs; the tail that is cut off is kept beside the file.
 * A file that the tree can write in place and whose content was not kept is watched: a changed
 * size or time is refused.  Any other file that was written since is refused, too, unless the
 * caller accepts changes.
 * Every finding is reported, not only the first.
 */
#include "base/error.h"
#include "engine/files/reopen_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/file_identity.h"

#define PATH_SHOWN	96	/* bytes of a path in a detail with a long text */

#define WATCHED_CHANGED \
	"written since, and its content was not kept (files_max, --files track, several nodes)"

/* Shorten a path for a text: its end says most, "..." stands for the rest. */
static const char *reopen_check_shown(const char *path, char *buf, size_t size)
{
	size_t len = strlen(path);

	if (len < size)
		return path;
	snprintf(buf, size, "...%s", path + len - (size - 4));
	return buf;
}

void reopen_check_refuse(struct reopen *r, const struct state_file *file, uint32_t reason,
			 const char *what)
{
	struct error_refusal refusal = { .reason = reason, .object = file->rec->id };
	size_t most = sizeof(refusal.detail) - PATH_SHOWN, len = strlen(what);
	char buf[sizeof(refusal.detail)];

	error_refuse(r->error, &refusal, "%s%s%s",
		     reopen_check_shown(file->path, buf, sizeof(buf) - 4 -
					(len < most ? len : most)),
		     what[0] ? ": " : "", what);
}

static void refuse_build(struct reopen *r, const struct state_file *file, uint32_t reason,
			 const uint8_t *here, unsigned int here_len)
{
	const struct engine_rec_file_track *track = file->track;
	struct error_refusal refusal = { .reason = reason, .object = file->rec->id };
	char want[2 * FILE_BUILD_ID_MAX + 1], got[2 * FILE_BUILD_ID_MAX + 1] = "none";
	char buf[PATH_SHOWN];

	file_identity_hex(track->build_id, track->build_id_len, want);
	if (here_len)
		file_identity_hex(here, here_len, got);
	error_refuse(r->error, &refusal, "%s: build-id %.16s, here %.16s",
		      reopen_check_shown(file->path, buf, sizeof(buf)), want, got);
}

static uint64_t mtime_of(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec;
}

/* Has the file the recorded tail here? False if no tail was recorded. */
static bool same_tail(const struct engine_rec_file_track *track, int fd)
{
	uint8_t hash[32];

	return track->flags & ENGINE_TRACK_TAIL && fd >= 0 &&
	       file_identity_tail(fd, track->tail_start, track->tail_len, hash) == 0 &&
	       memcmp(hash, track->tail_hash, sizeof(hash)) == 0;
}

static void check_program(struct reopen *r, const struct state_file *file, int fd,
			  const struct stat *st)
{
	const struct engine_rec_file_track *track = file->track;
	uint8_t id[FILE_BUILD_ID_MAX];
	int len;

	if (track->flags & ENGINE_TRACK_BUILD_ID && fd >= 0) {
		len = file_identity_build_id(fd, id);
		if (len != (int)track->build_id_len || memcmp(id, track->build_id, (size_t)len))
			refuse_build(r, file, CKPT_R_FILE_CHANGED, id, (unsigned int)len);
		return;
	}
	if ((uint64_t)st->st_size != track->size ||
	    (mtime_of(st) != track->mtime_ns && !same_tail(track, fd)))
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "another program or library");
}

static void check_read(struct reopen *r, const struct state_file *file, int fd,
		       const struct stat *st)
{
	const struct engine_rec_file_track *track = file->track;

	if (r->options->accept_changed)
		return;
	if ((uint64_t)st->st_size != track->size)
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "another size");
	else if (mtime_of(st) != track->mtime_ns && !same_tail(track, fd))
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "written since");
}

/* Another file has the name of one that is written, and the recorded one was not found. */
static int check_other(struct reopen *r, const struct state_file *file, int fd,
		       const struct stat *st)
{
	const struct engine_rec_file_track *track = file->track;
	const char *why = "";
	bool cut;

	/* a copy of a watched file is only known by size and time */
	if (track->flags & ENGINE_TRACK_WATCHED &&
	    ((uint64_t)st->st_size != track->size || mtime_of(st) != track->mtime_ns)) {
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, WATCHED_CHANGED);
		return 0;
	}
	if (!reopen_other_fits(r, file, reopen_find(r, file), st, same_tail(track, fd), &cut, &why))
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, why);
	else if (cut && r->options->files != ENGINE_FILES_IGNORE)
		return reopen_put_cut(r, file, track->size);
	return 0;
}

static int check_written(struct reopen *r, const struct state_file *file, int fd,
			 const struct stat *st)
{
	const struct engine_rec_file_track *track = file->track;
	bool same = same_tail(track, fd) || (!track->size && !track->tail_len);

	if (track->flags & ENGINE_TRACK_WATCHED) {
		if (!r->options->accept_changed && ((uint64_t)st->st_size != track->size ||
						    mtime_of(st) != track->mtime_ns))
			reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED,
					    WATCHED_CHANGED);
		return 0;
	}
	if (same && (uint64_t)st->st_size > track->size)
		return reopen_put_cut(r, file, track->size);
	if (r->options->accept_changed || (same && (uint64_t)st->st_size == track->size))
		return 0;
	if ((uint64_t)st->st_size < track->size)
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "shorter than it was");
	else
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "rewritten since");
	return 0;
}

static int open_to_check(struct reopen *r, const struct state_file *file)
{
	const struct reopen_found *found = reopen_find(r, file);
	int flags = O_CLOEXEC | O_NOCTTY, fd;

	if (found && found->at == REOPEN_AT_OTHER_NAME) {
		fd = reopen_again(found->fd, O_RDONLY | O_NONBLOCK | flags);
		return fd == -EACCES ? reopen_again(found->fd, O_PATH | flags) : fd;
	}
	fd = reopen_had(file, O_RDONLY | O_NONBLOCK | flags);
	return fd == -EACCES ? reopen_had(file, O_PATH | flags) : fd;
}

static void check_missing(struct reopen *r, const struct state_file *file, int err)
{
	const struct engine_rec_file_track *track = file->track;
	struct reopen_found *found = reopen_find(r, file);
	bool appends = false;

	if (track && track->flags & ENGINE_TRACK_BUILD_ID)
		refuse_build(r, file, CKPT_R_FILE_MISSING, NULL, 0);
	else if (found && found->exists)
		reopen_check_refuse(r, file, CKPT_R_FILE_MISSING,
				    "it lies elsewhere on its file system: move it back");
	else if (found && err == -ENOENT && reopen_other_anew(r, file, found))
		return;
	else if (found && reopen_writes(r, file, &appends) && appends)
		reopen_check_refuse(r, file, CKPT_R_FILE_MISSING,
				    "it is only appended to: --accept-changed begins a new one");
	else
		reopen_check_refuse(r, file, CKPT_R_FILE_MISSING, strerror(-err));
}

/* The recorded inode has another name, and its own cannot be given back. */
static void check_stuck(struct reopen *r, const struct state_file *file,
			const struct reopen_found *found)
{
	char text[200], name[PATH_SHOWN];

	snprintf(text, sizeof(text), "it is %s by now, and cannot get its name back: %s",
		 reopen_check_shown(found->path, name, sizeof(name)), found->stuck);
	reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, text);
}

/* Can the file be opened as it was, with the right to write? The restart must not find out. */
static void check_opens(struct reopen *r, const struct state_file *file)
{
	const struct reopen_found *found = reopen_find(r, file);
	_cleanup_fd_ int fd = -1;
	char text[96];

	if (found && found->anew)
		return;
	fd = reopen_find_open(r, file, reopen_flags(file) | O_NONBLOCK);
	if (fd >= 0)
		return;
	snprintf(text, sizeof(text), "it cannot be opened as it was: %s", strerror(-fd));
	reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, text);
}

/* @seen: the inode's content was checked by an earlier file; its name may be another one */
static int check_regular(struct reopen *r, const struct state_file *file, bool seen)
{
	const struct engine_rec_file_track *track = file->track;
	const struct reopen_found *found = reopen_find(r, file);
	_cleanup_fd_ int fd = open_to_check(r, file);
	bool readable = fd >= 0 && !(fcntl(fd, F_GETFL) & O_PATH);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		check_missing(r, file, fd < 0 ? fd : -errno);
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "not a regular file");
		return 0;
	}
	if (found && found->stuck) {
		check_stuck(r, file, found);
		return 0;
	}
	if (found && found->at == REOPEN_AT_OTHER_FILE && track->flags & ENGINE_TRACK_WRITES)
		return check_other(r, file, readable ? fd : -1, &st);
	if (seen || !track || r->options->files == ENGINE_FILES_IGNORE)
		return 0;
	if (track->flags & ENGINE_TRACK_EXEC)
		check_program(r, file, readable ? fd : -1, &st);
	else if (track->flags & ENGINE_TRACK_WRITES)
		return check_written(r, file, readable ? fd : -1, &st);
	else
		check_read(r, file, readable ? fd : -1, &st);
	return 0;
}

/* Was an earlier file of the inode checked; with @path, one that was opened by that name? */
static bool reopen_check_seen(const struct reopen *r, unsigned int index, const char *path)
{
	for (unsigned int i = r->first[index]; i < index; i++) {
		const struct state_file *file = &r->state->files[i];

		if (r->first[i] == r->first[index] && file->rec->kind == CKPT_FILE_REG &&
		    !state_file_deleted(file) && file->track &&
		    (!path || !strcmp(path, file->path)))
			return true;
	}
	return false;
}

static int check_file(struct reopen *r, unsigned int index)
{
	const struct state_file *file = &r->state->files[index];
	const char *needed;
	int ret = 0;

	if (reopen_other_left_out(file)) {
		needed = reopen_other_needed(r, file);
		if (needed)
			reopen_check_refuse(r, file, CKPT_R_FILE_MISSING, needed);
		return 0;
	}
	if (!reopen_check_seen(r, index, file->path))
		ret = check_regular(r, file, reopen_check_seen(r, index, NULL));
	/* one finding for one file: what cannot be opened has been refused, or comes next time */
	if (!ret && !r->error->nr_refusals)
		check_opens(r, file);
	return ret;
}

static void check_name(struct reopen *r, const struct state_file *file)
{
	_cleanup_fd_ int fd = reopen_name(file);

	if (fd < 0)
		reopen_check_refuse(r, file, CKPT_R_FILE_MISSING, strerror(-fd));
	else if (file->rec->kind != CKPT_FILE_DIR)
		return;
	else if (file->rec->flags & CKPT_FILE_OPEN)
		check_opens(r, file);
	else if (faccessat(fd, ".", X_OK, AT_EACCESS) && !reopen_had_closed(file, fd))
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "its owner may not search it");
}

/* Will the restore put the file there, as an entry of the job's /dev/shm? */
static bool in_shm_dir(const struct reopen *r, const struct state_file *file)
{
	for (unsigned int i = 0; i < r->state->nr_blobs; i++)
		if (r->state->blobs[i]->kind == ENGINE_BLOB_SHM_DIR &&
		    r->state->blobs[i]->dev == file->rec->dev &&
		    r->state->blobs[i]->ino == file->rec->ino)
			return true;
	return false;
}

static bool is_carried(const struct state_file *file)
{
	return file->blob && file->blob->kind == ENGINE_BLOB_FILE;
}

/* Will the restore put the inode there, for another file of it than this O_PATH one? */
static bool is_put_there(const struct reopen *r, unsigned int index)
{
	for (unsigned int i = r->first[index]; i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (r->first[i] == r->first[index] && is_carried(file) && !file->external)
			return true;
	}
	return false;
}

/* Has another file the name, and other names besides? The content is written in place. */
static bool check_is_shared(const struct reopen *r, const struct state_file *file,
			    const struct reopen_found *found, int fd)
{
	unsigned int had = file->rec->nlink ?: 1;
	struct stat st;

	return found->at == REOPEN_AT_OTHER_FILE && !r->options->accept_changed &&
	       !fstat(fd, &st) && st.st_nlink > had;
}

/* Can the content of a kept file be put back? The file may get its name back, too. */
static void check_kept(struct reopen *r, const struct state_file *file)
{
	const struct reopen_found *found = reopen_find(r, file);
	int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	_cleanup_fd_ int fd = -1;
	char text[96];

	if (!found || r->options->files == ENGINE_FILES_IGNORE)
		return;
	fd = found->at == REOPEN_AT_OTHER_NAME ? reopen_again(found->fd, flags) :
						 reopen_had(file, flags);
	if (fd >= 0 && check_is_shared(r, file, found, fd))
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED,
				    "another file has its name, and that has more names, which "
				    "would get the old content, too: remove or rename this one "
				    "(--accept-changed writes to it)");
	if (fd >= 0 || fd == -ENOENT)
		return;
	snprintf(text, sizeof(text), "its content cannot be put back: %s", strerror(-fd));
	reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, text);
}

int reopen_check(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->external || state_file_deleted(file) ||
		    in_shm_dir(r, file) || reopen_is_late(r, file))
			continue;
		switch (file->rec->kind) {
		case CKPT_FILE_REG:
			if (!is_carried(file))
				ret = check_file(r, i);
			else
				check_kept(r, file);
			break;
		case CKPT_FILE_PATH:
			if (!is_put_there(r, i))
				check_name(r, file);
			break;
		case CKPT_FILE_DIR:
		case CKPT_FILE_FIFO:
		case CKPT_FILE_SYMLINK:
			check_name(r, file);
			break;
		default:
			break;
		}
	}
	if (!ret)
		ret = reopen_closed_check(r);
	if (!ret)
		ret = reopen_since_check(r);
	return ret ? ret : error_refused(r->error, "restore");
}
