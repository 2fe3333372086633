// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stay with a job, and restart it when it fails; see cli_recover.h. recover_policy.h decides.
 *
 * ckptd may be away for a moment when the job fails, as whatever ended the job may have ended it:
 * the command waits for ckptd for CKPTD_AWAY_MS. A restart that is refused for another reason than
 * a damaged image is not tried again: a person has to look, and the job and its images stay as
 * they are.
 */
#include "ckptctl/cli_recover.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/outcome.h"
#include "ckptctl/cli_call.h"
#include "ckptctl/cli_job.h"
#include "ckptctl/cli_prove.h"
#include "ckptctl/recover_nodes.h"
#include "ckptctl/slurm_step.h"
#include "ckptctl/terminal.h"
#include "image/reader.h"

#define CKPTD_AWAY_MS	120000
#define BUSY_MS		60000	/* ckptd still ends what is left of the last run */
#define AGAIN_MS	500

struct recovery {
	struct cli *cli;
	const struct cli_recover *options;
	struct recover_past past;
	unsigned int how;	/* cli_job_follow() */
	unsigned int count;
	int64_t *generations;	/* of the job at its last end, ascending; owned */
	size_t nr_generations;
	int64_t id;
	int64_t failed_ms;	/* when the job was seen to have failed */
	json_t *last;		/* names of the nodes of the last run; NULL: this one alone */
	json_t *bad;		/* {name: true}: nodes that refused the restart */
};

/* ----------------------------------------------------------------- options */

int cli_recover_option(struct cli *cli, struct cli_recover *recover, int c)
{
	struct recover_rules *rules = &recover->rules;
	long long n;

	switch (c) {
	case CLI_RECOVER:
		recover->fewer = !strcmp(optarg, "oversubscribe");
		if (!recover->fewer && strcmp(optarg, "auto") && strcmp(optarg, "off"))
			return cli_usage(cli, "--recover is auto, oversubscribe or off, not %s",
					 optarg);
		rules->within_ms = !strcmp(optarg, "off") ? -1 : RECOVER_WITHIN_MS;
		return 0;
	case CLI_RECOVER_SPARES:
		return cli_number(cli, optarg, "the number of spare nodes", 1, RECOVER_SPARES_MAX,
				  &recover->nr_spares) ? 0 : CLI_USAGE;
	case CLI_RECOVER_MAX:
		if (!cli_number(cli, optarg, "the number of recoveries", 1, RECOVER_RECENT_MAX, &n))
			return CLI_USAGE;
		rules->max = (unsigned int)n;
		return 0;
	default:
		return -1;
	}
}

int cli_recover_complete(struct cli *cli, struct cli_recover *recover, bool detach)
{
	struct recover_rules *rules = &recover->rules;
	bool on = rules->within_ms > 0;

	if (recover->nr_spares && !on)
		return cli_usage(cli, "--spares needs --recover auto");

	if (rules->max && !on)
		return cli_usage(cli, "--max-recoveries needs --recover auto");
	if (on && detach)
		return cli_usage(cli, "--recover auto needs a command that stays with its job: "
				      "leave --detach out, and put ckptctl or ckptrun into the "
				      "background instead (nohup ... &)");
	if (on && !rules->max)
		rules->max = RECOVER_MAX_DEFAULT;
	return 0;
}

int cli_recover_take_spares(struct cli *cli, struct cli_recover *recover, json_t *ranks)
{
	json_t *nodes = json_object_get(ranks, "nodes");
	size_t nr = json_array_size(nodes), first;

	if (recover->nr_spares >= (long long)nr)
		return cli_usage(cli, "--spares %lld of %zu nodes leaves none for the ranks",
				 recover->nr_spares, nr);
	first = nr - (size_t)recover->nr_spares;
	recover->spares = json_array();
	while (json_array_size(nodes) > first) {
		json_array_append(recover->spares, json_array_get(nodes, first));
		json_array_remove(nodes, first);
	}
	return 0;
}

void cli_recover_done(struct cli_recover *recover)
{
	json_decref(recover->spares);
	json_decref(recover->nodes);
}

/* ----------------------------------------------------------------- the job */

/* True if this process was told to end while nobody handed signals on. */
static bool recover_is_told(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP) || sigismember(&pending, SIGQUIT));
}

/* Sleep; true: go on. */
static bool recover_pause(int64_t until_ms)
{
	const struct timespec pause = { .tv_nsec = AGAIN_MS * 1000000L };

	if (clock_monotonic_ms() >= until_ms || recover_is_told())
		return false;
	nanosleep(&pause, NULL);
	return !recover_is_told();
}

/*
 * Ask ckptd for the job as it is recorded, with its generations; a new reference. NULL: *ret_why
 * says why not. Waits for a ckptd that is away and until the job's end is recorded.
 */
static json_t *recover_ask(struct recovery *r, const char **ret_why)
{
	int64_t until = r->failed_ms + CKPTD_AWAY_MS;
	json_t *outcome, *job;
	const char *state;

	do {
		/* the connection may lead to a ckptd that is gone */
		cli_disconnect(r->cli);
		outcome = cli_call(r->cli, "list", json_pack("{s:I}", "job", (json_int_t)r->id));
		job = json_incref(json_array_get(json_object_get(json_object_get(outcome, "result"),
								 "jobs"), 0));
		json_decref(outcome);
		state = cli_str(job, "state");
		if (job && strcmp(state, "running") && strcmp(state, "starting"))
			return job;
		*ret_why = r->cli->unanswered ? "ckptd does not answer" :
			   job ? "ckptd does not say that it has ended" :
			   "ckptd does not know it any more";
		json_decref(job);
	} while (recover_pause(until));
	return NULL;
}

static void recover_take_generations(struct recovery *r, const json_t *job)
{
	const json_t *list = json_object_get(job, "generations"), *generation;
	int64_t *numbers = calloc(json_array_size(list) + 1, sizeof(*numbers));
	size_t i, j, nr = 0;

	json_array_foreach(list, i, generation) {
		int64_t number = cli_int(generation, "generation");

		for (j = nr; numbers && j && numbers[j - 1] > number; j--)
			numbers[j] = numbers[j - 1];
		if (numbers)
			numbers[j] = number;
		nr += numbers ? 1 : 0;
	}
	free(r->generations);
	r->generations = numbers;
	r->nr_generations = nr;
}

static void recover_tell_end(const struct recovery *r, const json_t *job,
			     const struct recover_death *death)
{
	char rank[32] = "";

	if (json_object_get(job, "failed_rank"))
		snprintf(rank, sizeof(rank), "rank %lld of ", (long long)cli_int(job,
										 "failed_rank"));
	if (death->lost)
		cli_say("job %lld was lost", (long long)r->id);
	else
		cli_say("%sjob %lld was ended by signal %d (%s)", rank, (long long)r->id,
			death->exit_status - 128, strsignal(death->exit_status - 128));
}

/* The generation to restart from, after the end that @left tells; 0: none, the job stays ended. */
static int64_t recover_wanted(struct recovery *r, const struct cli_job_left *left)
{
	struct recover_death death = { .at_ms = r->failed_ms };
	const char *why = NULL;
	int64_t from = 0;
	json_t *job;

	death.exit_status = left->status;
	death.asked = left->asked || recover_is_told();
	if (left->status >= 0 && !recover_is_failure(&death))
		return 0;
	job = recover_ask(r, &why);
	if (job) {
		death.lost = !strcmp(cli_str(job, "state"), "lost");
		death.asked |= json_object_get(job, "kill_signal") ||
			       !strcmp(cli_str(job, "state"), "saved");
		death.exit_status = (int)cli_int(job, "exit_status");
		recover_take_generations(r, job);
		death.nr = r->nr_generations;
		death.generations = r->generations;
		if (!recover_is_failure(&death)) {
			json_decref(job);
			return 0;
		}
		recover_tell_end(r, job, &death);
		json_decref(r->last);
		r->last = json_incref(json_object_get(json_object_get(job, "ranks"), "nodes"));
		from = recover_choose(&r->past, &r->options->rules, &death, &why);
	}
	if (!from)
		cli_say("job %lld is not recovered: %s; ckptctl list %lld shows what there is, "
			"ckptctl restart --attach %lld goes on with it",
			(long long)r->id, why, (long long)r->id, (long long)r->id);
	json_decref(job);
	return from;
}

/* ------------------------------------------------------------- the restart */

/* May the same restart succeed in a moment? */
static bool recover_again(const struct recovery *r, const json_t *outcome)
{
	int err = outcome_errno(outcome);

	return r->cli->unanswered || err == -EBUSY || err == -EAGAIN || err == -ECONNREFUSED;
}

/* Names of the nodes that answer, and did not refuse; a new reference to {name: true}. */
static json_t *recover_usable(struct recovery *r)
{
	json_t *outcome, *usable = json_object(), *node;
	size_t i;

	if (r->cli->unanswered)
		cli_disconnect(r->cli);
	outcome = cli_call(r->cli, "nodes", json_object());
	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "nodes"), i, node) {
		const char *state = cli_str(node, "state"), *name = cli_str(node, "name");

		if ((!strcmp(state, "answers") || !strcmp(state, "this node")) &&
		    !json_object_get(r->bad, name))
			json_object_set_new(usable, name, json_true());
	}
	json_decref(outcome);
	return usable;
}

/*
 * The nodes of the next run, a new reference; waits for a node if there are too few. NULL: the user
 * does not want to wait any more.
 */
static json_t *recover_place(struct recovery *r)
{
	const struct recover_nodes rules = {
		.first = r->options->nodes, .spares = r->options->spares,
		.fewer = r->options->fewer,
	};
	const char *missing = NULL, *told = NULL;
	json_t *usable, *nodes;

	for (;;) {
		usable = recover_usable(r);
		nodes = recover_nodes_choose(&rules, r->last, usable, &missing);
		json_decref(usable);
		if (nodes)
			return nodes;
		if (!told || strcmp(told, missing))
			cli_say("job %lld waits: node %s does not answer and there is no other for "
				"it; the job goes on when a node comes back",
				(long long)r->id, missing);
		told = missing;
		if (!recover_pause(clock_monotonic_ms() + BUSY_MS))
			return NULL;
	}
}

static void recover_tell_nodes(const struct recovery *r, const json_t *nodes)
{
	char text[512] = "";
	const json_t *name;
	size_t i, len = 0;

	json_array_foreach(nodes, i, name) {
		if (len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						i ? "," : "", json_string_value(name));
	}
	if (!json_equal(nodes, r->last))
		cli_say("job %lld goes on on nodes %s", (long long)r->id, text);
}

/*
 * If the restart failed because of a node that may be replaced, never take that node again; false:
 * it failed for another reason.
 */
static bool recover_drop_node(struct recovery *r, const json_t *outcome)
{
	const char *node = json_string_value(json_object_get(json_object_get(outcome, "error"),
							     "node"));
	const json_t *spare;
	size_t i;

	json_array_foreach(r->options->spares, i, spare) {
		if (!node || strcmp(json_string_value(spare), node))
			continue;
		cli_say("%s; another node is taken",
			cli_str(json_object_get(outcome, "error"), "text"));
		json_object_set_new(r->bad, node, json_true());
		return true;
	}
	return false;
}

static json_t *recover_ask_restart(struct recovery *r, int64_t generation, const json_t *nodes)
{
	json_t *args = json_pack("{s:I, s:I, s:b}", "job", (json_int_t)r->id, "generation",
				 (json_int_t)generation, "attach", true);
	struct slurm_step step;
	json_t *outcome;
	char key[32];

	if (nodes)
		json_object_set(args, "nodes", (json_t *)nodes);
	cli_prove_restart(args);
	/* Slurm's step on other nodes has ended with the job, so there is a new one */
	snprintf(key, sizeof(key), "job %lld", (long long)r->id);
	slurm_step_open(r->cli, nodes, key, &step);
	if (r->cli->unanswered)
		cli_disconnect(r->cli);
	outcome = cli_call(r->cli, "restart", args);
	slurm_step_close(&step, outcome_is_ok(outcome) ? r->id : 0);
	return outcome;
}

/*
 * Restart from @generation; the outcome, with the descriptor of the job's terminal. NULL: the user
 * does not want to wait any more.
 */
static json_t *recover_restart(struct recovery *r, int64_t generation)
{
	json_t *outcome = NULL, *nodes;
	int64_t until = 0;

	r->cli->hold = true;
	do {
		json_decref(outcome);
		nodes = r->last ? recover_place(r) : NULL;
		if (r->last && !nodes)
			return NULL;
		if (nodes)
			recover_tell_nodes(r, nodes);
		if (!until)
			until = clock_monotonic_ms() + BUSY_MS;
		outcome = recover_ask_restart(r, generation, nodes);
		json_decref(nodes);
	} while (!outcome_is_ok(outcome) &&
		 (recover_drop_node(r, outcome) || recover_again(r, outcome)) &&
		 recover_pause(until));
	return outcome;
}

/* Standard output is the job's: --json must not print there. Takes over @outcome. */
static void recover_tell_failure(struct recovery *r, json_t *outcome)
{
	if (!r->cli->json) {
		cli_finish(r->cli, outcome, NULL);
		return;
	}
	cli_say("%s", cli_str(json_object_get(outcome, "error"), "text"));
	json_decref(outcome);
}

/*
 * Restart the job from @generation, or from one before if that is damaged. Returns the outcome of
 * the restart that succeeded; NULL: none did, and the user knows why.
 */
static json_t *recover_act(struct recovery *r, int64_t generation)
{
	json_t *outcome;
	char took[32];
	int err;

	r->count++;
	do {
		cli_say("job %lld is restarted from generation %lld, recovery %u", (long long)r->id,
			(long long)generation, r->count);
		outcome = recover_restart(r, generation);
		cli_progress_end(r->cli);
		if (!outcome)
			break;
		if (outcome_is_ok(outcome)) {
			cli_say("job %lld goes on after %s", (long long)r->id,
				duration_text(clock_monotonic_ms() - r->failed_ms, took));
			return outcome;
		}
		err = outcome_errno(outcome);
		recover_tell_failure(r, outcome);
		generation = recover_before(r->generations, r->nr_generations, generation);
	} while (generation && (err == -EBADMSG || image_is_unreadable(err)) && !recover_is_told());
	cli_say("job %lld is not recovered, and stays as it is: ckptctl restart --attach %lld goes "
		"on with it when the cause is gone",
		(long long)r->id, (long long)r->id);
	return NULL;
}

static void recovery_done(struct recovery *r)
{
	free(r->generations);
	json_decref(r->last);
	json_decref(r->bad);
}

int cli_recover_follow(struct cli *cli, json_t *outcome, unsigned int how,
		       const struct cli_recover *recover)
{
	struct recovery r = { .cli = cli, .options = recover, .how = how, .bad = json_object(),
			      .id = cli_int(json_object_get(outcome, "result"), "job") };
	struct cli_job_left left;
	int64_t generation;
	json_t *next;

	while (!cli_job_attend(cli, outcome, how, &left)) {
		r.failed_ms = clock_monotonic_ms();
		generation = left.err ? recover_wanted(&r, &left) : 0;
		next = generation ? recover_act(&r, generation) : NULL;
		if (!next) {
			recovery_done(&r);
			return cli_job_left(cli, outcome, &left);
		}
		json_object_set_new(json_object_get(next, "result"), "recoveries",
				    json_integer((json_int_t)r.count));
		json_decref(outcome);
		outcome = next;
	}
	recovery_done(&r);
	json_decref(outcome);
	return cli_finish_attached(cli, outcome_error(-EPROTO, "%s: ckptd sent no connection to "
						      "job %lld", cli->verb->name,
						      (long long)r.id), CLI_FAILED);
}
