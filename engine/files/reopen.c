// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening every file of an image once.
 *
 * Order: first contents of missing files, as a file must exist to be opened (contents of
 * existing files come last, reopen_put.c); then pipes and terminals, whose both ends must
 * exist before one is opened; then each file.  An inode without a name is made once, as
 * a base, and each description of it is opened from the base; the same with pipes.  The
 * bases stay open until all files are, and are closed with the rest before the tree runs.
 * Files of /proc about the tree's own processes are opened when these are there.
 */
#include "engine/core/state_kind.h"
#include "engine/files/reopen_find.h"
#include "engine/files/reopen_ipc.h"
#include "engine/files/reopen_links.h"
#include "engine/files/reopen_mqueue.h"
#include "engine/files/reopen_sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define FMODE_FLAGS	(O_ACCMODE | O_APPEND | O_NONBLOCK | O_DSYNC | O_SYNC | O_DIRECT | \
			 O_NOATIME | O_LARGEFILE)
#define MEM_MAJOR	1

int reopen_failed(struct reopen *r, const struct state_file *file, int err, const char *what)
{
	const char *advice = "";

	if (err == -EACCES || err == -EPERM)
		advice = "; the owner of the image must be allowed to open it";
	else if (err == -EMFILE || err == -ENFILE)
		advice = "; raise the limit of open files";
	else if (err == -ELOOP)
		advice = "; for a tree of root's no link is followed that is not root's: "
			 "put what it leads to there, or mount it";
	return error_fail(r->error, err, "cannot %s %s: %s%s", what,
			   file->path[0] ? file->path : "an unnamed object", strerror(-err),
			   advice);
}

int reopen_created(struct reopen *r, const char *path)
{
	struct reopen_new *more = reallocarray(r->created, r->nr_created + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	r->created = more;
	more[r->nr_created] = (struct reopen_new){ .path = strdup(path) };
	if (!more[r->nr_created].path)
		return -ENOMEM;
	r->nr_created++;
	return 0;
}

void reopen_mode_later(struct reopen *r, mode_t mode)
{
	r->created[r->nr_created - 1].later = true;
	r->created[r->nr_created - 1].mode = mode;
}

static int set_mode(const struct reopen_new *new, mode_t mode)
{
	_cleanup_fd_ int fd = reopen_open(new->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* EPERM: the file is another user's by now, and keeps the mode that it has */
	return fd < 0 ? fd : chmod(path, mode) && errno != EPERM ? -errno : 0;
}

/* Last created first, so that the entries of a directory come before it. */
static int reopen_set_modes(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = r->nr_created; !ret && i-- > 0;) {
		if (!r->created[i].later)
			continue;
		ret = set_mode(&r->created[i], r->created[i].mode);
		if (ret)
			error_fail(r->error, ret, "cannot set the mode of %s: %s",
				    r->created[i].path, strerror(-ret));
	}
	return ret;
}

void reopen_undo(struct reopen *r)
{
	for (unsigned int i = 0; r->armed && state_kinds[i]; i++)
		if (state_kinds[i]->disarm)
			state_kinds[i]->disarm(r);
	for (unsigned int i = 0; state_kinds[i]; i++)
		if (state_kinds[i]->undo)
			state_kinds[i]->undo(r);
	reopen_ttys_undo(r);
	reopen_put_undo(r);
	reopen_names_undo(r);
	/* a final mode of a directory may forbid to remove its entries */
	for (unsigned int i = 0; i < r->nr_created; i++)
		if (r->created[i].later)
			set_mode(&r->created[i], 0700);
	while (r->nr_created) {
		char *path = r->created[--r->nr_created].path;

		reopen_remove(path);
		free(path);
	}
}

int reopen_flags(const struct state_file *file)
{
	return (int)(file->rec->f_flags & FMODE_FLAGS) | O_CLOEXEC | O_NOCTTY;
}

int reopen_again(int base, int flags)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", base);
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

/* ---------------------------------------------------------------- by kind */

static int open_regular(struct reopen *r, const struct state_file *file)
{
	int fd = reopen_find_open(r, file, reopen_flags(file));
	struct stat st;

	if (fd < 0)
		return reopen_failed(r, file, fd, "open");
	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !reopen_other_left_out(file))) {
		close(fd);
		return reopen_failed(r, file, -EINVAL, "use");
	}
	return fd;
}

/*
 * Open a directory with the recorded flags, which tell whether it was opened with O_DIRECTORY.
 * An O_PATH look comes first, so that a path that is no directory by now is not opened.
 */
static int open_directory(struct reopen *r, const struct state_file *file)
{
	int flags = reopen_flags(file) | (int)(file->rec->f_flags & O_DIRECTORY), fd;

	if (state_file_deleted(file))
		return reopen_gone_directory(r, file, flags);
	_cleanup_fd_ int name = reopen_had(file, O_PATH | O_DIRECTORY | O_CLOEXEC);

	fd = name < 0 ? name : reopen_had(file, flags);

	return fd < 0 ? reopen_failed(r, file, fd, "open the directory") : fd;
}

/* Open a path with O_PATH, which needs no right to read; enough for cwd and root, too. */
static int open_name(struct reopen *r, const struct state_file *file)
{
	int fd;

	if (file->rec->kind == CKPT_FILE_DIR && state_file_deleted(file))
		return reopen_gone_directory(r, file, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = reopen_name(file);
	return fd < 0 ? reopen_failed(r, file, fd, "find") : fd;
}

static const char *device_name(uint64_t rdev)
{
	if (major(rdev) != MEM_MAJOR)
		return NULL;
	switch (minor(rdev)) {
	case 3: return "/dev/null";
	case 5: return "/dev/zero";
	case 7: return "/dev/full";
	case 8: return "/dev/random";
	case 9: return "/dev/urandom";
	default: return NULL;
	}
}

/*
 * Open a device by its path, if that is the same device here, else by its usual name: not
 * every owner may make a removed device node again.
 */
static int open_device(struct reopen *r, const struct state_file *file)
{
	const char *name = device_name(file->rec->rdev);
	struct stat st;
	int fd;

	if (!name)
		return reopen_failed(r, file, -ENODEV, "restore the device");
	fd = state_file_deleted(file) ? reopen_gone(r, file, reopen_flags(file)) :
					reopen_path(file, reopen_flags(file), 0);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	    st.st_rdev == file->rec->rdev)
		return fd;
	if (fd >= 0)
		close(fd);
	fd = open(name, reopen_flags(file));
	return fd < 0 ? reopen_failed(r, file, -errno, "open the device") : fd;
}

static int open_by_kind(struct reopen *r, const struct state_file *file)
{
	const struct state_kind *kind = state_kind_of_file(file->rec->kind);

	if (kind && kind->open)
		return kind->open(r, file);
	switch (file->rec->kind) {
	case CKPT_FILE_REG:
		if (state_file_deleted(file))
			return reopen_object(r, file);
		return open_regular(r, file);
	case CKPT_FILE_SHM:
	case CKPT_FILE_MEMFD:
	case CKPT_FILE_HUGETLB:
		return reopen_object(r, file);
	case CKPT_FILE_DIR:
		if (!(file->rec->flags & CKPT_FILE_OPEN))
			return open_name(r, file);
		return open_directory(r, file);
	case CKPT_FILE_PATH:
	case CKPT_FILE_SYMLINK:
		return open_name(r, file);
	case CKPT_FILE_CHR:
		return open_device(r, file);
	default:
		return reopen_failed(r, file, -EOPNOTSUPP, "restore the kind of");
	}
}

/* ---------------------------------------------------------------- all */

static bool has_position(const struct state_file *file)
{
	switch (file->rec->kind) {
	case CKPT_FILE_REG:
	case CKPT_FILE_MEMFD:
	case CKPT_FILE_SHM:
	case CKPT_FILE_HUGETLB:
	case CKPT_FILE_DIR:
		return file->rec->flags & CKPT_FILE_OPEN;
	default:
		return false;
	}
}

static int open_file(struct reopen *r, const struct state_file *file)
{
	bool external = file->external;
	int fd = external ? reopen_external(r, file) : open_by_kind(r, file);

	if (fd < 0)
		return fd;
	r->fds[file - r->state->files] = fd;
	if (external || !has_position(file) || !file->rec->pos)
		return 0;
	/* the position in a directory has a meaning for its file system only: ignore failures */
	if (lseek(fd, (off_t)file->rec->pos, SEEK_SET) < 0 && file->rec->kind != CKPT_FILE_DIR)
		return reopen_failed(r, file, -errno, "set the position of");
	return 0;
}

bool reopen_is_late(const struct reopen *r, const struct state_file *file)
{
	char *end;
	long pid;

	if (strncmp(file->path, "/proc/", 6) != 0 || file->external)
		return false;
	pid = strtol(file->path + 6, &end, 10);
	return end != file->path + 6 && (*end == '/' || !*end) &&
	       state_proc_find(r->state, (pid_t)pid);
}

int reopen_late(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++)
		if (reopen_is_late(r, &r->state->files[i]))
			ret = open_file(r, &r->state->files[i]);
	return ret;
}

int reopen_all(struct reopen *r)
{
	/* first: other nodes wait for a limited time, and files may take long */
	int ret = reopen_links(r);

	if (!ret)
		ret = reopen_shm_dir(r);
	if (!ret)
		ret = reopen_carried(r);
	for (unsigned int i = 0; !ret && state_kinds[i]; i++)
		if (state_kinds[i]->prepare)
			ret = state_kinds[i]->prepare(r);
	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++)
		if (!reopen_is_late(r, &r->state->files[i]))
			ret = open_file(r, &r->state->files[i]);
	return ret;
}

int reopen_connect(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && state_kinds[i]; i++)
		if (state_kinds[i]->connect)
			ret = state_kinds[i]->connect(r);
	return ret;
}

int reopen_arm(struct reopen *r)
{
	int ret = 0;

	r->armed = true;
	for (unsigned int i = 0; !ret && state_kinds[i]; i++)
		if (state_kinds[i]->arm)
			ret = state_kinds[i]->arm(r);
	return ret;
}

int reopen_seal(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++)
		if (r->bases[i] >= 0)
			ret = reopen_seal_object(r, &r->state->files[i]);
	if (!ret)
		ret = reopen_gone_seal(r);
	return ret ? ret : reopen_set_modes(r);
}

int reopen_fd(const struct reopen *r, const struct state_file *file)
{
	return file ? r->fds[file - r->state->files] : -1;
}

/* ---------------------------------------------------------------- life */

struct inode_key {
	const struct ckpt_rec_file *rec;
	unsigned int index;
};

static int reopen_by_inode(const void *a, const void *b)
{
	const struct inode_key *x = a, *y = b;

	if (x->rec->dev != y->rec->dev)
		return x->rec->dev < y->rec->dev ? -1 : 1;
	if (x->rec->ino != y->rec->ino)
		return x->rec->ino < y->rec->ino ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int reopen_find_inodes(struct reopen *r)
{
	unsigned int nr = r->state->nr_files;
	_cleanup_free_ struct inode_key *keys = calloc(nr + 1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr; i++)
		keys[i] = (struct inode_key){ r->state->files[i].rec, i };
	qsort(keys, nr, sizeof(*keys), reopen_by_inode);
	for (unsigned int i = 0; i < nr; i++)
		r->first[keys[i].index] =
			i && keys[i].rec->dev == keys[i - 1].rec->dev &&
			keys[i].rec->ino == keys[i - 1].rec->ino ?
			r->first[keys[i - 1].index] : keys[i].index;
	return 0;
}

int reopen_init(struct reopen *r, const struct state *state, struct image_reader *reader,
		const struct reopen_options *options, struct ckpt_error *error)
{
	size_t nr = state->nr_files + 1, nr_pipes = state->nr_pipes + 1;

	memset(r, 0, sizeof(*r));
	r->state = state;
	r->reader = reader;
	r->options = options;
	r->error = error;
	r->began_s = (uint64_t)time(NULL);
	r->fds = malloc(nr * sizeof(*r->fds));
	r->bases = malloc(nr * sizeof(*r->bases));
	r->masters = malloc(nr * sizeof(*r->masters));
	r->first = calloc(nr, sizeof(*r->first));
	r->found = calloc(nr, sizeof(*r->found));
	r->pipes = malloc(nr_pipes * sizeof(*r->pipes));
	if (!r->fds || !r->bases || !r->masters || !r->first || !r->found || !r->pipes ||
	    reopen_socks_init(r) || reopen_find_inodes(r)) {
		r->state = NULL;
		reopen_done(r);
		return error_fail(error, -ENOMEM, "out of memory");
	}
	memset(r->fds, -1, nr * sizeof(*r->fds));
	memset(r->bases, -1, nr * sizeof(*r->bases));
	memset(r->masters, -1, nr * sizeof(*r->masters));
	memset(r->pipes, -1, nr_pipes * sizeof(*r->pipes));
	return 0;
}

static void close_list(int *fds, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void reopen_close(struct reopen *r)
{
	close_list(r->fds, r->state->nr_files);
	close_list(r->bases, r->state->nr_files);
	close_list(r->masters, r->state->nr_files);
	close_list((int *)r->pipes, 2 * r->state->nr_pipes);
	reopen_socks_close(r);
}

void reopen_done(struct reopen *r)
{
	if (r->state) {
		reopen_close(r);
		reopen_find_done(r);
	}
	reopen_names_done(r);
	reopen_closed_done(r);
	reopen_put_done(r);
	while (r->nr_created)
		free(r->created[--r->nr_created].path);
	free(r->created);
	free(r->ttys);
	free(r->found);
	free(r->fds);
	free(r->bases);
	free(r->masters);
	free(r->first);
	free(r->pipes);
	free(r->socks);
	reopen_ipc_done(r);
	reopen_mqueue_done(r);
	memset(r, 0, sizeof(*r));
}
