// SPDX-License-Identifier: GPL-2.0-only
/*
 * The jobs that the collector watches: begin, one transaction a second, end.
 *
 * A transaction that fails (a full disk) changes nothing in what is known as stored, so that the
 * next one has all of it. Only names of files that came in between are lost, and counted.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "shim/identity.h"
#include "supervisor/iotrace/collect_priv.h"
#include "supervisor/iotrace/io_place.h"
#include "supervisor/iotrace/io_series.h"
#include "supervisor/iotrace/open_files.h"
#include "supervisor/iotrace/source_proc.h"

#define EXPIRE_MS	600000
#define PHASES_MS	120000
#define DAY_S		86400
#define UNLOAD_MS	3000
#define ROOM_TICKS	60
#define CONFIRM_MS	15000
#define STEP_S		3600	/* a wall clock that jumps by more removes nothing for a while */

static struct io_traced *traced_find(struct collector *c, int64_t number)
{
	struct io_traced *t = c->jobs;

	while (t && t->job.number != number)
		t = t->next;
	return t;
}

static json_t *traced_answer(const struct io_traced *t)
{
	return json_pack("{s:I, s:s, s:s}", "job", (json_int_t)t->job.number,
			 "source", t->span.source, "why", t->span.why);
}

/* ---------------------------------------------------------------- storing */

static int traced_on_file(const struct io_file_key *key, const struct io_file *file, void *arg)
{
	struct collector *c = arg;

	io_store_put_file(c->store, key, file);
	return 0;
}

/* Store the place of the file's device, once for each device of a job. */
static void traced_note_place(struct collector *c, const struct io_file_key *key)
{
	struct io_traced *t = c->jobs;
	char place[IO_PLACE_MAX];
	unsigned int i;

	while (t && (__u64)t->span.job != key->job)
		t = t->next;
	for (i = 0; t && i < t->nr_devices; i++) {
		if (t->devices[i] == key->dev)
			return;
	}
	if (!t || t->nr_devices == IO_TRACED_DEVICES)
		return;
	t->devices[t->nr_devices++] = key->dev;
	if (!io_place_find(t->init, key->dev, place))
		io_store_put_place(c->store, t->span.job, key->dev, place);
}

static int traced_on_name(const struct io_name *name, void *arg)
{
	struct collector *c = arg;

	io_store_put_name(c->store, name);
	traced_note_place(c, &name->key);
	return 0;
}

/*
 * The job's counters since the watch began. A process that is waited for while /proc is read may
 * be in neither its own figures nor its parent's: counters never go back.
 */
static int traced_count(struct io_traced *t, struct io_counts *ret_counts)
{
	const __u64 *before = (const __u64 *)&t->stored, *base = (const __u64 *)&t->base;
	__u64 *now = (__u64 *)ret_counts;
	size_t i;
	int err;

	if (t->ns)
		return io_bpf_counts(t->collector->bpf, t->span.job, ret_counts);
	err = io_proc_counts(t->init, ret_counts);
	for (i = 0; !err && i < sizeof(*ret_counts) / sizeof(*now); i++) {
		now[i] = now[i] > base[i] ? now[i] - base[i] : 0;
		now[i] = now[i] > before[i] ? now[i] : before[i];
	}
	return err;
}

static void traced_note(struct io_traced *t)
{
	io_store_put_job(t->collector->store, &t->job);
	io_store_put_span(t->collector->store, &t->span);
}

static void traced_put(struct io_traced *t, const struct io_counts *now, int64_t wall)
{
	struct collector *c = t->collector;

	io_store_put_counts(c->store, t->span.job, t->span.span, now, &t->stored);
	io_store_add_sample(c->store, t->span.job, wall, now, &t->stored);
}

/* After a transaction: note what it has stored of the job; else the next one stores it again. */
static void traced_settle(struct io_traced *t, bool stored)
{
	if (!stored) {
		t->nr_devices = 0;
		return;
	}
	io_metrics_add(&t->collector->metrics, &t->seen, &t->stored);
	t->stored = t->seen;
	t->noted = true;
}

/* One transaction around what @last, the job that ends, and all others have; NULL: none ends. */
static void traced_store(struct collector *c, struct io_traced *last)
{
	const int64_t wall = (int64_t)time(NULL);
	struct ckpt_error error;
	struct io_traced *t;
	int err;

	io_store_begin(c->store);
	for (t = c->jobs; t; t = t->next) {
		t->seen = t->stored;
		if (!t->noted)
			traced_note(t);
		if (!traced_count(t, &t->seen))
			traced_put(t, &t->seen, wall);
	}
	if (c->bpf) {
		const uint64_t missed = io_bpf_missed(c->bpf);

		io_bpf_names(c->bpf, traced_on_name, c);
		io_bpf_files(c->bpf, traced_on_file, c);
		for (t = c->jobs; t && missed != c->missed; t = t->next)
			io_store_put_missed(c->store, t->span.job, t->span.span, missed);
		c->missed = missed;
	}
	if (last && last->ns)
		io_bpf_files_of(c->bpf, last->span.job, traced_on_file, c);
	if (last) {
		io_series_note(c->store, last->span.job, last->phases_s, wall, true);
		io_store_end_span(c->store, last->span.job, last->span.span, wall);
	}
	err = io_store_commit(c->store, &error);
	if (err && !c->failing)
		log_warning(&c->common->log, "I/O of jobs cannot be recorded: %s; it is counted on "
			    "and recorded later", error.text);
	if (!err && c->failing)
		log_info(&c->common->log, "I/O of jobs is recorded again");
	c->failing = err != 0;
	for (t = c->jobs; t; t = t->next)
		traced_settle(t, !err);
}

/* Store the phases of jobs that go on, while the record still has their seconds. */
static void traced_note_phases(struct collector *c)
{
	const int64_t ms = clock_monotonic_ms();
	struct ckpt_error error;
	struct io_traced *t;

	if (ms < c->phases_ms)
		return;
	c->phases_ms = ms + PHASES_MS;
	for (t = c->jobs; t; t = t->next) {
		int64_t next;

		io_store_begin(c->store);
		next = io_series_note(c->store, t->span.job, t->phases_s, (int64_t)time(NULL),
				      false);
		if (!io_store_commit(c->store, &error))
			t->phases_s = next;
	}
}

/* Remove old rows, but not because the clock was set. */
static void traced_expire(struct collector *c)
{
	const int64_t wall = (int64_t)time(NULL), ms = clock_monotonic_ms();
	struct ckpt_error error;

	if (c->clock_s && (wall > c->clock_s + STEP_S || wall < c->clock_s - STEP_S))
		c->expire_ms = ms + 6 * EXPIRE_MS;
	c->clock_s = wall;
	if (ms < c->expire_ms)
		return;
	c->expire_ms = ms + EXPIRE_MS;
	io_store_begin(c->store);
	io_store_expire(c->store, wall);
	if (io_store_commit(c->store, &error))
		log_debug(&c->common->log, "old I/O records cannot be removed: %s", error.text);
}

/* ----------------------------------------------------------- begin and end */

static void traced_free(struct io_traced *t)
{
	reactor_remove(t->end);
	if (t->pidfd >= 0)
		close(t->pidfd);
	free(t->nodes);
	free(t);
}

static void traced_end(struct io_traced *t)
{
	struct collector *c = t->collector;
	struct io_traced **link = &c->jobs;

	traced_store(c, t);
	if (t->ns)
		io_bpf_unwatch(c->bpf, t->span.job, t->ns);
	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	c->nr_jobs--;
	c->metrics.jobs = c->nr_jobs;
	traced_free(t);
}

/*
 * Every process of the node pays for the programs: unload them some seconds after the last job,
 * as loading takes a while, and the next one may come soon.
 */
static void traced_unload(struct collector *c)
{
	const struct io_traced *t = c->jobs;

	while (t && !t->ns)
		t = t->next;
	if (t || !c->bpf) {
		c->idle_ms = 0;
	} else if (!c->idle_ms) {
		c->idle_ms = clock_monotonic_ms();
	} else if (clock_monotonic_ms() - c->idle_ms > UNLOAD_MS) {
		io_bpf_close(c->bpf);
		c->bpf = NULL;
	}
}

static void traced_on_end(uint32_t events, void *arg)
{
	traced_end(arg);
}

void traced_ask_again(struct collector *c)
{
	struct io_traced *t;

	for (t = c->jobs; t; t = t->next)
		t->confirmed = false;
	c->confirm_ms = clock_monotonic_ms() + CONFIRM_MS;
}

/* Jobs that the new ckptd has not named: io_trace was switched off, say. */
static void traced_drop(struct collector *c)
{
	struct io_traced *t = c->jobs, *next;

	if (!c->confirm_ms || clock_monotonic_ms() < c->confirm_ms)
		return;
	c->confirm_ms = 0;
	for (; t; t = next) {
		next = t->next;
		if (!t->confirmed)
			traced_end(t);
	}
}

void traced_tick(struct collector *c)
{
	traced_store(c, NULL);
	if (c->failing || ++c->room_ticks % ROOM_TICKS == 0)
		io_store_make_room(c->store);
	traced_drop(c);
	traced_note_phases(c);
	traced_expire(c);
	traced_unload(c);
}

void traced_unwatch(struct collector *c, int64_t number)
{
	struct io_traced *t = traced_find(c, number);

	if (t)
		traced_end(t);
}

/*
 * The PID namespace of the job's init; 0: that has ended. The descriptor tells whether the number
 * was still the init's when the namespace was read, not that of a later process.
 */
static uint32_t traced_ns(const struct io_traced *t)
{
	struct pollfd end = { .fd = t->pidfd, .events = POLLIN };
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)t->init);
	return stat(path, &st) || poll(&end, 1, 0) ? 0 : (uint32_t)st.st_ino;
}

/*
 * Get a descriptor of the job's init. The number came from ckptd, and the init may have ended since
 * then: once the descriptor is there, the shim's record tells whether the process is the init.
 */
static int traced_open_init(struct io_traced *t)
{
	struct identity id;
	char path[PATH_MAX];
	int err;

	t->pidfd = (int)syscall(SYS_pidfd_open, t->init, 0);
	if (t->pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/%lld", t->collector->common->config.state_dir,
		 (long long)t->job.number);
	err = identity_read(path, &id);
	return err ? err : id.init_alive && id.init == t->init ? 0 : -ESRCH;
}

/* Count by BPF, or say why not. */
static void traced_choose(struct io_traced *t, bool host_ns)
{
	struct collector *c = t->collector;
	struct ckpt_error error;
	const char *unseen;
	int err;

	t->span.source = "proc";
	if (host_ns) {
		snprintf(t->why, sizeof(t->why), "the job has no PID namespace of its own");
		return;
	}
	if (!c->bpf && io_bpf_open(&c->bpf, &error)) {
		snprintf(t->why, sizeof(t->why), "%s", error.text);
		c->bpf = NULL;
		return;
	}
	c->missed = io_bpf_missed(c->bpf);
	t->ns = traced_ns(t);
	err = t->ns ? io_bpf_watch(c->bpf, t->span.job, t->ns) : -ESRCH;
	if (err) {
		t->ns = 0;
		snprintf(t->why, sizeof(t->why), "its PID namespace cannot be watched: %s",
			 strerror(-err));
		return;
	}
	t->span.source = "bpf";
	unseen = io_bpf_unseen(c->bpf);
	if (*unseen)
		snprintf(t->why, sizeof(t->why), "this kernel lacks %s: such calls are not seen",
			 unseen);
}

static void traced_on_open_file(const struct io_name *name, void *arg)
{
	traced_on_name(name, arg);
}

/* The new job, in the list; negative errno: the process has ended. */
static int traced_begin(struct collector *c, struct io_traced *t, bool host_ns)
{
	struct ckpt_error error;
	int err = traced_open_init(t);

	if (!err)
		err = reactor_fd(c->reactor, t->pidfd, EPOLLIN, traced_on_end, t, &t->end);
	if (err)
		return err;
	t->span.job = io_store_key(&t->job);
	t->span.span = (int64_t)(clock_realtime_ns() / 1000000);
	t->span.why = t->why;
	traced_choose(t, host_ns);
	/* for /proc, what was before the watch is not the span's */
	if (!t->ns)
		io_proc_counts(t->init, &t->base);
	t->next = c->jobs;
	c->jobs = t;
	c->metrics.jobs = ++c->nr_jobs;
	/* a collector that was killed has left phases of this job to be stored */
	t->phases_s = io_store_phases_end(c->store, t->span.job);
	if (t->phases_s < (int64_t)time(NULL) - DAY_S)
		t->phases_s = (int64_t)time(NULL) - DAY_S;
	io_store_begin(c->store);
	traced_note(t);
	if (t->ns)
		open_files_each(t->init, t->span.job, traced_on_open_file, c);
	err = io_store_commit(c->store, &error);
	if (err)
		log_warning(&c->common->log, "job %lld: its I/O cannot be recorded yet: %s",
			    (long long)t->job.number, error.text);
	t->noted = !err;
	if (err)
		t->nr_devices = 0;
	return 0;
}

/* Make a job of @message; NULL: it is none, or there is no memory. */
static struct io_traced *traced_parse(struct collector *c, const json_t *message, int *ret_host_ns)
{
	json_int_t job = 0, pid = 0, uid = 0;
	const char *name = "", *uuid = "", *program = "";
	json_t *nodes = NULL;
	struct io_traced *t;
	int ranks = 0;

	if (json_unpack((json_t *)message, "{s:I, s:s, s:I, s:I, s:s, s:b, s:s, s:i, s?o}",
			"watch", &job, "uuid", &uuid, "pid", &pid, "uid", &uid, "name", &name,
			"host_ns", ret_host_ns, "program", &program, "ranks", &ranks,
			"nodes", &nodes) || pid <= 0 || strlen(uuid) >= IO_STORE_UUID || ranks < 0)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->collector = c;
	t->pidfd = -1;
	t->confirmed = true;
	t->init = (pid_t)pid;
	t->nodes = nodes ? json_dumps(nodes, JSON_COMPACT) : NULL;
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(t->uuid, sizeof(t->uuid), "%s", uuid);
	snprintf(t->program, sizeof(t->program), "%s", program);
	t->job = (struct io_store_job){
		.number = job, .uuid = t->uuid, .uid = (uid_t)uid, .name = t->name,
		.nodes = t->nodes ? t->nodes : "", .program = t->program,
		.ranks = (unsigned int)ranks,
	};
	return t;
}

json_t *traced_watch(struct collector *c, const json_t *message)
{
	struct io_traced *t, *old;
	json_t *answer;
	int host_ns = 0, err;

	t = traced_parse(c, message, &host_ns);
	if (!t)
		return NULL;
	old = traced_find(c, t->job.number);
	if (old && old->init == t->init && !strcmp(old->uuid, t->uuid)) {
		traced_free(t);
		old->confirmed = true;
		return traced_answer(old);
	}
	if (old)
		traced_end(old);
	err = traced_begin(c, t, host_ns);
	if (!err)
		return traced_answer(t);
	answer = json_pack("{s:I, s:s, s:s}", "job", (json_int_t)t->job.number, "source", "",
			   "why", strerror(-err));
	traced_free(t);
	return answer;
}
