// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets the processes of a restarted job go on; see release.h.
 *
 * A worker looks into the processes, as whoever does that waits for the lock of a process's map.
 * Owns its struct vote_release until the worker's outcome. Nothing depends on that outcome.
 */
#include "supervisor/vote/release.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/storage/common.h"
#include "supervisor/vote/member.h"

#define RELEASE_MS	30000

struct vote_release {
	struct common *common;
	int64_t job;
	pid_t init;
};

static json_t *vote_release_run(struct channel_reporter *reporter, void *arg)
{
	const struct vote_release *release = arg;
	int told = member_release_all(release->init);

	(void)reporter;
	if (told < 0)
		return outcome_error(told, "%s", strerror(-told));
	return outcome_ok(json_pack("{s:i}", "told", told));
}

static void vote_release_on_outcome(json_t *outcome, void *arg)
{
	struct vote_release *release = arg;
	const char *why = json_string_value(json_object_get(json_object_get(outcome, "error"),
							    "text"));

	if (!outcome_is_ok(outcome))
		log_warning(&release->common->log, "job %lld: if it waits at the end of a section, "
			    "it waits on (ckptctl vote --release %lld): %s",
			    (long long)release->job, (long long)release->job,
			    why ? why : "the worker ended");
	json_decref(outcome);
	free(release);
}

static const struct worker_kind vote_release_work = {
	.name = "ckptd-release", .run = vote_release_run, .deadline_ms = RELEASE_MS,
};

void vote_release(struct common *common, int64_t job, pid_t init)
{
	static const struct channel_ops ops = { NULL, vote_release_on_outcome };
	struct vote_release *release = malloc(sizeof(*release));
	struct worker_spec spec = { .kind = &vote_release_work, .arg = release };
	struct worker *worker;

	if (!release)
		return;
	*release = (struct vote_release){ common, job, init };
	if (worker_start(&common->workers, &spec, &ops, release, &worker))
		vote_release_on_outcome(NULL, release);
}
