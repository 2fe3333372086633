// SPDX-License-Identifier: GPL-2.0-only
/*
 * The other nodes; see nodes.h.
 *
 * Owns the daemon's hosts file, node key and peer, and the last health report of each node.
 * A probe goes to all nodes at once. Its time is measured here with a clock that cannot be
 * set, and the other node's clock is compared with ours at the middle of that time.
 */
#include "supervisor/net/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/ckpt.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "libckptctl/version.h"
#include "base/leftover.h"
#include "supervisor/net/peer.pb-c.h"
#include "supervisor/net/peer_zmq.h"

#define PROBE_MS	3000
#define CLOCK_SLACK_NS	1000000000ll

struct health {
	uint64_t probe;		/* number of the probe that it answered last; 0: none */
	uint64_t at_ns;
	uint64_t rtt_ns;
	int64_t clock_ns;	/* the node's clock minus ours */
	char version[32];
	char key[NODES_KEY_NAME];
	uint32_t api, module;
	char degraded[NODES_DEGRADED];	/* levels, "" : none */
};

struct probe {
	struct nodes *nodes;
	struct probe *next;
	uint64_t number;
	uint64_t sent_ns;
	unsigned int missing;
	struct reactor_source *timer;
	nodes_fn fn;
	void *arg;
};

struct nodes {
	struct nodes_options options;
	struct hosts hosts;
	struct peer *peer;
	struct peer_asks *asks;
	struct health *health;		/* [hosts.nr] */
	struct levels_node *list;	/* the same, for levels */
	struct probe *probes;
	uint64_t last_probe;
	char degraded[NODES_DEGRADED];	/* of this node */
	struct ckpt_error problem;	/* its text is empty: none */
};

/* API number of the loaded module; 0: no module is loaded. */
static uint32_t module_api(void)
{
	struct ckpt_info info = { .size = sizeof(info) };
	_cleanup_fd_ int fd = open("/dev/ckpt", O_RDWR | O_CLOEXEC);

	return fd >= 0 && !ioctl(fd, CKPT_IOC_INFO, &info) ? info.api : 0;
}

/* ---------------------------------------------------------------- probes */

static void probe_end(struct probe **at)
{
	struct probe *p = *at;

	*at = p->next;
	reactor_remove(p->timer);
	p->fn(p->arg);
	free(p);
}

static struct probe **probe_find(struct nodes *nodes, uint64_t number)
{
	struct probe **p = &nodes->probes;

	while (*p && (*p)->number != number)
		p = &(*p)->next;
	return p;
}

static void on_probe_time(void *arg)
{
	struct probe *p = arg;

	p->timer = NULL;
	probe_end(probe_find(p->nodes, p->number));
}

int nodes_probe(struct nodes *nodes, nodes_fn fn, void *arg)
{
	struct peer_msg msg = { .type = PEER_PROBE };
	struct probe *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	*p = (struct probe) {
		.nodes = nodes, .number = ++nodes->last_probe, .fn = fn, .arg = arg,
		.sent_ns = clock_monotonic_ns(),
	};
	msg.number = p->number;
	for (msg.node = 0; nodes->peer && msg.node < nodes->hosts.nr; msg.node++) {
		if (!peer_send(nodes->peer, &msg))
			p->missing++;
	}
	/* nodes that cannot be reached are not waited for; @fn is never called from here */
	err = reactor_timer(nodes->options.reactor, p->missing ? PROBE_MS : 0, on_probe_time,
			    p, &p->timer);
	if (err) {
		free(p);
		return err;
	}
	p->next = nodes->probes;
	nodes->probes = p;
	return 0;
}

static void on_probe(const struct peer_msg *msg, void *arg)
{
	Stillpoint__Health health = STILLPOINT__HEALTH__INIT;
	struct nodes *nodes = arg;
	struct peer_msg back = {
		.node = msg->node, .type = PEER_PROBE_BACK, .number = msg->number,
	};
	char key[NODES_KEY_NAME], no_key[] = "-";
	uint8_t bytes[256 + NODES_DEGRADED];

	nodes->options.key_name(nodes->options.arg, key);
	health.key = key[0] ? key : no_key;
	health.realtime_ns = (int64_t)clock_realtime_ns();
	health.version = CKPT_VERSION;
	health.api = CKPT_API;
	health.module_api = module_api();
	health.degraded = nodes->degraded;
	back.len = stillpoint__health__pack(&health, bytes);
	back.data = bytes;
	peer_send(nodes->peer, &back);
}

static void on_probe_back(const struct peer_msg *msg, void *arg)
{
	struct nodes *nodes = arg;
	uint64_t now = clock_monotonic_ns();
	int64_t wall = (int64_t)clock_realtime_ns();
	struct probe **p = probe_find(nodes, msg->number);
	struct health *h = &nodes->health[msg->node];
	Stillpoint__Health *health;

	if (!*p || h->probe == msg->number)
		return;
	health = msg->len <= 1024 ? stillpoint__health__unpack(NULL, msg->len, msg->data) : NULL;
	if (!health)
		return;
	h->probe = msg->number;
	h->at_ns = now;
	h->rtt_ns = now - (*p)->sent_ns;
	h->clock_ns = health->realtime_ns - (wall - (int64_t)h->rtt_ns / 2);
	snprintf(h->version, sizeof(h->version), "%s", health->version);
	snprintf(h->key, sizeof(h->key), "%s", health->key);
	h->api = health->api;
	h->module = health->module_api;
	snprintf(h->degraded, sizeof(h->degraded), "%s", health->degraded);
	stillpoint__health__free_unpacked(health, NULL);
	if (!--(*p)->missing)
		probe_end(p);
}

/* ---------------------------------------------------------------- people */

static bool clock_differs(const struct health *h)
{
	int64_t slack = CLOCK_SLACK_NS + (int64_t)h->rtt_ns / 2;

	return h->clock_ns > slack || h->clock_ns < -slack;
}

/* A remark on a node for people, with what to do about it; NULL: there is nothing to say. */
static json_t *nodes_advice(const struct nodes *nodes, const struct peer_node *node,
			    const struct health *h, bool fresh)
{
	char key[NODES_KEY_NAME];

	switch (node->state) {
	case PEER_SELF:
		return NULL;
	case PEER_REFUSED:
		return json_string("its line in the hosts files is not the one that ckptctl keygen "
				   "--show prints there, or this node's is not there: copy the "
				   "same file to all nodes and restart ckptd");
	case PEER_OTHER_VERSION:
		return json_sprintf("it speaks version %u of the protocol, this one %u: install "
				    "the same version on both",
				    node->version, PEER_VERSION);
	case PEER_UP:
		break;
	default:
		return json_string("is it on, does ckptd run there, does a firewall let its port "
				   "through?");
	}
	if (!fresh)
		return json_string("connected, but it has not answered in time");
	if (h->api != CKPT_API)
		return json_sprintf("its ckptd was built for API %u of the module, this one for "
				    "%u: install the same version on both",
				    h->api, CKPT_API);
	nodes->options.key_name(nodes->options.arg, key);
	if (!strcmp(h->key, "-"))
		return json_string("its key cannot be used: see the log of its ckptd");
	/* an older ckptd sends no key name */
	if (key[0] && h->key[0] && strcmp(key, h->key))
		return json_sprintf("its key is not the one here: what one writes the other cannot "
				    "read; copy %s of the node that has images to the others and "
				    "restart ckptd there",
				    nodes->options.image_key);
	if (clock_differs(h))
		return json_sprintf("its clock is %.1f s %s: set it (NTP); files' times will not "
				    "agree after a restart",
				    (double)llabs(h->clock_ns) / 1e9,
				    h->clock_ns > 0 ? "ahead" : "behind");
	if (h->module != h->api)
		return json_string(h->module ? "its module is another version: install the "
					       "matching one"
					     : "it has no module: load it there (modprobe ckpt)");
	return NULL;
}

void nodes_set_degraded(struct nodes *nodes, const char *levels)
{
	snprintf(nodes->degraded, sizeof(nodes->degraded), "%s", levels);
}

/* Add the node's degraded levels; the remark has them if there is nothing worse to say. */
static void nodes_describe_degraded(const char *levels, json_t *json)
{
	json_t *list = json_array();
	const char *at = levels;
	size_t n;

	for (; *at; at += n + strspn(at + n, ", ")) {
		n = strcspn(at, ",");
		json_array_append_new(list, json_stringn(at, n));
	}
	json_object_set_new(json, "degraded", list);
	if (*levels && !json_object_get(json, "remark"))
		json_object_set_new(json, "remark", json_sprintf(
			"degraded device of level %s: ckptctl dev list there", levels));
}

static bool is_fresh(const struct nodes *nodes, unsigned int i)
{
	const struct health *h = &nodes->health[i];

	return h->probe && clock_monotonic_ns() - h->at_ns < (PROBE_MS + 500) * 1000000ull;
}

static json_t *nodes_describe_node(const struct nodes *nodes, unsigned int i)
{
	const struct health *h = &nodes->health[i];
	struct peer_node node;
	json_t *json, *remark;

	peer_node(nodes->peer, i, &node);
	json = json_pack("{s:s, s:o, s:s}", "name", node.name,
			 "address", json_sprintf("%s:%u", node.address, node.port),
			 "state", peer_state_text(node.state));
	if (node.domain)
		json_object_set_new(json, "domain", json_string(node.domain));
	if (node.since)
		json_object_set_new(json, "since", json_integer(node.since));
	if (node.heard)
		json_object_set_new(json, "heard", json_integer(node.heard));
	if (h->probe) {
		json_object_set_new(json, "rtt_ns", json_integer((json_int_t)h->rtt_ns));
		json_object_set_new(json, "clock_ns", json_integer(h->clock_ns));
		json_object_set_new(json, "ckptd", json_string(h->version));
		json_object_set_new(json, "api", json_integer(h->api));
		json_object_set_new(json, "module", json_integer(h->module));
	}
	remark = nodes_advice(nodes, &node, h, is_fresh(nodes, i));
	if (remark)
		json_object_set_new(json, "remark", remark);
	if (node.state == PEER_SELF || h->probe)
		nodes_describe_degraded(node.state == PEER_SELF ? nodes->degraded : h->degraded,
					json);
	return json;
}

json_t *nodes_describe(const struct nodes *nodes)
{
	const char *partner = nodes->options.partner(nodes->options.arg);
	json_t *all = json_array(), *json;
	unsigned int i;

	for (i = 0; nodes->peer && i < nodes->hosts.nr; i++)
		json_array_append_new(all, nodes_describe_node(nodes, i));
	json = json_pack("{s:s, s:o}", "node", nodes->options.node, "nodes", all);
	if (partner)
		json_object_set_new(json, "partner", json_string(partner));
	return json;
}

static void add_check(json_t *checks, json_t *found, json_t *advice)
{
	json_t *entry = json_pack("{s:s, s:b, s:o}", "check", "node", "ok", !advice,
				  "found", found);

	if (advice)
		json_object_set_new(entry, "advice", advice);
	json_array_append_new(checks, entry);
}

json_t *nodes_silent(const struct nodes *nodes)
{
	json_t *silent = json_object();
	struct peer_node node;
	unsigned int i;

	for (i = 0; nodes->peer && i < nodes->hosts.nr; i++) {
		peer_node(nodes->peer, i, &node);
		/* its last answer may be fresh still, and the node gone since */
		if (i != peer_self(nodes->peer) && (node.state != PEER_UP || !is_fresh(nodes, i)))
			json_object_set_new(silent, node.name, json_true());
	}
	return silent;
}

bool nodes_check(const struct nodes *nodes, json_t *checks)
{
	bool well = !nodes->problem.text[0];
	struct peer_node node;
	unsigned int i;

	if (nodes->problem.text[0])
		add_check(checks, json_string(nodes->problem.text),
			  json_string("this node is on its own until ckptd is restarted with that "
				      "put right"));
	for (i = 0; nodes->peer && i < nodes->hosts.nr; i++) {
		const struct health *h = &nodes->health[i];
		json_t *found, *what;

		if (i == peer_self(nodes->peer))
			continue;
		peer_node(nodes->peer, i, &node);
		what = nodes_advice(nodes, &node, h, is_fresh(nodes, i));
		found = is_fresh(nodes, i) ?
			json_sprintf("%s answers in %.1f ms, ckptd %s, API %u, module %s",
				     node.name, (double)h->rtt_ns / 1e6, h->version, h->api,
				     h->module ? "loaded" : "not loaded") :
			json_sprintf("%s: %s", node.name, peer_state_text(node.state));
		well = well && !what;
		add_check(checks, found, what);
	}
	return well;
}

/* ----------------------------------------------------------------- whole */

/* The index of this node in the hosts file, or negative errno. */
static int nodes_load(const struct nodes_options *options, struct hosts *hosts,
		      struct node_key *key, struct ckpt_error *error)
{
	int self, err = hosts_load(options->hosts, hosts, error);

	if (err)
		return err;
	self = hosts_find(hosts, options->node);
	if (self < 0)
		return error_set(error, self,
				 "%s has no node %s, the name of this one: add the line that "
				 "ckptctl keygen --show prints, or set node in ckptd.conf",
				 options->hosts, options->node);
	err = node_key_load(options->node_key, key, error);
	if (err)
		return err;
	if (!memcmp(hosts->host[self].key, key->public, sizeof(key->public)))
		return self;
	node_key_wipe(key);
	return error_set(error, -EKEYREJECTED,
			 "%s has another public key for this node than the one of %s: put in the "
			 "line that ckptctl keygen --show prints",
			 options->hosts, options->node_key);
}

int nodes_check_files(const struct nodes_options *options, struct ckpt_error *error)
{
	struct hosts hosts = {};
	struct node_key key;
	int self;

	if (access(options->hosts, F_OK) && errno == ENOENT)
		return 0;
	self = nodes_load(options, &hosts, &key, error);
	if (self >= 0)
		node_key_wipe(&key);
	hosts_done(&hosts);
	return self < 0 ? self : 0;
}

static int make_list(struct nodes *nodes)
{
	struct peer_node who;
	unsigned int i;

	nodes->list = calloc(nodes->hosts.nr, sizeof(*nodes->list));
	for (i = 0; nodes->list && i < nodes->hosts.nr; i++) {
		peer_node(nodes->peer, i, &who);
		nodes->list[i] = (struct levels_node) { who.name, who.domain };
	}
	return nodes->list ? 0 : -ENOMEM;
}

static int nodes_start_asking(struct nodes *nodes, const struct node_key *key, unsigned int self)
{
	const struct nodes_options *options = &nodes->options;
	const struct peer_zmq_config config = {
		.reactor = options->reactor, .log = options->log, .hosts = &nodes->hosts,
		.self = self, .key = key, .listen = options->listen,
	};
	unsigned int waited_ms = 0;
	int err;

	do {
		err = peer_zmq_open(&config, &nodes->peer);
	} while (leftover_wait(err, &waited_ms));
	if (err)
		return error_set(&nodes->problem, err,
				 "cannot listen for other nodes on %s, port %u: %s",
				 options->listen, nodes->hosts.host[self].port, strerror(-err));
	nodes->health = calloc(nodes->hosts.nr, sizeof(*nodes->health));
	err = nodes->health ? make_list(nodes) : -ENOMEM;
	if (!err)
		err = peer_asks_open(nodes->peer, options->reactor, &nodes->asks);
	if (err)
		return err;
	peer_receive(nodes->peer, PEER_PROBE, on_probe, nodes);
	peer_receive(nodes->peer, PEER_PROBE_BACK, on_probe_back, nodes);
	log_info(options->log, "%u nodes in %s; listening on %s, port %u", nodes->hosts.nr,
		 options->hosts, options->listen, nodes->hosts.host[self].port);
	return 0;
}

int nodes_open(const struct nodes_options *options, struct nodes **ret_nodes)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));
	struct node_key key;
	int self;

	if (!nodes)
		return -ENOMEM;
	nodes->options = *options;
	*ret_nodes = nodes;
	if (access(options->hosts, F_OK) && errno == ENOENT)
		return 0;
	self = nodes_load(options, &nodes->hosts, &key, &nodes->problem);
	if (self >= 0) {
		if (nodes_start_asking(nodes, &key, (unsigned int)self) == -ENOMEM)
			return -ENOMEM;
		node_key_wipe(&key);
	}
	if (nodes->problem.text[0])
		log_error(options->log, "%s; this node is on its own",
			  nodes->problem.text);
	return 0;
}

void nodes_close(struct nodes *nodes)
{
	if (!nodes)
		return;
	while (nodes->probes)
		probe_end(&nodes->probes);
	peer_asks_close(nodes->asks);
	peer_close(nodes->peer);
	hosts_done(&nodes->hosts);
	free(nodes->health);
	free(nodes->list);
	free(nodes);
}

const struct hosts *nodes_hosts(const struct nodes *nodes)
{
	return nodes->peer ? &nodes->hosts : NULL;
}

struct peer *nodes_peer(struct nodes *nodes)
{
	return nodes->peer;
}

const struct levels_node *nodes_list(const struct nodes *nodes, unsigned int *ret_nr)
{
	*ret_nr = nodes && nodes->list ? nodes->hosts.nr : 0;
	return nodes ? nodes->list : NULL;
}

json_t *nodes_names(struct nodes *nodes)
{
	struct peer_node who;
	json_t *names;
	unsigned int i;

	if (!nodes || !nodes->peer)
		return NULL;
	names = json_object();
	for (i = 0; i < peer_nr_nodes(nodes->peer); i++) {
		peer_node(nodes->peer, i, &who);
		json_object_set_new(names, who.name, json_true());
	}
	return names;
}

struct peer_asks *nodes_asks(struct nodes *nodes)
{
	return nodes->asks;
}

const char *nodes_problem(const struct nodes *nodes)
{
	return nodes->problem.text[0] ? nodes->problem.text : NULL;
}
