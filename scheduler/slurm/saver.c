// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to ckptd about the job of a launch; see saver.h.
 *
 * Each request has a connection of its own, so that a ckptd that was restarted in between is no
 * failure. ckptd decides whether this user may ask, and takes so many connections of one user: when
 * all batch jobs of a node are preempted at once, or start, some have to ask again.
 */
#include "scheduler/slurm/saver.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "libckptctl/ckptctl.h"

#define PATIENCE_MS	30000	/* for a ckptd that is being restarted, or has no place */
#define BUSY_MS		300000	/* for a ckptd that saves all batch jobs of a node at once */
#define PAUSE_NS	500000000

static int saver_connect(struct ckpt **ret_ckpt, char *why, unsigned int size)
{
	int err = ckpt_connect(NULL, ret_ckpt);

	if (err)
		snprintf(why, size, "ckptd of this node is not there: %s", strerror(-err));
	return err;
}

/* Make a request on a connection of its own, to be closed, also after a failure. */
static int saver_ask(const char *verb, const char *args, struct ckpt **ret_ckpt, char *why,
		     unsigned int size)
{
	int err = saver_connect(ret_ckpt, why, size);

	if (err)
		return err;
	err = ckpt_call(*ret_ckpt, verb, args, NULL, 0);
	if (err)
		snprintf(why, size, "%s", ckpt_error_text(*ret_ckpt));
	return err;
}

/* The same, until ckptd is there and has a place for the connection. */
static int saver_ask_patiently(const char *verb, const char *args, struct ckpt **ret_ckpt,
			       char *why, unsigned int size)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int64_t end = clock_monotonic_ms() + PATIENCE_MS;
	int err;

	for (;;) {
		err = saver_ask(verb, args, ret_ckpt, why, size);
		if ((*ret_ckpt && err != -EBUSY) || clock_monotonic_ms() >= end)
			return err;
		ckpt_disconnect(*ret_ckpt);
		*ret_ckpt = NULL;
		nanosleep(&pause, NULL);
	}
}

/* Ask once; *@ret_result: a new reference, NULL after a failure. */
static int saver_result(const char *verb, const char *args, json_t **ret_result)
{
	struct ckpt *ckpt = NULL;
	json_t *answer = NULL;
	char why[64];
	int err = saver_ask(verb, args, &ckpt, why, sizeof(why));

	if (!err)
		answer = json_loads(ckpt_answer(ckpt), 0, NULL);
	*ret_result = json_incref(json_object_get(answer, "result"));
	json_decref(answer);
	ckpt_disconnect(ckpt);
	return err ?: *ret_result ? 0 : -EPROTO;
}

/* How much a generation is trusted: 2 a vote found it right, 1 not doubted, 0 doubted. */
static int saver_trust(const json_t *row)
{
	const char *trust = json_string_value(json_object_get(row, "trust"));

	if (trust && (!strcmp(trust, "suspect") || !strcmp(trust, "rejected")))
		return 0;
	return trust && (!strcmp(trust, "verified") || !strcmp(trust, "repaired")) ? 2 : 1;
}

/* The rows so far: the newest, how much it is trusted, and the newest of each trust. */
struct saver_choice {
	int64_t newest;
	int trust;
	int64_t right;		/* trust 2 */
	int64_t undoubted;	/* trust 1 or 2 */
};

static void saver_consider(struct saver_choice *choice, int64_t number, int trust)
{
	choice->newest = number;
	choice->trust = trust;
	if (trust)
		choice->undoubted = number;
	if (trust == 2)
		choice->right = number;
}

/* As ckptd prefers by itself (trust_prefer()), but nobody has said that a doubted one will do. */
static int64_t saver_choose(const struct saver_choice *choice)
{
	return choice->trust ? choice->newest : choice->right ?: choice->undoubted;
}

/* Take the rows of a job, ascending by generation. */
static void saver_take_rows(struct saver_job *job, int64_t than, const json_t *generations)
{
	struct saver_choice all = { 0 }, older = { 0 };
	json_t *row;
	size_t i;

	json_array_foreach(generations, i, row) {
		int64_t number = json_integer_value(json_object_get(row, "generation"));
		int trust = saver_trust(row);

		if (json_object_get(row, "error"))
			continue;
		job->oldest = job->oldest ?: number;
		saver_consider(&all, number, trust);
		if (number < than)
			saver_consider(&older, number, trust);
	}
	job->newest = all.newest;
	job->best = saver_choose(&all);
	job->older = saver_choose(&older);
}

/* Find the generations of @ret->job that a restart may use. */
static int saver_generations(struct saver_job *ret, int64_t than)
{
	json_t *result, *generations;
	char args[64];
	int err;

	snprintf(args, sizeof(args), "{\"job\": %lld}", (long long)ret->job);
	err = saver_result("list", args, &result);
	if (err)
		return err;
	generations = json_object_get(json_array_get(json_object_get(result, "jobs"), 0),
				      "generations");
	saver_take_rows(ret, than, generations);
	err = generations ? 0 : -EPROTO;
	json_decref(result);
	return err;
}

/* Is there a job later than @job whose record cannot be read, and so not its name either? */
static bool saver_is_hidden(const json_t *result, int64_t job)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "unreadable"), i, row) {
		if (json_integer_value(json_object_get(row, "job")) > job)
			return true;
	}
	return false;
}

static int saver_find_older(const char *name, int64_t than, struct saver_job *ret)
{
	json_t *result, *job;
	struct saver_job found = { 0 };
	size_t i;
	int err = saver_result("ps", "{\"all\": true}", &result);

	if (err)
		return err;
	json_array_foreach(json_object_get(result, "jobs"), i, job) {
		const char *called = json_string_value(json_object_get(job, "name")),
			   *state = json_string_value(json_object_get(job, "state"));
		int64_t number = json_integer_value(json_object_get(job, "job"));

		if (!called || strcmp(called, name) || number <= found.job ||
		    json_integer_value(json_object_get(job, "uid")) != (json_int_t)geteuid())
			continue;
		found.job = number;
		found.saved = state && !strcmp(state, "saved");
		found.lost = state && !strcmp(state, "lost");
		found.runs = state && strcmp(state, "ended") && !found.saved && !found.lost;
		found.ranks = json_object_get(job, "nr_ranks");
		found.status = json_integer_value(json_object_get(job, "exit_status"));
		found.told = json_integer_value(json_object_get(job, "kill_signal")) == SIGTERM;
		snprintf(found.state, sizeof(found.state), "%s", state ? state : "unknown");
	}
	found.hidden = saver_is_hidden(result, found.job);
	json_decref(result);
	if (found.job)
		err = saver_generations(&found, than);
	if (!err)
		*ret = found;
	return err;
}

int saver_find(const char *name, struct saver_job *ret)
{
	return saver_find_older(name, 0, ret);
}

/* After @err, and a pause: is it worth asking again? */
static bool saver_again(int err, int64_t begun)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (!err || err == -EPERM || clock_monotonic_ms() - begun >=
	    (err == -EBUSY ? BUSY_MS : PATIENCE_MS))
		return false;
	nanosleep(&pause, NULL);
	return true;
}

int saver_find_patiently(const char *name, int64_t than, struct saver_job *ret)
{
	int64_t begun = clock_monotonic_ms();
	int err;

	do
		err = saver_find_older(name, than, ret);
	while (saver_again(err, begun));
	return err;
}

/* ------------------------------------------------------- all jobs of a batch job */

static int saver_all(bool patient, json_t **ret_result)
{
	int64_t begun = clock_monotonic_ms();
	int err;

	do
		err = saver_result("ps", "{\"all\": true}", ret_result);
	while (patient && saver_again(err, begun));
	return err;
}

/* Does a launch of the job's name go on with it? One that Slurm has killed is not over. */
static bool saver_waits(const json_t *job)
{
	const char *state = json_string_value(json_object_get(job, "state"));
	int64_t status = json_integer_value(json_object_get(job, "exit_status"));

	return !state || strcmp(state, "ended") || status == 128 + SIGTERM ||
	       status == 128 + SIGKILL ||
	       json_integer_value(json_object_get(job, "kill_signal")) == SIGTERM;
}

/* Take the job's name apart; false: it is none of @command, or another user's. */
static bool saver_step(const json_t *job, const char *prefix, uint32_t command,
		       struct step_job *ret)
{
	const char *name = json_string_value(json_object_get(job, "name"));
	size_t len = strlen(prefix);

	if (!name || strncmp(name, prefix, len) ||
	    !step_parse(name + len, &ret->key, &ret->number) || ret->key.command != command ||
	    json_integer_value(json_object_get(job, "uid")) != (json_int_t)geteuid())
		return false;
	ret->waits = saver_waits(job);
	return true;
}

int saver_steps(const char *prefix, uint32_t command, bool patient, struct step_job **ret_jobs,
		size_t *ret_nr)
{
	struct step_job step, *steps;
	json_t *result, *jobs, *job;
	size_t i, n, nr = 0;
	int err = saver_all(patient, &result);

	*ret_jobs = NULL;
	*ret_nr = 0;
	if (err)
		return err;
	jobs = json_object_get(result, "jobs");
	steps = calloc(json_array_size(jobs) + 1, sizeof(*steps));
	json_array_foreach(jobs, i, job) {
		if (!steps || !saver_step(job, prefix, command, &step))
			continue;
		/* Ascending by job: a later one takes the place of one of the same name. */
		for (n = 0; n < nr && (steps[n].number != step.number ||
				       memcmp(&steps[n].key, &step.key, sizeof(step.key))); n++)
			;
		steps[n] = step;
		nr += n == nr;
	}
	json_decref(result);
	*ret_jobs = steps;
	*ret_nr = nr;
	return steps ? 0 : -ENOMEM;
}

int saver_knows(int64_t job)
{
	json_t *result, *row;
	bool known;
	size_t i;
	int err = saver_all(true, &result);

	if (err)
		return err;
	known = json_array_size(json_object_get(result, "unreadable")) > 0;
	json_array_foreach(json_object_get(result, "jobs"), i, row)
		known |= json_integer_value(json_object_get(row, "job")) == job;
	json_decref(result);
	return known;
}

int64_t saver_cost_ms(int64_t job)
{
	json_t *result, *row;
	int64_t most = 0, ns;
	char args[64];
	size_t i;

	snprintf(args, sizeof(args), "{\"job\": %lld, \"last\": 3}", (long long)job);
	if (saver_result("stats", args, &result))
		return 0;
	json_array_foreach(json_object_get(result, "checkpoints"), i, row) {
		ns = json_integer_value(json_object_get(row, "total_ns"));
		most = ns > most ? ns : most;
	}
	json_decref(result);
	return most / 1000000;
}

/* ---------------------------------------------------------------------- saving */

/* Are all reasons against a checkpoint pipes that lead out of the job? */
static bool saver_only_pipes(const struct ckpt *ckpt)
{
	struct ckpt_refusal refusal = { .size = sizeof(refusal) };
	unsigned int i, n = ckpt_refusal_count(ckpt);

	for (i = 0; i < n; i++) {
		if (ckpt_refusal_get(ckpt, i, &refusal) || strcmp(refusal.name, "PIPE_EXTERNAL"))
			return false;
	}
	return n > 0;
}

int saver_check(int64_t job, bool pipes, char *why, unsigned int size)
{
	struct ckpt *ckpt = NULL;
	char args[64];
	int err;

	snprintf(args, sizeof(args), "{\"job\": %lld, \"dry_run\": true}", (long long)job);
	err = saver_ask_patiently("checkpoint", args, &ckpt, why, size);
	if (err && pipes && saver_only_pipes(ckpt))
		err = 0;
	ckpt_disconnect(ckpt);
	return err;
}

int saver_save(int64_t job, char *why, unsigned int size)
{
	struct ckpt *ckpt = NULL;
	char args[64];
	int err;

	snprintf(args, sizeof(args), "{\"job\": %lld, \"kill\": true}", (long long)job);
	err = saver_ask_patiently("checkpoint", args, &ckpt, why, size);
	ckpt_disconnect(ckpt);
	return err;
}

int saver_remove(int64_t job, char *why, unsigned int size)
{
	struct ckpt *ckpt = NULL;
	char args[64];
	int err;

	snprintf(args, sizeof(args), "{\"job\": %lld, \"force\": true}", (long long)job);
	err = saver_ask("rm", args, &ckpt, why, size);
	ckpt_disconnect(ckpt);
	return err;
}
