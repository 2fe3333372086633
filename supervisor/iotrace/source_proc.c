// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sums of /proc/PID/io over a tree of processes; see source_proc.h.
 *
 * The kernel adds the counters of a process that was waited for to its parent's, so that the sum
 * over the living ones and the first process, an init that waits for orphans, is the whole.
 */
#include "supervisor/iotrace/source_proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DEEPEST	64	/* generations of processes */

int io_proc_parse(const char *text, struct io_counts *counts)
{
	unsigned long long rchar, wchar, syscr, syscw;

	if (sscanf(text, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &rchar, &wchar, &syscr,
		   &syscw) != 4)
		return -EBADMSG;
	counts->op[IO_READ].bytes += rchar;
	counts->op[IO_WRITE].bytes += wchar;
	counts->op[IO_READ].count += syscr;
	counts->op[IO_WRITE].count += syscw;
	return 0;
}

int io_proc_read(const char *path, char *buf, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

static void io_proc_tree(pid_t pid, int depth, io_proc_fn fn, void *arg);

/* The children that thread @tid of @pid has started. */
static void io_proc_children(pid_t pid, const char *tid, int depth, io_proc_fn fn, void *arg)
{
	char path[320];
	int child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		io_proc_tree(child, depth + 1, fn, arg);
	if (f)
		fclose(f);
}

static void io_proc_tree(pid_t pid, int depth, io_proc_fn fn, void *arg)
{
	_cleanup_dir_ DIR *tasks = NULL;
	struct dirent *task;
	char path[64];

	fn(pid, arg);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = depth < DEEPEST ? opendir(path) : NULL;
	while (tasks && (task = readdir(tasks))) {
		if (task->d_name[0] != '.')
			io_proc_children(pid, task->d_name, depth, fn, arg);
	}
}

void io_proc_each(pid_t init, io_proc_fn fn, void *arg)
{
	io_proc_tree(init, 0, fn, arg);
}

static void io_proc_add(pid_t pid, void *arg)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	if (!io_proc_read(path, text, sizeof(text)))
		io_proc_parse(text, arg);
}

int io_proc_counts(pid_t init, struct io_counts *ret_counts)
{
	struct io_counts counts = {};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", (int)init);
	if (access(path, F_OK))
		return -ESRCH;
	io_proc_each(init, io_proc_add, &counts);
	*ret_counts = counts;
	return 0;
}
