// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the tree has changed and closed: a restart must find them as of the freeze, or must
 * be refused, as with those that it has open (dump_in_place.c).
 *
 * The write log of the tree's PID namespace tells which names these are (engine/core/write_log.h).
 * In the pause each name is looked up.  A name that leads to an inode that the tree has open is
 * recorded as one more name of it.  All other inodes share what is left of files_max: those that
 * were written more than once come first.  What was written once is kept only if it is small:
 * mostly it is output, which nobody reads again.  A name that is gone is recorded, too.
 *
 * A symbolic link is recorded with its target, which is all there is of it.
 *
 * A path can lead elsewhere than when the log got it.  So no symbolic link is followed, and only
 * files that belong to the tree's user are read: an image may be read by its user.
 *
 * If the job is on several nodes, each looks its own names up when no node writes any more
 * (dump_shared.c), so that nodes which know the same name record the same of it.
 */
#include "base/error.h"
#include "engine/dump/dump_closed.h"
#include "engine/dump/dump_in_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/core/rights.h"
#include "engine/core/write_log.h"

#define CLOSED_LOG_MAX	(64ULL << 20)	/* a longer file that is only appended to is not kept */
#define ONCE_MAX	(1ULL << 20)	/* a longer file that was written once is not kept */
#define ONCE_ALL_MAX	(64ULL << 20)	/* … and so much of them together */
#define LOOK_MS		3000	/* of the pause, for looking names up */
#define TAKE_MS		5000	/* of the pause, for clones and copies */
#define ABSENT_MAX	16384U		/* names that are gone */
#define TICK_NS		1000000L
/* what a record has of a name's flags: what happened to the name, not where it comes from */
#define CLOSED_LOG_FLAGS (CKPT_WRITE_CLOSED | CKPT_WRITE_APPENDS | CKPT_WRITE_CREATED | \
			  CKPT_WRITE_RENAMED | CKPT_WRITE_GONE)
#define TICKS_MAX	20
/* names that are recorded, and nothing of what is behind them */
#define CLOSED_NO_INODE	(ENGINE_CLOSED_ABSENT | ENGINE_CLOSED_OPEN | ENGINE_CLOSED_LINK)

/* One name; names of one inode stand side by side, and the first leads. */
struct dump_closed {
	char *path;			/* malloc */
	char *target;			/* likewise; of a symbolic link */
	uint32_t flags;			/* ENGINE_CLOSED_* */
	uint32_t log_flags, writes;
	uint32_t file_id;
	struct stat st;
	uint64_t room;			/* bytes that are no hole */
	int clone;			/* of the leader; -1: none */
	uint64_t blob;
	uint32_t tail_len;
	uint8_t tail_hash[32];
};

/* ---------------------------------------------------------------- finding */

/* Open @path as the tree's first process sees it, through no symbolic link; -errno. */
static int closed_open(const struct dump *d, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, d->closed_root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

struct closed_opening {
	const struct dump *d;
	const char *path;
	int flags;
};

static int closed_open_arg(void *arg)
{
	const struct closed_opening *o = arg;

	return closed_open(o->d, o->path, o->flags);
}

/* The user whose files the tree writes, as its first process with a thread has it; or NULL. */
static const struct ckpt_creds *closed_creds(const struct dump *d)
{
	const struct state_proc *root = d->cap.state->roots;

	while (root && !root->nr_threads)
		root = root->sibling;
	return root ? &root->threads[0].rec->creds : NULL;
}

/* Open as the tree's user: on NFS with root_squash, root may not enter his directories. */
static int closed_open_his(const struct dump *d, const char *path, int flags)
{
	const struct asker *owner = d->options->owner;
	const struct ckpt_creds *creds = closed_creds(d);
	struct closed_opening opening = { d, path, flags };

	if (!owner && !creds)
		return -EACCES;
	return dump_open_as(owner ? owner->uid : creds->fsuid, owner ? owner->gid : creds->fsgid,
			    owner, closed_open_arg, &opening);
}

/* Is the name one that a restart of ours gave to a copy, or NFS to a removed file? */
static bool closed_is_nothing(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return (name[0] == '.' && strstr(name, ".stillpoint-")) || state_name_silly(name);
}

static bool closed_same_inode(const struct ckpt_rec_file *rec, const struct stat *st)
{
	return rec->dev == st->st_dev && rec->ino == st->st_ino;
}

/* The first file of the tree that is of the inode; NULL: the tree has not got it. */
static const struct state_file *closed_in_tree(const struct dump *d, const struct stat *st)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_files; i++)
		if (closed_same_inode(state->files[i].rec, st))
			return &state->files[i];
	return NULL;
}

/* Does the tree have the inode? Then the name is recorded if it is another one, and no more. */
static bool closed_is_open(struct dump *d, struct dump_closed *c)
{
	const struct state_file *file = closed_in_tree(d, &c->st);
	struct dump_inode *inode = file ? dump_inode(d, file) : NULL;

	if (!file)
		return false;
	/* the name by which it is open is recorded, too: the log of the next run begins with it */
	if (!inode || inode->exec || (!inode->track && inode->blob_kind != ENGINE_BLOB_FILE))
		c->flags = 0;
	else
		c->flags = ENGINE_CLOSED_OPEN;
	if (inode) {
		inode->logged = true;
		inode->again |= c->writes > 0;
		inode->rewritten |= c->log_flags & CKPT_WRITE_IN_PLACE;
		c->file_id = inode->file->rec->id;
	}
	return true;
}

/*
 * Nothing has the name. If the tree has not removed it, somebody else has, or the path is wrong: a
 * part of an NFS export that is mounted alone looks like the whole. A name that the tree itself
 * had made first needs no record: if the tree makes the name again, that comes after the dump in
 * the log.
 */
static void closed_absent(struct dump *d, struct dump_closed *c)
{
	if (!(c->log_flags & CKPT_WRITE_GONE))
		d->stats.files.closed_lost = true;
	if (d->nr_absent++ < ABSENT_MAX)
		c->flags = ENGINE_CLOSED_ABSENT;
	else if (c->log_flags & (CKPT_WRITE_EXISTED | CKPT_WRITE_TOLD))
		d->stats.files.closed_lost = true;
}

/* Record where a symbolic link leads: another user's may lie where ours must not look. */
static void closed_link(struct dump *d, struct dump_closed *c, int fd)
{
	const struct ckpt_creds *creds = closed_creds(d);
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, "", target, sizeof(target));

	if (len > 0 && len < (ssize_t)sizeof(target) &&
	    (!creds || !creds->fsuid || c->st.st_uid == creds->fsuid))
		c->target = strndup(target, (size_t)len);
	if (c->target)
		c->flags = ENGINE_CLOSED_LINK;
	else
		d->stats.files.closed_lost = true;
}

/*
 * Other nodes may have changed what is behind the name: ask the file server, of whom this kernel
 * else believes what it heard last.
 */
static void closed_ask_server(int fd)
{
	struct statx stx;

	statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx);
}

/* The same of the directory of the name: does it have the name? */
static void closed_ask_parent(const struct dump *d, const char *path)
{
	char dir[PATH_MAX], *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	slash[slash == dir] = 0;
	_cleanup_fd_ int fd = closed_open(d, dir, O_PATH | O_DIRECTORY);

	if (fd >= 0)
		closed_ask_server(fd);
}

/* Look a name of the log up; c->flags 0: there is nothing to record. */
static void closed_look(struct dump *d, struct dump_closed *c, dev_t shm_dev)
{
	bool several = d->options->nr_nodes > 1;
	_cleanup_fd_ int fd = -1;

	if (several)
		closed_ask_parent(d, c->path);
	fd = closed_open(d, c->path, O_PATH);

	if (fd == -EACCES)
		fd = closed_open_his(d, c->path, O_PATH);
	if (fd == -ENOENT || fd == -ENOTDIR)
		closed_absent(d, c);
	else if (fd < 0 && fd != -ELOOP)	/* nobody has that name any more: a link leads on */
		d->stats.files.closed_lost = true;
	if (fd >= 0 && several)
		closed_ask_server(fd);
	if (fd < 0 || fstat(fd, &c->st) || (shm_dev && c->st.st_dev == shm_dev))
		return;
	if (S_ISLNK(c->st.st_mode))
		closed_link(d, c, fd);
	if (!S_ISREG(c->st.st_mode) || closed_is_open(d, c))
		return;
	c->flags = ENGINE_CLOSED_WATCHED;	/* until it is decided */
	c->room = (uint64_t)c->st.st_blocks * 512;
	if (c->room > (uint64_t)c->st.st_size)
		c->room = (uint64_t)c->st.st_size;
}

static int closed_by_inode(const void *a, const void *b)
{
	const struct dump_closed *x = a, *y = b;

	if (x->st.st_dev != y->st.st_dev)
		return x->st.st_dev < y->st.st_dev ? -1 : 1;
	if (x->st.st_ino != y->st.st_ino)
		return x->st.st_ino < y->st.st_ino ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Has the name an inode of its own, or the first of its inode's names? */
static bool closed_leads(const struct dump *d, unsigned int i)
{
	const struct dump_closed *c = &d->closed[i];

	return !i || c->flags & CLOSED_NO_INODE ||
	       c->st.st_dev != c[-1].st.st_dev || c->st.st_ino != c[-1].st.st_ino;
}

static int closed_take_names(struct dump *d, const struct write_log *log)
{
	int64_t until = clock_monotonic_ms() + LOOK_MS;
	struct stat shm = { 0 };

	d->closed = calloc(log->nr + 1, sizeof(*d->closed));
	if (!d->closed)
		return error_fail(d->error, -ENOMEM, "out of memory");
	if (d->options->shm_dir)
		stat(d->options->shm_dir, &shm);
	for (unsigned int i = 0; i < log->nr; i++) {
		struct dump_closed *c = &d->closed[d->nr_closed];

		if (clock_monotonic_ms() > until) {	/* a slow file server */
			d->stats.files.closed_lost = true;
			break;
		}
		*c = (struct dump_closed){ .clone = -1, .log_flags = log->names[i].flags,
					   .writes = log->names[i].writes };
		if (log->names[i].flags & CKPT_WRITE_DIR || closed_is_nothing(log->names[i].path))
			continue;
		c->path = strdup(log->names[i].path);
		if (!c->path)
			return error_fail(d->error, -ENOMEM, "out of memory");
		closed_look(d, c, shm.st_dev);
		if (c->flags)
			d->nr_closed++;
		else
			free(c->path);
	}
	qsort(d->closed, d->nr_closed, sizeof(*d->closed), closed_by_inode);
	return 0;
}

void dump_closed_prepare(struct dump *d)
{
	const struct dump_options *o = d->options;
	char path[40];

	d->closed_root = -1;
	if (o->files == ENGINE_FILES_IGNORE)
		return;
	snprintf(path, sizeof(path), "/proc/%d/root", o->roots[0]);
	d->closed_root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* a log that is not there shows in the pause */
	write_log_extend(d->cap.dev, o->roots[0],
			 o->writes_tag ?: o->job ? write_log_tag(o->job) : 0);
}

int dump_closed_find(struct dump *d)
{
	struct write_log log;
	int ret;

	if (d->closed_root < 0)
		return 0;
	ret = dump_writes_read(d, &log);
	if (ret == -ENOMEM)
		return error_fail(d->error, ret, "out of memory");
	if (ret)		/* told, and no reason to refuse: so it was with older modules */
		return 0;
	ret = closed_take_names(d, &log);
	write_log_done(&log);
	return ret;
}

/* ---------------------------------------------------------------- deciding */

static bool closed_appends(const struct dump_closed *c)
{
	return c->log_flags & CKPT_WRITE_APPENDS &&
	       !(c->log_flags & (CKPT_WRITE_RENAMED | CKPT_WRITE_IN_PLACE));
}

static bool closed_again(const struct dump_closed *c)
{
	return c->writes > 1 || c->log_flags & (CKPT_WRITE_RENAMED | CKPT_WRITE_IN_PLACE);
}

/* Those that were written again, then small ones. */
static int closed_order(const void *a, const void *b)
{
	const struct dump_closed *x = *(struct dump_closed *const *)a;
	const struct dump_closed *y = *(struct dump_closed *const *)b;

	if (closed_again(x) != closed_again(y))
		return closed_again(y) - closed_again(x);
	if (x->room != y->room)
		return x->room < y->room ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void closed_decide(struct dump *d, struct dump_closed *c, uid_t owner, uint64_t *once)
{
	bool again = closed_again(c), mine = !owner || c->st.st_uid == owner;
	bool fits = c->room <= d->files_room && d->options->files != ENGINE_FILES_TRACK && mine &&
		    (again || (c->room <= ONCE_MAX && c->room <= *once));

	/* not even a hash of another user's file goes into the image */
	if (closed_appends(c) && mine && (!fits || c->st.st_size > (off_t)CLOSED_LOG_MAX)) {
		c->flags = ENGINE_CLOSED_GROWS;
	} else if (fits) {
		c->flags = ENGINE_CLOSED_KEPT;
		d->files_room -= c->room;
		if (!again)
			*once -= c->room;
	}
}

/* All names of an inode were the log's: let the first know what happened to the others. */
static void closed_join(struct dump *d)
{
	struct dump_closed *first = NULL;

	for (unsigned int i = 0; i < d->nr_closed; i++) {
		struct dump_closed *c = &d->closed[i];

		if (closed_leads(d, i)) {
			first = c;
			continue;
		}
		first->writes += c->writes;
		if (!(c->log_flags & CKPT_WRITE_APPENDS) && c->log_flags & CKPT_WRITE_CLOSED)
			first->log_flags &= ~CKPT_WRITE_APPENDS;
		first->log_flags |= c->log_flags & (CKPT_WRITE_RENAMED | CKPT_WRITE_IN_PLACE);
	}
}

int dump_closed_plan(struct dump *d)
{
	struct dump_closed **order = calloc(d->nr_closed + 1, sizeof(*order));
	uint64_t once = ONCE_ALL_MAX;
	unsigned int nr = 0;
	const struct ckpt_creds *creds = closed_creds(d);
	uid_t owner = creds ? creds->fsuid : 0;

	if (!order)
		return error_fail(d->error, -ENOMEM, "out of memory");
	closed_join(d);
	for (unsigned int i = 0; i < d->nr_closed; i++)
		if (closed_leads(d, i) && d->closed[i].flags == ENGINE_CLOSED_WATCHED)
			order[nr++] = &d->closed[i];
	qsort(order, nr, sizeof(struct dump_closed *), closed_order);
	for (unsigned int i = 0; i < nr; i++)
		closed_decide(d, order[i], owner, &once);
	free(order);
	return 0;
}

/* ---------------------------------------------------------------- in the pause */

static void closed_tell(struct dump *d, const struct dump_closed *c, enum dump_fate fate)
{
	struct dump_file_told *one = dump_in_place_tell(d, c->path, (uint64_t)c->st.st_size, fate);

	if (one)
		one->once = !closed_again(c);
}

/* Open the very inode for reading, with its owner's rights where ours do not suffice. */
static int closed_reopen(const struct dump *d, const struct dump_closed *c)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY, gid, uid, fd;
	uint64_t before;
	struct stat st;

	fd = closed_open(d, c->path, flags | O_NOATIME);
	if (fd == -EPERM)
		fd = closed_open(d, c->path, flags);
	if (fd == -EACCES)
		fd = closed_open_his(d, c->path, flags);
	if (fd == -EACCES && !rights_raise(0, &before)) {
		gid = setfsgid(c->st.st_gid);
		uid = setfsuid(c->st.st_uid);
		fd = closed_open(d, c->path, flags);
		setfsuid((uid_t)uid);
		setfsgid((gid_t)gid);
		rights_lower(before);
	}
	if (fd >= 0 && (fstat(fd, &st) || st.st_dev != c->st.st_dev ||
			st.st_ino != c->st.st_ino)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static int closed_clone(const struct dump *d, const struct dump_closed *c, int from)
{
	char *slash, dir[PATH_MAX];
	_cleanup_fd_ int to = -1;

	snprintf(dir, sizeof(dir), "%s", c->path);
	slash = strrchr(dir, '/');
	slash[slash == dir] = 0;
	_cleanup_fd_ int parent = closed_open(d, dir, O_PATH | O_DIRECTORY);

	to = parent < 0 ? -1 : openat(parent, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (to < 0 || ioctl(to, FICLONE, from))
		return -EOPNOTSUPP;
	return take_fd(&to);
}

static void closed_watch(struct dump *d, struct dump_closed *c, struct timespec *latest)
{
	const struct timespec *t = &c->st.st_mtim;

	c->flags = ENGINE_CLOSED_WATCHED;
	closed_tell(d, c, DUMP_FATE_WATCHED);
	if (t->tv_sec > latest->tv_sec ||
	    (t->tv_sec == latest->tv_sec && t->tv_nsec > latest->tv_nsec))
		*latest = *t;
}

/* A file that we may not read, or that somebody else has just replaced, is watched. */
static int closed_keep(struct dump *d, struct dump_closed *c, dev_t *cannot,
		       struct timespec *latest)
{
	bool after = d->frozen_to_end && (d->options->nr_nodes < 2 || d->options->kill);
	_cleanup_fd_ int fd = closed_reopen(d, c);

	if (fd < 0) {
		closed_watch(d, c, latest);
		return 0;
	}
	if (!d->frozen_to_end && c->st.st_size && c->st.st_dev != *cannot) {
		c->clone = closed_clone(d, c, fd);
		if (c->clone < 0)
			*cannot = c->st.st_dev;
	}
	closed_tell(d, c, c->clone >= 0 ? DUMP_FATE_CLONED : DUMP_FATE_COPIED);
	if (c->clone >= 0)
		return 0;
	return dump_content_blob(d, fd, c->path, (uint64_t)c->st.st_size,
				 after ? DUMP_AFTER : DUMP_IN_PAUSE, &c->blob);
}

/* A log whose end cannot be read now is watched, too. */
static void closed_hash(struct dump *d, struct dump_closed *c, struct timespec *latest)
{
	_cleanup_fd_ int fd = closed_reopen(d, c);
	uint64_t size = (uint64_t)c->st.st_size;

	c->tail_len = size < FILE_TAIL_WRITTEN ? (uint32_t)size : FILE_TAIL_WRITTEN;
	if (fd < 0 || file_identity_tail(fd, size - c->tail_len, c->tail_len, c->tail_hash)) {
		c->tail_len = 0;
		closed_watch(d, c, latest);
		return;
	}
	closed_tell(d, c, DUMP_FATE_GROWS);
}

/*
 * Later writes must give a watched file another time. The clock of files ticks every few
 * milliseconds, so wait for the next tick if the last file was written in this one.
 */
static void closed_wait_tick(const struct timespec *latest)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct timespec now;

	for (int i = 0; i < TICKS_MAX; i++) {
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		if (now.tv_sec > latest->tv_sec ||
		    (now.tv_sec == latest->tv_sec && now.tv_nsec > latest->tv_nsec))
			return;
		nanosleep(&tick, NULL);
	}
}

int dump_closed_take(struct dump *d)
{
	int64_t until = clock_monotonic_ms() + TAKE_MS;
	struct timespec latest = { 0 };
	dev_t cannot = 0;
	int ret = 0;

	for (unsigned int i = 0; i < d->nr_closed && !ret; i++) {
		struct dump_closed *c = &d->closed[i];

		if (!closed_leads(d, i))
			continue;
		if (c->flags == ENGINE_CLOSED_KEPT && clock_monotonic_ms() > until)
			closed_watch(d, c, &latest);
		else if (c->flags == ENGINE_CLOSED_KEPT)
			ret = closed_keep(d, c, &cannot, &latest);
		else if (c->flags == ENGINE_CLOSED_GROWS)
			closed_hash(d, c, &latest);
		else if (c->flags == ENGINE_CLOSED_WATCHED)
			closed_watch(d, c, &latest);
	}
	if (!ret)
		closed_wait_tick(&latest);
	return ret;
}

void dump_closed_foresee(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_closed; i++) {
		const struct dump_closed *c = &d->closed[i];

		if (!closed_leads(d, i) || c->flags & CLOSED_NO_INODE)
			continue;
		closed_tell(d, c, c->flags == ENGINE_CLOSED_KEPT ? DUMP_FATE_COPIED :
				  c->flags == ENGINE_CLOSED_GROWS ? DUMP_FATE_GROWS :
								    DUMP_FATE_WATCHED);
	}
}

/* ---------------------------------------------------------------- after the thaw */

static int closed_record(struct dump *d, const struct dump_closed *c,
			 const struct dump_closed *first)
{
	size_t path_len = strlen(c->path) + 1, link_len = c->target ? strlen(c->target) + 1 : 0;
	_cleanup_free_ char *text = malloc(path_len + link_len);
	struct engine_rec_closed *rec = NULL;

	if (text) {
		memcpy(text, c->path, path_len);
		memcpy(text + path_len, c->target ?: "", link_len);
		rec = dump_record_add(d, ENGINE_REC_CLOSED, sizeof(*rec), text,
				      path_len + link_len);
	}
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	rec->flags = first->flags;
	rec->file_id = c->file_id;
	rec->blob = first->blob;
	rec->size = (uint64_t)first->st.st_size;
	rec->dev = first->st.st_dev;
	rec->ino = first->st.st_ino;
	rec->mtime_ns = (uint64_t)first->st.st_mtim.tv_sec * 1000000000ULL +
			(uint64_t)first->st.st_mtim.tv_nsec;
	rec->mode = first->st.st_mode;
	rec->uid = first->st.st_uid;
	rec->gid = first->st.st_gid;
	rec->log_flags = c->log_flags & CLOSED_LOG_FLAGS;
	rec->writes = c->writes;
	rec->path_len = (uint32_t)path_len;
	rec->tail_len = first->tail_len;
	memcpy(rec->tail_hash, first->tail_hash, sizeof(rec->tail_hash));
	return 0;
}

int dump_closed_records(struct dump *d)
{
	const struct dump_closed *first = NULL;
	int ret = dump_writes_record(d);

	for (unsigned int i = 0; i < d->nr_closed && !ret; i++) {
		struct dump_closed *c = &d->closed[i];

		if (closed_leads(d, i))
			first = c;
		if (c->clone >= 0) {
			_cleanup_fd_ int fd = take_fd(&c->clone);

			ret = dump_content_blob(d, fd, c->path, (uint64_t)c->st.st_size,
						DUMP_AFTER, &c->blob);
		}
		if (!ret)
			ret = closed_record(d, c, first);
	}
	return ret;
}

void dump_closed_done(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_closed; i++) {
		free(d->closed[i].path);
		free(d->closed[i].target);
		if (d->closed[i].clone >= 0)
			close(d->closed[i].clone);
	}
	free(d->closed);
	d->closed = NULL;
	d->nr_closed = 0;
	if (d->closed_root >= 0)
		close(d->closed_root);
	d->closed_root = -1;
}
