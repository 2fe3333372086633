// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents that the image carries for paths: the job's /dev/shm, files in memory
 * file systems, and files of a dump that was asked to carry them.
 *
 * A file that is there as recorded is left alone: this node still has it (reopen_same.c).
 * A missing file is made, with its directories.  A file that differs gets the recorded
 * content when all else is done (reopen_put.c).  Paths of /dev/shm never lead out of that
 * directory.
 */
#include "base/error.h"
#include "engine/files/reopen_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHM_DIR		"/dev/shm"
#define SHM_DEPTH_MAX	64

/* ---------------------------------------------------------------- /dev/shm */

static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC | O_NOFOLLOW),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int shm_path(const struct reopen *r, const char *path, char *buf, size_t size)
{
	int len = snprintf(buf, size, "%s/%s",
			   r->options->shm_dir ? r->options->shm_dir : SHM_DIR, path);

	return len < (int)size ? 0 : -ENAMETOOLONG;
}

static int shm_remember(struct reopen *r, const char *path)
{
	char full[PATH_MAX];
	int ret = shm_path(r, path, full, sizeof(full));

	return ret ? ret : reopen_created(r, full);
}

/*
 * Write the content of the last created file.  Its recorded mode may forbid to open it for
 * reading or writing, which the tree had: then the mode is set later.
 */
static int write_new(struct reopen *r, int fd, const struct engine_rec_blob *blob)
{
	if ((blob->mode & 0600) != 0600)
		reopen_mode_later(r, blob->mode & 07777);
	return reopen_write_content(r, fd, blob, 0600);
}

static int reopen_carried_shm_file(struct reopen *r, int dir, const struct engine_rec_blob *blob)
{
	const char *path = state_blob_path(blob);
	_cleanup_fd_ int fd = open_beneath(dir, path, O_RDWR | O_CREAT | O_EXCL, 0600);
	char full[PATH_MAX];
	int ret;

	if (fd >= 0) {
		ret = shm_remember(r, path);
		return ret ? ret : write_new(r, fd, blob);
	}
	/* with @beside an existing entry belongs to running ranks of another node's image */
	if (fd == -EEXIST && !r->options->beside)
		fd = open_beneath(dir, path, O_RDWR | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	ret = reopen_same_content(r, fd, blob, false);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = shm_path(r, path, full, sizeof(full));
	return ret ? ret : reopen_put_content(r, full, take_fd(&fd), false, blob);
}

/* An earlier entry of the same inode, which was made by now; NULL: this is the first one. */
static const struct engine_rec_blob *shm_first(const struct reopen *r,
					       const struct engine_rec_blob *blob)
{
	for (const struct engine_rec_blob **first = r->state->blobs; *first != blob; first++)
		if ((*first)->kind == ENGINE_BLOB_SHM_DIR && S_ISREG((*first)->mode) &&
		    (*first)->ino == blob->ino && (*first)->dev == blob->dev &&
		    state_blob_path(*first))
			return *first;
	return NULL;
}

/* The directory that holds @path, and the last component. */
static int shm_parent(int dir, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if ((size_t)(slash - path) >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = 0;
	return open_beneath(dir, parent, O_PATH | O_DIRECTORY, 0);
}

static bool is_name(const char *name)
{
	return name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int link_at(int fd, int dir, const char *name)
{
	char from[40];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, from, dir, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Make @blob one more name of the inode that was made for @first. */
static int shm_link(struct reopen *r, int dir, const struct engine_rec_blob *first,
		    const struct engine_rec_blob *blob)
{
	const char *path = state_blob_path(blob), *name;
	_cleanup_fd_ int fd = open_beneath(dir, state_blob_path(first), O_PATH, 0);
	_cleanup_fd_ int parent = shm_parent(dir, path, &name);
	struct stat want, here;
	int ret;

	if (fd < 0 || parent < 0)
		return fd < 0 ? fd : parent;
	if (!is_name(name))
		return -EBADMSG;
	ret = link_at(fd, parent, name);
	if (!ret)
		return shm_remember(r, path);
	if (ret != -EEXIST)
		return ret;
	if (fstat(fd, &want) || fstatat(parent, name, &here, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return same_inode(&want, &here) ? 0 : -EEXIST;
}

/* Set owner and mode by a descriptor: the directory's owner may have put a link there by now. */
static int shm_set_node(int parent, const char *name, const struct engine_rec_blob *blob,
			mode_t mode)
{
	_cleanup_fd_ int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[40];
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if ((st.st_mode ^ blob->mode) & S_IFMT)
		return -EEXIST;
	if (fchownat(fd, "", blob->uid, blob->gid, AT_EMPTY_PATH) && errno != EPERM)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode) ? -errno : 0;
}

static int shm_node(struct reopen *r, int dir, const struct engine_rec_blob *blob)
{
	const char *path = state_blob_path(blob), *name;
	_cleanup_fd_ int parent = shm_parent(dir, path, &name);
	/* a directory needs these bits until its entries are made */
	mode_t more = S_ISDIR(blob->mode) ? 0700 : 0, mode = blob->mode & 07777;
	int ret;

	if (parent < 0)
		return parent;
	if (!is_name(name))
		return -EBADMSG;
	if (S_ISDIR(blob->mode))
		ret = mkdirat(parent, name, mode | more);
	else if (S_ISLNK(blob->mode))
		ret = symlinkat(state_blob_target(blob) ? state_blob_target(blob) : "", parent,
				name);
	else if (S_ISFIFO(blob->mode))
		ret = mknodat(parent, name, blob->mode & (S_IFMT | 07777), 0);
	else
		return 0;	/* a socket's name is of no use without the socket */
	if (ret)
		return errno == EEXIST ? 0 : -errno;
	ret = shm_remember(r, path);
	if (ret || S_ISLNK(blob->mode))
		return ret;
	if ((mode & more) != more)
		reopen_mode_later(r, mode);
	return shm_set_node(parent, name, blob, mode | more);
}

int reopen_shm_dir(struct reopen *r)
{
	const char *path = r->options->shm_dir ? r->options->shm_dir : SHM_DIR;
	_cleanup_fd_ int dir = -1;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_blobs; i++) {
		const struct engine_rec_blob *blob = r->state->blobs[i], *first;

		if (blob->kind != ENGINE_BLOB_SHM_DIR)
			continue;
		if (dir < 0)
			dir = reopen_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		if (dir < 0)
			return error_fail(r->error, dir, "cannot open %s: %s", path,
					   strerror(-dir));
		if (!state_blob_path(blob))
			continue;
		first = S_ISREG(blob->mode) ? shm_first(r, blob) : NULL;
		if (first)
			ret = shm_link(r, dir, first, blob);
		else if (S_ISREG(blob->mode))
			ret = reopen_carried_shm_file(r, dir, blob);
		else
			ret = shm_node(r, dir, blob);
		if (ret)
			error_fail(r->error, ret, "cannot restore %s/%s: %s%s", path,
				    state_blob_path(blob), strerror(-ret),
				    ret == -EEXIST && r->options->beside ?
				    "; ranks of two nodes have such an entry, and one node "
				    "cannot hold both" : "");
	}
	return ret;
}

/* Remove the entries of the directory, which is taken over; @depth: of the directory itself. */
static int shm_clear(int fd, unsigned int depth)
{
	DIR *dir = fd < 0 || depth > SHM_DEPTH_MAX ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int ret = dir ? 0 : fd < 0 ? fd : -ELOOP;

	if (!dir && fd >= 0)
		close(fd);
	while (!ret && (entry = readdir(dir))) {
		if (!is_name(entry->d_name) || !unlinkat(dirfd(dir), entry->d_name, 0))
			continue;
		if (errno == EISDIR)
			ret = shm_clear(open_beneath(dirfd(dir), entry->d_name,
						     O_RDONLY | O_DIRECTORY, 0), depth + 1);
		else
			ret = -errno;
		if (!ret && unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR))
			ret = -errno;
	}
	if (dir)
		closedir(dir);
	return ret;
}

int reopen_shm_clear(struct reopen *r)
{
	const char *path = r->options->shm_dir ? r->options->shm_dir : SHM_DIR;
	int ret = shm_clear(reopen_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), 0);

	return ret ? error_fail(r->error, ret, "cannot empty %s: %s", path, strerror(-ret)) : 0;
}

/* ---------------------------------------------------------------- files */

/* Can the tree write the file? Only then may its content be put back with raised rights. */
static bool tree_writes(const struct reopen *r, const struct state_file *file)
{
	unsigned int first = r->first[file - r->state->files];

	for (unsigned int i = first; i < r->state->nr_files; i++) {
		const struct ckpt_rec_file *rec = r->state->files[i].rec;

		if (r->first[i] == first &&
		    (rec->flags & CKPT_FILE_MAPPED_SHARED_WRITE ||
		     (rec->flags & CKPT_FILE_OPEN && (rec->f_flags & O_ACCMODE) != O_RDONLY)))
			return true;
	}
	return false;
}

static int make_directory(struct reopen *r, const struct state_file *file, const char *path)
{
	const char *name;
	_cleanup_fd_ int parent = reopen_parent(path, &name);
	int ret;

	if (parent < 0)
		return parent;
	if (mkdirat(parent, name, 0700))
		return errno == EEXIST ? 0 : -errno;	/* another restart has just made it */
	ret = reopen_created(r, path);
	if (!ret && fchownat(parent, name, file->rec->uid, file->rec->gid, AT_SYMLINK_NOFOLLOW) &&
	    errno != EPERM)
		ret = -errno;
	return ret;
}

/*
 * Make the missing directories of the path: they were on a tmpfs before the node was booted, or
 * never on this node.  Only their owner gets rights on them.
 */
int reopen_directories(struct reopen *r, const struct state_file *file)
{
	char path[PATH_MAX];
	int ret = 0;

	if (strlen(file->path) >= sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, file->path);
	for (char *slash = strchr(path + 1, '/'); slash && !ret; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		_cleanup_fd_ int fd = reopen_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

		if (fd < 0)
			ret = fd == -ENOENT ? make_directory(r, file, path) : fd;
		*slash = '/';
	}
	return ret;
}

static int reopen_carried_create(struct reopen *r, const struct state_file *file, int flags)
{
	int fd = reopen_path(file, flags, 0600), ret;

	if (fd != -ENOENT)
		return fd;
	ret = reopen_directories(r, file);
	return ret ? ret : reopen_path(file, flags, 0600);
}

static bool carry_has_moved(struct reopen *r, const struct state_file *file)
{
	const struct reopen_found *found = reopen_find(r, file);

	return found && found->at == REOPEN_AT_OTHER_NAME;
}

/* Was it kept because the tree could write it, maybe by opening it again? */
static bool is_kept(const struct state_file *file)
{
	return file->track && file->track->flags & ENGINE_TRACK_KEPT;
}

static int carry_file(struct reopen *r, const struct state_file *file)
{
	const struct engine_rec_blob *blob = file->blob;
	const struct reopen_found *found = reopen_find(r, file);
	bool moved = carry_has_moved(r, file), raised = false;
	int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	_cleanup_fd_ int fd = moved ? reopen_again(found->fd, O_RDONLY | flags) :
				      reopen_had(file, O_RDONLY | flags);
	int ret;

	if (fd >= 0 && r->options->files == ENGINE_FILES_IGNORE)
		return 0;
	if (fd >= 0) {
		ret = reopen_check_huge(r, file, fd);
		if (ret)
			return ret;
		ret = reopen_same_content(r, fd, blob, !tree_writes(r, file) && !is_kept(file) &&
					  !state_file_in_memory(file));
		if (ret)
			return ret < 0 ? ret : 0;
		close(take_fd(&fd));
	} else if (is_kept(file)) {
		reopen_since_wait(r);
	}
	fd = moved ? reopen_again(found->fd, O_RDWR | flags) :
	     reopen_carried_create(r, file, O_RDWR | O_CREAT | O_EXCL | flags);
	if (fd >= 0 && !moved) {
		ret = reopen_created(r, file->path);
		if (!ret)
			ret = reopen_check_huge(r, file, fd);
		if (!ret)
			ret = write_new(r, fd, blob);
		return ret ? reopen_failed(r, file, ret, "write") : 0;
	}
	if (fd == -EEXIST)
		fd = reopen_path(file, O_RDWR | flags, 0);
	if (fd == -EACCES && !moved && tree_writes(r, file)) {
		fd = reopen_had(file, O_RDWR | flags);
		raised = true;
	}
	if (fd < 0)
		return reopen_failed(r, file, fd, "write");
	return reopen_put_content(r, file->path, take_fd(&fd), raised, blob);
}

/* Make @file another name of @first, or check that it is. */
static int link_file(struct reopen *r, const struct state_file *first,
		     const struct state_file *file)
{
	_cleanup_fd_ int want = reopen_had(first, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_fd_ int here = reopen_had(file, O_PATH | O_CLOEXEC | O_NOFOLLOW), dir = -1;
	struct stat a, b;
	const char *name;
	int ret;

	if (here == -ENOENT && want >= 0) {
		dir = reopen_parent(file->path, &name);
		ret = dir < 0 ? dir : link_at(want, dir, name);
		if (!ret)
			ret = reopen_created(r, file->path);
		return ret ? reopen_failed(r, file, ret, "link") : 0;
	}
	if (here < 0 || want < 0)
		return reopen_failed(r, file, here < 0 ? here : want, "find");
	if (r->options->files == ENGINE_FILES_IGNORE)
		return 0;
	if (fstat(want, &a) || fstat(here, &b))
		return reopen_failed(r, file, -errno, "use");
	if (same_inode(&a, &b))
		return 0;
	return error_fail(r->error, -EEXIST, "%s was another name of %s, and is another file here",
			   file->path, first->path);
}

/* Make the job's other names of the file, which is there by now. */
static int reopen_carried_link_files(struct reopen *r, unsigned int first)
{
	const struct state_file *files = r->state->files;
	int ret = 0;

	for (unsigned int i = r->first[first]; !ret && i < r->state->nr_files; i++)
		if (r->first[i] == r->first[first] && !files[i].external &&
		    !state_file_deleted(&files[i]) && !state_file_handle(&files[i]) &&
		    strcmp(files[i].path, files[first].path) != 0)
			ret = link_file(r, &files[first], &files[i]);
	return ret;
}

/* Is this the first file of its inode that has the carried content? */
static bool is_first(const struct reopen *r, unsigned int index)
{
	const struct state_file *files = r->state->files;

	for (unsigned int i = r->first[index]; i < index; i++)
		if (files[i].blob == files[index].blob && !files[i].external)
			return false;
	return true;
}

int reopen_carried(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];

		if (file->blob && file->blob->kind == ENGINE_BLOB_FILE && !file->external &&
		    is_first(r, i)) {
			ret = carry_file(r, file);
			/* a kept file that has moved gets all its names back later */
			if (!ret && !carry_has_moved(r, file))
				ret = reopen_carried_link_files(r, i);
		}
	}
	return ret;
}
