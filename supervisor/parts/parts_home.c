// SPDX-License-Identifier: GPL-2.0-only
/*
 * The home of a job over nodes: has the other nodes start and end their parts, and decides when
 * the job is over and with which status; see parts.h.
 *
 * A part counts as ended only if its node said so, or said that it has no such part.  Until then
 * the job is not over, however long that takes.  The job's end must be on the disk before the
 * home tells other nodes that the job is over: they forget then how their parts ended.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/identity.h"
#include "shim/proto.h"
#include "supervisor/catalog/first_key.h"
#include "base/outcome.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/key_of_job.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/stale_run.h"

#define AGAIN_TICKS	(2000 / PARTS_TICK_MS)
#define STUCK_TICKS	(3000 / PARTS_TICK_MS)

static void parts_home_ignore(const json_t *outcome, void *arg)
{
}

static json_t *of_job(const struct parts *p)
{
	return json_pack("{s:I, s:I}", "job", (json_int_t)p->job->id, "run", (json_int_t)p->run);
}

/* Takes over @args. */
static int parts_home_ask(struct parts *p, unsigned int node, const char *verb, json_t *args,
	       unsigned int timeout_ms, peer_answer_fn fn, void *arg, uint64_t *ret_cookie)
{
	int host = parts_host(p, node);

	if (host < 0) {
		json_decref(args);
		return host;
	}
	return peer_ask(nodes_asks(p->common->nodes), (unsigned int)host, verb, args,
			timeout_ms, fn, arg, ret_cookie);
}

/* --------------------------------------------------------------- the end */

static void parts_home_on_end(const json_t *outcome, void *arg)
{
	struct part *part = arg;
	struct parts *p = part->parts;
	struct job_end end;

	part->cookie = 0;
	if (!outcome_is_ok(outcome))
		return;
	part->heard_ms = clock_monotonic_ms();
	/* A node that has no such part does not know how the part ended. */
	if (!part->ended && !parts_end_unpack(json_object_get(outcome, "result"), &end))
		part->end = end;
	part->ended = true;
	parts_check(p);
}

static void ask_to_end(struct parts *p)
{
	unsigned int i;

	for (i = 1; i < p->nr; i++) {
		json_t *args;

		if (p->part[i].ended || p->part[i].cookie)
			continue;
		args = of_job(p);
		json_object_set_new(args, "signal", json_integer(p->end_code ? SIGTERM : SIGKILL));
		json_object_set_new(args, "grace_ms", json_integer(p->end_code ? 1000 : 0));
		parts_home_ask(p, i, "end", args, PARTS_ASK_MS, parts_home_on_end, &p->part[i],
			       &p->part[i].cookie);
	}
}

void parts_end_all(struct parts *p, int code, const char *text)
{
	p->ending = true;
	p->end_code = code;
	parts_end_here(p, code, text);
	ask_to_end(p);
}

static bool parts_home_failed(const struct part *part)
{
	return part->ended && (!part->end.found || part->end.status);
}

/*
 * The part that failed first, by the nodes' clocks; a part that ended without a status only if
 * no other failed.  NULL: no part failed.
 */
static const struct part *first_failed(const struct parts *p)
{
	const struct part *first = NULL;
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		const struct part *part = &p->part[i];

		if (!parts_home_failed(part))
			continue;
		if (!first || (part->end.found && !first->end.found) ||
		    (part->end.found == first->end.found &&
		     part->end.failed_ns < first->end.failed_ns))
			first = part;
	}
	return first;
}

/* The signal by which somebody wanted a part, and with it the job, to end; 0: nobody did. */
static int parts_home_told(const struct parts *p)
{
	unsigned int i;

	for (i = 0; i < p->nr && !p->part[i].end.told;)
		i++;
	return i < p->nr ? p->part[i].end.told : 0;
}

static void tell_over(struct parts *p, int status)
{
	const struct shim_msg msg = { .type = SHIM_OVER, .value = status };
	unsigned int i;

	for (i = 1; i < p->nr; i++)
		parts_home_ask(p, i, "over", of_job(p), PARTS_ASK_MS, parts_home_ignore, NULL,
			       NULL);
	if (p->job->shim >= 0)
		shim_send(p->job->shim, &msg, NULL, 0, NULL, 0);
}

/*
 * Write the job's end into its record.  Return: 0; -EAGAIN: failed, try again later; -ENOENT:
 * the job's directory with the record was removed; -ESTALE: the record is another job's, or of
 * a later run.
 */
static int note_end(struct parts *p, const struct job_end *end)
{
	struct ckpt_error error = {};
	int err;

	if (p->ticks < p->note_again)
		return -EAGAIN;
	err = job_note_end(p->job, end, &error);
	if (!err || err == -ENOENT || err == -ESTALE)
		return err;
	if (!p->note_again)
		log_error(&p->common->log, "job %lld has ended, but: %s; trying again",
			  (long long)p->job->id, error.text);
	p->note_again = p->ticks + AGAIN_TICKS;
	return -EAGAIN;
}

static void parts_home_finish(struct parts *p)
{
	const struct part *first = first_failed(p);
	struct job_end end = { .found = true, .rank = -1 };
	parts_started_fn fn = p->fn;
	void *arg = p->arg;
	int err = 0;

	/* The caller of parts_start() has been told, and is still ending the part here. */
	if (p->starting && !fn)
		return;
	if (first)
		end = first->end;
	end.told = parts_home_told(p);
	/* A job that has lost nodes has no status, whatever other parts reported. */
	if (p->abandoned || p->lost)
		end = (struct job_end) { .rank = -1 };
	if (!p->starting)
		err = note_end(p, &end);
	if (err == -EAGAIN)
		return;
	tell_over(p, end.found ? end.status : SIGKILL);
	if (!p->starting) {
		job_end(p->job, err ? &end : NULL);
		return;
	}
	p->fn = NULL;
	fn(json_incref(p->failure), arg);
}

void parts_over(const struct job *job)
{
	const struct shim_msg fences = { .type = SHIM_FENCES };
	const struct shim_msg msg = { .type = SHIM_OVER, .value = job->status };
	const char *node = jobs_common(job->jobs)->config.node;
	char path[PATH_MAX];
	struct identity id;
	int sock;

	if (rank_record_node_index(job->record.ranks, node) ||
	    identity_read(job->state_dir, &id) || !id.shim_alive || id.init_alive)
		return;
	snprintf(path, sizeof(path), "%s/shim.sock", job->state_dir);
	sock = shim_connect(path);
	if (sock < 0)
		return;
	if (!shim_send(sock, &fences, NULL, 0, NULL, 0) && !shim_send(sock, &msg, NULL, 0, NULL, 0))
		job_unprepare(job);
	close(sock);
}

void parts_check(struct parts *p)
{
	const struct part *first = first_failed(p);
	unsigned int i;

	if (p->starting && (p->starts || !p->failure))
		return;
	/* Pass a text only where the shim has none, as in check_stuck(): no rank failed there. */
	if (first && !p->keep_going && !p->ending)
		parts_end_all(p, 1, NULL);
	for (i = 0; i < p->nr; i++) {
		if (!p->part[i].ended)
			return;
	}
	parts_home_finish(p);
}

/*
 * End the job if ranks wait for all others in MPI_Init or MPI_Finalize while all ranks of some
 * node have left.
 */
static void check_stuck(struct parts *p)
{
	char text[192];
	unsigned int i;

	for (i = 0; i < p->nr && !p->part[i].ended;)
		i++;
	if (i == p->nr || p->ending || !fence_tree_waits(p->tree)) {
		p->stuck = 0;
		return;
	}
	if (++p->stuck < STUCK_TICKS)
		return;
	snprintf(text, sizeof(text),
		 "the ranks of node %s have ended while others wait for them in MPI_Init",
		 parts_name(p, i));
	log_info(&p->common->log, "job %lld: %s", (long long)p->job->id, text);
	parts_end_all(p, 1, text);
}

/* Mark dead the parts of nodes silent for @silent_ms: their nodes are believed to be off. */
static void mark_dead(struct parts *p, int64_t silent_ms)
{
	unsigned int i;

	for (i = 1; i < p->nr; i++) {
		if (!p->part[i].ended &&
		    listening_silence_ms(&p->listening, clock_monotonic_ms(),
					 p->part[i].heard_ms) >= silent_ms)
			p->part[i].ended = true;
	}
}

bool parts_start_failed(const struct parts *p)
{
	return p->failure;
}

bool parts_gives_up(const struct parts *p)
{
	return p && !p->node && p->starting && p->failure && p->fn && !p->starts;
}

static bool ask_again(struct parts *p);
static void parts_home_started(struct parts *p);
static unsigned int start_ms(const struct parts *p);

void parts_home_tick(struct parts *p)
{
	if (p->abandoned)
		mark_dead(p, PARTS_SILENT_MS);
	/*
	 * A node marked dead may still have ranks; they end when it asks whether the job is
	 * over, as in parts_home_fail().
	 */
	else if (parts_gives_up(p))
		mark_dead(p, start_ms(p));
	if (p->starting && ask_again(p)) {
		parts_home_started(p);
		return;
	}
	parts_lease_tick(p);
	if (p->ending && p->ticks % AGAIN_TICKS == 0) {
		parts_end_here(p, p->end_code, NULL);
		ask_to_end(p);
	}
	if (!p->starting)
		check_stuck(p);
	if (p->ticks % PARTS_LOOK_TICKS == 0 && !p->job->busy && !p->abandoned && parts_lost(p))
		stale_run_ask(p->job, p->ticks / PARTS_LOOK_TICKS);
	parts_check(p);
}

/* ------------------------------------------------------------- the start */

static void parts_home_fail(struct parts *p, unsigned int node, const json_t *outcome)
{
	/* The node may have begun its part; the part ends when it asks whether the job is over. */
	p->part[node].ended = true;
	p->part[node].end = (struct job_end) { .found = true, .rank = -1 };
	if (!p->failure)
		p->failure = outcome_of_node(outcome, parts_name(p, node));
}

bool parts_ask_unheard(struct parts *p)
{
	unsigned int i;

	for (i = 1; i < p->nr; i++) {
		if (clock_monotonic_ms() - p->part[i].heard_ms < PARTS_UNHEARD_MS)
			continue;
		p->part[i].again = true;
		p->part[i].start_until = 0;
		p->starts++;
	}
	return p->starts;
}

static void parts_home_started(struct parts *p)
{
	parts_started_fn fn = p->fn;

	if (p->starts)
		return;
	if (p->failure) {
		parts_end_all(p, 0, NULL);
		parts_check(p);
		return;
	}
	if (p->held && !p->going) {
		if (!parts_ask_unheard(p))
			p->held(p->arg);
		return;
	}
	p->starting = false;
	p->fn = NULL;
	fn(outcome_ok(json_incref(p->figures)), p->arg);
	parts_check(p);
}

static void parts_home_on_start(const json_t *outcome, void *arg)
{
	struct part *part = arg;
	struct parts *p = part->parts;

	part->start = 0;
	part->restoring = false;
	part->heard_ms = clock_monotonic_ms();
	if (json_is_true(json_object_get(outcome, "again")) && !p->ending) {
		part->again = true;
		return;
	}
	p->starts--;
	if (!outcome_is_ok(outcome))
		parts_home_fail(p, part->number, outcome);
	else if (p->restore && (!p->held || p->going))
		job_restore_add_figures(p->figures, json_object_get(outcome, "result"));
	if (p->failure && p->starts && !p->ending && parts_has_links(p))
		parts_end_all(p, 0, NULL);	/* the others wait for a part that never comes */
	parts_home_started(p);
}

static unsigned int start_ms(const struct parts *p)
{
	return p->restore ? PARTS_RESTORE_MS : PARTS_START_MS;
}

/* Without the key the node refuses its part, and says why. */
static void parts_home_add_key(const struct parts *p, unsigned int node, json_t *args)
{
	const int host = parts_host(p, node);
	json_t *outcome = host < 0 || p->going || p->looking ? NULL :
			  key_of_job_add(p->common, p->job->id, p->job->record.other,
					 (unsigned int)host, args);

	json_decref(outcome);
}

static int ask_to_start(struct parts *p, unsigned int node)
{
	char key[FIRST_KEY_NAME];
	json_t *args = of_job(p);
	int err;

	json_object_set_new(args, "node", json_integer(node));
	json_object_set_new(args, "record", job_record_encode(&p->job->record));
	json_object_set(args, "nodes", rank_record_nodes(p->job->record.ranks));
	/* json_object_set() of NULL sets nothing. */
	json_object_set(args, "restore", p->restore);
	if (p->going)
		json_object_set_new(args, "go", json_true());
	else if (p->looking)
		json_object_set_new(args, "look", json_true());
	json_object_set(args, "credential", p->credential);
	parts_home_add_key(p, node, args);
	first_key_name(&jobs_common(p->job->jobs)->catalog, key);
	json_object_set_new(args, "key", json_string(key));
	err = parts_home_ask(p, node, "start", args, start_ms(p), parts_home_on_start,
			     &p->part[node], &p->part[node].start);
	p->part[node].asked = p->part[node].asked || !err;
	p->part[node].restoring = !err && p->restore && !p->going && !p->looking;
	p->part[node].heard_ms = clock_monotonic_ms();
	return err;
}

/* Ask a silent node to start again: its ckptd may have restarted and lost the question. */
static void find_lost_start(struct part *part)
{
	struct parts *p = part->parts;

	if (!part->start || clock_monotonic_ms() - part->heard_ms < PARTS_SILENT_MS)
		return;
	peer_ask_forget(nodes_asks(p->common->nodes), part->start);
	part->start = 0;
	part->restoring = false;
	part->again = true;
}

static void not_asked(struct parts *p, unsigned int node, int err)
{
	json_t *outcome = outcome_error(err, "%s", err == -EHOSTUNREACH ?
					"does not answer: see ckptctl nodes" : strerror(-err));

	parts_home_fail(p, node, outcome);
	json_decref(outcome);
}

/*
 * True if the question that failed with @err may be asked in a later tick: the queues are full of
 * messages that are still on their way, or a node that has heard of the start is restarting.
 */
static bool parts_home_may_wait(const struct part *part, int err)
{
	return (err == -EAGAIN || err == -EMFILE || (err == -EHOSTUNREACH && part->asked)) &&
	       clock_monotonic_ms() < part->start_until;
}

/*
 * Ask the nodes that have not been asked yet, had an older run to end first, or may not have heard
 * the question, as many as PARTS_ASKING_MS allows.  True: a node could not be asked, and the
 * start fails.
 */
static bool ask_again(struct parts *p)
{
	int64_t until = clock_monotonic_ms() + PARTS_ASKING_MS;
	bool failed = false;
	unsigned int i;
	int err;

	for (i = 1; i < p->nr && clock_monotonic_ms() < until; i++) {
		find_lost_start(&p->part[i]);
		if (!p->part[i].again)
			continue;
		p->part[i].again = false;
		if (!p->part[i].start_until)
			p->part[i].start_until = clock_monotonic_ms() + start_ms(p);
		err = p->ending || p->failure ? -ECANCELED : ask_to_start(p, i);
		if (!err)
			continue;
		if (parts_home_may_wait(&p->part[i], err)) {
			p->part[i].again = true;
			continue;
		}
		p->starts--;
		not_asked(p, i, err);
		failed = true;
	}
	return failed;
}

/* Ask all other nodes, the first time or once more. */
static void parts_home_begin(struct parts *p)
{
	unsigned int i;

	for (i = 1; i < p->nr; i++) {
		p->part[i].again = true;
		p->part[i].start_until = 0;
	}
	p->starts = p->nr - 1;
	ask_again(p);
	parts_home_started(p);
}

void parts_look(struct parts *p)
{
	p->looking = true;
	parts_home_begin(p);
}

void parts_go(struct parts *p)
{
	p->going = true;
	parts_home_begin(p);
}

void parts_start(struct parts *p, const json_t *restore, const json_t *credential,
		 void (*held)(void *arg), parts_started_fn fn, void *arg)
{
	p->restore = json_incref((json_t *)restore);
	p->credential = json_incref((json_t *)credential);
	p->figures = json_object();
	p->held = held;
	p->fn = fn;
	p->arg = arg;
	parts_home_begin(p);
}

void parts_cancel(struct parts *p, json_t *why)
{
	if (p->starting && !p->failure)
		p->failure = json_incref(why);
	parts_end_all(p, 0, NULL);
}

void parts_signal(struct parts *p, int signo)
{
	unsigned int i;

	for (i = 1; i < p->nr; i++) {
		json_t *args;

		if (p->part[i].ended)
			continue;
		args = of_job(p);
		json_object_set_new(args, "signal", json_integer(signo));
		parts_home_ask(p, i, "signal", args, PARTS_ASK_MS, parts_home_ignore, NULL, NULL);
	}
}

/* --------------------------------------------------------- what others say */

static bool parts_home_is_newer(const struct job *job, uint64_t run)
{
	return (uint64_t)job->record.run > run;
}

/* True if the job ran last on another node, which has it now. */
static bool parts_home_is_away(const struct job *job)
{
	const char *node = job_record_node(&job->record);

	return job->state == JOB_ELSEWHERE && node &&
	       strcmp(node, jobs_common(job->jobs)->config.node);
}

/*
 * Answer a node that asks about run @run of a job whose parts we do not have: is the run over?
 * "Yes" ends its ranks, so the answer in doubt is an error: the image directory may be away, or
 * the hosts file may have lost a name.
 */
static json_t *whether_over(struct jobs *jobs, int64_t id, uint64_t run)
{
	json_t *outcome = NULL;
	const struct job *job = jobs_reconcile(jobs, id, &outcome);
	bool over;

	if (!job && outcome_errno(outcome) != -ENOENT)
		return outcome;
	json_decref(outcome);
	over = job ? parts_home_is_newer(job, run) : !jobs_has_traces(jobs, id);
	if (!over && job && !job->parts)
		over = parts_home_is_away(job) ||
		       (!job_is_alive(job) && job->state != JOB_ELSEWHERE &&
			!jobs_has_processes(jobs, id));
	if (!over && (!job || !job_is_alive(job) || job->parts))
		return outcome_error(-EAGAIN, "what became of job %lld cannot be told here now",
				     (long long)id);
	return outcome_ok(json_pack("{s:b}", "over", (int)over));
}

/*
 * A start may take any time while that node's ckptd reports that it is starting.  A ckptd that
 * is not starting has answered, and the answer was lost, or has been restarted since: ask it
 * again, which it answers at once.
 */
static void hear_of_start(struct part *part, const json_t *args)
{
	struct parts *p = part->parts;
	struct peer_asks *asks = nodes_asks(p->common->nodes);
	const char *state = json_string_value(json_object_get(args, "state"));

	if (json_is_true(json_object_get(args, "starting"))) {
		part->restoring = !strcmp(state, "restoring");
		peer_ask_extend(asks, part->start, start_ms(p));
		part->start_until = clock_monotonic_ms() + start_ms(p);
		return;
	}
	peer_ask_forget(asks, part->start);
	part->start = 0;
	part->restoring = false;
	part->again = true;
}

static void on_part(struct peer_question *q, void *arg)
{
	struct jobs *jobs = arg;
	json_t *args = peer_question_args(q);
	json_int_t id = 0, run = 0;
	const char *state = "";
	struct parts *p;
	struct job *job;
	struct part *part;
	int node = 0;

	if (json_unpack(args, "{s:I, s:I, s:i, s:s}", "job", &id, "run", &run, "node", &node,
			"state", &state)) {
		peer_question_answer(q, outcome_error(-EPROTO, "this is no part"));
		return;
	}
	job = parts_job(jobs, id, (uint64_t)run);
	if (!job || job->parts->node) {
		peer_question_answer(q, whether_over(jobs, id, (uint64_t)run));
		return;
	}
	p = job->parts;
	if (node < 1 || node >= (int)p->nr ||
	    parts_host(p, (unsigned int)node) != (int)peer_question_from(q)) {
		peer_question_answer(q, outcome_error(-EPERM, "this is another node's part"));
		return;
	}
	part = &p->part[node];
	part->heard_ms = clock_monotonic_ms();
	if (!strcmp(state, "ended") && !part->ended)
		part->ended = !parts_end_unpack(args, &part->end);
	if (part->start)
		hear_of_start(part, args);
	/* A part that reports during the start may belong to a start that has already failed. */
	peer_question_answer(q, outcome_ok(json_pack("{s:b, s:b, s:I}", "over", 0, "restoring",
						     (int)parts_restoring(p), "lease_ms",
						     parts_lease_grant(part, args))));
	parts_check(p);
}

int parts_home_register(struct jobs *jobs)
{
	return peer_verb(nodes_asks(jobs_common(jobs)->nodes), "part", on_part, jobs);
}
