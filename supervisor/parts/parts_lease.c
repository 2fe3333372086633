// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases of the parts of a job over nodes: a part takes one, its home declares it lost.
 *
 * With "lease" in its ckptd.conf a home grants a lease with each answer to a report. The part hands
 * it to the kernel module (CKPT_IOC_LEASE), which kills the part's processes when no later one
 * comes in time, whatever has become of ckptd there. So a node that has been silent for longer than
 * its lease has no processes of the job any more, and the job can be restarted without it. A fence
 * command that says that the node is off shortens the wait.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <string.h>

#include "base/outcome.h"
#include "engine/core/kdev.h"

/* ----------------------------------------------------------------- a part */

/* Return: 0 or a negative errno; -EOPNOTSUPP: no module, or one without leases. */
static int lease_set(pid_t init, uint64_t until_ns)
{
	struct ckpt_lease lease = { .pid = init, .until_ns = until_ns };
	struct ckpt_error error = { 0 };
	struct kdev *dev = NULL;
	int err = kdev_open(&dev, &error);

	error_done(&error);
	if (err)
		return -EOPNOTSUPP;
	err = dev->info.features & CKPT_FEAT_LEASE ? kdev_lease(dev, &lease) : -EOPNOTSUPP;
	kdev_close(dev);
	return err;
}

static void lease_tell_none(struct parts *p, int err)
{
	if (p->lease_refused)
		return;
	p->lease_refused = true;
	log_warning(&p->common->log,
		    "job %lld: no lease is held here (%s); if this node is cut off, the job waits "
		    "for it", (long long)p->job->id,
		    err == -EOPNOTSUPP ? "the kernel module is away, or knows no leases" :
					 strerror(-err));
}

void parts_lease_take(struct parts *p, uint64_t asked_ns, const json_t *answer)
{
	json_int_t ms = json_integer_value(json_object_get(answer, "lease_ms"));
	int err;

	if (p->job->host_ns || !p->job->init || p->part[p->node].ended || ms < 0 ||
	    ms > LEASE_MAX_MS || (!ms && !p->lease_ms))
		return;
	err = lease_set(p->job->init, ms ? asked_ns + (uint64_t)ms * 1000000 : 0);
	if (ms && err)
		lease_tell_none(p, err);
	p->lease_ms = err ? 0 : ms;
}

/* --------------------------------------------------------------- the home */

static int64_t lease_now_ms(void)
{
	return (int64_t)(clock_boottime_ns() / 1000000);
}

json_int_t parts_lease_grant(struct part *part, const json_t *report)
{
	const struct parts *p = part->parts;
	json_int_t held = json_integer_value(json_object_get(report, "lease_ms"));
	json_int_t granted = (json_int_t)p->common->config.lease_s * 1000;

	held = held < 0 || held > LEASE_MAX_MS ? 0 : held;
	if (part->ended || p->job->host_ns)
		granted = 0;
	else if (p->ending)	/* no lease is begun, but the part may not hear that it is to end */
		granted = held;
	lease_grant_note(&part->lease, lease_now_ms(), held, granted);
	return granted;
}

/* The node has no processes of the job any more: the rest of the job ends, as lost. */
static void lease_lose(struct part *part, const char *why)
{
	struct parts *p = part->parts;

	part->ended = true;
	part->end = (struct job_end) { .rank = -1 };
	p->lost = true;
	log_warning(&p->common->log, "job %lld: node %s is lost: %s", (long long)p->job->id,
		    parts_name(p, part->number), why);
}

static void lease_on_fenced(json_t *outcome, void *arg)
{
	struct part *part = arg;
	struct parts *p = part->parts;

	if (outcome_is_ok(outcome) && !part->ended)
		lease_lose(part, "the fence command says that it is off");
	else if (!outcome_is_ok(outcome))
		log_warning(&p->common->log, "job %lld: node %s: %s; waiting for the end of its "
			    "lease", (long long)p->job->id, parts_name(p, part->number),
			    json_string_value(json_object_get(json_object_get(outcome, "error"),
							      "text")));
	json_decref(outcome);
	parts_check(p);
}

/*
 * Does another node than the silent one answer? Else it may be this node that is cut off, and it
 * must not switch off all the others. With two nodes there is nobody to ask.
 */
static bool lease_hears_others(const struct part *part)
{
	const struct peer *peer = nodes_peer(part->parts->common->nodes);
	unsigned int silent = (unsigned int)parts_host(part->parts, part->number);
	unsigned int i, nr = peer ? peer_nr_nodes(peer) : 0;
	struct peer_node node;

	for (i = 0; i < nr; i++) {
		if (i == silent || i == peer_self(peer))
			continue;
		peer_node(peer, i, &node);
		if (node.state == PEER_UP)
			return true;
	}
	return nr <= 2;
}

static void lease_fence(struct part *part)
{
	struct parts *p = part->parts;
	int err;

	part->fenced = true;
	part->fence = (struct fence_command) {
		.node = parts_name(p, part->number), .job = p->job->id, .fn = lease_on_fenced,
		.arg = part,
	};
	err = fence_command_start(p->common, &part->fence);
	if (err)
		log_error(&p->common->log, "job %lld: no fence command: %s",
			  (long long)p->job->id, strerror(-err));
}

void parts_lease_tick(struct parts *p)
{
	const struct config *config = &p->common->config;
	int64_t silent_ms, fence_ms = (int64_t)config->lease_s * 500;
	unsigned int i;

	if (fence_ms < PARTS_FENCE_MS)
		fence_ms = PARTS_FENCE_MS;
	for (i = 1; i < p->nr && !p->starting && !p->abandoned; i++) {
		struct part *part = &p->part[i];

		silent_ms = listening_silence_ms(&p->listening, clock_monotonic_ms(),
						 part->heard_ms);
		if (silent_ms < PARTS_SILENT_MS)
			part->fenced = part->fence.worker;
		if (part->ended || !part->lease.held || silent_ms < PARTS_SILENT_MS)
			continue;
		if (lease_grant_is_over(&part->lease, lease_now_ms()))
			lease_lose(part, "it is silent, and its lease has run out");
		else if (config->fence_command && !part->fenced && silent_ms >= fence_ms &&
			 lease_hears_others(part))
			lease_fence(part);
	}
}

void parts_lease_close(struct parts *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		fence_command_stop(&p->part[i].fence);
}
