// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dump of a job in a worker; see job_dump.h.
 *
 * The worker asks the job's shim for the externals of its standard streams, and dumps the
 * processes below the job's init. While they stand still, the shim drains their pipes into the
 * logs; the lengths of the logs go into the manifest. The manifest puts the image into the
 * catalog: nothing is recorded twice.
 *
 * The worker of a held dump sends a byte on a socket pair at each stop, and waits for an answer.
 * Over several nodes it tells the tree's connections to the outside before, in longer messages.
 * A closed socket (ckptd is gone) means no: the worker ends and the kernel lets the tree run. Only
 * after the image is stored does the worker then decide by the disk (decide_alone()).
 */
#include "supervisor/job/job_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/ranks.h"
#include "engine/core/kdev.h"
#include "supervisor/job/coord_record.h"
#include "supervisor/job/job_namespaces.h"
#include "supervisor/job/job_externals.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_exclude.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/job/job_writes.h"
#include "supervisor/job/key_of_job.h"
#include "supervisor/job/rank_record.h"
#include "engine/op/op.h"
#include "base/outcome.h"
#include "engine/core/sock_link.h"
#include "supervisor/control/worker.h"

#define OLD_LOGS_MAX	256	/* nodes */
#define RECORD_MAX	(512u << 10)	/* below the limit of a manifest */

#define LINKS_AT_ONCE	128		/* in one message */

enum hold_byte {
	HOLD_LINKS = 'l',
	HOLD_FLUSHED = 'f', HOLD_CAPTURED = 'c', HOLD_STORED = 's', HOLD_GO = 'g', HOLD_NO = 'n'
};

struct job_dump {
	struct job *job;	/* for the worker; ckptd may have forgotten it meanwhile */
	struct jobs *jobs;
	struct common *common;
	int64_t id;		/* of the job */
	int node;		/* index of the job's part here; -1: it is on one node */
	const struct job_dump_ops *ops;
	void *arg;
	json_t *args;
	struct worker *worker;
	struct reactor_source *source;
	struct kdev *holder;	/* is to keep the snapshot, job_l0.h; NULL: none */
	int hold[2];		/* socket of ckptd, of the worker; -1: not held */
	bool waiting;		/* the worker waits for an answer */
	struct sock_link *links;	/* that the worker tells, until they are answered; malloc */
	unsigned int nr_links, nr_told;
	bool stored;		/* the image is in its place */
	bool counts;		/* the worker was told to go on after that */
	bool aborted;
	bool any_rights;	/* root asked: the tree may hold more than the owner has */
	uint64_t silent_ns, quiesce_ns;
	/* in the worker */
	struct externals externals;
	struct job_exclude out;
	pid_t living[RANKS_NODE_MAX];	/* ranks that take part */
	char *record;
	char old_logs[OLD_LOGS_MAX * 48];
	char note[320 + RANKS_NODE_MAX * 12 + OLD_LOGS_MAX * 48];
};

/* ----------------------------------------------------------- in the worker */

static int on_targeted(void *arg, struct ckpt_error *error)
{
	const struct job_dump *d = arg;

	return job_check_init(d->job, error);
}

/* The tree stands still: drain its output into the logs, and make the note for the manifest. */
static int on_frozen(void *arg)
{
	struct job_dump *d = arg;
	struct shim_logs logs;
	int n, err = job_externals_drain(&d->externals, &logs);
	bool kill = json_is_true(json_object_get(d->args, "kill"));
	unsigned int i;

	if (err)
		return err;
	n = snprintf(d->note, sizeof(d->note),
		     "{\"out\": %llu, \"err\": %llu, \"main_pid\": %d, \"killed\": %s, \"pids\": [",
		     (unsigned long long)logs.out, (unsigned long long)logs.err,
		     (int)d->externals.status.main_pid, kill ? "true" : "false");
	for (i = 0; i < d->externals.nr_ranks; i++)
		n += snprintf(d->note + n, sizeof(d->note) - (size_t)n, "%s%d", i ? "," : "",
			      (int)d->externals.pids[i]);
	n += snprintf(d->note + n, sizeof(d->note) - (size_t)n, "]");
	if (d->job->parts)
		n += snprintf(d->note + n, sizeof(d->note) - (size_t)n,
			      ", \"node\": %u, \"silent_ns\": %llu", d->job->node_index,
			      (unsigned long long)d->silent_ns);
	if (d->quiesce_ns)
		n += snprintf(d->note + n, sizeof(d->note) - (size_t)n, ", \"quiesce_ns\": %llu",
			      (unsigned long long)d->quiesce_ns);
	if (d->externals.nr_ranks && d->externals.status.failed >= 0)
		n += snprintf(d->note + n, sizeof(d->note) - (size_t)n, ", \"failed\": [%d, %d]",
			      (int)d->externals.status.failed, d->externals.failed_status);
	snprintf(d->note + n, sizeof(d->note) - (size_t)n, "%s}", d->old_logs);
	return 0;
}

static long long log_size(const struct job *job, unsigned int node, int i)
{
	char path[4096], name[32];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", job->image_dir,
		 ranks_log_name(node, i, name, sizeof(name)));
	return lstat(path, &st) || !S_ISREG(st.st_mode) ? -1 : (long long)st.st_size;
}

/*
 * At home: note the lengths of logs of nodes that the job had before it was restarted on fewer.
 * Nobody writes to them now, so nothing has to stand still; a restart on more nodes continues
 * them.
 */
static void note_old_logs(struct job_dump *d)
{
	const json_t *ranks = d->job->record.ranks;
	unsigned int node = (unsigned int)json_array_size(rank_record_map(ranks));
	unsigned int last = node + OLD_LOGS_MAX;
	size_t n = 0;

	if (!ranks || d->job->node_index)
		return;
	for (; node < last; node++) {
		long long out = log_size(d->job, node, 0), err = log_size(d->job, node, 1);

		if (out < 0 && err < 0)
			break;
		n += (size_t)snprintf(d->old_logs + n, sizeof(d->old_logs) - n, "%s[%lld,%lld]",
				      n ? "," : ", \"logs\": [", out < 0 ? 0 : out,
				      err < 0 ? 0 : err);
	}
	if (n)
		snprintf(d->old_logs + n, sizeof(d->old_logs) - n, "]");
}

/*
 * ckptd is gone, and the image is in its place: decide by the coordinator's record. 0: the
 * generation is committed; -EINPROGRESS: it may be, so the image stays and the next ckptd finds
 * out; -ECANCELED: it is not.
 */
static int decide_alone(const struct job_dump *d)
{
	uint64_t generation = (uint64_t)json_integer_value(json_object_get(d->args, "generation"));
	struct coord_record record;

	/* a record that cannot be read tells nothing: in doubt */
	if (coord_record_read(d->job->state_dir, &record))
		return -EINPROGRESS;
	if (record.committed.generation == generation)
		return 0;
	return record.prepared.generation == generation ? -EINPROGRESS : -ECANCELED;
}

static int wait_held(const struct job_dump *d, char where)
{
	char answer = HOLD_NO;
	ssize_t n;

	if (d->hold[1] < 0)
		return 0;
	if (send(d->hold[1], &where, 1, MSG_NOSIGNAL) != 1)
		return -ECANCELED;
	do {
		n = recv(d->hold[1], &answer, 1, 0);
	} while (n < 0 && errno == EINTR);
	if (!n && where == HOLD_STORED)
		return decide_alone(d);
	return answer == HOLD_GO ? 0 : -ECANCELED;
}

/* A message of the worker: that links follow. */
struct hold_links {
	char where;
	uint32_t nr;
};

/* Tell the connections to the outside, and take the answer. */
static int job_dump_on_links(void *arg, struct sock_link *links, unsigned int nr)
{
	const struct job_dump *d = arg;
	const struct hold_links head = { .where = HOLD_LINKS, .nr = nr };
	_cleanup_free_ struct job_dump_link *answer = calloc(nr + 1, sizeof(*answer));
	size_t size = nr * sizeof(*answer) + 1;
	ssize_t n;

	if (d->hold[1] < 0)
		return 0;
	if (!answer)
		return -ENOMEM;
	if (send(d->hold[1], &head, sizeof(head), MSG_NOSIGNAL) != sizeof(head))
		return -ECANCELED;
	for (unsigned int at = 0; at < nr; at += LINKS_AT_ONCE) {
		size_t len = (nr - at < LINKS_AT_ONCE ? nr - at : LINKS_AT_ONCE) * sizeof(*links);

		if (send(d->hold[1], links + at, len, MSG_NOSIGNAL) != (ssize_t)len)
			return -ECANCELED;
	}
	do {
		n = recv(d->hold[1], answer, size, 0);
	} while (n < 0 && errno == EINTR);
	/* behind the links stands the word to go on; alone it may be the word to end */
	if (n != (ssize_t)size || ((const char *)answer)[size - 1] != HOLD_GO)
		return -ECANCELED;
	for (unsigned int i = 0; i < nr; i++) {
		links[i].link = answer[i].link;
		links[i].role = answer[i].role;
	}
	return 0;
}

static int job_dump_on_flushed(void *arg)
{
	return wait_held(arg, HOLD_FLUSHED);
}

static int job_dump_on_captured(void *arg)
{
	return wait_held(arg, HOLD_CAPTURED);
}

static int job_dump_on_stored(void *arg)
{
	return wait_held(arg, HOLD_STORED);
}

/* The logs are part of the checkpoint: make them durable before the image. */
static int on_commit(void *arg)
{
	const struct job_dump *d = arg;
	unsigned int node = d->job->node_index;
	char path[4096], name[32];
	int i, fd, err = 0;

	for (i = 0; i < 2 && !err; i++) {
		snprintf(path, sizeof(path), "%s/%s", d->job->image_dir,
			 ranks_log_name(node, i, name, sizeof(name)));
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) {
			/* the log exists, but cannot be synced */
			if (errno != ENOENT)
				err = -errno;
			continue;
		}
		if (fsync(fd))
			err = -errno;
		close(fd);
	}
	return err;
}

/*
 * The job's record for the image, so that the image alone is enough for a restart. NULL: the
 * record is too long; the job can then be restarted only where its record is.
 */
static char *record_text(const struct job *job)
{
	json_t *record = job_record_encode(&job->record);
	char *text = json_dumps(record, JSON_COMPACT);

	json_decref(record);
	if (text && strlen(text) <= RECORD_MAX)
		return text;
	free(text);
	return NULL;
}

/* Long: the options of a dump, one by one. */
static json_t *dump_run(struct channel_reporter *reporter, void *arg)
{
	struct job_dump *d = arg;
	const json_t *ranks = d->job->record.ranks;
	json_t *asker = job_record_encode(&d->job->record);	/* freed with the worker */
	struct op_env env = {
		.key = jobs_common(d->job->jobs)->config.key,
		.secret = jobs_common(d->job->jobs)->config.secret,
		.progress = channel_report_progress,
		.progress_arg = reporter,
		.frozen = on_frozen,
		.targeted = on_targeted,
		.frozen_arg = d,
		.any_rights = d->any_rights || !d->job->uid,
		.asker = asker,
		.flushed = job_dump_on_flushed,
		.links = rank_record_has_mpi(ranks) ? NULL : job_dump_on_links,
		.captured = job_dump_on_captured,
		.stored = d->hold[1] >= 0 ? job_dump_on_stored : NULL,
		.commits = on_commit,
		.hold_arg = d,
		.memory = jobs_common(d->job->jobs)->config.pipeline_memory,
		.files_max = jobs_common(d->job->jobs)->config.files_max,
		.nr_nodes = (unsigned int)json_array_size(rank_record_nodes(ranks)),
		.writes_tag = job_writes_tag(d->job),
		.holder = d->holder ? d->holder->fd : 0,
		.holder_max = jobs_common(d->job->jobs)->config.l0_memory,
		.note = d->note,
	};
	json_t *outcome = key_of_job_check(jobs_common(d->job->jobs), d->job->id,
					   d->job->record.other) ?:
			  job_namespaces_enter(d->job) ?:
			  job_externals_open(d->job, &d->externals, &env);
	int err;

	if (outcome)
		return outcome;
	/* A held dump has MPI ranks; only the shim knows which parts of them to exclude. */
	if (d->hold[1] >= 0 && d->externals.shim < 0)
		return outcome_error(-EPIPE,
				     "the shim of job %lld has gone away; the job runs on, without "
				     "checkpoints", (long long)d->job->id);
	/*
	 * All ranks must be in the image: a rank that ends now took part in the cut that the
	 * others agreed on, and without it they could never go on.
	 */
	if (d->hold[1] >= 0) {
		env.nr_living = d->externals.nr_ranks;
		env.living = memcpy(d->living, d->externals.pids, sizeof(d->living));
	}
	err = job_exclude_find(&d->out, d->job->init, d->externals.shim);
	if (err)
		return outcome_error(err,
				     "what belongs to the MPI libraries of job %lld cannot be "
				     "told: %s", (long long)d->job->id, strerror(-err));
	d->record = record_text(d->job);
	env.record = d->record;
	env.excludes = d->out.exclude;
	env.nr_excludes = d->out.nr;
	note_old_logs(d);
	return op_dump(&env, d->args);
}

/* ------------------------------------------------------------ in the daemon */

static void job_dump_on_progress(json_t *progress, void *arg)
{
	struct job_dump *d = arg;

	if (d->ops->progress)
		d->ops->progress(progress, d->arg);
}

static void job_dump_remove_image(const struct job_dump *d)
{
	const struct common *common = d->common;
	int64_t generation = json_integer_value(json_object_get(d->args, "generation"));
	struct ckpt_error error = {};

	/* The part of a job over several nodes is no generation yet. */
	if (d->node >= 0) {
		catalog_part_drop(&common->catalog, d->id, generation, (unsigned int)d->node);
		return;
	}
	if (json_is_true(json_object_get(d->args, "dry_run")) ||
	    !catalog_has(&common->catalog, d->id, generation))
		return;
	if (catalog_generation_remove(&common->catalog, d->id, generation, &error))
		log_error(&common->log,
			  "job %lld: generation %lld was given up and cannot be removed: %s",
			  (long long)d->id, (long long)generation, error.text);
}

static void free_dump(struct job_dump *d)
{
	reactor_remove(d->source);
	for (int i = 0; i < 2; i++) {
		if (d->hold[i] >= 0)
			close(d->hold[i]);
	}
	kdev_close(d->holder);
	json_decref(d->args);
	free(d->links);
	free(d);
}

/* The image is there: its snapshot may be kept, instead of an older one. */
static void job_dump_keep(struct job_dump *d, struct job *job, const json_t *result)
{
	if (d->aborted || !job_is_alive(job) || !json_is_true(json_object_get(result, "l0")))
		return;
	job_l0_destroy(job->l0);
	job->l0 = job_l0_create(d->common, d->id,
				json_integer_value(json_object_get(d->args, "generation")),
				d->holder);
	d->holder = NULL;
}

static void job_dump_on_outcome(json_t *outcome, void *arg)
{
	struct job_dump *d = arg;
	const struct job_dump_ops *ops = d->ops;
	void *ops_arg = d->arg;
	struct job *job = jobs_lookup(d->jobs, d->id);	/* NULL: a part that is over */

	if (d->aborted)
		job_dump_remove_image(d);
	else if (job && outcome_is_ok(outcome) &&
		 !json_is_true(json_object_get(d->args, "dry_run")))
		job_events_dumped(job, json_integer_value(json_object_get(d->args, "generation")),
				  json_object_get(outcome, "result"));
	if (job)
		job_dump_keep(d, job, json_object_get(outcome, "result"));
	free_dump(d);
	ops->ended(outcome, ops_arg);
}

/* All links are here: the worker waits. */
static void job_dump_told(struct job_dump *d)
{
	if (d->nr_told < d->nr_links)
		return;
	d->waiting = true;
	if (d->aborted)
		job_dump_abort(d);
	else
		d->ops->links(d->links, d->nr_links, d->arg);
}

/* Take the beginning, or some of the links; false: the message is none of these. */
static bool job_dump_hear_links(struct job_dump *d, const void *data, size_t len)
{
	const struct hold_links *head = data;
	size_t nr = len / sizeof(*d->links);

	if (d->links && d->nr_told < d->nr_links) {
		if (nr > d->nr_links - d->nr_told || nr * sizeof(*d->links) != len)
			return false;
		memcpy(d->links + d->nr_told, data, len);
		for (size_t i = 0; i < nr; i++) {
			struct sock_link *link = &d->links[d->nr_told++];

			link->own[SOCK_LINK_ADDR - 1] = link->remote[SOCK_LINK_ADDR - 1] = 0;
		}
	} else {
		if (len != sizeof(*head) || head->nr > SOCK_LINKS_MAX || d->links)
			return false;
		d->links = calloc(head->nr + 1, sizeof(*d->links));
		if (!d->links)
			return false;
		d->nr_links = head->nr;
		d->nr_told = 0;
	}
	job_dump_told(d);
	return true;
}

static void job_dump_on_held(uint32_t events, void *arg)
{
	struct job_dump *d = arg;
	_Alignas(8) char data[LINKS_AT_ONCE * sizeof(struct sock_link)];
	char where;
	ssize_t n = recv(d->hold[0], data, sizeof(data), MSG_DONTWAIT);

	if (n <= 0) {
		reactor_remove(d->source);
		d->source = NULL;
		return;
	}
	if (n > 1) {
		if (!job_dump_hear_links(d, data, (size_t)n))
			job_dump_abort(d);
		return;
	}
	where = data[0];
	d->waiting = true;
	d->stored = where == HOLD_STORED;
	if (d->aborted)
		job_dump_abort(d);
	else if (where == HOLD_FLUSHED)
		d->ops->flushed(d->arg);
	else if (where == HOLD_CAPTURED)
		d->ops->captured(d->arg);
	else
		d->ops->stored(d->arg);
}

static void job_dump_answer(struct job_dump *d, char word)
{
	d->waiting = false;
	send(d->hold[0], &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void job_dump_links(struct job_dump *d, const struct job_dump_link *links, unsigned int nr)
{
	_cleanup_free_ char *answer = NULL;
	size_t len = nr * sizeof(*links);

	if (!d->waiting || !d->links || nr != d->nr_links)
		return;
	answer = malloc(len + 1);
	if (!answer) {
		job_dump_abort(d);
		return;
	}
	if (len)
		memcpy(answer, links, len);
	answer[len] = HOLD_GO;
	free(d->links);
	d->links = NULL;
	d->waiting = false;
	if (send(d->hold[0], answer, len + 1, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len + 1)
		job_dump_abort(d);
}

void job_dump_go(struct job_dump *d)
{
	if (!d->waiting || d->links)
		return;
	d->counts = d->stored;
	job_dump_answer(d, HOLD_GO);
}

void job_dump_abort(struct job_dump *d)
{
	if (d->counts)
		return;
	d->aborted = true;
	if (d->waiting)
		job_dump_answer(d, HOLD_NO);
	else
		kill(worker_pid(d->worker), SIGKILL);
}

static const struct channel_ops worker_ops = { job_dump_on_progress, job_dump_on_outcome };

static const struct worker_kind dump_work = {
	.name = "ckptd-dump",
	.run = dump_run,
	.killed = "if the generation was complete by then it stays (ckptctl list), and "
		  "with --kill the job may have ended (ckptctl ps --all)",
};

int job_dump_start(struct job *job, const struct job_dump_options *options,
		   const struct job_dump_ops *ops, void *arg, struct job_dump **ret_dump)
{
	struct common *common = jobs_common(job->jobs);
	struct worker_spec spec = { .kind = &dump_work };
	struct job_dump *d = calloc(1, sizeof(*d));
	int keep[2] = { -1, -1 }, err = 0;

	if (!d)
		return -ENOMEM;
	d->job = job;
	d->jobs = job->jobs;
	d->common = common;
	d->id = job->id;
	d->node = job->parts ? (int)job->node_index : -1;
	d->ops = ops;
	d->arg = arg;
	d->args = json_copy(options->args);
	d->any_rights = json_is_true(json_object_get(options->args, "any_rights"));
	json_object_del(d->args, "any_rights");
	d->silent_ns = options->silent_ns;
	d->quiesce_ns = options->quiesce_ns;
	d->hold[0] = d->hold[1] = -1;
	if (options->held &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, d->hold))
		err = -errno;
	if (!err && options->held)
		err = reactor_fd(common->reactor, d->hold[0], EPOLLIN, job_dump_on_held, d,
				 &d->source);
	/* a job that is not rolled back in place needs no snapshot */
	if (!options->held && !job->record.ranks && !job->host_ns)
		d->holder = job_l0_open(common, d->args);
	if (d->holder)
		json_object_set_new(d->args, "track", json_true());
	keep[0] = d->holder ? d->holder->fd : d->hold[1];
	spec.arg = d;
	spec.keep = keep;
	if (!err)
		err = worker_start(&common->workers, &spec, &worker_ops, d, &d->worker);
	if (err) {
		free_dump(d);
		return err;
	}
	if (options->held) {
		/* Keep the worker's end in the worker alone: its death then closes the pair. */
		close(d->hold[1]);
		d->hold[1] = -1;
	}
	*ret_dump = d;
	return 0;
}
