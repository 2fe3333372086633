// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes samples, by the kernel module or from /proc; see threads.h. Runs in a worker: reading
 * /proc may wait for a process that holds a lock of its memory, and nothing else here waits but
 * for the next sample.
 */
#include "supervisor/diagnose/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/kdev.h"

#define THREADS_MAX	65536
#define THREADS_GROUPS	1024

/* ------------------------------------------------------------- the threads */

/* The innermost number of a thread; 0: it is gone. */
static uint32_t threads_inner(pid_t pid, pid_t tid)
{
	char path[64], line[256], *last;
	uint32_t inner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	f = fopen(path, "re");
	while (f && !inner && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, '\t');
		inner = last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
	return inner;
}

static int threads_add(struct threads *out, pid_t pid, pid_t tid)
{
	if (out->nr == THREADS_MAX)
		return -E2BIG;
	if (out->nr == out->room) {
		size_t room = out->room ? 2 * out->room : 64;
		void *more = realloc(out->thread, room * sizeof(*out->thread));

		if (!more)
			return -ENOMEM;
		out->thread = more;
		out->room = room;
	}
	out->thread[out->nr++] = (struct sampled_thread) {
		.pid = pid, .tid = tid, .inner = threads_inner(pid, tid),
	};
	return 0;
}

/* Give each thread its row of samples. */
static int threads_rows(struct threads *out)
{
	out->samples = calloc(out->nr * out->nr_samples + 1, sizeof(*out->samples));
	if (!out->samples)
		return -ENOMEM;
	for (size_t i = 0; i < out->nr; i++)
		out->thread[i].sample = out->samples + i * out->nr_samples;
	return 0;
}

/* -------------------------------------------------------- from the module */

static int threads_target(struct kdev *dev, const struct threads_of *of)
{
	gid_t groups[THREADS_GROUPS];
	int nr = THREADS_GROUPS;
	int32_t root = of->init;
	struct passwd *user = of->uid ? getpwuid(of->uid) : NULL;
	struct ckpt_target target = {
		.flags = CKPT_TARGET_DESCENDANTS, .nr_roots = 1, .roots = (uintptr_t)&root,
	};

	if (of->uid) {
		if (!user || getgrouplist(user->pw_name, of->gid, groups, &nr) < 0)
			nr = 0;
		target.flags |= CKPT_TARGET_OWNED;
		target.owner_uid = of->uid;
		target.owner_gid = of->gid;
		target.nr_owner_groups = (uint32_t)nr;
		target.owner_groups = (uintptr_t)groups;
	}
	return kdev_target(dev, &target);
}

static void threads_fill(struct threads *out, size_t i, const struct ckpt_sample_thread *row)
{
	for (unsigned int k = 0; k < out->nr_samples; k++) {
		struct thread_sample *sample = &out->thread[i].sample[k];

		*sample = (struct thread_sample) {
			.state = row[k].flags & (CKPT_SAMPLE_DENIED | CKPT_SAMPLE_GONE) ?
				 0 : (char)row[k].state,
			.known = row[k].flags & CKPT_SAMPLE_REGS, .syscall = row[k].syscall,
			.runtime_ns = row[k].runtime_ns, .ip = row[k].ip, .sp = row[k].sp,
		};
		memcpy(sample->preserved, row[k].preserved, sizeof(sample->preserved));
	}
}

static int threads_take(struct threads *out, const struct ckpt_sample_thread *rows, size_t nr)
{
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++)
		err = threads_add(out, rows[i * out->nr_samples].pid,
				  rows[i * out->nr_samples].tid);
	if (!err)
		err = threads_rows(out);
	for (size_t i = 0; i < nr && !err; i++)
		threads_fill(out, i, rows + i * out->nr_samples);
	return err;
}

/* Ask for as many rows as there are threads; there may be more when the answer comes. */
static int threads_ask(struct threads *out, struct kdev *dev)
{
	struct ckpt_sample arg = {
		.nr_samples = out->nr_samples, .interval_us = 1000 * out->interval_ms,
		.room = 64,
	};
	struct ckpt_sample_thread *rows = NULL;
	int err;

	do {
		free(rows);
		rows = calloc((size_t)arg.room * arg.nr_samples, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		arg.threads = (uintptr_t)rows;
		err = kdev_sample(dev, &arg);
		arg.room = err == -ENOSPC ? arg.nr_threads + 64 : arg.room;
	} while (err == -ENOSPC && arg.room <= THREADS_MAX);
	if (!err)
		err = threads_take(out, rows, arg.nr_threads);
	free(rows);
	return err;
}

/* -EOPNOTSUPP: the module is not there, or knows no samples. */
static int threads_by_module(const struct threads_of *of, struct threads *out)
{
	struct kdev *dev;
	int err;

	if (kdev_open(&dev, NULL))
		return -EOPNOTSUPP;
	err = dev->info.features & CKPT_FEAT_SAMPLE ? threads_target(dev, of) : -EOPNOTSUPP;
	if (!err)
		err = threads_ask(out, dev);
	kdev_close(dev);
	out->module = !err;
	return err;
}

/* -------------------------------------------------------------- from /proc */

static int threads_of_process(struct threads *out, pid_t pid);

static int threads_children(struct threads *out, pid_t pid, pid_t tid)
{
	char path[64];
	int err = 0, child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	f = fopen(path, "re");
	while (f && !err && fscanf(f, "%d", &child) == 1)
		err = threads_of_process(out, child);
	if (f)
		fclose(f);
	return err;
}

/* Add the threads of @pid, if @self, and of its descendants. */
static int threads_walk(struct threads *out, pid_t pid, bool self)
{
	struct dirent *entry;
	char path[64];
	int err = 0;
	pid_t tid;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && !err && (entry = readdir(d))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		tid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (self)
			err = threads_add(out, pid, tid);
		if (!err)
			err = threads_children(out, pid, tid);
	}
	if (d)
		closedir(d);
	return err;
}

static int threads_of_process(struct threads *out, pid_t pid)
{
	return threads_walk(out, pid, true);
}

static bool threads_read(const struct sampled_thread *t, const char *name, char *buf, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)t->pid, (int)t->tid, name);
	f = fopen(path, "re");
	if (f) {
		n = fread(buf, 1, size - 1, f);
		fclose(f);
	}
	buf[n] = '\0';
	return n;
}

/*
 * May @uid look at the thread? /proc gives the owner's id to what he may trace by his id alone, and
 * root's to the rest: set-user-ID programs, and what may not be dumped.
 */
static bool threads_may(const struct sampled_thread *t, uid_t uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)t->pid, (int)t->tid);
	return !uid || (!stat(path, &st) && st.st_uid == uid);
}

static void threads_look(const struct sampled_thread *t, struct thread_sample *out)
{
	unsigned long long ip = 0, sp = 0, run = 0;
	char buf[1024], *end, state;

	out->syscall = -1;
	if (!threads_read(t, "stat", buf, sizeof(buf)))
		return;
	end = strrchr(buf, ')');
	if (!end || sscanf(end + 1, " %c", &state) != 1)
		return;
	out->state = state;
	if (threads_read(t, "schedstat", buf, sizeof(buf)) && sscanf(buf, "%llu", &run) == 1)
		out->runtime_ns = run;
	/* "running"; or "-1 SP PC"; or "NR ARG... SP PC" */
	if (!threads_read(t, "syscall", buf, sizeof(buf)) ||
	    sscanf(buf, "%d", &out->syscall) != 1)
		return;
	end = strrchr(buf, ' ');
	out->known = end && sscanf(end, " %llx", &ip) == 1;
	if (out->known) {
		*end = '\0';
		end = strrchr(buf, ' ');
		out->known = end && sscanf(end, " %llx", &sp) == 1;
	}
	out->ip = ip;
	out->sp = sp;
}

static int threads_by_proc(const struct threads_of *of, struct threads *out)
{
	const struct timespec pause = {
		.tv_sec = out->interval_ms / 1000, .tv_nsec = out->interval_ms % 1000 * 1000000L,
	};
	int err = threads_walk(out, of->init, false);

	if (!err)
		err = threads_rows(out);
	for (unsigned int k = 0; k < out->nr_samples && !err; k++) {
		if (k)
			nanosleep(&pause, NULL);
		for (size_t i = 0; i < out->nr; i++)
			if (threads_may(&out->thread[i], of->uid))
				threads_look(&out->thread[i], &out->thread[i].sample[k]);
	}
	return err;
}

/* ----------------------------------------------------------------- result */

static int threads_by_inner(const void *a, const void *b)
{
	const struct sampled_thread *x = a, *y = b;

	return x->inner < y->inner ? -1 : x->inner > y->inner;
}

int threads_sample(const struct threads_of *of, struct threads *ret_threads)
{
	struct threads out = { .nr_samples = of->samples, .interval_ms = of->interval_ms };
	int err = threads_by_module(of, &out);

	if (err) {
		threads_done(&out);
		err = threads_by_proc(of, &out);
	}
	if (err) {
		threads_done(&out);
		return err;
	}
	qsort(out.thread, out.nr, sizeof(*out.thread), threads_by_inner);
	*ret_threads = out;
	return 0;
}

const struct sampled_thread *threads_find(const struct threads *threads, uint32_t inner)
{
	const struct sampled_thread key = { .inner = inner };

	return inner && threads->nr ? bsearch(&key, threads->thread, threads->nr, sizeof(key),
					      threads_by_inner) : NULL;
}

void threads_done(struct threads *threads)
{
	free(threads->thread);
	free(threads->samples);
	threads->thread = NULL;
	threads->samples = NULL;
	threads->nr = threads->room = 0;
}
