// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking other nodes how fast they wrote; see device_peers.h.
 *
 * Owns the last rates of this node, in memory, and the one question that is under way. Runs in the
 * event loop: an answer opens no file, and a node that is silent is waited for by a timer alone.
 * device_health.c decides what the rates mean.
 */
#include "supervisor/iotrace/device_peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/iotrace/device_health.h"
#include "supervisor/net/nodes.h"
#include "supervisor/net/peer_ask.h"

#define RECENT		256
#define ANSWER_MS	5000
#define VERB		"device_rates"

struct device_rate {
	char level[LEVEL_CONFIG_NAME_MAX + 1];
	int64_t job, generation;
	double bytes, rate;
};

struct device_peers {
	struct common *common;
	struct device_rate recent[RECENT];
	unsigned int next;
	/* the question under way */
	json_t *ask, *rates;		/* rates: {"GENERATION": [R, ...]} */
	uint64_t cookies[DEVICE_PEERS_MAX];
	unsigned int asked, waits;
	struct reactor_source *timer;	/* for a question that nobody is asked */
	device_peers_fn fn;
	void *arg;
};

/* ------------------------------------------------------------------ answer */

void device_peers_note(struct device_peers *p, const char *level, int64_t job, int64_t generation,
		       double bytes, double rate)
{
	struct device_rate *r = &p->recent[p->next++ % RECENT];

	*r = (struct device_rate){
		.job = job, .generation = generation, .bytes = bytes, .rate = rate,
	};
	strncpy(r->level, level, sizeof(r->level) - 1);
}

static const struct device_rate *device_peers_find(const struct device_peers *p, const char *level,
						   int64_t job, int64_t generation)
{
	unsigned int i;

	for (i = 0; i < RECENT; i++) {
		const struct device_rate *r = &p->recent[i];

		if (r->job == job && r->generation == generation && !strcmp(r->level, level))
			return r;
	}
	return NULL;
}

static void device_peers_on_question(struct peer_question *question, void *arg)
{
	const struct device_peers *p = arg;
	json_t *args = peer_question_args(question), *generations, *rates;
	const json_t *number;
	const char *level;
	json_int_t job;
	size_t i;

	if (json_unpack(args, "{s:I, s:s, s:o}", "job", &job, "level", &level, "generations",
			&generations) || json_array_size(generations) > RECENT) {
		peer_question_answer(question, outcome_usage(VERB ": bad arguments"));
		return;
	}
	rates = json_array();
	json_array_foreach(generations, i, number) {
		const struct device_rate *r =
			device_peers_find(p, level, job, json_integer_value(number));

		if (r)
			json_array_append_new(rates, json_pack(
				"{s:I, s:f, s:f}", "generation", (json_int_t)r->generation,
				"bytes", r->bytes, "rate", r->rate));
	}
	peer_question_answer(question, outcome_ok(json_pack("{s:o}", "rates", rates)));
}

/* --------------------------------------------------------------------- ask */

/* One row of the answer: the median of what the nodes said of a generation. */
static json_t *device_peers_row(const json_t *said, json_int_t generation)
{
	double rates[DEVICE_PEERS_MAX];
	const json_t *rate;
	size_t i, n = 0;

	json_array_foreach(said, i, rate) {
		if (n < DEVICE_PEERS_MAX)
			rates[n++] = json_number_value(rate);
	}
	return json_pack("{s:I, s:I, s:f}", "generation", generation, "peers", (json_int_t)n,
			 "rate", n ? device_health_median(rates, n) : 0.0);
}

static void device_peers_end(struct device_peers *p)
{
	json_t *rows = json_array(), *found;
	const json_t *number;
	char name[24];
	size_t i;

	json_array_foreach(json_object_get(p->ask, "generations"), i, number) {
		snprintf(name, sizeof(name), "%lld", (long long)json_integer_value(number));
		json_array_append_new(rows, device_peers_row(json_object_get(p->rates, name),
							     json_integer_value(number)));
	}
	found = json_pack("{s:O, s:O, s:o}", "level", json_object_get(p->ask, "level"), "job",
			  json_object_get(p->ask, "job"), "rates", rows);
	json_decref(p->ask);
	json_decref(p->rates);
	p->ask = p->rates = NULL;
	p->fn(found, p->arg);
}

/* A node's rate counts if it wrote about as much as this one. */
static void device_peers_take(struct device_peers *p, const json_t *row)
{
	const char *level = json_string_value(json_object_get(p->ask, "level"));
	const json_int_t generation = json_integer_value(json_object_get(row, "generation"));
	const double bytes = json_number_value(json_object_get(row, "bytes"));
	const double rate = json_number_value(json_object_get(row, "rate"));
	const struct device_rate *own =
		device_peers_find(p, level, json_integer_value(json_object_get(p->ask, "job")),
				  generation);
	char name[24];

	if (!own || bytes < own->bytes / 2 || bytes > own->bytes * 2 || !(rate > 0))
		return;
	snprintf(name, sizeof(name), "%lld", (long long)generation);
	if (!json_object_get(p->rates, name))
		json_object_set_new(p->rates, name, json_array());
	json_array_append_new(json_object_get(p->rates, name), json_real(rate));
}

static void device_peers_on_answer(const json_t *outcome, void *arg)
{
	struct device_peers *p = arg;
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "rates"), i, row)
		device_peers_take(p, row);
	if (!--p->waits)
		device_peers_end(p);
}

static void device_peers_on_nobody(void *arg)
{
	struct device_peers *p = arg;

	p->timer = NULL;
	device_peers_end(p);
}

/* Ask the node, if it is one of the hosts file and not this one. */
static void device_peers_ask_node(struct device_peers *p, const char *name)
{
	struct nodes *nodes = p->common->nodes;
	const struct levels_node *list;
	unsigned int i, nr;

	list = nodes_list(nodes, &nr);
	for (i = 0; i < nr && strcmp(list[i].name, name); i++)
		;
	if (i == nr || !strcmp(name, p->common->config.node) || p->asked == DEVICE_PEERS_MAX)
		return;
	if (!peer_ask(nodes_asks(nodes), i, VERB, json_copy(p->ask), ANSWER_MS,
		      device_peers_on_answer, p, &p->cookies[p->asked])) {
		p->asked++;
		p->waits++;
	}
}

int device_peers_ask(struct device_peers *p, const json_t *nodes, const json_t *ask,
		     device_peers_fn fn, void *arg)
{
	const json_t *name;
	size_t i;
	int err;

	if (p->ask)
		return -EBUSY;
	p->ask = json_copy((json_t *)ask);
	p->rates = json_object();
	p->asked = p->waits = 0;
	p->fn = fn;
	p->arg = arg;
	if (nodes_peer(p->common->nodes)) {
		json_array_foreach(nodes, i, name)
			device_peers_ask_node(p, json_string_value(name));
	}
	if (p->waits)
		return 0;
	err = reactor_timer(p->common->reactor, 0, device_peers_on_nobody, p, &p->timer);
	if (err) {
		json_decref(p->ask);
		json_decref(p->rates);
		p->ask = p->rates = NULL;
	}
	return err;
}

/* ------------------------------------------------------------------- whole */

int device_peers_open(struct common *common, struct device_peers **ret_peers)
{
	struct device_peers *p = calloc(1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	if (err)
		return err;
	p->common = common;
	if (nodes_peer(common->nodes))
		err = peer_verb(nodes_asks(common->nodes), VERB, device_peers_on_question, p);
	if (err) {
		free(p);
		return err;
	}
	*ret_peers = p;
	return 0;
}

void device_peers_close(struct device_peers *p)
{
	unsigned int i;

	if (!p)
		return;
	reactor_remove(p->timer);
	for (i = 0; p->ask && i < p->asked; i++)
		peer_ask_forget(nodes_asks(p->common->nodes), p->cookies[i]);
	json_decref(p->ask);
	json_decref(p->rates);
	free(p);
}
