// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restore as an operation: arguments in, restore_tree(), pids and figures out.
 *
 * The roots become children of the process that calls this, which must reap
 * them; who that is (a worker that stays as reaper, the init of a job's PID
 * namespace, ckptctl itself) is the caller's choice.
 */
#include "supervisor/op_args.h"

#include <errno.h>
#include <string.h>

#include "image/key.h"
#include "supervisor/outcome.h"
#include "supervisor/restore.h"

struct restore_args {
	struct restore_options options;
	const char *job;
	json_int_t generation;
};

static json_t *parse(json_t *json, struct restore_args *args)
{
	struct restore_options *o = &args->options;
	const char *files = NULL, *pidns = NULL;
	int dry_run = 0, accept = 0;
	json_error_t why;

	if (json_unpack_ex(json, &why, 0, "{s:s, s?b, s?b, s?s, s?s, s?s, s?I !}",
			   "dir", &o->dir, "dry_run", &dry_run,
			   "accept_changed", &accept, "files", &files,
			   "pidns", &pidns, "job", &args->job,
			   "generation", &args->generation))
		return outcome_error(-EINVAL, "restore: bad arguments: %s", why.text);
	if (op_files_parse(files, &o->files))
		return outcome_error(-EINVAL, "files is one of track, carry, ignore, not %s",
				     files);
	if (op_pidns_parse(pidns, &o->pidns))
		return outcome_error(-EINVAL, "pidns is one of auto, caller, new, not %s",
				     pidns);
	o->dry_run = dry_run;
	o->accept_changed = accept;
	return NULL;
}

static json_t *figures(const struct restore_options *o,
		       const struct restore_stats *s, const pid_t *roots,
		       unsigned int nr_roots)
{
	json_t *pids = json_array();
	unsigned int i;

	for (i = 0; i < nr_roots; i++)
		json_array_append_new(pids, json_integer(roots[i]));
	return json_pack("{s:s, s:b, s:o, s:i, s:i, s:I, s:I, s:I, s:I, s:I}",
			 "dir", o->dir, "dry_run", o->dry_run, "pids", pids,
			 "processes", (int)s->nr_procs,
			 "threads", (int)s->nr_threads,
			 "plan_ns", (json_int_t)s->plan_ns,
			 "tree_ns", (json_int_t)s->tree_ns,
			 "memory_ns", (json_int_t)s->memory_ns,
			 "total_ns", (json_int_t)s->total_ns,
			 "bytes_read", (json_int_t)s->bytes_read);
}

static json_t *restore(const struct restore_options *options, pid_t *ret_roots,
		       unsigned int *ret_nr_roots)
{
	struct engine_error error = { 0 };
	struct restore_stats stats = { 0 };
	json_t *outcome;
	int n;

	n = restore_tree(options, ret_roots, OP_ROOTS_MAX, &stats, &error);
	if (n < 0) {
		outcome = outcome_engine(n, &error);
	} else {
		*ret_nr_roots = (unsigned int)n;
		outcome = outcome_ok(figures(options, &stats, ret_roots,
					     (unsigned int)n));
	}
	engine_error_done(&error);
	return outcome;
}

json_t *op_restore(const struct op_env *env, json_t *json, pid_t *ret_roots,
		   unsigned int *ret_nr_roots)
{
	struct restore_args args = { 0 };
	struct restore_options *o = &args.options;
	struct image_key *key = NULL;
	json_t *outcome = parse(json, &args);

	*ret_nr_roots = 0;
	if (outcome || op_key_load(env, false, &key, &outcome))
		return outcome;
	o->key = key;
	o->shm_dir = env->shm_dir;
	o->any_rights = env->any_rights;
	o->externals = env->externals;
	o->nr_externals = env->nr_externals;
	o->progress = env->progress;
	o->progress_arg = env->progress_arg;
	outcome = op_image_expect(o->dir, key, args.job, (uint64_t)args.generation);
	if (!outcome)
		outcome = restore(o, ret_roots, ret_nr_roots);
	image_key_destroy(key);
	return outcome;
}
