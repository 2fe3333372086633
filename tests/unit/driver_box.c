// SPDX-License-Identifier: GPL-2.0-only
/*
 * See driver_box.h. What libcoord.a calls and does not have is here; so there is one box at a
 * time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "supervisor/checkpoint/coord_peer.h"
#include "supervisor/job/coord_record.h"
#include "tests/unit/driver_box.h"

#define QUIET_MS 210 /* beyond the machine's first repetitions; on a busy machine looks are few */
#define MESSAGES	4096

struct peer_question {
	json_t *args;
	peer_answer_fn fn;
	void *arg;
	unsigned int from, node;
	peer_verb_fn verb;
	uint64_t cookie;
};

struct reactor_source {
	struct reactor_source *next;
	uint64_t due;
	reactor_timer_fn fn;
	void *arg;
};

struct message {
	unsigned int from, to;
	struct coord_msg msg;
	size_t len;
};

static struct box *box;
static struct message *messages;
static size_t nr_messages;
static struct peer_question *questions;
static size_t nr_questions;
static struct reactor_source *timers;
static peer_receive_fn on_message;
static peer_verb_fn on_checkpoint, on_failure, on_links;
static uint64_t last_cookie, forgotten;		/* of a question nobody waits for any more */

struct box_node *box_node_of(const void *pointer)
{
	return (struct box_node *)(uintptr_t)pointer;
}

static unsigned int number(const struct box_node *node)
{
	return (unsigned int)(node - box->node);
}

/* ---------------------------------------------------------------- reactor */

int reactor_timer(struct reactor *reactor, uint64_t ms, reactor_timer_fn fn, void *arg,
		  struct reactor_source **ret_source)
{
	struct reactor_source *t = malloc(sizeof(*t));

	*t = (struct reactor_source) { timers, clock_monotonic_ns() + ms * COORD_MS, fn, arg };
	timers = *ret_source = t;
	return 0;
}

void reactor_remove(struct reactor_source *source)
{
	struct reactor_source **at = &timers;

	while (*at && *at != source)
		at = &(*at)->next;
	if (*at) {
		*at = source->next;
		free(source);
	}
}

static bool fire(void)
{
	struct reactor_source *t;

	for (t = timers; t; t = t->next) {
		if (t->due <= clock_monotonic_ns()) {
			reactor_timer_fn fn = t->fn;
			void *arg = t->arg;

			reactor_remove(t);
			fn(arg);
			return true;
		}
	}
	return false;
}

/* ---------------------------------------------------------------- network */

struct peer *nodes_peer(struct nodes *nodes)
{
	return (struct peer *)nodes;
}

struct peer_asks *nodes_asks(struct nodes *nodes)
{
	return (struct peer_asks *)nodes;
}

void peer_receive(struct peer *peer, enum peer_type type, peer_receive_fn fn, void *arg)
{
	on_message = fn;
}

int peer_verb(struct peer_asks *asks, const char *verb, peer_verb_fn fn, void *arg)
{
	if (!strcmp(verb, "checkpoint"))
		on_checkpoint = fn;
	else if (!strcmp(verb, "links"))
		on_links = fn;
	else
		on_failure = fn;
	return 0;
}

int peer_send(struct peer *peer, const struct peer_msg *msg)
{
	struct box_node *from = box_node_of(peer);
	struct message *m = &messages[nr_messages];

	if (from->off || box->node[msg->node].off)
		return -EHOSTUNREACH;
	assert_true(nr_messages < MESSAGES);
	nr_messages++;
	m->from = number(from);
	m->to = msg->node;
	m->len = msg->len;
	memset(&m->msg, 0, sizeof(m->msg));
	memcpy(&m->msg, msg->data, msg->len);
	if (m->msg.kind == COORD_MSG_ORDER && m->msg.order.order == COORD_ORDER_COMMIT) {
		from->sent_commits++;
		box->early += !box->parts_json[m->msg.id.generation];
	}
	return 0;
}

int peer_coord_read(const struct peer_msg *msg, struct coord_msg *ret_msg)
{
	memcpy(ret_msg, msg->data, sizeof(*ret_msg));
	return 0;
}

int peer_ask(struct peer_asks *asks, unsigned int node, const char *verb, json_t *args,
	     unsigned int timeout_ms, peer_answer_fn fn, void *arg, uint64_t *ret_cookie)
{
	questions = realloc(questions, (nr_questions + 1) * sizeof(*questions));
	questions[nr_questions++] = (struct peer_question) {
		args, fn, arg, number(box_node_of(asks)), node,
		!strcmp(verb, "links") ? on_links :
		strcmp(verb, "checkpoint") ? on_failure : on_checkpoint, ++last_cookie };
	if (ret_cookie)
		*ret_cookie = last_cookie;
	return 0;
}

void peer_ask_forget(struct peer_asks *asks, uint64_t cookie)
{
	forgotten = cookie;
}

unsigned int peer_question_from(const struct peer_question *question)
{
	return question->from;
}

json_t *peer_question_args(const struct peer_question *question)
{
	return question->args;
}

void peer_question_answer(struct peer_question *question, json_t *outcome)
{
	json_decref(question->args);
	if (question->cookie != forgotten)
		question->fn(outcome, question->arg);
	json_decref(outcome);
	free(question);
}

static bool deliver(void)
{
	struct peer_msg msg = { .job = 1, .type = PEER_COORD };
	struct peer_question *q;
	struct message m;

	/* Messages first: coordinators that have just begun are to have met. */
	if (!nr_messages && nr_questions) {
		q = malloc(sizeof(*q));
		*q = questions[0];
		memmove(questions, questions + 1, --nr_questions * sizeof(*q));
		q->verb(q, &box->node[q->node]);
		return true;
	}
	if (!nr_messages)
		return false;
	m = messages[0];
	memmove(messages, messages + 1, --nr_messages * sizeof(m));
	if (box->node[m.to].off)
		return true;
	msg.node = m.from;
	msg.data = &m.msg;
	msg.len = m.len;
	on_message(&msg, &box->node[m.to]);
	return true;
}

/* ------------------------------------------------------------------ ranks */

int rank_link_open(struct reactor *reactor, const char *path, unsigned int nr_ranks,
		   const struct rank_link_ops *ops, void *arg, struct rank_link **ret_link)
{
	struct box_node *node = box_node_of(reactor);
	struct rank_link *link = calloc(1, sizeof(*link));

	*link = (struct rank_link) {
		.node = node, .ops = ops, .arg = arg, .room = node->link_room,
	};
	*ret_link = node->link = link;
	return 0;
}

void rank_link_close(struct rank_link *link)
{
	if (!link)
		return;
	link->node->held = false;
	link->node->link = NULL;
	free(link);
}

int rank_link_order(struct rank_link *link, uint32_t intent)
{
	/* As in pages_order(). */
	if (link->intent == STATUS_RUN && intent != STATUS_RUN)
		link->targets = 0;
	link->intent = intent;
	link->ordered = true;
	link->asked = false;
	link->node->held = intent != STATUS_RUN;
	link->node->orders++;
	return 0;
}

int rank_link_targets(struct rank_link *link, const struct shim_seq *targets, size_t nr)
{
	if (!link->room)
		return -EAGAIN;
	link->room--;
	link->targets += nr;
	link->asked = true;
	return 0;
}

static const uint32_t reached[] = {
	[STATUS_RUN] = STATUS_RUNNING, [STATUS_QUIESCE] = STATUS_QUIESCED,
	[STATUS_DRAIN] = STATUS_DRAINING, [STATUS_CUT] = STATUS_SILENT,
};

static void begin_collectives(const struct rank_link *link)
{
	unsigned int i, nr = link->node->comms;
	struct shim_seq *seqs = calloc(nr + 1, sizeof(*seqs));

	for (i = 0; i < nr; i++)
		seqs[i] = (struct shim_seq) { i + 1, 1 };
	if (nr)
		link->ops->begun(seqs, nr, link->arg);
	free(seqs);
}

static bool obey(struct box_node *node)
{
	struct rank_link *link = node->link;

	if (!link || node->mute || node->off)
		return false;
	if (link->ordered) {
		link->ordered = false;
		if (link->intent == STATUS_QUIESCE)
			begin_collectives(link);
		link->ops->reached(reached[link->intent], link->arg);
		return true;
	}
	if (!link->asked)
		return false;
	link->asked = false;
	link->ops->caught_up(link->arg);
	return true;
}

/* -------------------------------------------------------------- the dumps */

int job_dump_start(struct job *job, const struct job_dump_options *options,
		   const struct job_dump_ops *ops, void *arg, struct job_dump **ret_dump)
{
	struct box_node *node = box_node_of(job->jobs);
	struct job_dump *dump = calloc(1, sizeof(*dump));

	assert_null(node->dump);
	*dump = (struct job_dump) {
		node, ops, arg, json_integer_value(json_object_get(options->args, "generation")),
		.went = false,
	};
	*ret_dump = node->dump = dump;
	return 0;
}

void job_dump_go(struct job_dump *dump)
{
	dump->went = true;
}

void job_dump_links(struct job_dump *dump, const struct job_dump_link *links, unsigned int nr)
{
	assert_true(nr <= BOX_LINKS && !dump->linked);
	dump->linked = true;
	memcpy(dump->links, links, nr * sizeof(*links));
}

void box_links(struct box *b, unsigned int node, const struct sock_link *links, unsigned int nr)
{
	struct job_dump *dump = b->node[node].dump;

	assert_true(dump && !dump->went);
	dump->ops->links(links, nr, dump->arg);
	box_run(b);
}

void job_dump_abort(struct job_dump *dump)
{
	dump->aborted = true;
}

void box_flushed(struct box *b, unsigned int node)
{
	struct job_dump *dump = b->node[node].dump;

	assert_true(dump && !dump->went);
	dump->ops->flushed(dump->arg);
	box_run(b);
}

void box_captured(struct box *b, unsigned int node)
{
	struct job_dump *dump = b->node[node].dump;

	assert_non_null(dump);
	dump->went = false;
	dump->ops->captured(dump->arg);
	box_run(b);
}

void box_stored(struct box *b, unsigned int node)
{
	struct job_dump *dump = b->node[node].dump;

	assert_true(dump && dump->went);
	dump->went = false;
	b->node[node].image[dump->generation] = true;
	dump->ops->stored(dump->arg);
	box_run(b);
}

void box_ended(struct box *b, unsigned int node, const char *text)
{
	struct job_dump *dump = b->node[node].dump, d;

	assert_non_null(dump);
	d = *dump;
	free(dump);
	b->node[node].dump = NULL;
	if (d.aborted)
		b->node[node].image[d.generation] = false;
	d.ops->ended(text ? outcome_error(-ECHILD, "%s", text) : outcome_ok(json_object()), d.arg);
	box_run(b);
}

/* ---------------------------------------------------------------- catalog */

bool catalog_has(const struct catalog *catalog, int64_t job, int64_t generation)
{
	return box->parts_json[generation];
}

int64_t catalog_next(const struct catalog *catalog, int64_t job, int64_t floor)
{
	int64_t n = BOX_GENERATIONS - 1;

	while (n && !box->parts_json[n] && !box->node[0].image[n] && !box->node[1].image[n])
		n--;
	return n + 1;
}

char *catalog_image_dir(const struct catalog *catalog, int64_t job, int64_t generation)
{
	return strdup("image");
}

/* One that is there, or one that is not. */
char *catalog_part_dir(const struct catalog *catalog, int64_t job, int64_t generation,
		       unsigned int part)
{
	return strdup(box->node[part].image[generation] ? "/" : "/nonexistent/image");
}

int catalog_part_make(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part)
{
	return 0;
}

int catalog_part_drop(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part)
{
	box->node[part].image[generation] = false;
	return 0;
}

int catalog_generation_commit(const struct catalog *catalog, int64_t job, int64_t generation,
			      const json_t *parts, struct ckpt_error *error)
{
	error_set(error, -ENOSPC, "full");
	if (box->full)
		return -ENOSPC;
	box->parts_json[generation] = true;
	return 0;
}

void catalog_generation_uncommit(const struct catalog *catalog, int64_t job, int64_t generation)
{
	box->parts_json[generation] = false;
}

int catalog_generation_remove(const struct catalog *catalog, int64_t job, int64_t generation,
			      struct ckpt_error *error)
{
	return 0;
}

/* ---------------------------------------------------------------- the box */

void box_run(struct box *b)
{
	uint64_t last = clock_monotonic_ns();

	for (;;) {
		if (deliver() || obey(&b->node[0]) || obey(&b->node[1]) || fire())
			last = clock_monotonic_ns();
		else if (clock_monotonic_ns() >= last + QUIET_MS * COORD_MS)
			break;
		else
			usleep(5000);
	}
}

static void on_done(json_t *outcome, void *arg)
{
	struct box *b = arg;

	json_decref(b->outcome);
	b->outcome = outcome;
}

void box_checkpoint(struct box *b, bool kill)
{
	struct coord_checkpoint checkpoint = {
		.args = json_pack("{s:b}", "kill", (int)kill), .done = on_done, .arg = b,
	};

	json_decref(b->outcome);
	b->outcome = NULL;
	assert_int_equal(coord_driver_checkpoint(&b->node[0].job, &checkpoint), 0);
	json_decref(checkpoint.args);
	box_run(b);
}

void box_dump(struct box *b, unsigned int slow)
{
	unsigned int i;

	for (i = 0; i < BOX_NODES; i++)
		box_captured(b, i);
	for (i = 0; i < BOX_NODES; i++) {
		if (i != slow)
			box_stored(b, i);
	}
}

static void drop_timers(const struct coord_driver *d)
{
	struct reactor_source *t, *next;

	for (t = timers; t; t = next) {
		next = t->next;
		if (t->arg == d)
			reactor_remove(t);
	}
}

void box_kill(struct box *b, unsigned int node)
{
	struct box_node *n = &b->node[node];
	struct coord_driver *d = n->job.coord;

	n->off = true;
	if (!d)
		return;
	drop_timers(d);
	rank_link_close(n->link);
	free(n->dump);
	n->dump = NULL;
	d->link = NULL;
	d->dump = NULL;
	d->timer = d->watch = NULL;
	d->asked = false;
	d->preparing = 0;
	coord_driver_close(d);
	n->job.coord = NULL;
}

void box_start(struct box *b, unsigned int node)
{
	b->node[node].off = false;
}

void box_exit(struct box *b, unsigned int node)
{
	struct job *job = &b->node[node].job;

	coord_driver_close(job->coord);
	job->coord = NULL;
	job->init = 0;
}

struct box *box_make(void)
{
	struct box *b = calloc(1, sizeof(*b));

	box = b;
	messages = calloc(MESSAGES, sizeof(*messages));
	for (unsigned int i = 0; i < BOX_NODES; i++) {
		struct box_node *n = &b->node[i];

		strcpy(n->state_dir, "/tmp/driver.XXXXXX");
		assert_non_null(mkdtemp(n->state_dir));
		n->link_room = 100;
		n->common.nodes = (struct nodes *)n;
		n->common.reactor = (struct reactor *)n;
		n->common.config.node = (char *)(uintptr_t)(i ? "n2" : "n1");
		n->job = (struct job){
			.jobs = (struct jobs *)n,
			.id = 1,
			.state_dir = n->state_dir,
			.state = JOB_RUNNING,
			.init = 1,
			.shim = -1,
			.parts = &n->parts,
			.node_index = i,
			.record.ranks = json_pack("{s:s}", "mpi", "ompi"),
		};
		n->parts = (struct parts) {
			.job = &n->job, .common = &n->common, .node = i, .nr = BOX_NODES,
		};
		coord_peer_register((struct jobs *)n);
	}
	return b;
}

void box_free(struct box *b)
{
	char path[96];

	for (unsigned int i = 0; i < BOX_NODES; i++) {
		box_kill(b, i);
		snprintf(path, sizeof(path), "%s/%s", b->node[i].state_dir, COORD_RECORD_FILE);
		unlink(path);
		rmdir(b->node[i].state_dir);
		json_decref(b->node[i].job.record.ranks);
	}
	json_decref(b->outcome);
	free(messages);
	free(questions);
	messages = NULL;
	questions = NULL;
	nr_messages = nr_questions = 0;
	free(b);
}
