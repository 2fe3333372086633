// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restore as an operation: arguments in, restore_tree(), pids and figures out.
 *
 * The roots become children of the calling process, which must reap them: a worker
 * that stays as reaper, the init of a job's PID namespace, or ckptctl itself.
 */
#include "base/error.h"
#include "engine/op/op_args.h"
#include "engine/op/op_asker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/key.h"
#include "base/outcome.h"
#include "engine/core/sock_link.h"
#include "engine/core/write_journal.h"
#include "engine/files/path_map.h"
#include "engine/restore/restore.h"
#include "engine/restore/restore_subset.h"

struct restore_args {
	struct restore_options options;
	struct restore_subset subset;
	pid_t *pids;		/* both lists of the subset; calloc */
	const char *job;
	json_int_t generation;
	struct path_map *map;
	struct write_journal journal;
	struct asker asker;
	json_t *notes;		/* texts, in order */
	struct engine_given given;
	json_t *given_files[3];	/* by enum engine_given_kind: [[hash, path, time_ns], ...] */
	struct sock_links links;
	struct sock_link_place *places;	/* of links; malloc */
	json_t *told_links;	/* [[link, role, address], ...] */
};

static void restore_args_done(struct restore_args *args)
{
	path_map_destroy(args->map);
	write_journal_done(&args->journal);
	op_asker_done(&args->asker);
	free((void *)args->given.hashes);
	free((void *)args->given.wanted);
	free(args->places);
	json_decref(args->told_links);
	for (unsigned int i = 0; i < 3; i++)
		json_decref(args->given_files[i]);
	free(args->pids);
}

/* Put both lists of the subset into one array, args->pids. */
static json_t *op_restore_take_subset(struct restore_args *args, const json_t *roots,
				      const json_t *others)
{
	size_t i, nr_roots = json_array_size(roots), nr = nr_roots + json_array_size(others);

	if (!roots && !others)
		return NULL;
	args->pids = calloc(nr + 1, sizeof(*args->pids));
	if (!args->pids)
		return outcome_error(-ENOMEM, "out of memory");
	for (i = 0; i < nr; i++)
		args->pids[i] = (pid_t)json_integer_value(i < nr_roots ? json_array_get(roots, i) :
							  json_array_get(others, i - nr_roots));
	args->subset = (struct restore_subset) {
		.roots = args->pids, .nr_roots = (unsigned int)nr_roots,
		.others = args->pids + nr_roots, .nr_others = (unsigned int)(nr - nr_roots),
	};
	args->options.subset = &args->subset;
	return NULL;
}

/* Take [[OLD, NEW], ...]. */
static json_t *op_restore_take_map(struct restore_args *args, const json_t *list)
{
	struct ckpt_error error = { 0 };
	const char *from, *to;
	json_t *pair;
	size_t i;

	if (!list)
		return NULL;
	if (!json_is_array(list))
		return outcome_error(-EINVAL, "restore: map_path is a list of pairs");
	args->map = path_map_create();
	if (!args->map)
		return outcome_error(-ENOMEM, "out of memory");
	args->options.map = args->map;
	json_array_foreach(list, i, pair) {
		if (json_unpack(pair, "[s, s !]", &from, &to))
			return outcome_error(-EINVAL, "restore: map_path is a list of pairs");
		if (path_map_add(args->map, from, to, &error))
			return outcome_error(error.err, "%s", error.text);
	}
	return NULL;
}

/* A journal that cannot be read is an empty one: the restart says that nothing is known. */
static void op_restore_take_journal(struct restore_args *args, const char *path)
{
	if (!path)
		return;
	args->options.journal = &args->journal;
	if (write_journal_load(path, &args->journal))
		args->journal = (struct write_journal){ 0 };
}

static int op_restore_by_hash(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The hashes in @list, ascending; malloc'ed. NULL: no memory. */
static int64_t *op_restore_hashes(const json_t *list)
{
	size_t i, nr = json_array_size(list);
	int64_t *hashes = calloc(nr + 1, sizeof(*hashes));

	for (i = 0; hashes && i < nr; i++)
		hashes[i] = json_integer_value(json_array_get(list, i));
	if (hashes)
		qsort(hashes, nr, sizeof(*hashes), op_restore_by_hash);
	return hashes;
}

/* Take the hashes in the list @given; NULL: no other node is asked. */
static json_t *op_restore_take_given(struct restore_args *args, const json_t *given,
				     const json_t *wanted, bool ask)
{
	if (!given)
		return NULL;
	args->given = (struct engine_given) {
		.hashes = op_restore_hashes(given), .nr = (unsigned int)json_array_size(given),
		.wanted = op_restore_hashes(wanted),
		.nr_wanted = (unsigned int)json_array_size(wanted),
		.ask = ask && args->options.dry_run,
	};
	args->options.given = &args->given;
	return args->given.hashes && args->given.wanted ? NULL :
	       outcome_error(-ENOMEM, "out of memory");
}

static int op_restore_by_link(const void *a, const void *b)
{
	const struct sock_link_place *x = a, *y = b;

	return (x->link > y->link) - (x->link < y->link);
}

/* Take {"token": hexadecimal digits, "places": [[link, listens at, connects from], ...]}. */
static json_t *op_restore_take_links(struct restore_args *args, const json_t *links)
{
	const char *token = NULL, *listens, *connects;
	json_t *places = NULL, *place;
	json_int_t number;
	size_t i;

	if (!links)
		return NULL;
	if (json_unpack((json_t *)links, "{s:s, s:o !}", "token", &token, "places", &places) ||
	    strlen(token) != SOCK_LINK_TOKEN || !json_is_array(places))
		return outcome_error(-EINVAL, "restore: links has a token and places");
	args->places = calloc(json_array_size(places) + 1, sizeof(*args->places));
	if (!args->places)
		return outcome_error(-ENOMEM, "out of memory");
	json_array_foreach(places, i, place) {
		if (json_unpack(place, "[I, s, s !]", &number, &listens, &connects) ||
		    number < 1 || number > UINT32_MAX || strlen(listens) >= SOCK_LINK_ADDR ||
		    strlen(connects) >= SOCK_LINK_ADDR)
			return outcome_error(-EINVAL, "restore: a place of links is a number and "
					     "two addresses");
		args->places[i].link = (uint32_t)number;
		strcpy(args->places[i].listens, listens);
		strcpy(args->places[i].connects, connects);
	}
	qsort(args->places, json_array_size(places), sizeof(*args->places), op_restore_by_link);
	args->links.places = args->places;
	args->links.nr = (unsigned int)json_array_size(places);
	strcpy(args->links.token, token);
	args->options.links = &args->links;
	return NULL;
}

static json_t *op_restore_parse(json_t *json, struct restore_args *args)
{
	struct restore_options *o = &args->options;
	const char *files = NULL, *pidns = NULL, *writes = NULL;
	const json_t *roots = NULL, *others = NULL, *map = NULL, *given = NULL, *links = NULL;
	const json_t *wanted = NULL;
	int dry_run = 0, accept = 0, ask = 0, links_only = 0;
	json_error_t why;
	json_t *wrong;

	if (json_unpack_ex(json, &why, 0, "{s:s, s?b, s?b, s?s, s?s, s?s, s?I, s?o, s?o, s?o, s?s, "
			   "s?o, s?o, s?b, s?o, s?b !}",
			   "dir", &o->dir, "dry_run", &dry_run,
			   "accept_changed", &accept, "files", &files,
			   "pidns", &pidns, "job", &args->job,
			   "generation", &args->generation, "roots", &roots,
			   "others", &others, "map_path", &map, "writes", &writes,
			   "given", &given, "wanted", &wanted, "ask", &ask, "links", &links,
			   "links_only", &links_only))
		return outcome_error(-EINVAL, "restore: bad arguments: %s", why.text);
	if (op_files_parse(files, &o->files))
		return outcome_error(-EINVAL, "files is one of keep, track, carry, ignore, not %s",
				     files);
	if (op_pidns_parse(pidns, &o->pidns))
		return outcome_error(-EINVAL, "pidns is one of auto, caller, new, not %s",
				     pidns);
	o->dry_run = dry_run;
	o->links_only = dry_run && links_only;
	o->accept_changed = accept;
	op_restore_take_journal(args, writes);
	wrong = op_restore_take_given(args, given, wanted, ask) ?:
		op_restore_take_map(args, map) ?: op_restore_take_links(args, links);
	return wrong ? wrong : op_restore_take_subset(args, roots, others);
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

static const char *const op_restore_given[] = { "wants", "keeps", "made" };

static void op_restore_note(const char *text, void *arg)
{
	const struct restore_args *args = arg;

	json_array_append_new(args->notes, json_string(text));
}

/* One wish too many is of a file that nobody has, so that the part is asked again, and refuses. */
static void op_restore_tell_given(const struct engine_given_file *file, void *arg)
{
	const struct restore_args *args = arg;
	json_t *list = args->given_files[file->kind];
	size_t nr = json_array_size(list);

	if (nr < ENGINE_GIVEN_MAX)
		json_array_append_new(list, json_pack("[I, I, I]", (json_int_t)file->hash,
						      (json_int_t)file->path,
						      (json_int_t)file->time_ns));
	else if (nr == ENGINE_GIVEN_MAX && file->kind == ENGINE_GIVEN_WANTED)
		json_array_append_new(list, json_pack("[i, i, i]", -1, -1, -1));
}

static void op_restore_tell_link(uint32_t link, uint32_t role, const char *addr, void *arg)
{
	const struct restore_args *args = arg;

	json_array_append_new(args->told_links, json_pack("[I, I, s]", (json_int_t)link,
							  (json_int_t)role, addr));
}

static json_t *op_restore_run(const struct restore_args *args, pid_t *ret_roots,
			      unsigned int *ret_nr_roots)
{
	const struct restore_options *options = &args->options;
	struct ckpt_error error = { 0 };
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
		json_object_set(json_object_get(outcome, "result"), "notes", args->notes);
		for (unsigned int i = 0; args->given.ask && i < 3; i++)
			json_object_set(json_object_get(outcome, "result"), op_restore_given[i],
					args->given_files[i]);
		if (args->given.ask)
			json_object_set(json_object_get(outcome, "result"), "links",
					args->told_links);
	}
	error_done(&error);
	return outcome;
}

json_t *op_restore(const struct op_env *env, json_t *json, pid_t *ret_roots,
		   unsigned int *ret_nr_roots)
{
	struct restore_args args = { 0 };
	struct restore_options *o = &args.options;
	struct image_key *key = NULL;
	json_t *outcome = op_restore_parse(json, &args);

	*ret_nr_roots = 0;
	if (!outcome)
		outcome = op_asker_take(env, true, &args.asker, &o->asker);
	if (outcome || op_key_load(env, false, &key, &outcome)) {
		restore_args_done(&args);
		return outcome;
	}
	args.notes = json_array();
	for (unsigned int i = 0; i < 3; i++)
		args.given_files[i] = json_array();
	o->note = op_restore_note;
	o->tell_given = op_restore_tell_given;
	o->tell_link = args.given.ask ? op_restore_tell_link : NULL;
	args.told_links = json_array();
	o->note_arg = &args;
	o->key = key;
	o->beside = env->beside;
	o->shm_dir = env->shm_dir;
	o->enter = env->enter;
	o->enter_arg = env->enter_arg;
	o->held = env->held;
	o->held_arg = env->held_arg;
	o->followed = env->followed;
	o->externals = env->externals;
	o->nr_externals = env->nr_externals;
	o->progress = env->progress;
	o->progress_arg = env->progress_arg;
	outcome = op_image_expect(o->dir, key, args.job, (uint64_t)args.generation);
	if (!outcome)
		outcome = op_restore_run(&args, ret_roots, ret_nr_roots);
	image_key_destroy(key);
	json_decref(args.notes);
	restore_args_done(&args);
	return outcome;
}

json_t *op_restore_clock(const struct op_env *env, const json_t *args, int64_t *ret_ns)
{
	const char *dir = json_string_value(json_object_get(args, "dir"));
	struct ckpt_error error = { 0 };
	struct image_key *key = NULL;
	json_t *outcome = NULL;
	int err;

	if (op_key_load(env, false, &key, &outcome))
		return outcome;
	err = restore_clock(dir ? dir : "", key, ret_ns, &error);
	if (err)
		outcome = outcome_engine(err, &error);
	error_done(&error);
	image_key_destroy(key);
	return outcome;
}
