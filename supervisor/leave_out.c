// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a dump of MPI ranks leaves out; see leave_out.h.
 *
 * The shim knows it from the ranks' status pages, in numbers of the job's PID namespace; a
 * capture wants ours. Runs in the worker of a dump, just before the freeze, when the ranks
 * are silent: their lower halves start no threads and open nothing then. Pids of a job's namespace become ours by the last number of "NSpid" in
 * /proc/PID/status, among processes of that namespace only.
 */
#include "supervisor/leave_out.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mpi-glue/lower.h"
#include "shim/proto.h"

static int add(struct leave_out *out, uint32_t kind, pid_t pid, uint64_t start, uint64_t end)
{
	if (out->nr == out->room) {
		unsigned int room = out->room ? 2 * out->room : 64;
		struct ckpt_exclude *more = realloc(out->exclude, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		out->exclude = more;
		out->room = room;
	}
	out->exclude[out->nr++] = (struct ckpt_exclude) {
		.kind = kind, .pid = pid, .start = start, .end = end,
	};
	return 0;
}

/* The innermost number of a process or thread; -1: it is gone. */
static long inner_pid(const char *path)
{
	char line[256], *last;
	FILE *f = fopen(path, "re");
	long pid = -1;

	while (f && pid < 0 && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, '\t');
		pid = last ? strtol(last + 1, NULL, 10) : -1;
	}
	if (f)
		fclose(f);
	return pid;
}

static bool same_namespace(const char *pid, const struct stat *of)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return !stat(path, &st) && st.st_ino == of->st_ino && st.st_dev == of->st_dev;
}

/* The entry of @dir whose innermost number is @inner; 0: none. */
static pid_t find(const char *dir, const struct stat *namespace, long inner)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	pid_t found = 0;
	char path[300];

	while (d && !found && (entry = readdir(d))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    (namespace && !same_namespace(entry->d_name, namespace)))
			continue;
		snprintf(path, sizeof(path), "%s/%s/status", dir, entry->d_name);
		if (inner_pid(path) == inner)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (d)
		closedir(d);
	return found;
}

/* One of the shim's entries; @pid is the process that the last SHIM_LEAVE_PROCESS named. */
static int take(struct leave_out *out, const struct stat *namespace,
		const struct shim_leave_out *entry, pid_t *pid)
{
	char path[64];
	pid_t tid;

	if (entry->kind == SHIM_LEAVE_PROCESS) {
		*pid = find("/proc", namespace, (long)entry->number);
		return *pid ? add(out, CKPT_EXCLUDE_RANGE, *pid, LOWER_BASE, LOWER_END) : -ESRCH;
	}
	if (!*pid)
		return -EPROTO;
	if (entry->kind == SHIM_LEAVE_FD)
		return add(out, CKPT_EXCLUDE_FD, *pid, (uint64_t)entry->number, 0);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)*pid);
	tid = find(path, NULL, (long)entry->number);
	/* One that has ended has nothing to leave out. */
	return tid ? add(out, CKPT_EXCLUDE_THREAD, *pid, (uint64_t)tid, 0) : 0;
}

int leave_out_find(struct leave_out *out, pid_t init, int shim)
{
	struct shim_leave_out entries[SHIM_DATA_MAX / sizeof(struct shim_leave_out)];
	struct stat namespace;
	struct shim_msg msg;
	uint64_t index = 0;
	char path[64];
	pid_t pid = 0;
	int n, err = 0;

	memset(out, 0, sizeof(*out));
	if (shim < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)init);
	if (stat(path, &namespace))
		return -errno;
	do {
		n = shim_ask(shim, SHIM_LEAVE_OUT, index, &msg, entries, sizeof(entries),
			     NULL, NULL);
		if (n < 0)
			return n;
		n /= (int)sizeof(entries[0]);
		for (int i = 0; i < n && !err; i++) {
			err = take(out, &namespace, &entries[i], &pid);
			index = entries[i].index + 1ull;
		}
	} while (n && !err);
	return err;
}
