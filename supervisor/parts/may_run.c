// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decides whether another node may have a user's processes started here; see may_run.h.
 *
 * The event loop decides what needs no waiting: decisions that still hold. The rest is done in a
 * worker, as the user database, /proc, the path of the MPI library and the site's program may be
 * slow; the worker has a deadline.
 * The worker hands back a process by its number and its start; the event loop reads it anew. Each
 * user has a few seats for checks (check_seats.h), as each holds a question of another node.
 */
#include "supervisor/parts/may_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/net/nodes.h"
#include "supervisor/net/peer_ask.h"
#include "supervisor/control/confines.h"
#include "supervisor/control/launch_link.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/check_seats.h"
#include "supervisor/parts/may_run_user.h"
#include "supervisor/parts/part_bounds.h"
#include "supervisor/parts/stand.h"
#include "supervisor/storage/common.h"

#define HELD_MAX	256
#define TRIES_MAX	3	/* checks of one question whose process has ended meanwhile */

/* A yes that still holds, for the very same question of the same node. */
struct held {
	unsigned int host;
	json_t *question;	/* may_run_question() */
	enum may_run_what what;
	struct stand_process process;
	int64_t until_ms;
};

/* A check under way, or one that waits: it has no worker yet. */
struct check {
	struct check_seat seat;	/* first: a seat is its check */
	struct may_run *may;
	struct peer_question *question;
	enum may_run_what what;
	json_t *record, *how;	/* the question's */
	struct may_run_user user;
	may_run_fn fn;
	void *arg;
	struct worker *worker;
	unsigned int host, tries;
};

struct may_run {
	const struct common *common;
	struct check_seats seats;
	struct held held[HELD_MAX];
	unsigned int next;	/* of held: the oldest, to be overwritten */
};

int may_run_open(const struct common *common, struct may_run **ret_may)
{
	struct may_run *may = calloc(1, sizeof(*may));

	if (!may)
		return -ENOMEM;
	may->common = common;
	*ret_may = may;
	return 0;
}

void may_run_close(struct may_run *may)
{
	struct check_seat *seat, *next;
	struct check *c;
	unsigned int i;

	for (i = 0; may && i < HELD_MAX; i++)
		json_decref(may->held[i].question);
	for (seat = may ? may->seats.first : NULL; seat; seat = next) {
		next = seat->next;
		c = (struct check *)seat;
		if (c->worker)
			worker_leave(c->worker);
		free(c);
	}
	free(may);
}

/* All that the decision depends on, as a new reference. */
static json_t *may_run_question(const struct check *c)
{
	json_t *question = may_run_user_question(&c->user);

	json_object_set_new(question, "needs",
			    rank_record_needs(json_object_get(c->record, "ranks")));
	return question;
}

/* Return: NULL: nothing holds. */
static struct held *may_run_held(struct may_run *may, const struct check *c)
{
	json_t *question = may_run_question(c);
	int64_t now = clock_monotonic_ms();
	struct held *found = NULL;
	unsigned int i;

	for (i = 0; i < HELD_MAX && !found; i++) {
		struct held *h = &may->held[i];

		if (h->until_ms > now && h->host == c->host && h->what == c->what &&
		    json_equal(h->question, question))
			found = h;
	}
	json_decref(question);
	return found;
}

static void may_run_hold(struct may_run *may, const struct check *c,
			 const struct stand_process *process)
{
	struct held *held = &may->held[may->next++ % HELD_MAX];

	json_decref(held->question);
	*held = (struct held) {
		.host = c->host, .question = may_run_question(c), .what = c->what,
		.process = *process, .until_ms = clock_monotonic_ms() + MAY_RUN_HOLDS_MS,
	};
}

/* Lower what a home without root=yes has sent. Return: NULL, or an outcome. */
static json_t *may_run_lower(const struct check *c, json_t *bounds)
{
	char told[PART_BOUNDS_TOLD];
	json_t *no;

	json_object_set_new(bounds, "uid", json_integer(c->user.uid));
	json_object_set_new(bounds, "gid", json_integer(c->user.gid));
	json_object_set_new(bounds, "groups", c->user.groups ?
			    json_deep_copy(c->user.groups) : json_array());
	no = part_bounds_lower(c->record, c->how, bounds, told);
	if (!no && told[0] && c->what == MAY_RUN_START)
		log_info(&c->may->common->log,
			 "job %lld of user %u: lowered to what the user may have here: %s",
			 (long long)c->user.job, (unsigned int)c->user.uid, told);
	return no;
}

/*
 * Put the part beside @process, and within the user's bounds. Return: NULL, or an outcome, with
 * -ESRCH if the process has ended.
 */
static json_t *may_run_place(const struct check *c, const struct stand_process *process,
			     struct confines **ret_confines)
{
	struct confines *confines = NULL;
	json_t *bounds, *no;

	*ret_confines = NULL;
	if (c->what == MAY_RUN_FETCH || !c->user.uid)
		return NULL;
	bounds = json_object();
	no = stand_take(process, c->user.uid, launch_link_pid(c->may->common->launch), bounds,
			&confines);
	if (!no && confines && c->what == MAY_RUN_RESTART)
		no = confines_check_restart(confines, "restart");
	if (!no && !c->user.trusted)
		no = may_run_lower(c, bounds);
	json_decref(bounds);
	if (no)
		confines_free(confines);
	else
		*ret_confines = confines;
	return no;
}

static void may_run_on_progress(json_t *progress, void *arg)
{
}

static json_t *may_run_begin(struct check *c);

/* The worker's answer is yes; takes over @outcome. Return: NULL, or an outcome. */
static json_t *may_run_on_found(struct check *c, json_t *outcome, struct confines **ret_confines)
{
	const json_t *result = json_object_get(outcome, "result");
	const struct stand_process process = {
		.pid = (pid_t)json_integer_value(json_object_get(result, "pid")),
		.start = (uint64_t)json_integer_value(json_object_get(result, "start")),
	};
	json_t *no = may_run_place(c, &process, ret_confines);

	json_decref(outcome);
	if (no)
		return no;
	may_run_hold(c->may, c, &process);
	if (*ret_confines)
		log_info(&c->may->common->log,
			 "job %lld of user %u: the part here stands beside process %d of the "
			 "user's batch step", (long long)c->user.job,
			 (unsigned int)c->user.uid, (int)process.pid);
	return NULL;
}

/* Hand @c's answer out, and begin the checks that waited for its seat. */
static void may_run_end(struct check *c, json_t *no, struct confines *confines)
{
	struct may_run *may = c->may;
	struct check *next;

	while (c) {
		next = (struct check *)check_seats_leave(&may->seats, &c->seat);
		if (no)
			log_warning(&may->common->log,
				    "job %lld of user %u: not run here for %s: %s",
				    (long long)c->user.job, (unsigned int)c->user.uid, c->user.home,
				    json_string_value(json_object_get(json_object_get(no, "error"),
								      "text")));
		c->fn(c->question, no, confines, c->arg);
		free(c);
		c = next;
		confines = NULL;
		no = c ? may_run_begin(c) : NULL;
		if (!no)
			return;
	}
}

static void may_run_on_outcome(json_t *outcome, void *arg)
{
	struct check *c = arg;
	struct confines *confines = NULL;

	c->worker = NULL;
	if (!outcome)
		outcome = outcome_error(-ECHILD, "the check of the user's right to be here ended "
						 "without a word");
	if (outcome_is_ok(outcome)) {
		outcome = may_run_on_found(c, outcome, &confines);
		/* The process has ended since the worker saw it; another may be there. */
		if (outcome && outcome_errno(outcome) == -ESRCH && ++c->tries < TRIES_MAX) {
			json_decref(outcome);
			outcome = may_run_begin(c);
			if (!outcome)
				return;
		}
	}
	may_run_end(c, outcome, confines);
}

static json_t *may_run_work(struct channel_reporter *reporter, void *arg)
{
	const struct check *c = arg;
	const struct config *config = &c->may->common->config;
	struct stand_process process = { 0 };
	const json_t *ranks = json_object_get(c->record, "ranks");
	json_t *no = c->user.uid ? may_run_user_check(&c->user, config, &process) : NULL;

	if (!no)
		no = rank_record_check(ranks, config);
	return no ? no : outcome_ok(json_pack("{s:I, s:I}", "pid", (json_int_t)process.pid,
					      "start", (json_int_t)process.start));
}

static const struct worker_kind may_run_work_kind = {
	.name = "ckptd-may-run",
	.run = may_run_work,
	.deadline_ms = MAY_RUN_MS,
};

/* Return: NULL if may_run_on_outcome() will be called with @c, or an outcome. */
static json_t *may_run_begin(struct check *c)
{
	static const struct channel_ops ops = { may_run_on_progress, may_run_on_outcome };
	const struct worker_spec spec = { .kind = &may_run_work_kind, .arg = c };
	int err = worker_start(&c->may->common->workers, &spec, &ops, c, &c->worker);

	return err ? outcome_error(err, "no worker: %s", strerror(-err)) : NULL;
}

/*
 * The home asks again after a silence and has forgotten its first question: @c's question takes
 * the place of that. Return: false: there was none.
 */
static bool may_run_asked_again(struct may_run *may, const struct check *c)
{
	json_t *question = may_run_question(c), *of = NULL;
	struct check_seat *seat = may->seats.first;
	struct check *first = NULL;

	for (; seat && !first; seat = seat->next) {
		struct check *o = (struct check *)seat;

		if (o->host != c->host || o->what != c->what || o->user.job != c->user.job)
			continue;
		of = may_run_question(o);
		first = json_equal(question, of) ? o : NULL;
		json_decref(of);
	}
	json_decref(question);
	if (!first)
		return false;
	peer_question_answer(first->question, outcome_error(-ECANCELED, "asked again"));
	first->question = c->question;
	first->record = c->record;
	first->how = c->how;
	first->user = c->user;
	return true;
}

/* Check by a worker, now or later. Return: NULL, or an outcome: @c was not taken. */
static json_t *may_run_enter(struct may_run *may, const struct check *c)
{
	struct check *entered;
	json_t *no;
	int begun;

	if (may_run_asked_again(may, c))
		return NULL;
	entered = malloc(sizeof(*entered));
	if (!entered)
		return outcome_error(-ENOMEM, "out of memory");
	*entered = *c;
	begun = check_seats_enter(&may->seats, &entered->seat, c->user.uid);
	if (begun < 0) {
		free(entered);
		return outcome_error(begun, "node %s checks %d starts of user %u already: try "
				     "again later", may->common->config.node, CHECK_SEATS_ALL,
				     (unsigned int)c->user.uid);
	}
	no = begun ? may_run_begin(entered) : NULL;
	if (no)
		may_run_end(entered, no, NULL);
	return NULL;
}

/*
 * Return: an outcome if the answer is no, whatever the user database says.  A restart that root
 * asked for gives no rights beyond the owner's if root there is nobody here.
 */
static json_t *may_run_check_root(const struct may_run_user *user, json_t *how,
				  const struct config *config)
{
	if (user->trusted)
		return NULL;
	if (how)
		json_object_set_new(how, "any_rights", json_false());
	if (user->uid)
		return NULL;
	return outcome_error(-EPERM,
			     "%s may not have processes of root here: %s of node %s has no "
			     "root=yes at the line of %s", user->home, config->hosts,
			     config->node, user->home);
}

/*
 * Answer @c from a yes that holds. Return: false: there is none. @ret_no: as of may_run_fn.
 */
static bool may_run_again(struct may_run *may, const struct check *c, json_t **ret_no,
			  struct confines **ret_confines)
{
	struct held *held = may_run_held(may, c);

	*ret_no = held ? may_run_place(c, &held->process, ret_confines) : NULL;
	if (!held || !*ret_no || outcome_errno(*ret_no) != -ESRCH)
		return held;
	held->until_ms = 0;
	json_decref(*ret_no);
	*ret_no = NULL;
	return false;
}

/* The purpose that a credential has to have. Return: NULL, or an outcome. */
static json_t *may_run_purpose(struct check *c, const json_t *how)
{
	if (!c->may->common->config.munge || c->user.trusted || c->what == MAY_RUN_FETCH)
		return NULL;
	if (how)
		credential_for_restart(c->user.job, c->user.purpose);
	else if (credential_for_start(c->record, c->user.purpose))
		return outcome_error(-ENOMEM, "out of memory");
	return NULL;
}

void may_run_check(struct may_run *may, struct peer_question *question, enum may_run_what what,
		   json_t *record, json_t *how, may_run_fn fn, void *arg)
{
	struct check c = { .may = may, .question = question, .what = what, .record = record,
		.how = how, .fn = fn, .arg = arg, .host = peer_question_from(question) };
	json_t *args = peer_question_args(question), *no = NULL;
	struct confines *confines = NULL;
	struct peer_node home;

	peer_node(nodes_peer(may->common->nodes), c.host, &home);
	if (may_run_user_parse(record, &c.user))
		no = outcome_error(-EPROTO, "the record does not say whose job it is");
	c.user.job = json_integer_value(json_object_get(args, "job"));
	c.user.home = home.name;
	c.user.launcher = launch_link_pid(may->common->launch);
	c.user.trusted = home.root;
	c.user.any_step = what != MAY_RUN_START;
	c.user.asker = json_object_get(how, "asker");
	c.user.credential = json_string_value(json_object_get(how ? how : args, "credential"));
	if (!no)
		no = may_run_purpose(&c, how);
	if (!no)
		no = may_run_check_root(&c.user, how, &may->common->config);
	if (!no && !may_run_again(may, &c, &no, &confines)) {
		no = may_run_enter(may, &c);
		if (!no)
			return;
	}
	fn(question, no, confines, arg);
}
