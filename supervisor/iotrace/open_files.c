// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open files of a job by /proc; see open_files.h.
 *
 * A descriptor's link has the path, its fdinfo the inode and the mount, and mountinfo the mount's
 * device: all of it is in the kernel's memory. stat(2) of a file on a server that does not answer
 * would wait for ever.
 */
#include "supervisor/iotrace/open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/iotrace/source_proc.h"

struct open_files {
	int64_t job;
	open_files_fn fn;
	void *arg;
};

int open_files_parse_info(const char *text, uint64_t *ret_ino, int *ret_mount)
{
	const char *ino = strstr(text, "\nino:"), *mount = strstr(text, "\nmnt_id:");

	if (!ino || !mount)
		return -EBADMSG;
	*ret_ino = strtoull(ino + 5, NULL, 10);
	*ret_mount = (int)strtol(mount + 8, NULL, 10);
	return 0;
}

int open_files_parse_mount(const char *line, int mount, __u32 *ret_dev)
{
	unsigned int major, minor;
	int id, parent;

	if (sscanf(line, "%d %d %u:%u ", &id, &parent, &major, &minor) != 4 || id != mount)
		return -ENOENT;
	*ret_dev = major << 20 | minor;
	return 0;
}

/* The device of a process' mount; 0: not found. */
static __u32 open_files_device(pid_t pid, int mount)
{
	char path[64], *line = NULL;
	size_t size = 0;
	__u32 dev = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		if (!open_files_parse_mount(line, mount, &dev))
			break;
	}
	free(line);
	if (f)
		fclose(f);
	return dev;
}

static void open_files_one(const struct open_files *o, pid_t pid, const char *number)
{
	struct io_name name = { .key.job = (__u64)o->job };
	char path[320], text[1024];
	uint64_t ino;
	ssize_t n;
	int mount;

	snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, number);
	n = readlink(path, name.path, sizeof(name.path) - 1);
	/* "pipe:[7]" and the like; a path that does not fit is not known */
	if (n <= 0 || (size_t)n == sizeof(name.path) - 1 || name.path[0] != '/')
		return;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)pid, number);
	if (io_proc_read(path, text, sizeof(text)) || open_files_parse_info(text, &ino, &mount))
		return;
	name.key.ino = ino;
	name.key.dev = open_files_device(pid, mount);
	if (name.key.dev)
		o->fn(&name, o->arg);
}

static void open_files_of(pid_t pid, void *arg)
{
	_cleanup_dir_ DIR *fds = NULL;
	struct dirent *fd;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && (fd = readdir(fds))) {
		if (fd->d_name[0] != '.')
			open_files_one(arg, pid, fd->d_name);
	}
}

void open_files_each(pid_t init, int64_t job, open_files_fn fn, void *arg)
{
	struct open_files o = { .job = job, .fn = fn, .arg = arg };

	io_proc_each(init, open_files_of, &o);
}
