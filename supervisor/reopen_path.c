// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths of the image on this node.
 *
 * A path is the one that a process of the tree saw.  If that process had a root
 * of its own, the path is looked up inside it and cannot leave it; the root's
 * own path is one of ours.
 */
#include "supervisor/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

/* A process that has the file; its root is where the path begins. */
static const struct state_file *root_of(const struct state *state, const struct state_file *file)
{
	for (unsigned int i = 0; i < state->nr_procs; i++) {
		const struct state_proc *proc = &state->procs[i];

		if (proc->rec->host_pid == file->rec->pid && proc->root)
			return proc->root;
	}
	return NULL;
}

static int open_in(int root, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_IN_ROOT,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int open_as(const struct state *state, const struct state_file *file, const char *path,
		   int flags, mode_t mode)
{
	const struct state_file *root = root_of(state, file);
	_cleanup_fd_ int dir = -1;
	int fd;

	if (!root || root == file || strcmp(root->path, "/") == 0) {
		fd = open(path, flags, mode);
		return fd < 0 ? -errno : fd;
	}
	dir = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -errno : open_in(dir, path, flags, mode);
}

int reopen_path(const struct state *state, const struct state_file *file, int flags, mode_t mode)
{
	return open_as(state, file, file->path, flags, mode);
}

int reopen_dir(const struct state *state, const struct state_file *file, const char **ret_name)
{
	const char *slash = strrchr(file->path, '/');
	char dir[PATH_MAX];
	size_t len;

	if (!slash || !slash[1])
		return -ENOENT;
	len = slash == file->path ? 1 : (size_t)(slash - file->path);
	if (len >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, file->path, len);
	dir[len] = 0;
	*ret_name = slash + 1;
	return open_as(state, file, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}
