// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event loop's side of the collector; see io_watch.h.
 *
 * Owns the connection to the collector and the list of the jobs that it was told. A wish of a user
 * is a file in the job's state directory, so that a ckptd that is started again knows it. Every
 * change, and once a second in any case, the jobs that run here are compared with that list: a
 * packet that the collector did not take is sent again then.
 */
#include "supervisor/iotrace/io_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/iotrace/collect.h"
#include "supervisor/iotrace/io_program.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/rank_record.h"

#define IO_WISH		"io_watch"
#define TICK_MS		1000
#define RETRY_MS	30000	/* after a collector that left early */
#define ANSWER_MS	120000	/* for the kernel to take the programs */

/* A job that the collector was told. */
struct io_told {
	int64_t job;
	pid_t init;
	bool wanted;		/* of this comparison */
};

/* The wish of somebody about a job. */
struct io_wish {
	int64_t job;
	bool on;
	struct io_wish *next;
};

struct io_asked {
	struct request *request;
	int64_t job;
	int64_t until_ms;
	struct io_asked *next;
};

struct io_watch {
	struct jobs *jobs;
	struct common *common;
	struct job_events_subscriber subscriber;
	struct reactor_source *timer;
	int fd;				/* -1: not connected */
	struct reactor_source *source;
	struct worker *worker;		/* that starts; then it is on its own */
	struct collect collect;
	int64_t begun_ms, retry_ms;
	struct io_told *told;
	size_t nr_told, room;
	struct io_asked *asked;
	struct io_wish *wishes;
	bool looked;			/* for a collector of an earlier ckptd */
	bool read_wishes;		/* those of an earlier ckptd were read */
	bool said_proc;			/* the log has why BPF is not available */
};

/* ----------------------------------------------------------------- wishes */

static int io_watch_wish_path(const struct job *job, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/" IO_WISH, job->state_dir);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int io_watch_write_wish(const struct job *job, bool on)
{
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX];
	int err = io_watch_wish_path(job, path, sizeof(path));

	if (err)
		return err;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, on ? "on\n" : "off\n", on ? 3 : 4) < 0)
		return -errno;
	return 0;
}

static void io_watch_note_wish(struct io_watch *w, int64_t job, bool on)
{
	struct io_wish *wish = w->wishes;

	while (wish && wish->job != job)
		wish = wish->next;
	if (!wish) {
		wish = calloc(1, sizeof(*wish));
		if (!wish)
			return;
		wish->job = job;
		wish->next = w->wishes;
		w->wishes = wish;
	}
	wish->on = on;
}

static void io_watch_read_wish(struct io_watch *w, const struct job *job)
{
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX], text[3] = "";

	if (!io_watch_wish_path(job, path, sizeof(path)))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && read(fd, text, 2) == 2)
		io_watch_note_wish(w, job->id, !strcmp(text, "on"));
}

/* Read the wishes of the jobs that an earlier ckptd left, once; forget those of jobs that ended. */
static void io_watch_keep_wishes(struct io_watch *w)
{
	struct io_wish **link = &w->wishes;
	struct job *job;

	for (job = jobs_next(w->jobs, NULL); job && !w->read_wishes; job = jobs_next(w->jobs, job))
		io_watch_read_wish(w, job);
	w->read_wishes = true;
	while (*link) {
		struct io_wish *wish = *link;

		job = jobs_lookup(w->jobs, wish->job);
		if (job && job_is_alive(job)) {
			link = &wish->next;
			continue;
		}
		*link = wish->next;
		free(wish);
	}
}

/* Whether the job is to be watched, by its owner's wish or by the setting. */
static bool io_watch_wants(const struct io_watch *w, const struct job *job)
{
	const struct io_wish *wish = w->wishes;

	if (!job->init || !job_is_alive(job))
		return false;
	while (wish && wish->job != job->id)
		wish = wish->next;
	return wish ? wish->on : w->common->config.io_trace;
}

/* ------------------------------------------------------------- collector */

static void io_watch_answer(struct io_watch *w, int64_t job, const json_t *answer)
{
	struct io_asked **link = &w->asked;

	while (*link) {
		struct io_asked *a = *link;
		const char *why = json_string_value(json_object_get(answer, "why"));

		if (a->job != job) {
			link = &a->next;
			continue;
		}
		*link = a->next;
		if (*json_string_value(json_object_get(answer, "source")))
			request_answer(a->request, outcome_ok(json_pack(
				"{s:I, s:b, s:O, s:s}", "job", (json_int_t)job, "watched", 1,
				"source", json_object_get(answer, "source"), "why", why)));
		else
			request_answer(a->request, outcome_error(
				-EIO, "the I/O of job %lld cannot be watched: %s", (long long)job,
				why));
		free(a);
	}
}

static void io_watch_expire(struct io_watch *w, bool all)
{
	const int64_t now = clock_monotonic_ms();
	struct io_asked **link = &w->asked;

	while (*link) {
		struct io_asked *a = *link;

		if (!all && now < a->until_ms) {
			link = &a->next;
			continue;
		}
		*link = a->next;
		request_answer(a->request, outcome_error(
			-ETIMEDOUT, "the collector of I/O does not answer; see the log"));
		free(a);
	}
}

static void io_watch_disconnect(struct io_watch *w)
{
	reactor_remove(w->source);
	w->source = NULL;
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	w->nr_told = 0;
}

static void io_watch_take(struct io_watch *w, const json_t *message)
{
	const int64_t job = json_integer_value(json_object_get(message, "job"));
	const char *source = json_string_value(json_object_get(message, "source"));
	const char *why = json_string_value(json_object_get(message, "why"));

	if (!source || !why)
		return;
	log_debug(&w->common->log, "job %lld: its I/O is watched by %s%s%s", (long long)job,
		  *source ? source : "nobody", *why ? ": " : "", why);
	if (!strcmp(source, "proc") && !w->said_proc) {
		log_warning(&w->common->log, "job %lld: its I/O is counted by /proc/PID/io only, "
			    "without sizes, times and files: %s", (long long)job, why);
		w->said_proc = true;
	}
	io_watch_answer(w, job, message);
}

static void io_watch_on_message(uint32_t events, void *arg)
{
	struct io_watch *w = arg;
	char text[IO_MESSAGE_MAX];
	ssize_t n = recv(w->fd, text, sizeof(text), MSG_DONTWAIT);
	json_t *message;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		io_watch_disconnect(w);
		if (clock_monotonic_ms() < w->begun_ms + RETRY_MS)
			w->retry_ms = clock_monotonic_ms() + RETRY_MS;
		return;
	}
	message = json_loadb(text, (size_t)n, 0, NULL);
	if (message)
		io_watch_take(w, message);
	json_decref(message);
}

/* False if the packet was not taken. */
static bool io_watch_send(struct io_watch *w, json_t *message)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	bool sent = text && send(w->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;

	free(text);
	json_decref(message);
	return sent;
}

static int io_watch_address(const struct io_watch *w, struct sockaddr_un *ret_address)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/" IO_SOCKET,
			 w->common->config.state_dir);

	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	*ret_address = a;
	return 0;
}

static int io_watch_connect(struct io_watch *w)
{
	struct sockaddr_un address;
	_cleanup_fd_ int fd = -1;
	int err = io_watch_address(w, &address);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	err = reactor_fd(w->common->reactor, fd, EPOLLIN, io_watch_on_message, w, &w->source);
	if (err)
		return err;
	w->fd = take_fd(&fd);
	io_watch_send(w, json_pack("{s:s, s:s}", "hello", IO_HELLO, "metrics_file",
				   w->common->config.metrics_file ?
				   w->common->config.metrics_file : ""));
	return 0;
}

/* A socket that listens in the state directory, for root alone. */
static int io_watch_listen(const struct io_watch *w)
{
	struct sockaddr_un address;
	_cleanup_fd_ int fd = -1;
	int err = io_watch_address(w, &address);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(address.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0600) || listen(fd, 4))
		return -errno;
	return take_fd(&fd);
}

static void io_watch_on_progress(json_t *progress, void *arg)
{
}

static void io_watch_on_started(json_t *outcome, void *arg)
{
	struct io_watch *w = arg;

	w->worker = NULL;
	if (!outcome_is_ok(outcome))
		log_error(&w->common->log, "the collector of jobs' I/O did not start");
	json_decref(outcome);
}

static void io_watch_start(struct io_watch *w)
{
	static const struct channel_ops ops = { io_watch_on_progress, io_watch_on_started };
	const int64_t now = clock_monotonic_ms();
	_cleanup_fd_ int fd = -1;
	int err;

	if (w->worker || now < w->retry_ms)
		return;
	fd = io_watch_listen(w);
	w->collect = (struct collect){ .common = w->common, .listen = fd };
	w->begun_ms = now;
	err = fd < 0 ? fd : worker_start(&w->common->workers, &(const struct worker_spec){
		.kind = &collect_work, .arg = &w->collect, .keep = (const int []){ fd, -1 },
	}, &ops, w, &w->worker);
	if (!err)
		err = io_watch_connect(w);
	if (err) {
		log_error(&w->common->log, "the collector of jobs' I/O cannot be started: %s",
			  strerror(-err));
		w->retry_ms = now + RETRY_MS;
	}
}

/* ------------------------------------------------------------ comparison */

static struct io_told *io_watch_find(struct io_watch *w, int64_t job)
{
	size_t i;

	for (i = 0; i < w->nr_told; i++) {
		if (w->told[i].job == job)
			return &w->told[i];
	}
	return NULL;
}

/* The names of the job's nodes, a new reference; NULL: there is one, or too many to be told. */
static json_t *io_watch_nodes(const struct job *job)
{
	json_t *nodes = rank_record_nodes(job->record.ranks);
	_cleanup_free_ char *text = nodes ? json_dumps(nodes, JSON_COMPACT) : NULL;

	return text && strlen(text) <= IO_NODES_MAX ? json_incref(nodes) : NULL;
}

/* The message about the job to the collector. */
static json_t *io_watch_message(const struct job *job)
{
	char program[IO_PROGRAM_MAX];
	const int ranks = (int)rank_record_size(job->record.ranks);

	io_program(job->name, json_object_get(job->record.launch, "argv"), program);
	return json_pack("{s:I, s:s, s:i, s:I, s:s, s:b, s:o, s:i, s:o*}", "watch",
			 (json_int_t)job->id, "uuid", job->uuid, "pid", (int)job->init,
			 "uid", (json_int_t)job->uid, "name", job->name, "host_ns", job->host_ns,
			 "program", outcome_text(program), "ranks", ranks,
			 "nodes", io_watch_nodes(job));
}

static void io_watch_tell(struct io_watch *w, const struct job *job)
{
	struct io_told *t = io_watch_find(w, job->id);

	if (t && t->init == job->init) {
		t->wanted = true;
		return;
	}
	if (!t && w->nr_told == w->room) {
		size_t room = w->room ? 2 * w->room : 16;
		void *more = realloc(w->told, room * sizeof(*w->told));

		if (!more)
			return;
		w->told = more;
		w->room = room;
	}
	if (!io_watch_send(w, io_watch_message(job)))
		return;
	if (!t)
		t = &w->told[w->nr_told++];
	*t = (struct io_told){ .job = job->id, .init = job->init, .wanted = true };
}

static void io_watch_untell(struct io_watch *w)
{
	size_t i = 0;

	while (i < w->nr_told) {
		struct io_told *t = &w->told[i];

		/* a job that has ended is stored by the collector itself */
		if (t->wanted || !io_watch_send(w, json_pack("{s:I}", "unwatch",
							     (json_int_t)t->job)))
			i++;
		else
			*t = w->told[--w->nr_told];
	}
}

static void io_watch_sync(struct io_watch *w)
{
	bool any = w->common->config.metrics_file;
	struct job *job;
	size_t i;

	io_watch_keep_wishes(w);
	for (job = jobs_next(w->jobs, NULL); job && !any; job = jobs_next(w->jobs, job))
		any = io_watch_wants(w, job);
	/* a collector of an earlier ckptd may watch jobs that nobody wants watched any more */
	if (w->fd < 0 && (any || !w->looked) && io_watch_connect(w) && any)
		io_watch_start(w);
	w->looked = true;
	if (w->fd < 0)
		return;
	for (i = 0; i < w->nr_told; i++)
		w->told[i].wanted = false;
	for (job = jobs_next(w->jobs, NULL); job; job = jobs_next(w->jobs, job)) {
		if (io_watch_wants(w, job))
			io_watch_tell(w, job);
	}
	io_watch_untell(w);
}

static void io_watch_on_tick(void *arg)
{
	struct io_watch *w = arg;

	w->timer = NULL;
	io_watch_sync(w);
	io_watch_expire(w, false);
	if (reactor_timer(w->common->reactor, TICK_MS, io_watch_on_tick, w, &w->timer))
		w->timer = NULL;
}

static void io_watch_on_changed(struct job *job, void *arg)
{
	struct io_watch *w = arg;

	if (job->init && w->fd >= 0 && io_watch_wants(w, job))
		io_watch_tell(w, job);
}

void io_watch_set(struct io_watch *w, struct job *job, bool on, struct request *request)
{
	struct io_asked *a = on ? calloc(1, sizeof(*a)) : NULL;
	int err = on && !a ? -ENOMEM : io_watch_write_wish(job, on);

	if (!err)
		io_watch_note_wish(w, job->id, on);
	if (err || !on) {
		free(a);
		if (!err)
			io_watch_sync(w);
		request_answer(request, err ? outcome_error(err, "job %lld: %s", (long long)job->id,
							    strerror(-err)) :
			       outcome_ok(json_pack("{s:I, s:b}", "job", (json_int_t)job->id,
						    "watched", 0)));
		return;
	}
	*a = (struct io_asked){
		.request = request, .job = job->id, .next = w->asked,
		.until_ms = clock_monotonic_ms() + ANSWER_MS,
	};
	w->asked = a;
	w->retry_ms = 0;
	/* told again, so that the collector answers again */
	if (io_watch_find(w, job->id))
		io_watch_find(w, job->id)->init = 0;
	io_watch_sync(w);
}

static const struct job_events io_watch_events = { .changed = io_watch_on_changed };

int io_watch_open(struct jobs *jobs, struct io_watch **ret_watch)
{
	struct io_watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->jobs = jobs;
	w->common = jobs_common(jobs);
	w->fd = -1;
	w->subscriber = (struct job_events_subscriber){ .events = &io_watch_events, .arg = w };
	job_events_subscribe(jobs, &w->subscriber);
	/* when the jobs that run here are registered */
	err = reactor_timer(w->common->reactor, 0, io_watch_on_tick, w, &w->timer);
	if (err) {
		io_watch_close(w);
		return err;
	}
	*ret_watch = w;
	return 0;
}

void io_watch_close(struct io_watch *w)
{
	if (!w)
		return;
	job_events_unsubscribe(w->jobs, &w->subscriber);
	reactor_remove(w->timer);
	io_watch_expire(w, true);
	io_watch_disconnect(w);
	if (w->worker)
		worker_abort(w->worker);
	while (w->wishes) {
		struct io_wish *wish = w->wishes;

		w->wishes = wish->next;
		free(wish);
	}
	free(w->told);
	free(w);
}
