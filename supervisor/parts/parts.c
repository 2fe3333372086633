// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job's parts on several nodes; see parts.h.
 *
 * Owns struct parts: the numbers of the nodes, the timer, and this node's own part with its
 * shim's messages and its end.  parts_home.c acts for the home only, parts_away.c for the other
 * nodes only, parts_fence.c passes fences, parts_lease.c has the leases.
 *
 * The tick is the only timer: every message that may be lost is repeated from it.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "shim/identity.h"
#include "base/outcome.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/rank_record.h"

static const json_t *node_names(const struct job *job)
{
	return rank_record_nodes(job->record.ranks);
}

const char *parts_name(const struct parts *p, unsigned int node)
{
	return json_string_value(json_array_get(node_names(p->job), node));
}

int parts_host(const struct parts *p, unsigned int node)
{
	const char *name = parts_name(p, node);
	struct peer *peer = nodes_peer(p->common->nodes);

	return peer && name ? peer_find(peer, name) : -ENOENT;
}

void parts_cut_off(struct parts *p)
{
	p->ending = true;
	/* by way of the shim of a restart, which first takes files back */
	p->end_code = p->run ? 1 : 0;
}

void parts_abandon(struct parts *p)
{
	p->abandoned = true;
	if (!p->node)
		parts_end_all(p, 0, NULL);
	else if (!p->part[p->node].ended)
		parts_end_here(p, 0, NULL);
	else if (!p->job->busy)
		parts_drop(p->job);
}

bool parts_is_abandoned(const struct parts *p)
{
	return p && p->abandoned;
}

bool parts_has_ended(const struct parts *p)
{
	return p && p->node && p->part[p->node].ended;
}

bool parts_restoring(const struct parts *p)
{
	bool any = p && p->node && p->others_restore &&
		   clock_monotonic_ms() - p->part[0].heard_ms < PARTS_SILENT_MS;
	unsigned int i;

	for (i = 1; p && !p->node && i < p->nr; i++)
		any |= p->part[i].restoring;
	return any;
}

json_t *parts_silent(const struct parts *p)
{
	int64_t now = clock_monotonic_ms();
	json_t *names = NULL;
	unsigned int i;

	for (i = 1; !p->node && i < p->nr; i++) {
		if (p->part[i].ended || now - p->part[i].heard_ms < PARTS_SILENT_MS)
			continue;
		if (!names)
			names = json_array();
		json_array_append_new(names, json_string(parts_name(p, i)));
	}
	return names;
}

const char *parts_first_ended(const struct parts *p)
{
	unsigned int i;

	for (i = 1; !p->node && i < p->nr; i++) {
		if (p->part[i].ended)
			return parts_name(p, i);
	}
	return NULL;
}

bool parts_is_node(const struct parts *p, unsigned int host)
{
	unsigned int i;

	for (i = 0; p && i < p->nr; i++) {
		if (parts_host(p, i) == (int)host)
			return true;
	}
	return false;
}

bool parts_is_homes(const struct parts *p, unsigned int host)
{
	return p && p->node && parts_host(p, 0) == (int)host;
}

bool parts_lost(const struct parts *p)
{
	json_t *silent = parts_silent(p);
	bool lost = silent || (p->node && clock_monotonic_ms() - p->part[0].heard_ms >=
					  PARTS_SILENT_MS);

	json_decref(silent);
	return lost;
}

/* ------------------------------------------------------------------ life */

static void parts_on_tick(void *arg);

static int parts_arm(struct parts *p)
{
	return reactor_timer(p->common->reactor, PARTS_TICK_MS, parts_on_tick, p, &p->tick);
}

static void parts_on_tick(void *arg)
{
	struct parts *p = arg;

	/* Arm the next tick first, as the rest may free @p. */
	p->tick = NULL;
	p->ticks++;
	listening_tick(&p->listening, clock_monotonic_ms());
	if (parts_arm(p))
		log_error(&p->common->log, "job %lld: no timer", (long long)p->job->id);
	fence_tree_tick(p->tree);
	if (p->node)
		parts_away_tick(p);
	else
		parts_home_tick(p);
}

static int parts_join(struct parts *p, struct ckpt_error *error)
{
	const char **names = calloc(p->nr, sizeof(*names));
	struct peer *peer = nodes_peer(p->common->nodes);
	unsigned int i, bad = 0;
	int err;

	if (!names)
		return -ENOMEM;
	for (i = 0; i < p->nr; i++)
		names[i] = parts_name(p, i);
	err = peer ? peer_job_add(peer, p->job->id, p->run, names, p->nr, &bad) : -ENOTCONN;
	if (err == -ENOTCONN)
		error_set(error, err, "node %s is on its own: see ckptctl nodes",
			  p->common->config.node);
	else if (err == -ENOENT)
		error_set(error, err, "there is no node %s in %s", names[bad],
			  p->common->config.hosts);
	else if (err)
		error_set(error, err, "the job's nodes: %s", strerror(-err));
	free(names);
	return err;
}

static void parts_release(struct parts *p)
{
	parts_fence_close(p);
	parts_lease_close(p);
	reactor_remove(p->tick);
	json_decref(p->failure);
	json_decref(p->restore);
	json_decref(p->credential);
	json_decref(p->figures);
	free(p->part);
	free(p);
}

int parts_open(struct job *job, bool fresh, struct ckpt_error *error)
{
	struct common *common = jobs_common(job->jobs);
	struct parts *p = calloc(1, sizeof(*p));
	unsigned int i;
	int err;

	error_set(error, -ENOMEM, "out of memory");
	if (!p)
		return -ENOMEM;
	p->job = job;
	p->common = common;
	p->node = (unsigned int)rank_record_node_index(job->record.ranks,
						       common->config.node);
	p->nr = (unsigned int)json_array_size(node_names(job));
	p->run = (uint64_t)job->record.run;
	p->keep_going = rank_record_keeps_going(job->record.ranks);
	p->part = calloc(p->nr, sizeof(*p->part));
	for (i = 0; p->part && i < p->nr; i++)
		p->part[i] = (struct part) {
			.parts = p, .number = i, .heard_ms = clock_monotonic_ms(),
			.end = { .rank = -1 },
		};
	p->starting = fresh && !p->node;
	p->lease_ms = -1;
	err = p->part ? parts_join(p, error) : -ENOMEM;
	if (err) {
		parts_release(p);
		return err;
	}
	err = parts_fence_open(p, fresh);
	if (!err)
		err = parts_arm(p);
	if (err) {
		peer_job_remove(nodes_peer(common->nodes), job->id, p->run);
		parts_release(p);
		return err;
	}
	job->parts = p;
	job->node_index = p->node;
	return 0;
}

void parts_close(struct job *job)
{
	struct parts *p = job->parts;
	struct peer_asks *asks;
	unsigned int i;

	if (!p)
		return;
	asks = nodes_asks(p->common->nodes);
	for (i = 0; i < p->nr; i++) {
		if (p->part[i].cookie)
			peer_ask_forget(asks, p->part[i].cookie);
		if (p->part[i].start)
			peer_ask_forget(asks, p->part[i].start);
	}
	for (i = 0; i < p->nr_ends; i++)
		peer_question_answer(p->ends[i], outcome_ok(NULL));
	peer_job_remove(nodes_peer(p->common->nodes), job->id, p->run);
	job->parts = NULL;
	job->node_index = 0;
	parts_release(p);
}

struct job *parts_job(struct jobs *jobs, int64_t id, uint64_t run)
{
	struct job *job = jobs_lookup(jobs, id);

	return job && job->parts && job->parts->run == run ? job : NULL;
}

/* -------------------------------------------------------------- this node */

void parts_connected(struct parts *p)
{
	const struct shim_msg msg = { .type = SHIM_FENCES };

	p->in.len = p->out.at = p->last.len = 0;
	p->in.active = p->out.active = false;
	shim_send(p->job->shim, &msg, NULL, 0, NULL, 0);
}

void parts_message(struct parts *p, const struct shim_msg *msg, const void *data, size_t len)
{
	if (!msg)
		parts_fence_push(p);
	else if (msg->type == SHIM_FENCE)
		parts_fence_message(p, msg, data, len);
	else if (msg->type == SHIM_FENCE_DONE)
		parts_fence_known(p, msg, data, len);
	else if (msg->type == SHIM_SIGNALLED && !p->node)
		parts_signal(p, (int)msg->number);
}

bool parts_starts_here(const struct parts *p)
{
	return p && p->start;
}

/*
 * Kill the first process of a start under way.  The shim may still restore for long; then it
 * finds its first process dead and undoes the start.
 */
static void end_start(const struct job *job)
{
	struct identity id;

	if (!identity_read(job->state_dir, &id) && id.init_alive)
		kill(id.init, SIGKILL);
}

bool parts_has_links(const struct parts *p)
{
	return json_object_get(p->restore, "links");
}

/*
 * Is the part here started, or restored, so that its first process may be killed? At the home only
 * a restore that waits for other nodes: one that was told to go on or to end may put files back.
 */
static bool parts_restores_here(const struct parts *p)
{
	return p->start || (!p->node && p->starting && parts_has_links(p) && !p->part[0].ended &&
			    !p->job->answered_ms);
}

void parts_end_here(struct parts *p, int code, const char *text)
{
	const struct shim_msg msg = { .type = SHIM_ABORT, .number = (uint64_t)code };
	const struct job *job = p->job;

	if (job->held)
		job_restore_answer(p->job, false);
	else if (!job->init && parts_restores_here(p) && !job_restore_is_busy(job))
		end_start(job);
	if (!job->init || p->part[p->node].ended)
		return;
	if (!code || job->shim < 0 ||
	    shim_send(job->shim, &msg, text, text ? strlen(text) : 0, NULL, 0))
		kill(job->init, SIGKILL);
}

void parts_gone(struct parts *p, const struct job_end *end)
{
	p->part[p->node].end = *end;
	p->gone = true;
	/* Away from the home the part ends only with whole logs: its shim leaves then. */
	if (p->node && p->job->shim >= 0)
		return;
	p->part[p->node].ended = true;
	if (p->node)
		parts_away_gone(p);
	else
		parts_check(p);
}

void parts_shim_left(struct parts *p)
{
	if (!p->node || !p->gone || p->part[p->node].ended)
		return;
	p->part[p->node].ended = true;
	parts_away_gone(p);
}
