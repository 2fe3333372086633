// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shim's work for a job of several ranks: its process-management server, the
 * state of each rank, and fences over nodes.
 *
 * Fences go to the client that asked for them (ckptd).  Without such a client a
 * fence waits; a new ckptd is sent the fence again, and the part of an answer that
 * the old one sent is dropped.
 */
#include "shim/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const struct pm_base *shim_ranks_base(const struct shim *shim)
{
	return (const struct pm_base *)shim->pm;
}

/* The library stays loaded: its server lives as long as the shim. */
static const struct pm_ops *load_pmix(const struct shim *shim)
{
	const char *path = shim->spec.ranks.pmix;
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct pm_ops *ops = library ? dlsym(library, "pm_pmix") : NULL;

	if (!ops)
		log_error(&shim->log, "%s", path ? dlerror() : "no PMIx server is given");
	return ops;
}

static const struct pm_ops *find_server(const struct shim *shim)
{
	switch (shim->spec.ranks.mpi) {
	case RANKS_MPICH:
		return &pm_pmi1;
	case RANKS_OMPI:
		return load_pmix(shim);
	default:
		return NULL;
	}
}

/* ---------------------------------------------------------------- events */

static void shim_ranks_on_abort(int code, const char *text, void *arg)
{
	struct shim *shim = arg;

	shim->aborted = true;
	shim_abort(shim, code);
	stdio_note(&shim->io, text);
	log_info(&shim->log, "job %lld: %s", (long long)shim->spec.job, text);
}

static void shim_ranks_on_fence(const void *data, size_t len, void *arg)
{
	struct shim *shim = arg;

	if (fence_begin(&shim->fence, data, len))
		shim_ranks_on_abort(1, "process management: what the ranks say is too long", shim);
	else
		clients_wake(shim);
}

static const struct pm_events events = { shim_ranks_on_abort, shim_ranks_on_fence };

/* ------------------------------------------------------------------ life */

void shim_ranks_limits(const struct shim *shim)
{
	struct rlimit limit;

	if (shim->spec.ranks.size && !getrlimit(RLIMIT_NOFILE, &limit) &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int shim_ranks_open(struct shim *shim)
{
	const struct ranks *ranks = &shim->spec.ranks;
	const struct pm_ops *ops = find_server(shim);
	struct pm_config config = {
		.reactor = shim->reactor, .ranks = ranks, .events = &events, .arg = shim,
		.job = shim->spec.job, .flags = shim->spec.restore ? PM_LATE : 0,
		.env = shim->spec.env, .uid = shim->spec.uid, .gid = shim->spec.gid,
	};
	unsigned int i;

	if (!ranks->size)
		return 0;
	if (!ops && ranks->mpi != RANKS_NONE)
		return -EOPNOTSUPP;
	shim->ranks = calloc(ranks->nr, sizeof(*shim->ranks));
	if (!shim->ranks)
		return -ENOMEM;
	for (i = 0; i < ranks->nr; i++)
		shim->ranks[i].rank = ranks->rank[i];
	return ops ? ops->create(&config, &shim->pm) : 0;
}

/* Add each rank's environment to @envs. */
static int find_envs(const struct shim *shim, json_t *envs)
{
	unsigned int i;
	int err = 0;

	for (i = 0; shim->pm && i < shim->spec.ranks.nr && !err; i++) {
		json_t *env = json_array();

		err = shim_ranks_base(shim)->ops->rank_env(shim->pm, i, env);
		/* The lower half may lie elsewhere than when the job began. */
		if (shim->spec.ranks.lower)
			json_array_append_new(env, json_sprintf("CKPT_LOWER=%s",
								shim->spec.ranks.lower));
		/* A program may have cleared its environment. */
		if (shim->spec.ranks.library)
			json_array_append_new(env, json_sprintf("CKPT_MPI_LIBRARY=%s",
								shim->spec.ranks.library));
		/* The variables of the restart come last: its user knows this node. */
		ranks_env_put(env, shim->spec.ranks.env);
		json_array_append_new(envs, env);
	}
	return err;
}

json_t *shim_ranks_go(struct shim *shim, int *ret_err)
{
	json_t *envs = json_array();

	*ret_err = shim->pm ? shim_ranks_base(shim)->ops->serve(shim->pm) : 0;
	if (!*ret_err)
		*ret_err = find_envs(shim, envs);
	if (shim->spec.restore)
		shim->watch.envs = json_incref(envs);
	return json_pack("{s:o}", "env", envs);
}

int shim_ranks_renew(struct shim *shim, int shm)
{
	json_t *envs;
	int err = 0;

	/* Read init's messages first: the ends of ranks belong to the server that there was. */
	shim_hear(shim);
	if (!shim->ranks || shim->ended || shim->aborted)
		return -ESRCH;
	fence_end(&shim->fence);
	envs = json_array();
	if (shim->pm)
		err = shim_ranks_base(shim)->ops->renew(shim->pm);
	if (!err)
		err = find_envs(shim, envs);
	if (!err)
		err = shim_pages_renew(shim, shm, envs);
	json_decref(envs);
	if (err)
		log_error(&shim->log, "job %lld: process management after its rollback: %s",
			  (long long)shim->spec.job, strerror(-err));
	return err;
}

void shim_ranks_close(struct shim *shim)
{
	shim_pages_close(shim);
	if (shim->pm)
		shim_ranks_base(shim)->ops->destroy(shim->pm);
	shim->pm = NULL;
	fence_end(&shim->fence);
	free(shim->ranks);
	shim->ranks = NULL;
}

void shim_ranks_started(struct shim *shim, const json_t *pids)
{
	size_t i;

	for (i = 0; shim->ranks && i < shim->spec.ranks.nr; i++) {
		shim->ranks[i].pid = (int32_t)json_integer_value(json_array_get(pids, i));
		/* Pid 0: the rank had ended before the checkpoint. */
		if (!shim->ranks[i].pid)
			shim->ranks[i].state = SHIM_RANK_OVER;
	}
	if (shim->ranks && shim->spec.ranks.failed >= 0) {
		shim->failed = shim->spec.ranks.failed;
		shim->ranks[shim->failed].status = shim->spec.ranks.failed_status;
	}
}

/* Tell the user of the first rank that failed: the others are ended because of it. */
static void note_failure(struct shim *shim, const struct shim_msg *msg)
{
	unsigned int rank = shim->ranks[msg->number].rank;
	char text[128];

	if (!msg->value || shim->failed >= 0)
		return;
	shim->failed = (int)msg->number;
	if (shim->aborted)
		return;
	if (WIFSIGNALED(msg->value))
		snprintf(text, sizeof(text), "rank %u was killed by signal %d (%s)", rank,
			 WTERMSIG(msg->value), strsignal(WTERMSIG(msg->value)));
	else
		snprintf(text, sizeof(text), "rank %u ended with exit status %d", rank,
			 WEXITSTATUS(msg->value));
	stdio_note(&shim->io, text);
}

/* Tell init that all ends were handled; call after an abort was sent, if there is one. */
static void shim_ranks_agree(const struct shim *shim)
{
	struct shim_msg msg = { .type = SHIM_RANK_ENDED };
	unsigned int i;

	for (i = 0; i < shim->spec.ranks.nr; i++) {
		if (shim->ranks[i].state != SHIM_RANK_OVER)
			return;
	}
	shim_send(shim->init_sock, &msg, NULL, 0, NULL, 0);
}

void shim_ranks_message(struct shim *shim, const struct shim_msg *msg)
{
	if (msg->type != SHIM_RANK_ENDED || !shim->ranks ||
	    msg->number >= shim->spec.ranks.nr)
		return;
	note_failure(shim, msg);
	shim->ranks[msg->number].state = SHIM_RANK_OVER;
	shim->ranks[msg->number].status = msg->value;
	shim_pages_over(shim, (unsigned int)msg->number);
	if (shim->pm)
		shim_ranks_base(shim)->ops->rank_ended(shim->pm, (unsigned int)msg->number,
						       msg->value);
	shim_ranks_agree(shim);
}

void shim_ranks_fenced(struct shim *shim, const struct shim_msg *msg, const void *data,
		       size_t len)
{
	int ret = fence_answer(&shim->fence, msg->number, data, len, msg->value);

	if (!ret || !shim->pm)
		return;
	/* The next fence may begin inside fence_done(): keep this answer as the last one. */
	if (ret > 0) {
		fence_finish(&shim->fence);
		ret = shim_ranks_base(shim)->ops->fence_done(shim->pm, shim->fence.last,
							     shim->fence.last_len);
	} else {
		fence_end(&shim->fence);
	}
	if (ret)
		shim_ranks_on_abort(1, "process management: another node's answer cannot be read",
				    shim);
}
