// SPDX-License-Identifier: GPL-2.0-only
/*
 * The facts that a worker needs before it dumps a job; see job_externals.h.
 *
 * A job whose shim has died can still be saved if it needs no external that the shim held; else
 * the dump is refused and names the external. A shim that lives and does not answer is an error:
 * without its answer nobody knows how much of the output is logged.
 */
#include "supervisor/job/job_externals.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/outcome.h"

/* Raise the limit of descriptors: each external takes one. Only this worker's limit changes. */
static void raise_fds(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void take_externals(struct externals *externals, const struct shim_end *names,
			   const int *fds, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct engine_external *to = &externals->externals[externals->nr_externals++];

		snprintf(to->name, sizeof(to->name), "%.31s", names[i].name);
		to->fd = fds[i];
	}
}

static int ask_externals(struct externals *externals)
{
	struct shim_end names[SHIM_FDS_MAX];
	int n, fds[SHIM_FDS_MAX];
	struct shim_msg msg = { .value = 0 };
	unsigned int nr;

	raise_fds();
	do {
		nr = 0;
		n = shim_ask(externals->shim, SHIM_EXTERNALS, (uint64_t)msg.value, &msg, names,
			     sizeof(names), fds, &nr);
		if (n < 0)
			return n;
		if ((size_t)n != nr * sizeof(names[0]) ||
		    nr > JOB_EXTERNALS_MAX - externals->nr_externals || (msg.value && !nr))
			return -EPROTO;
		take_externals(externals, names, fds, nr);
	} while (msg.value);
	return 0;
}

static int ask_ranks(struct externals *externals)
{
	struct shim_rank ranks[SHIM_DATA_MAX / sizeof(struct shim_rank)];
	struct shim_msg msg;
	unsigned int i;
	int n = shim_ask(externals->shim, SHIM_RANKS, 0, &msg, ranks, sizeof(ranks), NULL, NULL);

	if (n < 0)
		return n;
	externals->nr_ranks = (unsigned int)n / sizeof(ranks[0]);
	if (externals->nr_ranks > RANKS_NODE_MAX)
		return -EPROTO;
	for (i = 0; i < externals->nr_ranks; i++)
		externals->pids[i] = ranks[i].state == SHIM_RANK_OVER ? 0 : ranks[i].pid;
	i = (unsigned int)externals->status.failed;
	if (externals->status.failed >= 0)
		externals->failed_status = i < externals->nr_ranks ? ranks[i].status : 0;
	return 0;
}

static int ask_status(struct externals *externals)
{
	struct shim_msg msg;
	int n = shim_ask(externals->shim, SHIM_STATUS, 0, &msg, &externals->status,
			 sizeof(externals->status), NULL, NULL);

	return n < 0 ? n : ask_ranks(externals);
}

static int job_externals_ask(struct externals *externals)
{
	int err = ask_status(externals);

	if (err)
		return err;
	return externals->status.ended ? -ESRCH : ask_externals(externals);
}

json_t *job_externals_open(const struct job *job, struct externals *ret_ends,
			   struct op_env *ret_env)
{
	char path[PATH_MAX];
	int err;

	memset(ret_ends, 0, sizeof(*ret_ends));
	snprintf(path, sizeof(path), "%s/shim.sock", job->state_dir);
	ret_ends->shim = shim_connect(path);
	if (ret_ends->shim >= 0)
		err = job_externals_ask(ret_ends);
	else if (ret_ends->shim == -ENOENT || ret_ends->shim == -ECONNREFUSED)
		err = 0;
	else
		err = ret_ends->shim;
	if (err == -ESRCH)
		return outcome_error(err, "job %lld has just ended", (long long)job->id);
	if (err)
		return outcome_error(err, "the shim of job %lld does not answer: %s",
				     (long long)job->id, strerror(-err));
	ret_env->externals = ret_ends->externals;
	ret_env->nr_externals = ret_ends->nr_externals;
	ret_env->descendants = true;
	if (!job->host_ns) {
		snprintf(ret_ends->shm, sizeof(ret_ends->shm), "/proc/%d/root/dev/shm",
			 (int)job->init);
		ret_env->shm_dir = ret_ends->shm;
	}
	return NULL;
}

int job_externals_drain(struct externals *externals, struct shim_logs *ret_logs)
{
	struct shim_logs logs = { 0 };
	struct shim_msg msg;
	int n = 0;

	if (externals->shim >= 0 && externals->nr_ranks)
		n = ask_status(externals);
	if (n >= 0 && externals->shim >= 0)
		n = shim_ask(externals->shim, SHIM_DRAIN, 0, &msg, &logs, sizeof(logs),
			     NULL, NULL);
	if (n < 0)
		return n;
	*ret_logs = logs;
	return 0;
}
