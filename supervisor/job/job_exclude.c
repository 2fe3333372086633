// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of MPI ranks that a dump excludes; see job_exclude.h.
 *
 * The shim knows them from the ranks' status pages, with pids of the job's PID namespace; a
 * capture needs pids of ckptd's. The last number of "NSpid" in /proc/PID/status translates them,
 * among processes of the job's namespace only.
 *
 * Runs in the worker of a dump, just before the freeze, when the ranks are silent: their lower
 * halves start no threads and open nothing then. The script that started a rank has the sockets
 * that the rank inherited for its lower half, too: in other processes of the job the same sockets
 * are excluded.
 */
#include "supervisor/job/job_exclude.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi-glue/lower/lower.h"
#include "shim/proto.h"

static int job_exclude_add(struct job_exclude *out, uint32_t kind, pid_t pid, uint64_t start,
			   uint64_t end)
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

/*
 * The innermost pid of the process or thread with the status file @path; -1: it is gone.
 * @ret_parent: its parent in ckptd's PID namespace.
 */
static long inner_pid(const char *path, pid_t *ret_parent)
{
	char line[256], *last;
	FILE *f = fopen(path, "re");
	long pid = -1;

	*ret_parent = 0;
	while (f && pid < 0 && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "PPid:", 5))
			*ret_parent = (pid_t)strtol(line + 5, NULL, 10);
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

/* Processes or threads by their innermost pid; read once, as the ranks are held meanwhile. */
struct pids {
	struct pair {
		long inner;		/* in the job's PID namespace */
		pid_t outer, parent;	/* in ckptd's */
		bool rank;
	} *pair;
	size_t nr, room;
};

static int job_exclude_remember(struct pids *pids, long inner, pid_t outer, pid_t parent)
{
	if (pids->nr == pids->room) {
		size_t room = pids->room ? 2 * pids->room : 64;
		void *more = realloc(pids->pair, room * sizeof(*pids->pair));

		if (!more)
			return -ENOMEM;
		pids->pair = more;
		pids->room = room;
	}
	pids->pair[pids->nr++] = (struct pair) { .inner = inner, .outer = outer, .parent = parent };
	return 0;
}

/* Read the processes or threads of @dir; @namespace: only those of that PID namespace; or NULL. */
static int read_pids(struct pids *pids, const char *dir, const struct stat *namespace)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[300];
	pid_t parent;
	long inner;
	int err = d ? 0 : -errno;

	pids->nr = 0;
	while (d && !err && (entry = readdir(d))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    (namespace && !same_namespace(entry->d_name, namespace)))
			continue;
		snprintf(path, sizeof(path), "%s/%s/status", dir, entry->d_name);
		inner = inner_pid(path, &parent);
		if (inner > 0)
			err = job_exclude_remember(pids, inner,
						   (pid_t)strtol(entry->d_name, NULL, 10), parent);
	}
	if (d)
		closedir(d);
	return err;
}

static struct pair *job_exclude_lookup(const struct pids *pids, int64_t inner)
{
	size_t i;

	for (i = 0; i < pids->nr; i++) {
		if (pids->pair[i].inner == inner)
			return &pids->pair[i];
	}
	return NULL;
}

/* State while the shim's entries are read in their order. */
struct reading {
	struct job_exclude *out;
	struct pids processes, threads;
	pid_t pid;		/* process of the last SHIM_LEAVE_PROCESS, with @threads */
};

static int take_process(struct reading *r, int64_t inner)
{
	struct pair *rank = job_exclude_lookup(&r->processes, inner);
	char path[64];
	int err;

	if (!rank)
		return -ESRCH;
	rank->rank = true;
	r->pid = rank->outer;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)r->pid);
	err = read_pids(&r->threads, path, NULL);
	return err ? err
		   : job_exclude_add(r->out, CKPT_EXCLUDE_RANGE, r->pid, LOWER_BASE, LOWER_END);
}

static int job_exclude_take(struct reading *r, const struct shim_exclude *entry)
{
	const struct pair *thread;

	if (entry->kind == SHIM_LEAVE_PROCESS)
		return take_process(r, entry->number);
	if (!r->pid)
		return -EPROTO;
	if (entry->kind == SHIM_LEAVE_FD)
		return job_exclude_add(r->out, CKPT_EXCLUDE_FD, r->pid, (uint64_t)entry->number, 0);
	thread = job_exclude_lookup(&r->threads, entry->number);
	/* A thread that has ended needs no exclusion. */
	return thread ? job_exclude_add(r->out, CKPT_EXCLUDE_THREAD, r->pid,
					(uint64_t)thread->outer, 0)
		      : 0;
}

static int read_all(struct reading *r, int shim)
{
	struct shim_exclude entries[SHIM_DATA_MAX / sizeof(struct shim_exclude)];
	struct shim_msg msg;
	uint64_t from = 0;
	int n, i, err = 0;

	do {
		n = shim_ask(shim, SHIM_EXCLUDE, from, &msg, entries, sizeof(entries),
			     NULL, NULL);
		if (n < 0)
			return n;
		n /= (int)sizeof(entries[0]);
		for (i = 0; i < n && !err; i++)
			err = job_exclude_take(r, &entries[i]);
		from += (uint64_t)n;
		if (!err && r->out->nr > CKPT_EXCLUDE_MAX)
			err = -E2BIG;
	} while (n && !err);
	return err;
}

/* ---- other processes of the job */

struct of_socket {
	unsigned long long inode;
	pid_t pid;
};

/* Sockets of the ranks' lower halves, sorted by inode: there may be thousands. */
struct sockets {
	struct of_socket *of;
	size_t nr;
};

/* The inode of the socket @fd of @pid; 0: @fd is no socket, or is gone. */
static unsigned long long socket_inode(pid_t pid, long fd)
{
	char path[64], link[64];
	unsigned long long inode = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)pid, fd);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	return sscanf(link, "socket:[%llu]", &inode) == 1 ? inode : 0;
}

/*
 * True for a close-on-exec descriptor: a child between fork() and exec() has it, and may have
 * lost it at the freeze.
 */
static bool is_passing(pid_t pid, long fd)
{
	char path[64], line[64];
	unsigned int flags = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%ld", (int)pid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "flags: %o", &flags) != 1)
		;
	if (f)
		fclose(f);
	return flags & O_CLOEXEC;
}

static int by_inode(const void *a, const void *b)
{
	const struct of_socket *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

/*
 * True if a rank's lower half has the socket, and no such rank shares its descriptor table with
 * @pid: a shared table is excluded already.
 */
static bool is_of_rank(const struct sockets *sockets, unsigned long long inode, pid_t pid)
{
	const struct of_socket key = { .inode = inode }, *end = sockets->of + sockets->nr, *at;

	at = sockets->nr ? bsearch(&key, sockets->of, sockets->nr, sizeof(key), by_inode) : NULL;
	if (!at)
		return false;
	while (at > sockets->of && at[-1].inode == inode)
		at--;
	for (; at < end && at->inode == inode; at++)
		if (!syscall(SYS_kcmp, pid, at->pid, KCMP_FILES, 0, 0))
			return false;
	return true;
}

static int take_sockets(struct job_exclude *out, const struct sockets *sockets, pid_t pid)
{
	struct dirent *entry;
	unsigned long long inode;
	char path[64];
	int err = 0;
	long fd;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && !err && (entry = readdir(d))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		fd = strtol(entry->d_name, NULL, 10);
		inode = socket_inode(pid, fd);
		if (inode && is_of_rank(sockets, inode, pid) && !is_passing(pid, fd))
			err = job_exclude_add(out, CKPT_EXCLUDE_FD, pid, (uint64_t)fd, 0);
	}
	if (d)
		closedir(d);
	return err;
}

static int find_sockets(const struct job_exclude *out, struct sockets *sockets)
{
	sockets->of = calloc(out->nr + 1, sizeof(*sockets->of));
	if (!sockets->of)
		return -ENOMEM;
	for (unsigned int i = 0; i < out->nr; i++) {
		const struct ckpt_exclude *e = &out->exclude[i];
		unsigned long long inode = e->kind != CKPT_EXCLUDE_FD ? 0 :
					   socket_inode(e->pid, (long)e->start);

		if (!inode)
			continue;
		sockets->of[sockets->nr++] = (struct of_socket) { inode, e->pid };
	}
	qsort(sockets->of, sockets->nr, sizeof(*sockets->of), by_inode);
	return 0;
}

/*
 * True if @pid is @init or below it. The PID namespace may not be the job's alone; a capture does
 * not have its other processes.
 */
static bool is_below(const struct pids *pids, pid_t pid, pid_t init)
{
	size_t i;

	while (pid != init) {
		for (i = 0; i < pids->nr && pids->pair[i].outer != pid; i++)
			;
		if (i == pids->nr)
			return false;
		pid = pids->pair[i].parent;
	}
	return true;
}

/* Exclude the ranks' sockets from other processes of the job; most jobs have none. */
static int take_others(struct reading *r, pid_t init)
{
	struct sockets sockets = { 0 };
	int err = 0;

	for (size_t i = 0; i < r->processes.nr && !err; i++) {
		const struct pair *of = &r->processes.pair[i];
		pid_t pid = of->outer;

		if (pid == init || of->rank || !is_below(&r->processes, pid, init))
			continue;
		if (!sockets.of)
			err = find_sockets(r->out, &sockets);
		if (!err)
			err = take_sockets(r->out, &sockets, pid);
	}
	free(sockets.of);
	return err;
}

int job_exclude_find(struct job_exclude *out, pid_t init, int shim)
{
	struct reading r = { .out = out };
	struct stat namespace;
	char path[64];
	int err;

	memset(out, 0, sizeof(*out));
	if (shim < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)init);
	if (stat(path, &namespace))
		return -errno;
	err = read_pids(&r.processes, "/proc", &namespace);
	if (!err)
		err = read_all(&r, shim);
	if (!err)
		err = take_others(&r, init);
	free(r.processes.pair);
	free(r.threads.pair);
	return err;
}
