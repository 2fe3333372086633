// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rollback of a running job; see rollback.h.
 *
 * Owns what belongs to the job and not to its tree: the ends of its streams, its logs, its write
 * journal. The engine does the rest. The job's own shim goes on meanwhile; it is asked to read all
 * output while the job stands still, and at last to cut its logs.
 */
#include "shim/rollback.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/atomic_json.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/outcome.h"
#include "engine/core/kdev.h"
#include "engine/core/write_journal.h"
#include "engine/core/write_log.h"
#include "engine/op/op.h"
#include "libckptctl/wire.h"
#include "shim/identity.h"
#include "shim/proto.h"
#include "shim/ranks.h"
#include "shim/stdio.h"

#define OWN_MAX		4

struct rolling {
	const json_t *spec, *args;
	int report;
	int shim;		/* connection to the job's shim */
	struct engine_external *ends;	/* owned, and their descriptors */
	unsigned int nr_ends;
};

static const char *rolling_text(const json_t *json, const char *name)
{
	return json_string_value(json_object_get(json, name)) ?: "";
}

static pid_t rolling_init(const struct rolling *r)
{
	return (pid_t)json_integer_value(json_object_get(r->args, "init"));
}

static void rolling_tell(int report, const json_t *json)
{
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);

	/* Ignore errors: whoever wanted to know has gone. */
	if (text)
		wire_send(report, text, strlen(text), NULL, 0);
}

static void rolling_on_progress(const struct engine_progress *progress, void *arg)
{
	const struct rolling *r = arg;
	json_t *json = json_pack("{s:{s:s, s:I, s:I}}", "progress", "phase", progress->phase,
				 "done", (json_int_t)progress->done,
				 "total", (json_int_t)progress->total);

	rolling_tell(r->report, json);
	json_decref(json);
}

/* ---------------------------------------------------------------- the shim */

static int rolling_take_ends(struct rolling *r, const struct shim_end *names, const int *fds,
			     unsigned int nr)
{
	struct engine_external *more = reallocarray(r->ends, r->nr_ends + nr + 1, sizeof(*more));
	unsigned int i;

	if (!more)
		return -ENOMEM;
	r->ends = more;
	for (i = 0; i < nr; i++) {
		struct engine_external *end = &r->ends[r->nr_ends++];

		snprintf(end->name, sizeof(end->name), "%.31s", names[i].name);
		end->fd = fds[i];
	}
	return 0;
}

static int rolling_ask_ends(struct rolling *r)
{
	struct shim_end names[SHIM_FDS_MAX];
	struct shim_msg msg = { .value = 0 };
	int fds[SHIM_FDS_MAX], n, err = 0;
	unsigned int nr;

	do {
		nr = 0;
		n = shim_ask(r->shim, SHIM_EXTERNALS, (uint64_t)msg.value, &msg, names,
			     sizeof(names), fds, &nr);
		if (n < 0)
			return n;
		if ((size_t)n != nr * sizeof(names[0]) || (msg.value && !nr))
			err = -EPROTO;
		else
			err = rolling_take_ends(r, names, fds, nr);
		while (err && nr)
			close(fds[--nr]);
	} while (msg.value && !err);
	return err;
}

static int rolling_connect(struct rolling *r)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/shim.sock", rolling_text(r->spec, "state_dir"));
	r->shim = shim_connect(path);
	return r->shim < 0 ? r->shim : rolling_ask_ends(r);
}

/* ---------------------------------------------------------------- the steps */

static int rolling_on_targeted(void *arg, struct ckpt_error *error)
{
	const struct rolling *r = arg;
	struct identity id;

	if (!identity_read(rolling_text(r->spec, "state_dir"), &id) && id.init_alive &&
	    id.init == rolling_init(r))
		return 0;
	return error_fail(error, -ESTALE, "the job has just ended");
}

/* Let the journal have all that the job has changed; without a log nothing is known. */
static int rolling_keep_journal(const struct rolling *r)
{
	const char *path = rolling_text(r->args, "writes"), *own[OWN_MAX + 1] = { 0 };
	struct write_journal_mark mark = { 0 };
	struct ckpt_error error = { 0 };
	struct kdev *dev = NULL;
	const json_t *dir;
	size_t i;
	int ret;

	if (!path[0])
		return 0;
	json_array_foreach(json_object_get(r->spec, "own"), i, dir) {
		if (i < OWN_MAX)
			own[i] = json_string_value(dir);
	}
	ret = kdev_open(&dev, &error);
	error_done(&error);
	if (ret)
		return ret;
	write_log_extend(dev, rolling_init(r), write_log_tag(rolling_text(r->args, "job")));
	ret = write_journal_keep(dev, rolling_init(r), path, own, &mark);
	kdev_close(dev);
	return ret == -ENODATA || ret == -ESRCH || ret == -EOPNOTSUPP ? 0 : ret;
}

/* The job stands still: have its output logged, and what it changed written down. */
static int rolling_on_frozen(void *arg)
{
	const struct rolling *r = arg;
	struct shim_logs logs;
	struct shim_msg msg;
	int n = shim_ask(r->shim, SHIM_DRAIN, 0, &msg, &logs, sizeof(logs), NULL, NULL);

	return n < 0 ? n : rolling_keep_journal(r);
}

/* Cut a log to its length at the checkpoint; the rest is kept beside it. */
static int rolling_cut(const struct rolling *r, int dir, unsigned int i)
{
	const json_t *lens = json_object_get(r->spec, "logs");
	int64_t len = json_integer_value(json_array_get(lens, i));
	char name[32], tail[STDIO_TAIL_NAME];
	_cleanup_fd_ int log = -1;
	struct shim_msg msg;
	int ret;

	log = openat(dir, ranks_log_name(0, (int)i, name, sizeof(name)),
		     O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (log < 0)
		return errno == ENOENT ? 0 : -errno;
	ret = stdio_copy_tail(dir, log, name, len, tail);
	if (ret < 0)
		return ret;
	ret = shim_ask(r->shim, SHIM_CUT, (uint64_t)len << 1 | i, &msg, NULL, 0, NULL, NULL);
	return ret < 0 ? ret : 0;
}

/* The ranks are as in the image, and have no MPI library: have the shim tell them of a new one. */
static int rolling_renew(const struct rolling *r)
{
	_cleanup_fd_ int shm = -1;
	char path[64];

	if (!json_object_get(r->args, "library"))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", (int)rolling_init(r));
	shm = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return shm < 0 ? -errno : shim_ask_with(r->shim, SHIM_RENEW, shm);
}

static int rolling_on_complete(void *arg)
{
	const struct rolling *r = arg;
	_cleanup_fd_ int dir = open(rolling_text(r->spec, "image_dir"),
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = dir < 0 ? -errno : rolling_cut(r, dir, 0);

	if (!ret)
		ret = rolling_cut(r, dir, 1);
	return ret ? ret : rolling_renew(r);
}

/* -------------------------------------------------------------------- all */

static json_t *rolling_run(struct rolling *r)
{
	struct op_env env = {
		.key = json_string_value(json_object_get(r->spec, "key")),
		.secret = json_string_value(json_object_get(r->spec, "encryption_key")),
		.any_rights = json_is_true(json_object_get(r->spec, "any_rights")),
		.asker = json_object_get(r->spec, "asker"),
		.progress = rolling_on_progress, .progress_arg = r,
		.targeted = rolling_on_targeted, .frozen = rolling_on_frozen,
		.commits = rolling_on_complete, .frozen_arg = r,
	};
	json_t *outcome;
	int err = rolling_connect(r);

	if (err) {
		outcome = outcome_ok(json_pack("{s:b, s:b, s:o}", "in_place", false, "ended",
					       false, "why",
					       json_sprintf("its shim does not answer: %s",
							    strerror(-err))));
	} else {
		env.externals = r->ends;
		env.nr_externals = r->nr_ends;
		outcome = op_rollback(&env, (json_t *)r->args);
	}
	while (r->nr_ends)
		close(r->ends[--r->nr_ends].fd);
	free(r->ends);
	if (r->shim >= 0)
		close(r->shim);
	return outcome;
}

bool rollback_job(int spec_fd, int report)
{
	struct rolling r = { .report = report, .shim = -1 };
	json_error_t wrong;
	json_t *spec = NULL, *outcome;

	if (atomic_json_load(spec_fd, 0, &spec, &wrong) || !json_object_get(spec, "rollback")) {
		json_decref(spec);
		lseek(spec_fd, 0, SEEK_SET);
		return false;	/* spec_load() complains, if it is bad */
	}
	prctl(PR_SET_NAME, "ckpt-rollback");
	signal(SIGPIPE, SIG_IGN);
	r.spec = spec;
	r.args = json_object_get(spec, "rollback");
	outcome = rolling_run(&r);
	rolling_tell(report, outcome);
	json_decref(outcome);
	json_decref(spec);
	return true;
}
