// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decides whether another node may have a user's processes started here; see may_run.h.
 *
 * The event loop decides what needs no waiting: root's processes, and decisions that still hold.
 * The rest is done in a worker, as the user database, /proc and the site's program may be slow.
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
#include "supervisor/parts/may_run_user.h"
#include "supervisor/storage/common.h"

#define HELD_MAX	256

/* A yes that still holds. */
struct held {
	unsigned int host;
	uid_t uid;
	json_int_t job;
	int64_t until_ms;
};

/* A check under way. */
struct check {
	struct check *next;
	struct may_run *may;
	struct peer_question *question;
	struct may_run_user user;
	may_run_fn fn;
	void *arg;
	struct worker *worker;
	unsigned int host;
};

struct may_run {
	const struct common *common;
	struct check *first;
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
	struct check *c, *next;

	for (c = may ? may->first : NULL; c; c = next) {
		next = c->next;
		worker_leave(c->worker);
		free(c);
	}
	free(may);
}

static bool may_run_holds(const struct may_run *may, unsigned int host,
			  const struct may_run_user *user)
{
	int64_t now = clock_monotonic_ms();
	unsigned int i;

	for (i = 0; i < HELD_MAX; i++) {
		const struct held *h = &may->held[i];

		if (h->until_ms > now && h->host == host && h->uid == user->uid &&
		    h->job == user->job)
			return true;
	}
	return false;
}

static void may_run_hold(struct may_run *may, const struct check *c)
{
	may->held[may->next++ % HELD_MAX] = (struct held) {
		.host = c->host, .uid = c->user.uid, .job = c->user.job,
		.until_ms = clock_monotonic_ms() + MAY_RUN_HOLDS_MS,
	};
}

static void may_run_on_progress(json_t *progress, void *arg)
{
}

static void may_run_on_outcome(json_t *outcome, void *arg)
{
	struct check *c = arg, **at = &c->may->first;
	const struct log *log = &c->may->common->log;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (!outcome)
		outcome = outcome_error(-ECHILD, "the check of the user's right to be here ended "
						 "without a word");
	if (outcome_is_ok(outcome)) {
		may_run_hold(c->may, c);
		json_decref(outcome);
		outcome = NULL;
	} else {
		log_warning(log, "job %lld of user %u: not run here for %s: %s",
			    (long long)c->user.job, (unsigned int)c->user.uid, c->user.home,
			    json_string_value(json_object_get(json_object_get(outcome, "error"),
							      "text")));
	}
	c->fn(c->question, outcome, c->arg);
	free(c);
}

static json_t *may_run_work(struct channel_reporter *reporter, void *arg)
{
	const struct check *c = arg;

	return may_run_user_check(&c->user, &c->may->common->config) ?: outcome_ok(NULL);
}

/* Return: NULL if may_run_on_outcome() will be called, or an outcome. */
static json_t *may_run_begin(struct may_run *may, const struct check *from)
{
	static const struct channel_ops ops = { may_run_on_progress, may_run_on_outcome };
	struct worker_spec spec = { .name = "ckptd-may-run", .run = may_run_work };
	struct check *c = malloc(sizeof(*c));
	int err;

	if (!c)
		return outcome_error(-ENOMEM, "out of memory");
	*c = *from;
	spec.arg = c;
	err = worker_start(&may->common->workers, &spec, &ops, c, &c->worker);
	if (err) {
		free(c);
		return outcome_error(err, "no worker: %s", strerror(-err));
	}
	c->next = may->first;
	may->first = c;
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

void may_run_check(struct may_run *may, struct peer_question *question, const json_t *record,
		   json_t *how, may_run_fn fn, void *arg)
{
	struct check c = { .may = may, .question = question, .fn = fn, .arg = arg,
		.host = peer_question_from(question) };
	json_t *args = peer_question_args(question), *no = NULL;
	struct peer_node home;

	peer_node(nodes_peer(may->common->nodes), c.host, &home);
	if (may_run_user_parse(record, &c.user))
		no = outcome_error(-EPROTO, "the record does not say whose job it is");
	c.user.job = json_integer_value(json_object_get(args, "job"));
	c.user.home = home.name;
	c.user.trusted = home.root;
	if (!no)
		no = may_run_check_root(&c.user, how, &may->common->config);
	if (!no && c.user.uid && !may_run_holds(may, c.host, &c.user)) {
		no = may_run_begin(may, &c);
		if (!no)
			return;
	}
	fn(question, no, arg);
}
