// SPDX-License-Identifier: GPL-2.0-only
/*
 * The snapshot of a job's last generation in the kernel; see job_l0.h.
 *
 * Owns the holder's context. The kernel counts and watches by itself; ckptd only hears that the
 * snapshot was given up, says why in the log, and closes the context. By itself ckptd gives up what
 * belongs to a generation that no rollback goes to.
 */
#include "supervisor/job/job_l0.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/reactor.h"
#include "engine/core/kdev.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/storage/common.h"

struct job_l0 {
	const struct common *common;
	int64_t job, generation;
	struct kdev *holder;		/* NULL: given up */
	struct reactor_source *source;
	struct ckpt_l0_state state;	/* as last heard */
	bool useless;			/* given up by job_l0_check() */
};

static const char *l0_why(uint32_t why)
{
	static const char *const texts[] = {
		[CKPT_L0_LIMIT] = "it held more than l0_memory allows",
		[CKPT_L0_MEMORY] = "memory was short",
		[CKPT_L0_REPLACED] = "another checkpoint was begun, or the job was rolled back",
		[CKPT_L0_ENDED] = "the processes have ended",
	};

	return why < ARRAY_SIZE(texts) && texts[why] ? texts[why] : "the kernel does not say why";
}

struct kdev *job_l0_open(const struct common *common, const json_t *args)
{
	struct ckpt_error error = { 0 };
	struct kdev *holder = NULL;

	if (!common->config.l0_memory || json_is_true(json_object_get(args, "dry_run")) ||
	    json_is_true(json_object_get(args, "kill")) ||
	    json_is_true(json_object_get(args, "stop_and_copy")))
		return NULL;
	if (kdev_open(&holder, &error))
		holder = NULL;	/* the dump will say why */
	error_done(&error);
	if (holder && !(holder->info.features & CKPT_FEAT_L0)) {
		kdev_close(holder);
		holder = NULL;
	}
	return holder;
}

/* Close the context: the kernel frees behind our back. */
static void l0_close(struct job_l0 *l0)
{
	reactor_remove(l0->source);
	l0->source = NULL;
	kdev_close(l0->holder);
	l0->holder = NULL;
}

void job_l0_refresh(struct job_l0 *l0)
{
	struct ckpt_l0_state state = { 0 };

	if (l0 && l0->holder && !kdev_l0_state(l0->holder, &state))
		l0->state = state;
}

static void l0_on_given_up(uint32_t events, void *arg)
{
	struct job_l0 *l0 = arg;

	job_l0_refresh(l0);
	l0_close(l0);
	/* the job's own end, checkpoint or rollback is no news */
	if (l0->state.why == CKPT_L0_LIMIT || l0->state.why == CKPT_L0_MEMORY)
		log_info(&l0->common->log,
			 "job %lld: the memory that was kept of generation %lld for a rollback "
			 "(L0) was given up: %s", (long long)l0->job, (long long)l0->generation,
			 l0_why(l0->state.why));
}

struct job_l0 *job_l0_create(struct common *common, int64_t job, int64_t generation,
			     struct kdev *holder)
{
	struct job_l0 *l0 = calloc(1, sizeof(*l0));

	if (!l0) {
		kdev_close(holder);
		return NULL;
	}
	l0->common = common;
	l0->job = job;
	l0->generation = generation;
	l0->holder = holder;
	/* no events but errors: the kernel reports that it has given up as one */
	if (reactor_fd(common->reactor, holder->fd, 0, l0_on_given_up, l0, &l0->source)) {
		job_l0_destroy(l0);
		return NULL;
	}
	job_l0_refresh(l0);
	return l0;
}

void job_l0_destroy(struct job_l0 *l0)
{
	if (!l0)
		return;
	l0_close(l0);
	free(l0);
}

void job_l0_check(struct job_l0 *l0)
{
	const struct catalog *catalog = l0 ? &l0->common->catalog : NULL;
	enum trust trust;

	if (!l0 || !l0->holder)
		return;
	if (catalog_has(catalog, l0->job, l0->generation)) {
		trust = trust_get(catalog, l0->job, l0->generation, NULL);
		if (!trust_is_doubted(trust) && trust != TRUST_REPAIRED)
			return;
	}
	l0_close(l0);
	l0->useless = true;
}

json_t *job_l0_describe(const struct job_l0 *l0)
{
	if (!l0)
		return NULL;
	if (l0->useless)
		return json_pack("{s:I, s:s}", "generation", (json_int_t)l0->generation,
				 "given_up", "the generation was removed, or is in doubt");
	if (!l0->holder || l0->state.why != CKPT_L0_KEPT)
		return json_pack("{s:I, s:s}", "generation", (json_int_t)l0->generation,
				 "given_up", l0_why(l0->state.why));
	return json_pack("{s:I, s:I, s:I}", "generation", (json_int_t)l0->generation, "bytes",
			 (json_int_t)l0->state.bytes, "max", (json_int_t)l0->state.max_bytes);
}
