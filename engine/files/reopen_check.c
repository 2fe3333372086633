// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checking that the files of this node are those of the image.
 *
 * Programs and libraries must be the same build: other code in the same place would crash,
 * so the caller cannot accept that.  A file that the tree only reads must have the recorded
 * content, as far as that was recorded.  Output that only grew since the dump is cut to its
 * recorded length before the tree runs; the tail that is cut off is kept beside the file.
 * Any other file that was written since is refused, unless the caller accepts changes.
 * Every finding is reported, not only the first.
 */
#include "base/error.h"
#include "engine/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/file_identity.h"

#define PATH_SHOWN	48	/* bytes of a path in a detail with two build-ids */

/* Shorten a path for a text: its end says most, "..." stands for the rest. */
static const char *reopen_check_shown(const char *path, char *buf, size_t size)
{
	size_t len = strlen(path);

	if (len < size)
		return path;
	snprintf(buf, size, "...%s", path + len - (size - 4));
	return buf;
}

static void reopen_check_refuse(struct reopen *r, const struct state_file *file, uint32_t reason,
				const char *what)
{
	struct error_refusal refusal = { .reason = reason, .object = file->rec->id };
	char buf[sizeof(refusal.detail) - 32];

	error_refuse(r->error, &refusal, "%s%s%s", reopen_check_shown(file->path, buf, sizeof(buf)),
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

static int check_written(struct reopen *r, const struct state_file *file, int fd,
			 const struct stat *st)
{
	const struct engine_rec_file_track *track = file->track;
	bool same = same_tail(track, fd) || (!track->size && !track->tail_len);

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

static int open_to_check(const struct reopen *r, const struct state_file *file)
{
	int flags = O_CLOEXEC | O_NOCTTY;
	int fd = reopen_had(file, O_RDONLY | O_NONBLOCK | flags);

	return fd == -EACCES ? reopen_had(file, O_PATH | flags) : fd;
}

static int check_regular(struct reopen *r, const struct state_file *file)
{
	const struct engine_rec_file_track *track = file->track;
	_cleanup_fd_ int fd = open_to_check(r, file);
	bool readable = fd >= 0 && !(fcntl(fd, F_GETFL) & O_PATH);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		if (track && track->flags & ENGINE_TRACK_BUILD_ID)
			refuse_build(r, file, CKPT_R_FILE_MISSING, NULL, 0);
		else
			reopen_check_refuse(r, file, CKPT_R_FILE_MISSING,
					    strerror(fd < 0 ? -fd : errno));
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		reopen_check_refuse(r, file, CKPT_R_FILE_CHANGED, "not a regular file");
		return 0;
	}
	if (!track || r->options->files == ENGINE_FILES_IGNORE)
		return 0;
	if (track->flags & ENGINE_TRACK_EXEC)
		check_program(r, file, readable ? fd : -1, &st);
	else if (track->flags & ENGINE_TRACK_WRITES)
		return check_written(r, file, readable ? fd : -1, &st);
	else
		check_read(r, file, readable ? fd : -1, &st);
	return 0;
}

static void check_name(struct reopen *r, const struct state_file *file)
{
	_cleanup_fd_ int fd = reopen_had(file, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		reopen_check_refuse(r, file, CKPT_R_FILE_MISSING, strerror(-fd));
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

static bool reopen_check_seen(const struct reopen *r, unsigned int index)
{
	for (unsigned int i = r->first[index]; i < index; i++) {
		const struct state_file *file = &r->state->files[i];

		if (r->first[i] == r->first[index] && file->rec->kind == CKPT_FILE_REG &&
		    !state_file_deleted(file) && file->track)
			return true;
	}
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
			if (!is_carried(file) && !reopen_check_seen(r, i))
				ret = check_regular(r, file);
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
	return ret ? ret : error_refused(r->error, "restore");
}
