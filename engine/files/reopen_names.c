// SPDX-License-Identifier: GPL-2.0-only
/*
 * Giving inodes the names back that they had at the checkpoint.
 *
 * A program that wrote to a temporary name and renamed it since will do so again when it runs
 * on. So the inode must have the temporary name by then, and must not have the later one: with
 * both, rename(2) would do nothing and say that it did. A file that has the recorded name by
 * now came there after the checkpoint. It stays beside it, under a name that no pattern of a
 * shell matches.
 *
 * The plan is made when the files are checked, also in a dry run, and carried out last of all,
 * before contents are put back. Two files may have each other's names: all that must move
 * leave their present names first. Each step is noted and undone, last first, if the restore
 * fails. Everything is done with the owner's rights, in directories that were opened once.
 */
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

#include "base/cleanup.h"
#include "base/clock.h"

#define NAMES		10000	/* names tried for a file that is kept */
/* How long to wait for names that another node has taken: it may learn late that it must undo. */
#define UNDO_MS		20000
#define UNDO_PAUSE_NS	100000000

/* One step that was done: a name was moved, or added. */
struct reopen_rename {
	int from, to;			/* directories, of rename_dirs */
	char from_name[NAME_MAX + 1];	/* "": @to_name was added */
	char to_name[NAME_MAX + 1];
	bool drop;			/* the name is removed after the commit */
	dev_t dev;			/* of the inode that got the added name */
	ino_t ino;
};

/* ---------------------------------------------------------------- plan */

/* May the owner move the entry @st of the directory, or with NULL add one? */
bool reopen_names_may(int dir, const struct stat *st)
{
	struct stat of;

	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) || fstat(dir, &of))
		return false;
	return !st || !(of.st_mode & S_ISVTX) || !geteuid() || of.st_uid == geteuid() ||
	       st->st_uid == geteuid();
}

/* Why the name cannot be given back; NULL: it can. @there: the file that has it, or NULL. */
static const char *reopen_names_stuck(const struct state_file *file, struct reopen_found *found,
				      int parent, const struct stat *there)
{
	unsigned int had = file->rec->nlink ?: 1;
	struct stat st, dir;

	if (parent < 0)
		return "its directory is gone";
	if (fstat(found->fd, &st) || fstat(parent, &dir) || st.st_dev != dir.st_dev)
		return "its directory is on another file system";
	if (there && !S_ISREG(there->st_mode) && !S_ISLNK(there->st_mode))
		return "something else than a file has its name";
	if (st.st_nlink > had)
		return "it has more names than it had";
	if (st.st_nlink == had && had > 1)
		return "it had several names, and which is new cannot be told";
	found->link = st.st_nlink < had;
	if (!reopen_names_may(parent, there) ||
	    (!found->link && (!reopen_names_may(found->dir, &st) ||
			      !reopen_names_may(parent, &st))))
		return "its owner may not rename it";
	return NULL;
}

static void reopen_names_tell(const struct reopen *r, const struct state_file *file,
			      const struct reopen_found *found, bool taken)
{
	const char *what = found->back ? "and gets its name back" : "and is used there";
	char text[2 * PATH_MAX];

	if (!r->options->note)
		return;
	snprintf(text, sizeof(text), "%s is named %s by now, %s%s", file->path, found->path, what,
		 found->back && taken ? "; the file that has it is kept beside it, as "
					".NAME.stillpoint-old-GENERATION" : "");
	r->options->note(text, r->options->note_arg);
}

void reopen_names_plan(struct reopen *r, const struct state_file *file,
		       struct reopen_found *found)
{
	const char *name = "", *stuck;
	_cleanup_fd_ int parent = reopen_parent(file->path, &name);
	bool writes = file->track->flags & (ENGINE_TRACK_WRITES | ENGINE_TRACK_KEPT), taken;
	struct stat there;

	taken = parent >= 0 && !fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW);
	/* a file that is only read is no reason to move another one, which somebody may need */
	if (!writes && taken)
		stuck = "another file has its name";
	else
		stuck = reopen_names_stuck(file, found, parent, taken ? &there : NULL);
	found->back = !stuck;
	if (writes)
		found->stuck = stuck;
	if (!found->stuck)
		reopen_names_tell(r, file, found, taken);
}

/* ---------------------------------------------------------------- steps */

/* Move an entry, never over another one. NFS and others know no RENAME_NOREPLACE. */
static int reopen_names_move(int from, const char *from_name, int to, const char *to_name)
{
	if (!renameat2(from, from_name, to, to_name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (linkat(from, from_name, to, to_name, 0))
		return -errno;
	if (!unlinkat(from, from_name, 0))
		return 0;
	unlinkat(to, to_name, 0);
	return -EIO;
}

/* A descriptor of our own for the directory: steps in one directory share it. */
static int reopen_names_dir(struct reopen *r, int dir)
{
	struct stat want, have;
	int *more, fd;

	if (fstat(dir, &want))
		return -errno;
	for (unsigned int i = r->nr_rename_dirs; i-- > 0;)
		if (!fstat(r->rename_dirs[i], &have) && have.st_dev == want.st_dev &&
		    have.st_ino == want.st_ino)
			return r->rename_dirs[i];
	more = reallocarray(r->rename_dirs, r->nr_rename_dirs + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->rename_dirs = more;
	fd = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	more[r->nr_rename_dirs++] = fd;
	return fd;
}

static struct reopen_rename *reopen_names_step(struct reopen *r, int from, int to)
{
	struct reopen_rename *more = reallocarray(r->renames, r->nr_renames + 1, sizeof(*more));

	if (!more)
		return NULL;
	r->renames = more;
	more += r->nr_renames;
	memset(more, 0, sizeof(*more));
	more->from = reopen_names_dir(r, from);
	more->to = reopen_names_dir(r, to);
	r->nr_renames++;
	return more->from < 0 || more->to < 0 ? NULL : more;
}

/* Do one step and note it; without @from_name the found inode gets one name more. */
int reopen_names_do(struct reopen *r, int from, const char *from_name, int to,
		    const char *to_name, int inode)
{
	struct reopen_rename *step = reopen_names_step(r, from, to);
	struct stat st = { 0 };
	char path[40];
	int ret = 0;

	if (!step)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", inode);
	if (from_name)
		ret = reopen_names_move(from, from_name, to, to_name);
	else if (fstat(inode, &st) || linkat(AT_FDCWD, path, to, to_name, AT_SYMLINK_FOLLOW))
		ret = -errno;
	if (ret)
		return ret;	/* the step has no names yet: nothing to undo */
	snprintf(step->from_name, sizeof(step->from_name), "%s", from_name ?: "");
	snprintf(step->to_name, sizeof(step->to_name), "%s", to_name);
	step->dev = st.st_dev;
	step->ino = st.st_ino;
	return 0;
}

/* Move an entry beside @name in @to, under a free name of ours with the word @what. */
int reopen_names_aside(struct reopen *r, int from, const char *from_name, int to,
		       const char *name, const char *what, char *ret_name)
{
	unsigned long long generation = r->state->tree ? r->state->tree->generation : 0;
	int ret = -EEXIST, len;
	char tail[64];

	for (unsigned int i = 0; ret == -EEXIST && i < NAMES; i++) {
		len = snprintf(tail, sizeof(tail), ".stillpoint-%s-%llu", what, generation);
		if (i)
			len += snprintf(tail + len, sizeof(tail) - (size_t)len, ".%u", i);
		snprintf(ret_name, NAME_MAX + 1, ".%.*s%s", NAME_MAX - 1 - len, name, tail);
		ret = reopen_names_do(r, from, from_name, to, ret_name, -1);
	}
	return ret;
}

/* ---------------------------------------------------------------- all */

/* A file on its way from one name to the other. */
struct reopen_homing {
	const struct state_file *file;
	struct reopen_found *found;
	int parent;			/* the recorded directory */
	const char *name;		/* the recorded name in it */
	char between[NAME_MAX + 1];	/* its name in it for the time being */
};

static int reopen_names_failed(struct reopen *r, const struct reopen_homing *h, int err)
{
	return error_fail(r->error, err, "cannot give %s the name %s back: %s", h->found->path,
			  h->file->path, strerror(-err));
}

/* Has another restart of this job, from another node's image, given the name back by now? */
static bool reopen_names_is_home(const struct reopen_homing *h)
{
	struct stat is, there;

	return !fstat(h->found->fd, &is) &&
	       !fstatat(h->parent, h->name, &there, AT_SYMLINK_NOFOLLOW) &&
	       is.st_dev == there.st_dev && is.st_ino == there.st_ino;
}

static int reopen_names_leave(struct reopen *r, struct reopen_homing *h)
{
	const char *present = strrchr(h->found->path, '/') + 1;
	int ret;

	if (h->found->link || reopen_names_is_home(h))
		return 0;
	ret = reopen_names_aside(r, h->found->dir, present, h->parent, h->name, "name",
				 h->between);
	return ret ? reopen_names_failed(r, h, ret) : 0;
}

static int reopen_names_arrive(struct reopen *r, struct reopen_homing *h)
{
	char kept[NAME_MAX + 1];
	struct stat st;
	int ret = 0;

	if (!h->between[0] && reopen_names_is_home(h))
		return 0;
	if (!fstatat(h->parent, h->name, &st, AT_SYMLINK_NOFOLLOW))
		ret = reopen_names_aside(r, h->parent, h->name, h->parent, h->name, "old", kept);
	if (!ret)
		ret = reopen_names_do(r, h->parent, h->between[0] ? h->between : NULL, h->parent,
				      h->name, h->found->fd);
	return ret ? reopen_names_failed(r, h, ret) : 0;
}

int reopen_names_back(struct reopen *r)
{
	_cleanup_free_ struct reopen_homing *all = calloc(r->state->nr_files + 1, sizeof(*all));
	unsigned int nr = 0;
	int ret = 0;

	if (!all)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		struct reopen_homing *h = &all[nr];

		if (!r->found[i].looked || !r->found[i].back)
			continue;
		h->file = &r->state->files[i];
		h->found = &r->found[i];
		h->parent = reopen_parent(h->file->path, &h->name);
		ret = h->parent < 0 ? reopen_names_failed(r, h, h->parent) : 0;
		nr += !ret;
	}
	if (!ret && nr)
		reopen_since_wait(r);
	for (unsigned int i = 0; !ret && i < nr; i++)
		ret = reopen_names_leave(r, &all[i]);
	for (unsigned int i = 0; !ret && i < nr; i++)
		ret = reopen_names_arrive(r, &all[i]);
	for (unsigned int i = 0; i < nr; i++)
		close(all[i].parent);
	return ret;
}

/* Has the inode still the name that was added? Another node may have given it to its own copy. */
static bool reopen_names_is_ours(const struct reopen_rename *step)
{
	struct stat st;

	return !fstatat(step->to, step->to_name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_dev == step->dev && st.st_ino == step->ino;
}

/* Give a file its name back. Another node may have the name until it has undone its own steps. */
static void reopen_names_move_back(const struct reopen *r, const struct reopen_rename *step,
				   int64_t until_ms)
{
	const struct timespec pause = { .tv_nsec = UNDO_PAUSE_NS };
	char text[2 * NAME_MAX + 64];
	int ret;

	for (;;) {
		ret = reopen_names_move(step->to, step->to_name, step->from, step->from_name);
		if (ret != -EEXIST || !reopen_is_of_nodes(r) || clock_monotonic_ms() >= until_ms)
			break;
		nanosleep(&pause, NULL);
	}
	if (ret != -EEXIST || !r->options->note)
		return;
	snprintf(text, sizeof(text), "%s stays as %s: another file has its name now",
		 step->from_name, step->to_name);
	r->options->note(text, r->options->note_arg);
}

void reopen_names_undo(struct reopen *r)
{
	const int64_t until_ms = clock_monotonic_ms() + UNDO_MS;

	for (unsigned int i = r->nr_renames; i-- > 0;) {
		const struct reopen_rename *step = &r->renames[i];

		if (step->from_name[0])
			reopen_names_move_back(r, step, until_ms);
		else if (step->to_name[0] && reopen_names_is_ours(step))
			unlinkat(step->to, step->to_name, 0);
	}
	reopen_names_done(r);
}

void reopen_names_drop_last(struct reopen *r)
{
	r->renames[r->nr_renames - 1].drop = true;
}

/* Has the inode a name besides this one? The last one is its content, too. */
static bool reopen_names_is_another(const struct reopen_rename *step)
{
	struct stat st;

	return !fstatat(step->to, step->to_name, &st, AT_SYMLINK_NOFOLLOW) && st.st_nlink > 1;
}

void reopen_names_settle(const struct reopen *r)
{
	bool all = r->options->files == ENGINE_FILES_CARRY;

	for (unsigned int i = 0; i < r->nr_renames; i++) {
		const struct reopen_rename *step = &r->renames[i];

		if ((step->drop && reopen_names_is_another(step)) ||
		    (all && strstr(step->to_name, ".stillpoint-newer-")))
			unlinkat(step->to, step->to_name, 0);
	}
}

void reopen_names_done(struct reopen *r)
{
	while (r->nr_rename_dirs)
		close(r->rename_dirs[--r->nr_rename_dirs]);
	free(r->rename_dirs);
	r->rename_dirs = NULL;
	free(r->renames);
	r->renames = NULL;
	r->nr_renames = 0;
}
