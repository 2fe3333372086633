// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rollback as an operation: arguments in, rollback_tree(), how the tree is and figures out.
 *
 * Owns the words of the arguments and of the answer; decides nothing. A rollback that is not
 * possible in place is no error: the caller restarts the tree instead.
 */
#include "base/error.h"
#include "engine/op/op_args.h"
#include "engine/op/op_asker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/outcome.h"
#include "engine/restore/rollback.h"
#include "image/key.h"

struct rollback_args {
	struct restore_options restore;
	struct rollback_options options;
	const char *job;
	json_int_t generation;
	struct asker asker;
	json_t *notes;		/* texts, in order */
};

static json_t *op_rollback_parse(json_t *json, struct rollback_args *args)
{
	struct restore_options *o = &args->restore;
	const char *files = NULL, *pidns = NULL;
	int accept = 0, init = 0, reread = 0;
	json_int_t library[2] = { 0 };
	json_error_t why;

	if (json_unpack_ex(json, &why, 0,
			   "{s:s, s:i, s?b, s?b, s?[I, I], s?s, s?s, s?s, s?I, s?s !}",
			   "dir", &o->dir, "init", &init, "accept_changed", &accept,
			   "reread", &reread, "library", &library[0], &library[1],
			   "files", &files, "pidns", &pidns, "job", &args->job, "generation",
			   &args->generation, "writes", &args->options.journal))
		return outcome_error(-EINVAL, "rollback: bad arguments: %s", why.text);
	if (op_files_parse(files, &o->files))
		return outcome_error(-EINVAL, "files is one of keep, track, carry, ignore, not %s",
				     files);
	o->accept_changed = accept;
	args->options.reread = reread;
	args->options.ranks = library[1];
	args->options.library[0] = (uint64_t)library[0];
	args->options.library[1] = (uint64_t)library[1];
	args->options.init = (pid_t)init;
	args->options.descendants = true;
	return NULL;
}

static void op_rollback_note(const char *text, void *arg)
{
	json_array_append_new(arg, json_string(text));
}

static json_t *op_rollback_figures(const struct rollback_stats *stats, json_t *notes)
{
	const struct restore_stats *s = &stats->restore;

	return json_pack("{s:b, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "in_place", true,
			 "processes", (int)s->nr_procs, "threads", (int)s->nr_threads,
			 "pause_ns", (json_int_t)stats->pause_ns,
			 "memory_ns", (json_int_t)s->memory_ns,
			 "total_ns", (json_int_t)s->total_ns,
			 "bytes_read", (json_int_t)s->bytes_read,
			 "bytes_kept", (json_int_t)stats->kept,
			 "bytes_copied", (json_int_t)s->bytes_copied, "notes", notes);
}

static json_t *op_rollback_run(struct rollback_args *args)
{
	struct ckpt_error error = { 0 };
	struct rollback_stats stats;
	enum rollback_end end;
	json_t *outcome;
	int ret = rollback_tree(&args->options, &end, &stats, &error);

	if (!ret)
		outcome = outcome_ok(op_rollback_figures(&stats, args->notes));
	else if (end == ROLLBACK_REFUSED)
		outcome = outcome_engine(ret, &error);
	else
		outcome = outcome_ok(json_pack("{s:b, s:b, s:o}", "in_place", false, "ended",
					       end == ROLLBACK_LOST, "why",
					       outcome_text(error.text)));
	error_done(&error);
	return outcome;
}

json_t *op_rollback(const struct op_env *env, json_t *json)
{
	struct rollback_args args = { 0 };
	struct restore_options *o = &args.restore;
	struct image_key *key = NULL;
	json_t *outcome = op_rollback_parse(json, &args);

	if (!outcome)
		outcome = op_asker_take(env, true, &args.asker, &o->asker);
	if (outcome || op_key_load(env, false, &key, &outcome)) {
		op_asker_done(&args.asker);
		return outcome;
	}
	args.notes = json_array();
	o->note = op_rollback_note;
	o->note_arg = args.notes;
	o->key = key;
	o->progress = env->progress;
	o->progress_arg = env->progress_arg;
	args.options.restore = o;
	args.options.externals = env->externals;
	args.options.nr_externals = env->nr_externals;
	args.options.targeted = env->targeted;
	args.options.frozen = env->frozen;
	args.options.completes = env->commits;
	args.options.arg = env->frozen_arg;
	outcome = op_image_expect(o->dir, key, args.job, (uint64_t)args.generation);
	if (!outcome)
		outcome = op_rollback_run(&args);
	image_key_destroy(key);
	json_decref(args.notes);
	op_asker_done(&args.asker);
	return outcome;
}
