// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes the fences of a job over nodes between our shim, which sends blocks in pieces, the
 * tree of nodes (fence_tree.h), and the messages between ckptds.
 *
 * Nothing here is kept on disk.  A restarted ckptd learns from its shim which fence is open and
 * the result of the last one, and the neighbours repeat the messages that they wait for.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/pm.h"

static void parts_fence_say(struct parts *p, unsigned int node, enum peer_type type,
			    uint64_t number, const void *data, size_t len)
{
	const struct peer_msg msg = {
		.job = p->job->id, .run = p->run, .node = node, .type = type,
		.number = number, .data = data, .len = len,
	};

	/* A tick repeats lost messages. */
	peer_send(nodes_peer(p->common->nodes), &msg);
}

static void on_up(unsigned int node, uint64_t number, const void *data, size_t len, void *arg)
{
	parts_fence_say(arg, node, PEER_FENCE_UP, number, data, len);
}

static void on_down(unsigned int node, uint64_t number, const void *data, size_t len, void *arg)
{
	parts_fence_say(arg, node, PEER_FENCE_DOWN, number, data, len);
}

static void on_done(uint64_t number, const void *data, size_t len, void *arg)
{
	struct parts *p = arg;
	char *copy = malloc(len + 1);

	if (!copy) {
		parts_end_here(p, 1, "process management: out of memory");
		return;
	}
	if (len)
		memcpy(copy, data, len);
	free(p->out.data);
	p->out = (struct parts_block) {
		.number = number, .data = copy, .len = len, .active = true,
	};
	parts_fence_push(p);
}

static const struct fence_tree_ops tree_ops = { on_up, on_down, on_done };

void parts_fence_push(struct parts *p)
{
	struct parts_block *out = &p->out;
	struct job *job = p->job;
	struct shim_msg msg = { .type = SHIM_FENCE_DONE, .number = out->number };
	int err = 0;

	while (out->active && job->shim >= 0 && !err) {
		size_t n = out->len - out->at < SHIM_DATA_MAX ? out->len - out->at : SHIM_DATA_MAX;

		msg.value = out->at + n < out->len;
		err = shim_send(job->shim, &msg, out->data + out->at, n, NULL, 0);
		if (err)
			break;
		out->at += n;
		out->active = msg.value;
	}
	if (job->shim >= 0 && job->shim_source)
		reactor_events(job->shim_source, EPOLLIN | (err == -EAGAIN ? EPOLLOUT : 0));
}

static int parts_fence_append(struct parts_block *in, const void *data, size_t len)
{
	size_t size = in->size ? in->size : 4096;
	char *bytes;

	if (len > PM_FENCE_MAX - in->len)
		return -EMSGSIZE;
	while (size < in->len + len)
		size *= 2;
	if (size != in->size) {
		bytes = realloc(in->data, size);
		if (!bytes)
			return -ENOMEM;
		in->data = bytes;
		in->size = size;
	}
	if (len)
		memcpy(in->data + in->len, data, len);
	in->len += len;
	return 0;
}

static void parts_fence_check(struct parts *p, int err)
{
	if (err && err != -EPROTO)
		parts_end_here(p, 1, "process management: what the ranks say is too long");
}

void parts_fence_message(struct parts *p, const struct shim_msg *msg, const void *data,
			 size_t len)
{
	struct parts_block *in = &p->in;
	int err;

	if (in->number != msg->number)
		in->len = 0;
	in->number = msg->number;
	err = parts_fence_append(in, data, len);
	if (!err && !msg->value) {
		err = fence_tree_local(p->tree, in->number, in->data, in->len);
		in->len = 0;
	}
	parts_fence_check(p, err);
}

void parts_fence_known(struct parts *p, const struct shim_msg *msg, const void *data, size_t len)
{
	int err = parts_fence_append(&p->last, data, len);

	if (!err && msg->value)
		return;
	if (!err)
		err = fence_tree_known(p->tree, msg->number, p->last.data, p->last.len);
	free(p->last.data);
	p->last = (struct parts_block) { 0 };
	parts_fence_check(p, err);
}

static void on_fence_up(const struct peer_msg *msg, void *arg)
{
	struct job *job = parts_job(arg, msg->job, msg->run);

	if (job)
		parts_fence_check(job->parts, fence_tree_up(job->parts->tree, msg->node,
							    msg->number, msg->data, msg->len));
}

static void on_fence_down(const struct peer_msg *msg, void *arg)
{
	struct job *job = parts_job(arg, msg->job, msg->run);

	if (job && job->parts->node &&
	    msg->node == (job->parts->node - 1) / FENCE_TREE_ARITY)
		parts_fence_check(job->parts, fence_tree_down(job->parts->tree, msg->number,
							      msg->data, msg->len));
}

int parts_fence_open(struct parts *p, bool fresh)
{
	int err = fence_tree_create(p->node, p->nr, PM_FENCE_MAX, &tree_ops, p, &p->tree);

	if (!err && !fresh)
		fence_tree_resume(p->tree);
	return err;
}

void parts_fence_close(struct parts *p)
{
	fence_tree_destroy(p->tree);
	free(p->in.data);
	free(p->out.data);
	free(p->last.data);
}

int parts_fence_register(struct jobs *jobs)
{
	struct peer *peer = nodes_peer(jobs_common(jobs)->nodes);

	peer_receive(peer, PEER_FENCE_UP, on_fence_up, jobs);
	peer_receive(peer, PEER_FENCE_DOWN, on_fence_down, jobs);
	return 0;
}
