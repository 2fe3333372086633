// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request recover: from which generation a job would be recovered, and from which level for
 * each of its nodes, if certain nodes are lost.
 *
 * All nodes are asked whether they answer; then a worker asks the levels and decides
 * (recover/recovery.h). Nothing is changed; a user may ask
 * about the jobs that he may see. Without "dry_run" the request is refused: a restart acts on the
 * plan.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/net/nodes.h"
#include "supervisor/recover/recovery.h"

struct recover {
	struct request *request;
	struct worker *worker;
	char label[64];
	json_t *tombstones, *nodes, *lost, *silent;
	struct recovery_options options;
};

static void recover_free(struct recover *recover)
{
	json_decref(recover->tombstones);
	json_decref(recover->nodes);
	json_decref(recover->lost);
	json_decref(recover->silent);
	free(recover);
}

static void recover_end(struct recover *recover, json_t *outcome)
{
	request_answer(recover->request, outcome);
	recover_free(recover);
}

static json_t *recover_run(struct channel_reporter *reporter, void *arg)
{
	const struct recover *recover = arg;

	return recovery_plan(&recover->options);
}

static void recover_on_progress(json_t *progress, void *arg)
{
}

static void recover_on_outcome(json_t *outcome, void *arg)
{
	struct recover *recover = arg;

	recover_end(recover, outcome);
}

static const struct channel_ops recover_ops = { recover_on_progress, recover_on_outcome };

/* Check the arguments. NULL, or an outcome. */
static json_t *recover_check(const struct request *request, json_t **ret_lost)
{
	json_t *lost = NULL, *name;
	json_error_t why;
	int dry_run = 0;
	json_int_t id;
	size_t i;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?b, s?o !}", "job", &id, "dry_run",
			   &dry_run, "lost", &lost))
		return outcome_usage("recover: bad arguments: %s", why.text);
	if (lost && !json_is_array(lost))
		return outcome_usage("recover: lost: that is no list of nodes");
	json_array_foreach(lost, i, name) {
		if (!json_is_string(name))
			return outcome_usage("recover: lost: that is no list of nodes");
	}
	if (!dry_run)
		return outcome_error(-EOPNOTSUPP,
				     "recover only plans (--dry-run); ckptctl restart --node-lost "
				     "%lld restarts the job without its lost nodes",
				     (long long)id);
	*ret_lost = json_incref(lost);
	return NULL;
}

/* Take over from @job what the plan needs: the worker runs without it. */
static void recover_take(struct recover *recover, const struct job *job)
{
	job_label(job, recover->label);
	recover->tombstones = json_incref(job->record.tombstones);
	recover->nodes = json_incref(rank_record_nodes(job->record.ranks));
	recover->options = (struct recovery_options) {
		.common = recover->request->common, .job = job->id, .label = recover->label,
		.tombstones = recover->tombstones, .nodes = recover->nodes,
		.since = job->record.generation, .lost = recover->lost,
	};
}

static const struct worker_kind recover_work = {
	.name = "ckptd-recover",
	.run = recover_run,
};

/* All nodes have answered, or had the time to. */
static void recover_on_probed(void *arg)
{
	const struct worker_spec spec = { .kind = &recover_work, .arg = arg };
	struct recover *recover = arg;
	struct request *request = recover->request;
	int err;

	/* the client has gone, or ckptd is ending */
	if (request_abandoned(request)) {
		recover_end(recover, outcome_error(-ECANCELED, "nobody waits for the plan"));
		return;
	}
	recover->silent = nodes_silent(request->common->nodes);
	recover->options.silent = recover->silent;
	err = worker_start(&request->common->workers, &spec, &recover_ops, recover,
			   &recover->worker);
	if (err)
		recover_end(recover, outcome_error(err, "no worker: %s", strerror(-err)));
	else
		request_on_abandon(request, worker_on_abandon, recover->worker);
}

void verb_recover(struct request *request)
{
	struct recover *recover = calloc(1, sizeof(*recover));
	json_t *outcome = NULL;
	struct job *draft = NULL;
	const struct job *job;
	int err;

	if (!recover) {
		request_answer(request, NULL);
		return;
	}
	recover->request = request;
	outcome = recover_check(request, &recover->lost);
	job = outcome ? NULL : jobs_read_for(request, &draft, &outcome);
	if (job)
		recover_take(recover, job);
	job_draft_free(draft);
	if (!outcome) {
		err = nodes_probe(request->common->nodes, recover_on_probed, recover);
		if (!err)
			return;
		outcome = outcome_error(err, "%s", strerror(-err));
	}
	recover_end(recover, outcome);
}
