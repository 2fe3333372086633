// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages between ckptds: envelopes, jobs, receivers; see peer.h.
 *
 * Owns the map from the numbers of a job's nodes to hosts, and checks every message against
 * it: a message of a job counts only if the node that sent it, by its key, has the number
 * that it claims. A message of an unknown job is dropped; its sender will repeat it. Knows
 * no socket.
 */
#include "supervisor/net/peer_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/net/peer.pb-c.h"

#define SAY_EVERY	60	/* seconds */

struct peer_job {
	struct peer_job *next;
	int64_t job;
	uint64_t run;
	unsigned int self;	/* this node's number */
	unsigned int nr;
	unsigned int host[];	/* host of each node, by number */
};

int peer_init(struct peer *peer, const struct peer_ops *ops, const struct hosts *hosts,
	      unsigned int self, const struct log *log)
{
	*peer = (struct peer) {
		.ops = ops, .hosts = hosts, .log = log, .self = self,
		.version = PEER_VERSION,
	};
	peer->host = calloc(hosts->nr, sizeof(*peer->host));
	return peer->host ? 0 : -ENOMEM;
}

void peer_done(struct peer *peer)
{
	struct peer_job *job;

	while ((job = peer->jobs)) {
		peer->jobs = job->next;
		free(job);
	}
	free(peer->host);
	peer->host = NULL;
}

void peer_close(struct peer *peer)
{
	if (peer)
		peer->ops->close(peer);
}

void peer_receive(struct peer *peer, enum peer_type type, peer_receive_fn fn, void *arg)
{
	peer->receivers[type] = (struct peer_receiver) { fn, arg };
}

/* ------------------------------------------------------------------ jobs */

static struct peer_job **job_find(struct peer *peer, int64_t id, uint64_t run)
{
	struct peer_job **job = &peer->jobs;

	while (*job && ((*job)->job != id || (*job)->run != run))
		job = &(*job)->next;
	return job;
}

/* Map the numbers of the job's nodes to hosts; this node must have exactly one number. */
static int job_map(const struct peer *peer, struct peer_job *job, const char *const *names,
		   unsigned int *ret_bad)
{
	unsigned int i, mine = 0;

	for (i = 0; i < job->nr; i++) {
		int host = hosts_find(peer->hosts, names[i]);

		if (host < 0) {
			if (ret_bad)
				*ret_bad = i;
			return -ENOENT;
		}
		job->host[i] = (unsigned int)host;
		if (job->host[i] == peer->self) {
			job->self = i;
			mine++;
		}
	}
	return mine == 1 ? 0 : -EINVAL;
}

int peer_job_add(struct peer *peer, int64_t id, uint64_t run, const char *const *names,
		 unsigned int nr, unsigned int *ret_bad)
{
	struct peer_job *job;
	int err;

	if (id <= 0 || !nr)
		return -EINVAL;
	if (*job_find(peer, id, run))
		return -EEXIST;
	if (nr > HOSTS_MAX || peer->nr_jobs == PEER_JOBS_MAX)
		return -E2BIG;
	job = calloc(1, sizeof(*job) + nr * sizeof(job->host[0]));
	if (!job)
		return -ENOMEM;
	job->job = id;
	job->run = run;
	job->nr = nr;
	err = job_map(peer, job, names, ret_bad);
	if (err) {
		free(job);
		return err;
	}
	job->next = peer->jobs;
	peer->jobs = job;
	peer->nr_jobs++;
	return 0;
}

void peer_job_remove(struct peer *peer, int64_t id, uint64_t run)
{
	struct peer_job **at = job_find(peer, id, run), *job = *at;

	if (!job)
		return;
	*at = job->next;
	peer->nr_jobs--;
	free(job);
}

/* --------------------------------------------------------------- sending */

/* Find the host that @msg goes to, and fill in the envelope's numbers. */
static int peer_address(struct peer *peer, const struct peer_msg *msg,
			Stillpoint__Envelope *envelope, unsigned int *ret_host)
{
	const struct peer_job *job;
	unsigned int host = msg->node;

	if (msg->job) {
		job = *job_find(peer, msg->job, msg->run);
		if (!job || msg->node >= job->nr)
			return -EINVAL;
		host = job->host[msg->node];
		envelope->to_node = msg->node;
		envelope->from_node = job->self;
	}
	if (host >= peer->hosts->nr || host == peer->self)
		return -EINVAL;
	*ret_host = host;
	return 0;
}

int peer_send(struct peer *peer, const struct peer_msg *msg)
{
	Stillpoint__Envelope envelope = STILLPOINT__ENVELOPE__INIT;
	unsigned int host;
	uint8_t *bytes;
	size_t len;
	int err;

	if (msg->len > PEER_DATA_MAX)
		return -EMSGSIZE;
	err = peer_address(peer, msg, &envelope, &host);
	if (err)
		return err;
	envelope.version = peer->version;
	envelope.job = msg->job;
	envelope.run = msg->run;
	envelope.type = msg->type;
	envelope.number = msg->number;
	envelope.data.data = (uint8_t *)msg->data;
	envelope.data.len = msg->len;
	len = stillpoint__envelope__get_packed_size(&envelope);
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	stillpoint__envelope__pack(&envelope, bytes);
	return peer->ops->send(peer, host, bytes, len);
}

/* ------------------------------------------------------------- receiving */

static bool peer_may_say(struct peer *peer, unsigned int host)
{
	time_t now = time(NULL);
	struct peer_host *h = &peer->host[host];

	if (h->said && now >= h->said && now - h->said < SAY_EVERY)
		return false;
	h->said = now;
	return true;
}

/* True if the node speaks our protocol version; else that is logged. */
static bool check_version(struct peer *peer, unsigned int host, uint32_t version)
{
	struct peer_host *h = &peer->host[host];

	if (version == peer->version) {
		h->version = 0;
		return true;
	}
	if (h->version != version)
		h->other_since = time(NULL);
	h->version = version;
	if (peer_may_say(peer, host))
		log_warning(peer->log,
			    "node %s speaks version %u of the protocol between ckptds, this ckptd "
			    "version %u: nothing that it says is taken; install the same version "
			    "on both",
			    peer->hosts->host[host].name, version, peer->version);
	return false;
}

/* Answer a node of another version, so that it sees ours; only probes are answered. */
static void answer_other(struct peer *peer, unsigned int host)
{
	const struct peer_msg msg = { .node = host, .type = PEER_PROBE_BACK };

	peer_send(peer, &msg);
}

/* Check the numbers in a job's message against the host that sent it. */
static bool check_job(struct peer *peer, unsigned int host,
		      const Stillpoint__Envelope *envelope)
{
	const struct peer_job *job = *job_find(peer, envelope->job, envelope->run);
	const char *name = peer->hosts->host[host].name;

	if (!job) {
		log_debug(peer->log, "message of node %s about job %lld, which is not known here",
			  name, (long long)envelope->job);
		return false;
	}
	if (envelope->from_node < job->nr && job->host[envelope->from_node] == host &&
	    envelope->to_node == job->self)
		return true;
	if (peer_may_say(peer, host))
		log_warning(peer->log,
			    "node %s sent a message of job %lld as its node %u to node %u, and is "
			    "or means another: dropped",
			    name, (long long)envelope->job, envelope->from_node, envelope->to_node);
	return false;
}

static void peer_dispatch(struct peer *peer, unsigned int host,
			  const Stillpoint__Envelope *envelope)
{
	struct peer_msg msg = {
		.job = envelope->job, .run = envelope->run,
		.node = envelope->job ? envelope->from_node : host,
		.type = (enum peer_type)envelope->type, .number = envelope->number,
		.data = envelope->data.data, .len = envelope->data.len,
	};
	bool of_job = envelope->type < PEER_PROBE;
	const struct peer_receiver *receiver;

	if (envelope->type >= PEER_TYPES || !peer->receivers[envelope->type].fn ||
	    of_job != !!envelope->job || msg.len > PEER_DATA_MAX) {
		if (peer_may_say(peer, host))
			log_warning(peer->log,
				    "node %s sent a message of type %u that is not taken here",
				    peer->hosts->host[host].name, envelope->type);
		return;
	}
	if (envelope->job && !check_job(peer, host, envelope))
		return;
	receiver = &peer->receivers[envelope->type];
	receiver->fn(&msg, receiver->arg);
}

void peer_deliver(struct peer *peer, unsigned int host, const uint8_t *bytes, size_t len)
{
	Stillpoint__Envelope *envelope = stillpoint__envelope__unpack(NULL, len, bytes);

	peer->host[host].heard = time(NULL);
	if (!envelope) {
		if (peer_may_say(peer, host))
			log_warning(peer->log, "node %s sent %zu bytes that are no message",
				    peer->hosts->host[host].name, len);
		return;
	}
	if (check_version(peer, host, envelope->version))
		peer_dispatch(peer, host, envelope);
	else if (envelope->type == PEER_PROBE)
		answer_other(peer, host);
	stillpoint__envelope__free_unpacked(envelope, NULL);
}

/* ----------------------------------------------------------------- nodes */

const char *peer_state_text(enum peer_state state)
{
	static const char *const texts[] = {
#define X(name, text) text,
		PEER_STATES(X)
#undef X
	};

	return (unsigned int)state < ARRAY_SIZE(texts) ? texts[state] : "?";
}

unsigned int peer_nr_nodes(const struct peer *peer)
{
	return peer->hosts->nr;
}

unsigned int peer_self(const struct peer *peer)
{
	return peer->self;
}

int peer_find(const struct peer *peer, const char *name)
{
	return hosts_find(peer->hosts, name);
}

void peer_node(const struct peer *peer, unsigned int node, struct peer_node *ret_node)
{
	const struct host *host = &peer->hosts->host[node];
	const struct peer_host *h = &peer->host[node];

	*ret_node = (struct peer_node) {
		.name = host->name, .address = host->address, .port = host->port,
		.domain = host->domain[0] ? host->domain : NULL,
		.root = host->root, .heard = h->heard, .state = PEER_SELF,
	};
	if (node == peer->self)
		return;
	ret_node->state = peer->ops->state(peer, node, &ret_node->since);
	if (ret_node->state == PEER_UP && h->version) {
		ret_node->state = PEER_OTHER_VERSION;
		ret_node->version = h->version;
		ret_node->since = h->other_since;
	}
}
