// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of files that the tree had changed before the dump and had not open: each leads to the
 * recorded content again, or to nothing if nothing had the name.
 *
 * A kept file that is not as recorded is made anew beside the one that has its name: nothing is
 * written into an existing file.  The name is taken from the one and given to the other when all
 * else is done.  The newer file stays as .NAME.stillpoint-newer-GENERATION.  Names of one inode
 * become names of one inode again, also if the tree has that inode open.  A watched file must
 * have the recorded size and time; one that only grows is cut.
 *
 * If the job is on several nodes, each node puts back what its own part knew, and two may
 * give one name at the same moment. All recorded the same of it: whoever finds that another one
 * came first looks again, and takes what that one has made. A rank of another node may have the
 * file open: as long as the name leads to the recorded inode, the content is put back into that.
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
#include <unistd.h>

#include "engine/core/file_identity.h"
#include "engine/core/kdev.h"
#include "engine/core/write_log.h"

#define BETWEEN_MAX	1000	/* names tried for a file that gets its own in a moment */
#define GIVE_TRIES	20	/* … and how often another node may come first */

/* A closed name as a file of the tree, for functions that take one. */
struct reopen_closed {
	struct ckpt_rec_file rec;
	struct state_file file;
	struct engine_rec_blob blob;	/* to be put back in place */
};

static bool closed_is_wanted(const struct reopen *r)
{
	return r->state->nr_closed && r->options->files != ENGINE_FILES_IGNORE;
}

bool reopen_is_of_nodes(const struct reopen *r)
{
	return r->state->writes && r->state->writes->nr_nodes > 1;
}

bool reopen_is_old(const struct reopen *r, const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec <=
	       r->state->system->realtime_ns;
}

static const struct state_file *closed_file(struct reopen *r, const struct state_closed *c)
{
	struct reopen_closed *closed = &r->closed[c - r->state->closed];

	closed->rec = (struct ckpt_rec_file){
		.kind = CKPT_FILE_REG, .size = c->rec->size, .dev = c->rec->dev,
		.ino = c->rec->ino, .mode = c->rec->mode, .uid = c->rec->uid, .gid = c->rec->gid,
	};
	closed->file = (struct state_file){ .rec = &closed->rec, .path = c->path,
					    .mapped = true };
	return &closed->file;
}

/* Open what has the name; -errno. A directory and others count as nothing to read. */
static int closed_open(const struct state_closed *c, struct stat *ret_st)
{
	int fd = reopen_open(c->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC,
			     0);

	if (fd == -EACCES)
		fd = reopen_open(c->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd >= 0 && fstat(fd, ret_st)) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static bool closed_same_time(const struct state_closed *c, const struct stat *st)
{
	return S_ISREG(st->st_mode) && (uint64_t)st->st_size == c->rec->size &&
	       (uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec ==
	       c->rec->mtime_ns;
}

/*
 * Has another file of before the dump the name? Each of two nodes may have had one, on a disk of
 * its own. Where both images are restored on one node, that of the first one stays.
 */
static bool closed_is_others(const struct reopen *r, const struct state_closed *c)
{
	struct stat st;
	_cleanup_fd_ int fd = r->options->beside ? closed_open(c, &st) : -1;

	return fd >= 0 && S_ISREG(st.st_mode) && reopen_is_old(r, &st) &&
	       !closed_same_time(c, &st);
}

static void closed_note_others(const struct reopen *r, const char *first, unsigned int nr)
{
	char text[512];

	if (!nr || !r->options->note)
		return;
	snprintf(text, sizeof(text), "%u files that ranks of another node had closed are not put "
		 "back, as others have their names here: %.300s%s", nr, first,
		 nr > 1 ? ", ..." : "");
	r->options->note(text, r->options->note_arg);
}

/* ---------------------------------------------------------------- checking */

static void closed_refuse(struct reopen *r, const struct state_closed *c, uint32_t reason,
			  const char *what)
{
	reopen_check_refuse(r, closed_file(r, c), reason, what);
}

/*
 * A file that the job wrote once and closed may be gone: jobs remove their older output.  Whoever
 * wants to read it gets an error, not wrong content.
 */
static void closed_check_watched(struct reopen *r, const struct state_closed *c, int fd,
				 const struct stat *st)
{
	if (r->options->accept_changed || fd == -ENOENT || fd == -ENOTDIR)
		return;
	if (fd < 0)
		closed_refuse(r, c, CKPT_R_FILE_MISSING,
			      "the job wrote it before the checkpoint, its content was not kept, "
			      "and it cannot be looked at (--accept-changed does without)");
	else if (!closed_same_time(c, st))
		closed_refuse(r, c, CKPT_R_FILE_CHANGED,
			      "written since, and its content was not kept (files_max, or "
			      "--files track; --accept-changed takes it)");
}

static int closed_check_grows(struct reopen *r, const struct state_closed *c, int fd,
			      const struct stat *st)
{
	uint64_t start = c->rec->size - c->rec->tail_len;
	uint8_t hash[32];

	if (fd >= 0 && S_ISREG(st->st_mode) && (uint64_t)st->st_size >= c->rec->size &&
	    !file_identity_tail(fd, start, c->rec->tail_len, hash) &&
	    !memcmp(hash, c->rec->tail_hash, sizeof(hash)))
		return (uint64_t)st->st_size == c->rec->size ? 0 :
		       reopen_put_cut(r, closed_file(r, c), c->rec->size);
	if (!r->options->accept_changed)
		closed_refuse(r, c, fd < 0 ? CKPT_R_FILE_MISSING : CKPT_R_FILE_CHANGED,
			      "the job had appended to it, and it does not begin with that "
			      "content (--accept-changed takes it)");
	return 0;
}

/* Can the name be given another file, if that is needed? */
static void closed_check_kept(struct reopen *r, const struct state_closed *c, int fd,
			      const struct stat *st)
{
	const char *name;

	if (fd >= 0 && closed_same_time(c, st) && st->st_ino == c->rec->ino)
		return;
	if (fd >= 0 && S_ISDIR(st->st_mode)) {
		closed_refuse(r, c, CKPT_R_FILE_CHANGED, "a directory has its name");
		return;
	}
	_cleanup_fd_ int dir = reopen_parent(c->path, &name);

	if (dir >= 0 && !reopen_names_may(dir, fd >= 0 ? st : NULL))
		closed_refuse(r, c, CKPT_R_FILE_CHANGED, "its content cannot be put back: the "
			      "owner may not change its directory (--files ignore leaves all "
			      "files as they are)");
}

/* Has the name of a symbolic link one with the recorded target? */
static bool closed_leads_there(const struct state_closed *c)
{
	const char *name;
	_cleanup_fd_ int dir = reopen_parent(c->path, &name);
	char target[PATH_MAX];
	ssize_t len = dir < 0 ? -1 : readlinkat(dir, name, target, sizeof(target));

	return len == (ssize_t)c->rec->size && !memcmp(target, c->target, c->rec->size);
}

static void closed_check_link(struct reopen *r, const struct state_closed *c, int fd,
			      const struct stat *st)
{
	if (!closed_leads_there(c))
		closed_check_kept(r, c, fd, st);
}

/* Tell of @nr watched files that are gone; @first is one of them. */
static void closed_note_gone(const struct reopen *r, const char *first, unsigned int nr)
{
	char text[512];

	if (!nr || !r->options->note)
		return;
	snprintf(text, sizeof(text), "%u files that the job had written and closed are gone, and "
		 "their content was not kept: %.300s%s", nr, first, nr > 1 ? ", ..." : "");
	r->options->note(text, r->options->note_arg);
}

int reopen_closed_check(struct reopen *r)
{
	const char *gone = NULL;
	unsigned int nr_gone = 0;
	int ret = 0;

	if (!closed_is_wanted(r))
		return 0;
	if (!r->closed)
		r->closed = calloc(r->state->nr_closed, sizeof(*r->closed));
	if (!r->closed)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < r->state->nr_closed && !ret; i++) {
		const struct state_closed *c = &r->state->closed[i];
		struct stat st = { 0 };
		_cleanup_fd_ int fd = -1;

		if (c->rec->flags & (ENGINE_CLOSED_ABSENT | ENGINE_CLOSED_OPEN) ||
		    closed_is_others(r, c))
			continue;
		fd = closed_open(c, &st);
		if (c->rec->flags == ENGINE_CLOSED_WATCHED && (fd == -ENOENT || fd == -ENOTDIR)) {
			gone = gone ?: c->path;
			nr_gone++;
		}
		if (c->rec->flags == ENGINE_CLOSED_WATCHED)
			closed_check_watched(r, c, fd, &st);
		else if (c->rec->flags == ENGINE_CLOSED_GROWS)
			ret = closed_check_grows(r, c, fd, &st);
		else if (c->rec->flags == ENGINE_CLOSED_LINK)
			closed_check_link(r, c, fd, &st);
		else
			closed_check_kept(r, c, fd, &st);
	}
	closed_note_gone(r, gone, nr_gone);
	return ret;
}

/* ---------------------------------------------------------------- putting */

static int closed_failed(struct reopen *r, const struct state_closed *c, int err)
{
	return error_fail(r->error, err, "cannot put %s back as it was: %s", c->path,
			  strerror(-err));
}

static struct engine_rec_blob closed_blob(const struct state_closed *c)
{
	return (struct engine_rec_blob){
		.kind = ENGINE_BLOB_FILE, .blob = c->rec->blob, .size = c->rec->size,
		.dev = c->rec->dev, .ino = c->rec->ino, .mtime_ns = c->rec->mtime_ns,
		.mode = c->rec->mode, .uid = c->rec->uid, .gid = c->rec->gid,
	};
}

/*
 * The file that has the name, if that is the recorded inode with the recorded content; or -1.
 * @any: another inode will do, if that has the content, the time and one name.
 */
static int closed_as_it_was(struct reopen *r, const struct state_closed *c, bool any, int *ret_fd)
{
	const struct engine_rec_blob blob = closed_blob(c);
	struct stat st;
	_cleanup_fd_ int fd = closed_open(c, &st);
	int same;

	*ret_fd = -1;
	if (fd < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_ino != c->rec->ino && !(any && st.st_nlink == 1)))
		return 0;
	same = reopen_same_content(r, fd, &blob, false);
	if (same > 0)
		*ret_fd = take_fd(&fd);
	return same < 0 ? same : 0;
}

/* The directory of the name, which is made if it is gone. */
static int closed_parent(struct reopen *r, const struct state_closed *c, const char **ret_name)
{
	int dir = reopen_parent(c->path, ret_name), ret;

	if (dir != -ENOENT)
		return dir;
	ret = reopen_directories(r, closed_file(r, c));
	return ret ? ret : reopen_parent(c->path, ret_name);
}

/* A name for a file or a link that gets its own in a moment. */
static void closed_between(unsigned int i, char ret_name[NAME_MAX + 1])
{
	snprintf(ret_name, NAME_MAX + 1, ".stillpoint-new-%d-%u", (int)getpid(), i);
}

/* A new file in the directory; without a name where that is possible, else *@ret_name is set. */
static int closed_create(int dir, char ret_name[NAME_MAX + 1])
{
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	ret_name[0] = 0;
	for (unsigned int i = 0; fd < 0 && i < BETWEEN_MAX; i++) {
		closed_between(i, ret_name);
		fd = openat(dir, ret_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

static bool closed_is_of_tree(const struct reopen *r, const struct stat *st)
{
	struct stat have;

	for (unsigned int i = 0; i < r->state->nr_files; i++)
		if (r->fds[i] >= 0 && !fstat(r->fds[i], &have) && have.st_dev == st->st_dev &&
		    have.st_ino == st->st_ino)
			return true;
	return false;
}

int reopen_closed_aside(struct reopen *r, int dir, const char *name, const struct stat *st)
{
	char kept[NAME_MAX + 1];
	int ret = reopen_names_aside(r, dir, name, dir, name, "newer", kept);

	if (!ret && closed_is_of_tree(r, st))
		reopen_names_drop_last(r);
	return ret;
}

/* Give the name to the file @base; another file that has it stays beside it. */
static int closed_give(struct reopen *r, const struct state_closed *c, int base)
{
	const char *name;
	_cleanup_fd_ int dir = closed_parent(r, c, &name);
	struct stat here, want;
	int ret = 0;

	if (dir < 0)
		return dir;
	if (fstat(base, &want))
		return -errno;
	if (!fstatat(dir, name, &here, AT_SYMLINK_NOFOLLOW)) {
		if (here.st_dev == want.st_dev && here.st_ino == want.st_ino)
			return 0;
		ret = S_ISDIR(here.st_mode) ? -EISDIR :
		      reopen_closed_aside(r, dir, name, &here);
	}
	return ret ? ret : reopen_names_do(r, dir, NULL, dir, name, base);
}

/*
 * Put the content back into the recorded inode, if the name of @c leads to it: a rank of another
 * node may have that open. *@ret_fd is the file; -1: the name leads elsewhere, or the owner may not
 * write to the file.
 */
static int closed_put_in_place(struct reopen *r, const struct state_closed *c, int *ret_fd)
{
	struct reopen_closed *closed = &r->closed[c - r->state->closed];
	const struct timespec times[] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(c->rec->mtime_ns / 1000000000ULL),
		  .tv_nsec = (long)(c->rec->mtime_ns % 1000000000ULL) },
	};
	_cleanup_fd_ int fd = reopen_open(c->path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW |
					  O_CLOEXEC, 0);
	struct engine_rec_blob now;
	struct stat st;
	int put, same;

	*ret_fd = -1;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != c->rec->ino)
		return 0;
	closed->blob = closed_blob(c);
	now = closed->blob;
	now.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec;
	same = reopen_same_content(r, fd, &now, false);
	if (same < 0)
		return same;
	if (same) {	/* another node has cut it back; the time only helps somebody who looks */
		futimens(fd, times);
	} else {
		put = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (put < 0)
			return -errno;
		same = reopen_put_closed(r, closed_file(r, c), put, &closed->blob);
		if (same)
			return same;
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Has somebody else changed the directory between two steps of ours? */
static bool closed_raced(int err)
{
	return err == -ENOENT || err == -EEXIST || err == -ESTALE;
}

/* Make the file of @c anew, and give it to all @nr names. */
static int closed_make(struct reopen *r, const struct state_closed *c, unsigned int nr)
{
	const struct engine_rec_blob blob = closed_blob(c);
	const char *name;
	_cleanup_fd_ int dir = closed_parent(r, c, &name), fd = -1;
	char between[NAME_MAX + 1];
	int ret;

	if (dir < 0)
		return dir;
	fd = closed_create(dir, between);
	if (fd < 0)
		return fd;
	ret = reopen_write_content(r, fd, &blob, 0);
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = closed_give(r, c + i, fd);
	if (between[0])
		unlinkat(dir, between, 0);
	r->bytes += ret ? 0 : blob.size;
	return ret;
}

/* Has the run removed or replaced the file? Then a rank of another node may have made its name. */
static bool closed_is_replaced(const struct state_closed *c)
{
	struct stat st;
	_cleanup_fd_ int fd = closed_open(c, &st);

	return fd < 0 || st.st_ino != c->rec->ino;
}

/* All @nr names, from @c on, of one inode; -errno as closed_raced() knows it. */
static int closed_put_inode(struct reopen *r, const struct state_closed *c, unsigned int nr)
{
	_cleanup_fd_ int base = -1;
	int ret = 0;

	if (c->rec->flags == ENGINE_CLOSED_OPEN) {
		int fd = reopen_fd(r, state_file_find(r->state, c->rec->file_id));

		base = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (base < 0)	/* the file was left out */
			return 0;
	} else if (c->rec->flags != ENGINE_CLOSED_KEPT) {
		return 0;
	}
	for (unsigned int i = 0; i < nr && base < 0 && !ret; i++)
		ret = closed_as_it_was(r, c + i, nr == 1 && reopen_is_of_nodes(r), &base);
	if (!ret && base < 0 && closed_is_replaced(c))
		reopen_since_wait(r);
	for (unsigned int i = 0; i < nr && base < 0 && !ret && reopen_is_of_nodes(r); i++)
		ret = closed_put_in_place(r, c + i, &base);
	if (ret)
		return ret;
	if (base < 0)
		return closed_make(r, c, nr);
	for (unsigned int i = 0; i < nr && !ret; i++)
		ret = closed_give(r, c + i, base);
	return ret;
}

/* A symbolic link with the recorded target and time, under the name *@ret_name. */
static int closed_create_link(int dir, const struct state_closed *c, char ret_name[NAME_MAX + 1])
{
	const struct timespec times[] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(c->rec->mtime_ns / 1000000000ULL),
		  .tv_nsec = (long)(c->rec->mtime_ns % 1000000000ULL) },
	};
	int ret = -EEXIST;

	for (unsigned int i = 0; ret == -EEXIST && i < BETWEEN_MAX; i++) {
		closed_between(i, ret_name);
		ret = symlinkat(c->target, dir, ret_name) ? -errno : 0;
	}
	if (!ret)	/* the time only helps somebody who looks */
		utimensat(dir, ret_name, times, AT_SYMLINK_NOFOLLOW);
	return ret;
}

/* The link leads where it led; whatever has its name now stays beside it. */
static int closed_put_link(struct reopen *r, const struct state_closed *c)
{
	const char *name;
	_cleanup_fd_ int dir = closed_parent(r, c, &name), fd = -1;
	char between[NAME_MAX + 1];
	int ret = dir < 0 ? dir : 0;

	if (ret || closed_leads_there(c))
		return ret;
	ret = closed_create_link(dir, c, between);
	if (ret)
		return ret;
	fd = openat(dir, between, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ret = fd < 0 ? -errno : closed_give(r, c, fd);
	unlinkat(dir, between, 0);
	return ret;
}

/* Nothing had the name: a file or link that has it now stays beside it. */
static int closed_put_absent(struct reopen *r, const struct state_closed *c)
{
	const char *name;
	_cleanup_fd_ int dir = reopen_parent(c->path, &name);
	struct stat st;
	int ret;

	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		return 0;
	ret = reopen_closed_aside(r, dir, name, &st);
	return ret == -ENOENT ? 0 : ret;	/* another node moved it */
}

/* Put @nr names of one inode back, or one name of nothing or of a link. */
static int closed_put(struct reopen *r, const struct state_closed *c, unsigned int nr)
{
	int ret = -EEXIST;

	for (unsigned int i = 0; i < GIVE_TRIES && closed_raced(ret); i++) {
		if (c->rec->flags == ENGINE_CLOSED_ABSENT)
			ret = closed_put_absent(r, c);
		else if (c->rec->flags == ENGINE_CLOSED_LINK)
			ret = closed_put_link(r, c);
		else
			ret = closed_put_inode(r, c, nr);
	}
	return ret ? closed_failed(r, c, ret) : 0;
}

static void closed_note(const struct reopen *r, unsigned int nr)
{
	char text[256];

	if (!nr || !r->options->note)
		return;
	snprintf(text, sizeof(text), "files that the job had closed are as they were at the "
		 "checkpoint (%u names); newer ones are kept beside them, as "
		 ".NAME.stillpoint-newer-GENERATION", nr);
	r->options->note(text, r->options->note_arg);
}

int reopen_closed_put(struct reopen *r)
{
	const struct state *state = r->state;
	unsigned int before = r->nr_renames, nr, nr_others = 0;
	const char *other = NULL;
	int ret = 0;

	if (!closed_is_wanted(r))
		return 0;
	for (unsigned int i = 0; i < state->nr_closed && !ret; i += nr) {
		const struct state_closed *c = &state->closed[i];

		nr = 1;
		while (!(c->rec->flags & (ENGINE_CLOSED_ABSENT | ENGINE_CLOSED_LINK)) &&
		       i + nr < state->nr_closed && c[nr].rec->flags == c->rec->flags &&
		       c[nr].rec->dev == c->rec->dev && c[nr].rec->ino == c->rec->ino)
			nr++;
		if (closed_is_others(r, c)) {
			other = other ?: c->path;
			nr_others++;
			continue;
		}
		ret = closed_put(r, c, nr);
	}
	closed_note_others(r, other, nr_others);
	if (!ret)
		closed_note(r, r->nr_renames - before);
	return ret;
}

/* ---------------------------------------------------------------- the log */

/* Does the image lack files that the tree had closed, or is it not known whether it does? */
static bool closed_is_incomplete(const struct reopen *r)
{
	const struct engine_rec_writes *writes = r->state->writes;

	return !writes || !(writes->flags & ENGINE_WRITES_COMPLETE) ||
	       r->options->files == ENGINE_FILES_IGNORE;
}

void reopen_closed_log(const struct reopen *r, struct kdev *dev)
{
	/* what we did ourselves is not the tree's; other images' trees, which run, have begun it */
	if (!r->options->followed && write_log_clear(dev, closed_is_incomplete(r)))
		return;
	for (unsigned int i = 0; i < r->state->nr_closed; i++) {
		const struct state_closed *c = &r->state->closed[i];
		const char *name;
		_cleanup_fd_ int dir = reopen_parent(c->path, &name);
		uint32_t flags = c->rec->log_flags & ~CKPT_WRITE_GONE;

		if (c->rec->flags == ENGINE_CLOSED_ABSENT)
			flags |= CKPT_WRITE_GONE;
		if (dir >= 0)
			write_log_add(dev, dir, name, flags, c->rec->writes);
	}
}

void reopen_closed_done(struct reopen *r)
{
	free(r->closed);
	r->closed = NULL;
}
