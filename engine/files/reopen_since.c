// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that the tree first changed after the dump, as its write journal tells (write_journal.h).
 *
 * Nothing of these is in the image: at the dump the tree had not touched them. A file that was
 * there at the dump must be there with the size and the time that it had before its first change;
 * else the restart is refused, as the tree would read what it has not read before. A name that
 * was free is free again: the file that has it stays as .NAME.stillpoint-newer-GENERATION.
 *
 * A directory that the tree removed was empty by then, and is made anew: each name that it had is
 * looked at by itself.
 *
 * Names that the image knows are not looked at here, with one exception: a file that had only
 * grown by the dump, of which nothing but its end is known, must not have been written in place.
 *
 * A job over several nodes has a journal for each, and the other nodes are restarted meanwhile: a
 * file that one of them has just put back is told by its time, which is of before the checkpoint. A
 * file that was younger than the checkpoint when this node first changed it is another node's. One
 * that another node had changed before is put back there (reopen_given.c). Where a node restores
 * several images that is not asked, so files that were there at the dump are not looked at.
 *
 * Nothing here has more rights than the owner.
 */
#include "base/error.h"
#include "engine/files/reopen_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/core/kdev.h"
#include "engine/core/write_journal.h"
#include "engine/core/write_log.h"

#define CLOCK_SLACK	2	/* seconds between the clocks of nodes and file servers */
/* From the end of a run until its files are put back: by any clock that is after the run. */
#define PUT_AFTER	(2 * CLOCK_SLACK + 1)

/* Paths that the image knows, sorted. */
struct since_known {
	const char **paths;
	unsigned int nr;
};

static bool since_is_wanted(const struct reopen *r)
{
	return r->options->since && r->options->files != ENGINE_FILES_IGNORE;
}

/* ---------------------------------------------------------------- known names */

static int since_by_path(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Does the restart make the file what it was, or check that it is? */
static bool since_file_is_known(const struct state_file *file)
{
	return file->path && (file->blob || (file->track && file->track->flags &
					     (ENGINE_TRACK_WRITES | ENGINE_TRACK_KEPT)));
}

static int since_know(struct reopen *r, struct since_known *ret_known)
{
	const struct state *state = r->state;
	struct since_known known = { 0 };

	known.paths = calloc(state->nr_closed + state->nr_files + 1, sizeof(*known.paths));
	if (!known.paths)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < state->nr_closed; i++)
		known.paths[known.nr++] = state->closed[i].path;
	for (unsigned int i = 0; i < state->nr_files; i++)
		if (since_file_is_known(&state->files[i]))
			known.paths[known.nr++] = state->files[i].path;
	qsort(known.paths, known.nr, sizeof(*known.paths), since_by_path);
	*ret_known = known;
	return 0;
}

/* Is the name none of the tree's, but one that we, or NFS, gave to a file that was in the way? */
static bool since_is_nothing(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return !name[0] || (name[0] == '.' && strstr(name, ".stillpoint-")) ||
	       state_name_silly(name);
}

static bool since_is_new(const struct since_known *known, const struct write_log_name *name)
{
	return !since_is_nothing(name->path) &&
	       !bsearch(&name->path, known->paths, known->nr, sizeof(*known->paths),
			since_by_path);
}

/* ---------------------------------------------------------------- checking */

/* Look what has the name; 0, -ENOENT, negative errno. */
static int since_look(const char *path, struct stat *ret_st)
{
	const char *name;
	_cleanup_fd_ int dir = reopen_parent(path, &name);

	if (dir < 0)
		return dir == -ENOTDIR ? -ENOENT : dir;
	return fstatat(dir, name, ret_st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

/*
 * Was the directory removed, and not renamed? Only either has the log know it as one that was
 * there; the tree may have made it anew, and others have removed it again. A rename leaves the
 * directory's new name in the log, unless the tree has removed the directory under that name.
 */
static bool since_was_removed(const struct write_since *since, const struct write_log_name *name)
{
	const uint32_t moved = CKPT_WRITE_DIR | CKPT_WRITE_RENAMED;

	if (since->lost || (name->flags & moved) != CKPT_WRITE_DIR)
		return false;
	for (unsigned int i = 0; i < since->nr; i++)
		if ((since->names[i].flags & moved) == moved)
			return false;
	return true;
}

static bool since_is_as_before(const struct write_log_name *name, const struct stat *st)
{
	if (!(name->flags & CKPT_WRITE_STATE))
		return false;
	if (name->flags & CKPT_WRITE_DIR)
		return S_ISDIR(st->st_mode) && st->st_ino == name->ino;
	return (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)) &&
	       (uint64_t)st->st_size == name->bytes &&
	       (uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec ==
	       name->mtime_ns;
}

static void since_refuse(struct reopen *r, const struct write_log_name *name, uint32_t reason,
			 const char *what)
{
	struct ckpt_rec_file rec = { .kind = CKPT_FILE_REG };
	const struct state_file file = { .rec = &rec, .path = name->path, .mapped = true };

	reopen_check_refuse(r, &file, reason, what);
}

/*
 * Had another node changed the file before, or made it? Then the image or the journal of that node
 * says what the file was at the dump: the file is put back, moved aside or refused there.
 */
static bool since_is_of_another(const struct reopen *r, const struct write_log_name *name)
{
	const uint64_t dump_ns = r->state->system->realtime_ns;

	return reopen_is_of_nodes(r) && name->flags & CKPT_WRITE_STATE &&
	       !(name->flags & CKPT_WRITE_DIR) &&
	       name->mtime_ns > dump_ns + CLOCK_SLACK * 1000000000ULL;
}

/* Are several images restored on this node? Then another one may know the file. */
static bool since_is_of_several(const struct reopen *r)
{
	return r->options->beside || r->options->followed;
}

/* The name may have had a file, or a directory, when the tree first changed it. */
static void since_check(struct reopen *r, const struct write_log_name *name)
{
	bool dir = name->flags & CKPT_WRITE_DIR;
	struct stat st;
	int ret;

	if (!(name->flags & CKPT_WRITE_EXISTED)) {
		reopen_given_made(r, name);
		return;
	}
	if (since_is_of_several(r))
		return;
	ret = since_look(name->path, &st);
	if (r->options->accept_changed || (!ret && since_is_as_before(name, &st)) ||
	    (ret == -ENOENT && since_was_removed(r->options->since, name)) ||
	    since_is_of_another(r, name) || reopen_given(r, name))
		return;
	if (ret)
		since_refuse(r, name, CKPT_R_FILE_MISSING, dir ?
			     "the job renamed or removed this directory after the checkpoint "
			     "(put it back, or --accept-changed)" :
			     "the job removed or renamed it after the checkpoint, when its content "
			     "was not kept (put it back with its time, as cp -p does, or "
			     "--accept-changed goes without)");
	else
		since_refuse(r, name, CKPT_R_FILE_CHANGED, dir ?
			     "the job renamed this directory after the checkpoint, and another "
			     "has its name (put it back, or --accept-changed)" :
			     "the job changed it after the checkpoint, when its content was not "
			     "kept (put it back with its time, as cp -p does, or "
			     "--accept-changed takes it)");
}

/* Does the image know no more of the file than that it grew? */
static bool since_only_grew(const struct state *state, const char *path)
{
	for (unsigned int i = 0; i < state->nr_closed; i++)
		if (state->closed[i].rec->flags == ENGINE_CLOSED_GROWS &&
		    !strcmp(state->closed[i].path, path))
			return true;
	for (unsigned int i = 0; i < state->nr_files; i++) {
		const struct state_file *file = &state->files[i];

		if (file->path && !file->blob && file->track &&
		    (file->track->flags & (ENGINE_TRACK_WRITES | ENGINE_TRACK_WATCHED)) ==
		    ENGINE_TRACK_WRITES && !strcmp(file->path, path))
			return true;
	}
	return false;
}

static void since_check_in_place(struct reopen *r, const struct write_log_name *name)
{
	if (name->flags & CKPT_WRITE_IN_PLACE && !r->options->accept_changed &&
	    since_only_grew(r->state, name->path))
		since_refuse(r, name, CKPT_R_FILE_CHANGED,
			     "it had only grown by the checkpoint, so its content was not kept, "
			     "and the job wrote it in place later (--accept-changed takes it)");
}

static void since_tell(const struct reopen *r, const char *text)
{
	if (r->options->note)
		r->options->note(text, r->options->note_arg);
}

/* Tell what is not known, so that nobody relies on it. */
static void since_tell_unknown(const struct reopen *r)
{
	const struct engine_rec_writes *writes = r->state->writes;
	const struct write_since *since = r->options->since;
	time_t until = (time_t)since->until_s;
	char text[256], when[32] = "";
	struct tm tm;

	if (!writes || !(writes->flags & ENGINE_WRITES_COMPLETE))
		since_tell(r, "the checkpoint did not know all files that the job had written and "
			      "closed: some may be newer than the job");
	if (!writes || !(writes->flags & ENGINE_WRITES_KNOWN))
		return;
	if (since_is_of_several(r))
		since_tell(r, "files that the job first changed after the checkpoint stay as they "
			      "are, as images of several nodes are restored here");
	if (!since->known)
		since_tell(r, "it is not known here which files the job changed after the "
			      "checkpoint: some may be newer than the job");
	else if (since->lost)
		since_tell(r, "the job changed more files after the checkpoint than were noted: "
			      "some may be newer than the job");
	if (!since->known || since->ended)
		return;
	if (localtime_r(&until, &tm))
		strftime(when, sizeof(when), "%F %T", &tm);
	snprintf(text, sizeof(text), "the job ended with its node: files that it first changed "
		 "after %s may be newer than the job", when);
	since_tell(r, text);
}

int reopen_since_check(struct reopen *r)
{
	const struct write_since *since = r->options->since;
	struct since_known known;
	int ret;

	if (!since_is_wanted(r))
		return 0;
	since_tell_unknown(r);
	ret = since_know(r, &known);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < since->nr; i++) {
		if (since_is_new(&known, &since->names[i]))
			since_check(r, &since->names[i]);
		since_check_in_place(r, &since->names[i]);
	}
	free(known.paths);
	return 0;
}

/*
 * Has another node put the file back? At the checkpoint the name was taken, that node removed the
 * file later, and then ours made another one. A file that is put back has its old time, but is new.
 */
static bool since_is_put_back(const struct reopen *r, const struct stat *st)
{
	const struct ckpt_rec_system *system = r->state->system;

	return reopen_is_of_nodes(r) && r->options->since->read_s &&
	       st->st_mtim.tv_sec <= (time_t)(system->realtime_ns / 1000000000ULL) + CLOCK_SLACK &&
	       st->st_ctim.tv_sec > (time_t)r->options->since->read_s + CLOCK_SLACK;
}

/* Look as if for the first time: the file server is asked, and not this node's memory. */
static bool since_is_given(const struct reopen *r, const struct write_log_name *name, bool back)
{
	const char *entry;
	_cleanup_fd_ int dir = reopen_parent(name->path, &entry), fd = -1;
	struct statx now;
	struct stat st;

	/* NFS remembers for a time that a name was not there, until the directory has changed */
	if (dir >= 0)
		(void)statx(dir, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_MTIME, &now);
	fd = dir < 0 ? dir : openat(dir, entry, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW |
				    O_CLOEXEC);
	if (dir < 0)
		return !back && (dir == -ENOENT || dir == -ENOTDIR);
	/* a symbolic link, or one that its owner may not read */
	if (fd < 0 && fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW))
		return !back && errno == ENOENT;
	if (fd >= 0 && fstat(fd, &st))
		return false;
	/* what was made later is gone, and the file of the checkpoint may have its name again */
	return back ? since_is_as_before(name, &st) : since_is_put_back(r, &st);
}

int reopen_given_check(struct reopen *r)
{
	const struct write_since *since = r->options->since;
	struct since_known known;
	int ret;

	if (!since_is_wanted(r) || r->options->accept_changed)
		return 0;
	ret = since_know(r, &known);
	for (unsigned int i = 0; i < since->nr && !ret; i++) {
		const struct write_log_name *name = &since->names[i];
		enum reopen_given given = REOPEN_GIVEN_NOT;

		if (name->flags & CKPT_WRITE_EXISTED && since_is_new(&known, name) &&
		    !since_is_of_another(r, name))
			given = reopen_given(r, name);
		if (given && !since_is_given(r, name, given == REOPEN_GIVEN_BACK))
			since_refuse(r, name, CKPT_R_FILE_CHANGED,
				     "the job changed it after the checkpoint, and the node that "
				     "had its content, or made it, has not put it back");
	}
	if (!ret)
		free(known.paths);
	return ret ? ret : error_refused(r->error, "restore");
}

/* ---------------------------------------------------------------- putting */

/* Does the file stay under the name, which it did not have at the dump? */
static bool since_stays(const struct reopen *r, const struct write_log_name *name,
			const struct stat *st)
{
	/* with --accept-changed it may be the only name of a file that was there */
	if (r->options->accept_changed && name->flags & CKPT_WRITE_RENAMED)
		return true;
	if (since_is_put_back(r, st) || (r->options->beside && reopen_is_old(r, st)))
		return true;
	if (name->flags & CKPT_WRITE_DIR)
		return !S_ISDIR(st->st_mode);
	return !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode);
}

/* Free a name that nothing had at the dump. *ret_freed is set if something had it. */
static int since_free(struct reopen *r, const struct write_log_name *at, bool *ret_freed)
{
	const char *name;
	_cleanup_fd_ int dir = reopen_parent(at->path, &name);
	struct stat st;
	int ret;

	*ret_freed = false;
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || since_stays(r, at, &st))
		return 0;
	ret = reopen_closed_aside(r, dir, name, &st);
	/* another node has moved it; or its files leave it one by one, if it cannot be renamed */
	if (ret == -ENOENT || (ret && at->flags & CKPT_WRITE_DIR))
		return 0;
	*ret_freed = !ret;
	return ret ? error_fail(r->error, ret, "cannot move %s aside, which the job made after the "
				"checkpoint: %s (--files ignore leaves all files as they are)",
				at->path, strerror(-ret)) : 0;
}

/*
 * Make a directory anew that the tree removed. Its mode is not known, so nobody but the owner gets
 * a right. The directory stays if the restart fails: it is empty.
 */
static int since_make_dir(const struct reopen *r, const struct write_log_name *at)
{
	const char *name;
	_cleanup_fd_ int dir = reopen_parent(at->path, &name);
	char text[512];
	int ret;

	ret = dir < 0 ? dir : mkdirat(dir, name, 0700) ? -errno : 0;
	if (ret == -EEXIST)
		return 0;
	if (ret)
		return error_fail(r->error, ret, "cannot make the directory %s anew, which the job "
				  "removed after the checkpoint: %s (make it, or --files ignore)",
				  at->path, strerror(-ret));
	snprintf(text, sizeof(text), "the job removed the directory %.300s after the "
		 "checkpoint: it is made anew, with mode 0700", at->path);
	since_tell(r, text);
	return 0;
}

static void since_tell_freed(const struct reopen *r, const char *first, unsigned int nr)
{
	char text[512];

	if (!nr)
		return;
	snprintf(text, sizeof(text), "%u files or directories that the job made after the "
		 "checkpoint are kept as .NAME.stillpoint-newer-GENERATION: %.300s%s", nr, first,
		 nr > 1 ? ", ..." : "");
	since_tell(r, text);
}

/*
 * Other nodes tell a file that is put back from one that the run made by its time of change, and
 * clocks differ. A restart that follows the end of the run at once waits here for some seconds. A
 * log that has no end does not tell when that was: perhaps when the restart began.
 */
void reopen_since_wait(const struct reopen *r)
{
	const struct write_since *since = r->options->since;
	time_t now = time(NULL);
	time_t from = (time_t)(since && since->known && since->ended ? since->read_s : r->began_s);

	if (since_is_wanted(r) && reopen_is_of_nodes(r) && now >= from && now < from + PUT_AFTER)
		sleep((unsigned int)(from + PUT_AFTER - now));
}

int reopen_since_put(struct reopen *r)
{
	const struct write_since *since = r->options->since;
	const char *first = NULL;
	struct since_known known;
	unsigned int nr = 0;
	bool freed;
	int ret;

	if (!since_is_wanted(r))
		return 0;
	ret = since_know(r, &known);
	if (ret)
		return ret;
	/* by path: a directory comes before what is in it */
	for (unsigned int i = 0; i < since->nr && !ret; i++) {
		const struct write_log_name *name = &since->names[i];

		if (!since_is_new(&known, name))
			continue;
		if (name->flags & CKPT_WRITE_EXISTED) {
			if (since_was_removed(since, name) && !r->options->accept_changed)
				ret = since_make_dir(r, name);
			continue;
		}
		ret = since_free(r, name, &freed);
		first = first ?: freed ? name->path : NULL;
		nr += freed;
	}
	free(known.paths);
	since_tell_freed(r, first, nr);
	return ret;
}
