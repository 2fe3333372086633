// SPDX-License-Identifier: GPL-2.0-only
/*
 * The partner server: keeps images of other nodes; see partner_server.h.
 *
 * Owns the tickets that were given out and the workers that serve; connections come through
 * the listener (partner_listener.h). Nothing here waits or touches a disk: a ticket costs
 * an entry in a list, and a process is started only for a client that has proved to have
 * the token. That uses the ticket up; a stranger who has only overheard its id cannot.
 *
 * Bytes on their way into the store are counted in memory that all workers share. When a
 * worker ends, however it ended, its count is set to 0 here.
 */
#include "supervisor/storage/partner_server.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "levels/partner_link.h"
#include "levels/partner_serve.h"
#include "supervisor/net/nodes.h"
#include "base/outcome.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/mount_id.h"
#include "supervisor/storage/partner_listener.h"
#include "supervisor/storage/level_config_group.h"
#include "supervisor/control/worker.h"

struct ticket {
	struct ticket *next;
	struct partner_ticket t;
	unsigned int node;		/* who asked for it; index in the hosts file */
	int64_t until_ms;
};

#define UNUSED_MS	5000

struct session {
	struct partner_server *store;
	struct worker *worker;		/* NULL: this slot is free */
	unsigned int slot;
	struct partner_ticket t;
	unsigned int node;
	char client[PARTNER_NAME_SIZE];
	struct partner_hello hello;
	int fd;				/* passed to the worker */
};

struct partner_server {
	struct common *common;
	struct partner_listener *door;	/* NULL: this node keeps no images */
	struct ticket *tickets;
	struct session sessions[PARTNER_SESSIONS_MAX];
	_Atomic uint64_t *coming;	/* bytes on their way; shared with the workers */
	struct worker *sweeper;
};

/* --------------------------------------------------------------- tickets */

static void ticket_drop(struct ticket **at)
{
	struct ticket *t = *at;

	*at = t->next;
	sodium_memzero(t, sizeof(*t));
	free(t);
}

/* Drop expired tickets; returns how many are left, of all nodes and (@ret_node) of @node. */
static unsigned int tickets_left(struct partner_server *store, unsigned int node,
				 unsigned int *ret_node)
{
	struct ticket **at = &store->tickets;
	unsigned int nr = 0;
	int64_t now = clock_monotonic_ms();

	*ret_node = 0;
	while (*at) {
		if ((*at)->until_ms < now) {
			ticket_drop(at);
			continue;
		}
		nr++;
		*ret_node += (*at)->node == node;
		at = &(*at)->next;
	}
	return nr;
}

/* Drop a ticket that @node has not used for seconds: its connection has not come through. */
static bool ticket_drop_unused(struct partner_server *store, unsigned int node)
{
	int64_t past = clock_monotonic_ms() + PARTNER_TICKET_MS - UNUSED_MS;
	struct ticket **at;

	for (at = &store->tickets; *at; at = &(*at)->next) {
		if ((*at)->node == node && (*at)->until_ms < past) {
			ticket_drop(at);
			return true;
		}
	}
	return false;
}

/* A ticket counts as a session, so that its holder finds a free slot. */
static bool partner_server_is_full(struct partner_server *store, unsigned int node)
{
	unsigned int i, own, all = tickets_left(store, node, &own);

	for (i = 0; i < PARTNER_SESSIONS_MAX; i++) {
		all += store->sessions[i].worker != NULL;
		own += store->sessions[i].worker && store->sessions[i].node == node;
	}
	return (all >= PARTNER_SESSIONS_MAX || own >= PARTNER_NODE_MAX) &&
	       !ticket_drop_unused(store, node);
}

static json_t *partner_server_describe(const struct ticket *t)
{
	char id[2 * PARTNER_ID_BYTES + 1], token[2 * PARTNER_TOKEN_BYTES + 1];
	json_t *json;

	sodium_bin2hex(id, sizeof(id), t->t.id, sizeof(t->t.id));
	sodium_bin2hex(token, sizeof(token), t->t.token, sizeof(t->t.token));
	json = json_pack("{s:i, s:s, s:s, s:b, s:b}", "port", (int)t->t.port, "id", id,
			 "token", token, "read_only", (int)t->t.read_only,
			 "plain", (int)t->t.plain);
	sodium_memzero(token, sizeof(token));
	return json;
}

static json_t *give_ticket(struct partner_server *store, unsigned int node, const char *owner,
			   bool read_only, bool plain)
{
	struct ticket *t = calloc(1, sizeof(*t));

	if (!t)
		return outcome_error(-ENOMEM, "out of memory");
	snprintf(t->t.owner, sizeof(t->t.owner), "%s", owner);
	t->t.port = partner_listener_port(store->door);
	t->t.read_only = read_only;
	/* encrypted, unless both sides said no */
	t->t.plain = plain && !store->common->config.store_encrypt;
	randombytes_buf(t->t.id, sizeof(t->t.id));
	randombytes_buf(t->t.token, sizeof(t->t.token));
	t->node = node;
	t->until_ms = clock_monotonic_ms() + PARTNER_TICKET_MS;
	t->next = store->tickets;
	store->tickets = t;
	return outcome_ok(partner_server_describe(t));
}

static json_t *partner_server_answer(struct partner_server *store, unsigned int node, json_t *args)
{
	struct peer *peer = nodes_peer(store->common->nodes);
	int read_only, plain;
	struct peer_node who;
	json_int_t version;
	const char *owner;

	if (json_unpack(args, "{s:I}", "version", &version))
		return outcome_error(-EINVAL, "store: bad arguments");
	if (version != PARTNER_VERSION)
		return outcome_error(-EPROTONOSUPPORT,
				     "keeps images by version %d of the protocol, and was asked by "
				     "version %lld: install the same version on both nodes",
				     PARTNER_VERSION, (long long)version);
	if (json_unpack(args, "{s:I, s:s, s:b, s:b !}", "version", &version, "owner", &owner,
			"read_only", &read_only, "plain", &plain))
		return outcome_error(-EINVAL, "store: bad arguments");
	if (!store->door)
		return outcome_error(-EOPNOTSUPP, "keeps no images of other nodes: set store = "
						  "DIRECTORY in its ckptd.conf, and see its log");
	if (peer_find(peer, owner) < 0)
		return outcome_error(-ENXIO, "knows no node %.63s: the hosts files differ", owner);
	peer_node(peer, node, &who);
	if (!read_only && strcmp(who.name, owner))
		return outcome_error(-EPERM,
				     "images of %s can be read by other nodes, and written by it "
				     "alone",
				     owner);
	if (partner_server_is_full(store, node))
		return outcome_error(-EBUSY, "is serving as many as it may; try again later");
	return give_ticket(store, node, owner, read_only, plain);
}

static void partner_server_on_question(struct peer_question *question, void *arg)
{
	peer_question_answer(question, partner_server_answer(arg, peer_question_from(question),
							     peer_question_args(question)));
}

/* -------------------------------------------------------------- sessions */

/* Find the image of that name in this node's image directory, whoever made it. */
static int partner_server_locate(const char *name, void *arg, char **ret_dir)
{
	const struct partner_server *store = arg;
	int64_t generation;
	char label[64];
	int part;

	if (!level_image_parse(name, label, sizeof(label), &generation, &part))
		return -ENOENT;
	*ret_dir = level_image_dir(&store->common->catalog, label, generation, part);
	if (!*ret_dir)
		return -ENOMEM;
	return access(*ret_dir, F_OK) ? -errno : 0;
}

static int is_ready(void *arg, struct ckpt_error *error)
{
	const struct partner_server *store = arg;
	const struct config *config = &store->common->config;

	int err = mount_id_check(config->store, config->node, config->state_dir,
				    &store->common->log, error);

	/*
	 * -ENOENT is about an image; the images of an unmounted store are unknown, so say
	 * -ENODEV.
	 */
	return err == -ENOENT || err == -ENOTDIR || err == -ESTALE ? -ENODEV : err;
}

static json_t *session_run(struct channel_reporter *reporter, void *arg)
{
	struct session *s = arg;
	const struct config *config = &s->store->common->config;
	const struct partner_coming coming = {
		.bytes = s->store->coming, .nr = PARTNER_SESSIONS_MAX, .self = s->slot,
	};
	struct partner_serve_options o = {
		.dir = config->store, .owner = s->t.owner, .client = s->client,
		.read_only = s->t.read_only, .plain = s->t.plain,
		.max_bytes = config->store_max, .coming = &coming, .ready = is_ready,
		.arg = s->store,
	};
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	int err;

	/* Copies arrive in the background here, too; a reader may be a restart that waits. */
	if (!s->t.read_only)
		worker_step_back();
	if (!strcmp(s->t.owner, config->node))
		o.locate = partner_server_locate;
	err = image_key_load(config->key, &key, &error);
	if (!err) {
		o.key = key;
		err = partner_serve(s->fd, &s->hello, s->t.token, &o, &error);
	}
	image_key_destroy(key);
	return err ? outcome_error(err, "%s", error.text) : outcome_ok(NULL);
}

static void partner_server_on_progress(json_t *progress, void *arg)
{
}

static void partner_server_on_outcome(json_t *outcome, void *arg)
{
	struct session *s = arg;
	const json_t *error = json_object_get(outcome, "error");

	s->worker = NULL;
	atomic_store(&s->store->coming[s->slot], 0);
	if (error)
		log_warning(&s->store->common->log, "store: node %s, images of %s: %s", s->client,
			    s->t.owner, json_string_value(json_object_get(error, "text")));
	json_decref(outcome);
}

static const struct channel_ops ops = { partner_server_on_progress, partner_server_on_outcome };

static const struct worker_kind session_work = {
	.name = "ckptd-store",
	.run = session_run,
	.killed = "what it had stored or removed by then stays so",
};

/* The session takes over the ticket, the hello and @fd. */
static void session_start(struct partner_server *store, const struct ticket *ticket, int fd,
			  const struct partner_hello *hello)
{
	struct worker_spec spec = { .kind = &session_work };
	struct peer_node who;
	struct session *s = store->sessions;
	const int keep[] = { fd, -1 };
	int err = -EBUSY;

	while (s < store->sessions + PARTNER_SESSIONS_MAX && s->worker)
		s++;
	peer_node(nodes_peer(store->common->nodes), ticket->node, &who);
	if (s < store->sessions + PARTNER_SESSIONS_MAX) {
		*s = (struct session) {
			.store = store, .slot = (unsigned int)(s - store->sessions),
			.t = ticket->t, .node = ticket->node, .hello = *hello, .fd = fd,
		};
		snprintf(s->client, sizeof(s->client), "%s", who.name);
		spec.arg = s;
		spec.keep = keep;
		err = worker_start(&store->common->workers, &spec, &ops, s, &s->worker);
		sodium_memzero(s->t.token, sizeof(s->t.token));	/* the worker has it */
	}
	if (err)
		log_warning(&store->common->log, "store: node %s cannot be served: %s", who.name,
			    strerror(-err));
	close(fd);
}

/* Serve a client that has a ticket, which is used up by that. */
static void on_hello(const struct partner_hello *hello, int fd, void *arg)
{
	struct partner_server *store = arg;
	struct ticket **at = &store->tickets;
	unsigned int unused;
	int err;

	tickets_left(store, 0, &unused);
	while (*at && memcmp((*at)->t.id, hello->id, sizeof(hello->id)))
		at = &(*at)->next;
	err = *at ? partner_hello_check(hello, (*at)->t.token, (*at)->t.plain) : -ENOENT;
	if (err) {
		log_debug(&store->common->log, "store: a connection without a good ticket: %s",
			  strerror(-err));
		close(fd);
		return;
	}
	session_start(store, *at, fd, hello);
	ticket_drop(at);
}

/* ----------------------------------------------------------------- sweep */

static json_t *sweep_run(struct channel_reporter *reporter, void *arg)
{
	const struct partner_server *store = arg;
	struct ckpt_error error = {};
	int n = is_ready((void *)store, &error);

	if (!n)
		n = partner_room_sweep(store->common->config.store, &error);
	return n < 0 ? outcome_error(n, "%s", error.text)
		     : outcome_ok(json_pack("{s:i}", "removed", n));
}

static void on_swept(json_t *outcome, void *arg)
{
	struct partner_server *store = arg;
	const struct log *log = &store->common->log;
	json_int_t n =
		json_integer_value(json_object_get(json_object_get(outcome, "result"), "removed"));
	const json_t *error = json_object_get(outcome, "error");

	store->sweeper = NULL;
	if (error)
		log_warning(log,
			    "store: not swept of what is left of images that were on their way: %s",
			    json_string_value(json_object_get(error, "text")));
	else if (n)
		log_info(log, "store: removed what was left of %lld images that were on their way",
			 (long long)n);
	json_decref(outcome);
}

static const struct worker_kind sweep_work = {
	.name = "ckptd-sweep",
	.run = sweep_run,
};

/* Remove leftovers of sessions killed with the last ckptd: their owners may never come again. */
static void partner_server_sweep(struct partner_server *store)
{
	static const struct channel_ops sweep_ops = { partner_server_on_progress, on_swept };
	const struct worker_spec spec = { .kind = &sweep_work, .arg = store };
	int err = worker_start(&store->common->workers, &spec, &sweep_ops, store, &store->sweeper);

	if (err)
		log_warning(&store->common->log, "store: not swept: no worker: %s", strerror(-err));
}

/* ----------------------------------------------------------------- whole */

static int partner_server_serve(struct partner_server *store)
{
	struct common *common = store->common;
	int err;

	store->coming = mmap(NULL, PARTNER_SESSIONS_MAX * sizeof(*store->coming),
			     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (store->coming == MAP_FAILED) {
		store->coming = NULL;
		return -ENOMEM;
	}
	err = partner_listener_open(&(struct partner_listener_options){
		.reactor = common->reactor, .log = &common->log,
		.listen = common->config.listen, .port = common->config.store_port,
	}, on_hello, store, &store->door);
	if (!err) {
		log_info(&common->log,
			 "images of other nodes are kept in %s; listening on %s, port %u",
			 common->config.store, common->config.listen,
			 partner_listener_port(store->door));
		partner_server_sweep(store);
		return 0;
	}
	log_error(&common->log,
		  "no images of other nodes can be kept: cannot listen on %s, port %u: %s",
		  common->config.listen, common->config.store_port, strerror(-err));
	return err == -ENOMEM ? err : 0;
}

int partner_server_open(struct common *common, struct partner_server **ret_store)
{
	struct partner_server *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	store->common = common;
	*ret_store = store;
	if (sodium_init() < 0)
		return -EIO;
	if (!nodes_asks(common->nodes))
		return 0;
	err = peer_verb(nodes_asks(common->nodes), "store", partner_server_on_question, store);
	return err || !common->config.store ? err : partner_server_serve(store);
}

void partner_server_close(struct partner_server *store)
{
	unsigned int i;

	if (!store)
		return;
	/* kill all at once, so that they are not waited for one after the other */
	if (store->sweeper)
		worker_kill(store->sweeper, SIGKILL);
	for (i = 0; i < PARTNER_SESSIONS_MAX; i++) {
		if (store->sessions[i].worker)
			worker_kill(store->sessions[i].worker, SIGKILL);
	}
	for (i = 0; i < PARTNER_SESSIONS_MAX; i++)
		worker_abort(store->sessions[i].worker);
	worker_abort(store->sweeper);
	partner_listener_close(store->door);
	while (store->tickets)
		ticket_drop(&store->tickets);
	if (store->coming)
		munmap(store->coming, PARTNER_SESSIONS_MAX * sizeof(*store->coming));
	free(store);
}
