// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections between the nodes of a job, in the pause of a checkpoint: each node's dump tells its
 * connections to the outside, and the home says which of them are links, when all nodes have told
 * theirs (links_match.h).
 *
 * The answer also says that all trees stand still: what one node's dump reads after it, another one
 * has seen before. If the checkpoint is given up, the home answers so at once, and nobody waits.
 */
#include "supervisor/checkpoint/coord_driver_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/sock_link.h"
#include "supervisor/checkpoint/links_match.h"
#include "supervisor/net/nodes.h"
#include "supervisor/parts/parts_priv.h"

#define LINKS_MS	120000	/* more than the pause: the machine gives up before */

/* Home: what the nodes have told so far. */
struct coord_links {
	unsigned int nr, nr_told;
	struct {
		json_t *list;			/* NULL: not told yet */
		struct peer_question *question;	/* NULL: the home itself */
	} node[];
};


/* ---------------------------------------------------------------- this node's dump */

static json_t *coord_links_list(const struct sock_link *links, unsigned int nr)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_array_append_new(list, json_pack("[s, s, i, I, I]", links[i].own,
						      links[i].remote, (int)links[i].accepted,
						      (json_int_t)links[i].got_seq,
						      (json_int_t)links[i].end_seq));
	return list;
}

/* Hand the answer @pairs, [[link, role], ...], to the dump; without one it is given up. */
static void coord_links_hand(struct coord_driver *d, const json_t *pairs)
{
	size_t i, nr = json_array_size(pairs);
	struct job_dump_link *answer;

	if (!d->dump)
		return;
	answer = pairs ? calloc(nr + 1, sizeof(*answer)) : NULL;
	if (!answer) {
		job_dump_abort(d->dump);
		return;
	}
	for (i = 0; i < nr; i++) {
		const json_t *pair = json_array_get(pairs, i);

		answer[i].link = (uint32_t)json_integer_value(json_array_get(pair, 0));
		answer[i].role = (uint32_t)json_integer_value(json_array_get(pair, 1));
	}
	job_dump_links(d->dump, answer, (unsigned int)nr);
	free(answer);
}

/* ---------------------------------------------------------------- the home */

void driver_links_drop(struct coord_driver *d)
{
	struct coord_links *l = d->links;
	unsigned int i;

	if (d->links_asked)
		peer_ask_forget(nodes_asks(d->common->nodes), d->links_asked);
	d->links_asked = 0;
	d->links = NULL;
	for (i = 0; l && i < l->nr; i++) {
		json_decref(l->node[i].list);
		if (l->node[i].question)
			peer_question_answer(l->node[i].question,
					     outcome_error(-ECANCELED,
							   "the checkpoint was given up"));
	}
	free(l);
}

/* All have told: answer all. */
static void coord_links_answer(struct coord_driver *d)
{
	struct coord_links *l = d->links;
	json_t *told = json_array(), *pairs, *mine;
	unsigned int i;

	for (i = 0; i < l->nr; i++)
		json_array_append(told, l->node[i].list);
	pairs = links_match(told);
	for (i = 1; pairs && i < l->nr; i++) {
		peer_question_answer(l->node[i].question,
				     outcome_ok(json_pack("{s:O}", "pairs",
							  json_array_get(pairs, i))));
		l->node[i].question = NULL;
	}
	mine = json_incref(json_array_get(pairs, 0));
	json_decref(told);
	json_decref(pairs);
	driver_links_drop(d);
	coord_links_hand(d, mine);
	json_decref(mine);
}

/* Note what @node has told; takes over @list. 0, or -errno: it is not wanted, or told already. */
static int coord_links_note(struct coord_driver *d, unsigned int node, json_t *list,
			    struct peer_question *question)
{
	struct coord_links *l = d->links;
	unsigned int nr = d->ranks.nr_nodes;

	if (!l) {
		l = d->links = calloc(1, sizeof(*l) + nr * sizeof(l->node[0]));
		if (l)
			l->nr = nr;
	}
	if (!l || l->node[node].list) {
		json_decref(list);
		return l ? -EEXIST : -ENOMEM;
	}
	l->node[node].list = list;
	l->node[node].question = question;
	if (++l->nr_told == l->nr)
		coord_links_answer(d);
	return 0;
}

static void coord_links_on_told(struct peer_question *question, void *arg)
{
	json_t *args = peer_question_args(question), *list;
	json_int_t id, run, generation;
	struct coord_driver *d;
	struct job *job;
	int node, err = 0;

	if (json_unpack(args, "{s:I, s:I, s:I, s:i, s:o}", "job", &id, "run", &run, "generation",
			&generation, "node", &node, "links", &list) || !json_is_array(list) ||
	    json_array_size(list) > SOCK_LINKS_MAX) {
		peer_question_answer(question, outcome_error(-EPROTO, "links: bad arguments"));
		return;
	}
	job = parts_job(arg, id, (uint64_t)run);
	d = job ? job->coord : NULL;
	if (!d || !job->parts || job->parts->node || node < 1 ||
	    node >= (int)d->ranks.nr_nodes ||
	    parts_host(job->parts, (unsigned int)node) != (int)peer_question_from(question))
		err = -EPERM;
	else if (d->kind != COORD_ACT_FREEZE || d->id.generation != (uint64_t)generation)
		err = -ECANCELED;
	if (!err)
		err = coord_links_note(d, (unsigned int)node, json_incref(list), question);
	if (err)
		peer_question_answer(question, outcome_error(err, "the checkpoint was given up"));
}

int driver_links_register(struct jobs *jobs)
{
	return peer_verb(nodes_asks(jobs_common(jobs)->nodes), "links", coord_links_on_told, jobs);
}

/* ---------------------------------------------------------------- another node */

static void coord_links_on_answer(const json_t *outcome, void *arg)
{
	struct coord_driver *d = arg;

	d->links_asked = 0;
	coord_links_hand(d, json_object_get(json_object_get(outcome, "result"), "pairs"));
}

/* Takes over @list. */
static int coord_links_ask(struct coord_driver *d, json_t *list)
{
	struct parts *parts = d->job->parts;
	json_t *args = json_pack("{s:I, s:I, s:I, s:i, s:o}", "job", (json_int_t)d->job->id, "run",
				 (json_int_t)parts->run, "generation",
				 (json_int_t)d->id.generation, "node", (int)d->ranks.node, "links",
				 list);
	int home = parts_host(parts, 0);

	if (home < 0) {
		json_decref(args);
		return home;
	}
	return peer_ask(nodes_asks(d->common->nodes), (unsigned int)home, "links", args, LINKS_MS,
			coord_links_on_answer, d, &d->links_asked);
}

void driver_links(struct coord_driver *d, const struct sock_link *links, unsigned int nr)
{
	json_t *list = coord_links_list(links, nr);
	int err = d->ranks.node ? coord_links_ask(d, list) : coord_links_note(d, 0, list, NULL);

	if (!err)
		return;
	if (!d->failure)
		d->failure = outcome_error(err, "no checkpoint of job %lld: the connections of "
					   "node %s cannot be told to its home: %s; the job runs "
					   "on",
					   (long long)d->job->id, d->common->config.node,
					   strerror(-err));
	if (d->dump)
		job_dump_abort(d->dump);
}
