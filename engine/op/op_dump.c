// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dump as an operation: arguments in, checks before the freeze, dump_tree(), figures out.
 *
 * Every error that can be found beforehand (directory missing, not empty, read-only, key
 * unreadable) is answered before the tree notices anything.  The engine checks the tree
 * itself.
 */
#include "base/error.h"
#include "engine/op/op_args.h"
#include "engine/op/op_asker.h"
#include "engine/op/op_mpi.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "image/key.h"
#include "engine/core/sock_rules.h"
#include "engine/dump/dump.h"
#include "engine/restore/rollback_keep.h"
#include "base/outcome.h"

/* With less free space no image fits at all; its real size is known only later. */
#define DUMP_SPACE_MIN	(4ULL << 20)

struct dump_args {
	struct dump_options options;
	pid_t pids[OP_ROOTS_MAX];
	struct ckpt_exclude *excludes;	/* of the environment, then of the arguments; malloc */
	struct asker owner;
};

static json_t *parse_pids(json_t *pids, struct dump_args *args)
{
	size_t n = json_array_size(pids);
	size_t i;

	if (!n || n > OP_ROOTS_MAX)
		return outcome_error(-EINVAL, "between 1 and %d pids are needed",
				     OP_ROOTS_MAX);
	for (i = 0; i < n; i++) {
		json_int_t pid = json_integer_value(json_array_get(pids, i));

		if (pid <= 0 || pid > INT_MAX)
			return outcome_error(-EINVAL, "%lld is no pid",
					     (long long)pid);
		args->pids[i] = (pid_t)pid;
	}
	args->options.roots = args->pids;
	args->options.nr_roots = (unsigned int)n;
	return NULL;
}

static int exclude_kind(const char *word)
{
	static const char *const words[] = {
		[CKPT_EXCLUDE_RANGE] = "range",
		[CKPT_EXCLUDE_FD] = "fd",
		[CKPT_EXCLUDE_THREAD] = "thread",
	};

	for (unsigned int i = CKPT_EXCLUDE_RANGE; i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return (int)i;
	return -EINVAL;
}

static json_t *parse_exclude(json_t *json, struct ckpt_exclude *ret_exclude)
{
	json_int_t pid = 0, start = 0, end = 0;
	const char *word = NULL;
	json_error_t why;
	int kind;

	if (json_unpack_ex(json, &why, 0, "{s:s, s:I, s:I, s?I !}", "kind", &word,
			   "pid", &pid, "start", &start, "end", &end))
		return outcome_error(-EINVAL, "exclude: bad arguments: %s", why.text);
	kind = exclude_kind(word);
	if (kind < 0)
		return outcome_error(kind, "exclude: range, fd or thread, not %s", word);
	if (pid <= 0 || pid > INT_MAX)
		return outcome_error(-EINVAL, "exclude: %lld is no pid", (long long)pid);
	if (kind != CKPT_EXCLUDE_RANGE && (start < 0 || start > INT_MAX || end))
		return outcome_error(-EINVAL, "exclude: %lld is no %s", (long long)start, word);
	if (kind == CKPT_EXCLUDE_RANGE && (start < 0 || end <= start || (start | end) & 4095))
		return outcome_error(-EINVAL, "exclude: %llx-%llx is no range of whole pages",
				     (unsigned long long)start, (unsigned long long)end);
	*ret_exclude = (struct ckpt_exclude){
		.kind = (uint32_t)kind, .pid = (pid_t)pid,
		.start = (uint64_t)start, .end = (uint64_t)end,
	};
	return NULL;
}

/* Join the excludes of the environment and those of the arguments. */
static json_t *parse_excludes(const struct op_env *env, json_t *list, struct dump_args *args)
{
	size_t n = json_array_size(list), all = n + env->nr_excludes;
	json_t *outcome = NULL;

	if (list && !json_is_array(list))
		return outcome_error(-EINVAL, "exclude is a list");
	if (all > CKPT_EXCLUDE_MAX)
		return outcome_error(-E2BIG, "at most %u things can be excluded, not %zu",
				     CKPT_EXCLUDE_MAX, all);
	if (!all)
		return NULL;
	args->excludes = calloc(all, sizeof(*args->excludes));
	if (!args->excludes)
		return outcome_error(-ENOMEM, "out of memory");
	if (env->nr_excludes)
		memcpy(args->excludes, env->excludes, env->nr_excludes * sizeof(*args->excludes));
	for (size_t i = 0; i < n && !outcome; i++)
		outcome = parse_exclude(json_array_get(list, i),
					&args->excludes[env->nr_excludes + i]);
	args->options.excludes = args->excludes;
	args->options.nr_excludes = (unsigned int)all;
	return outcome;
}

static json_t *op_dump_parse(const struct op_env *env, json_t *json, struct dump_args *args)
{
	struct dump_options *o = &args->options;
	int kill = 0, dry_run = 0, copy = 0, freeze = 0, pause = 0, chain = 0, track = 0,
	    verify = 0, every = 0;
	json_int_t generation = 0;
	const char *files = NULL;
	json_t *pids = NULL, *exclude = NULL, *outcome;
	json_error_t why;

	if (json_unpack_ex(json, &why, 0,
			   "{s:o, s?s, s?b, s?b, s?b, s?s, s?i, s?i, s?I, s?s, s?o, s?s, s?i, "
			   "s?b, s?b, s?s, s?i !}",
			   "pids", &pids, "dir", &o->dir, "kill", &kill,
			   "dry_run", &dry_run, "stop_and_copy", &copy,
			   "files", &files, "freeze_timeout_ms", &freeze,
			   "max_pause_ms", &pause, "generation", &generation,
			   "job", &o->job, "exclude", &exclude, "base", &o->base,
			   "chain_max", &chain, "track", &track, "verify_base", &verify,
			   "sockets", &o->sockets, "scrub_every", &every))
		return outcome_error(-EINVAL, "dump: bad arguments: %s", why.text);
	if (freeze < 0 || pause < 0 || generation < 0 || chain < 0 || every < 0)
		return outcome_error(-EINVAL, "dump: a number is negative");
	if (op_files_parse(files, &o->files))
		return outcome_error(-EINVAL, "files is one of keep, track, carry, ignore, not %s",
				     files);
	if (o->sockets && !sock_rules_valid(o->sockets))
		return outcome_error(-EINVAL, "sockets is %s, not %s", SOCK_RULES_SYNTAX,
				     o->sockets);
	o->kill = kill;
	o->dry_run = dry_run;
	o->stop_and_copy = copy;
	o->chain_max = chain ? (unsigned int)chain : OP_CHAIN_MAX;
	o->track = track;
	o->verify_base = verify;
	o->scrub_every = (unsigned int)every;
	o->freeze_timeout_ms = (unsigned int)freeze;
	o->max_pause_ms = (unsigned int)pause;
	o->generation = (uint64_t)generation;
	if (!o->dir && !o->dry_run)
		return outcome_error(-EINVAL, "dump: the directory of the image is missing");
	outcome = parse_pids(pids, args);
	return outcome ? outcome : parse_excludes(env, exclude, args);
}

static bool directory_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true;

	if (!dir)
		return false;
	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(dir);
	return empty;
}

static json_t *op_dump_check_space(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs))
		return outcome_error(-errno, "%s: %s", path, strerror(errno));
	if (fs.f_flag & ST_RDONLY)
		return outcome_error(-EROFS, "%s is on a read-only file system: remount it or "
				     "choose another directory", path);
	if ((uint64_t)fs.f_bavail * fs.f_frsize < DUMP_SPACE_MIN)
		return outcome_error(-ENOSPC, "%s: the file system is full: free some space or "
				     "choose another directory", path);
	return NULL;
}

/* NULL if an image can be written to @dir, else an error. */
static json_t *op_dump_check_directory(const char *dir)
{
	char copy[PATH_MAX];
	const char *place = dir;

	if (strlen(dir) >= sizeof(copy))
		return outcome_error(-ENAMETOOLONG, "the name of the directory is too long");
	if (!access(dir, F_OK)) {
		if (access(dir, R_OK | X_OK))
			return outcome_error(-errno, "%s: %s", dir, strerror(errno));
		if (!directory_empty(dir))
			return outcome_error(-EEXIST, "%s exists and is not an empty directory: "
					     "choose another one or remove it", dir);
	} else {
		strcpy(copy, dir);
		place = dirname(copy);
		if (access(place, F_OK))
			return outcome_error(-errno, "%s: %s: create it first",
					     place, strerror(errno));
	}
	if (access(place, W_OK | X_OK) && errno != EROFS)
		return outcome_error(-errno, "%s cannot be written: %s", place,
				     strerror(errno));
	return op_dump_check_space(place);
}

/* Tell what became of the files that the tree may write. */
static void op_dump_files(json_t *result, const struct dump_files_told *told)
{
	static const char *const fates[] = {
		[DUMP_FATE_GROWS] = "grows", [DUMP_FATE_COPIED] = "copied",
		[DUMP_FATE_CLONED] = "cloned", [DUMP_FATE_WATCHED] = "watched",
	};
	json_t *files = json_object(), *named = json_array();

	for (unsigned int i = 0; i < DUMP_FATE__COUNT; i++)
		json_object_set_new(files, fates[i],
				    json_pack("{s:i, s:I}", "nr", (int)told->nr[i],
					      "bytes", (json_int_t)told->bytes[i]));
	for (unsigned int i = 0; i < told->nr_told; i++)
		json_array_append_new(named, json_pack("{s:o, s:s, s:I, s:b}", "path",
						       outcome_text(told->told[i].path), "how",
						       fates[told->told[i].fate], "bytes",
						       (json_int_t)told->told[i].size, "once",
						       told->told[i].once));
	json_object_set_new(result, "files", files);
	json_object_set_new(result, "files_named", named);
	if (told->closed_asked)
		json_object_set_new(result, "files_closed",
				    json_pack("{s:b, s:b, s:I}", "known", told->closed_known,
					      "complete", told->closed_known && !told->closed_lost,
					      "since", (json_int_t)told->closed_since));
}

/* Tell how many unwritten pages were compared with the base, and which of them differ. */
static void op_dump_scrub(json_t *result, const struct dump_scrub_told *told)
{
	json_t *at = json_array();
	char addr[20], start[20], end[20];

	for (unsigned int i = 0; i < told->nr_told; i++) {
		const struct dump_scrub_page *page = &told->told[i];

		snprintf(addr, sizeof(addr), "%llx", (unsigned long long)page->addr);
		snprintf(start, sizeof(start), "%llx", (unsigned long long)page->start);
		snprintf(end, sizeof(end), "%llx", (unsigned long long)page->end);
		json_array_append_new(at, json_pack("{s:i, s:o, s:s, s:s, s:s, s:o}", "pid",
						    (int)page->pid, "command",
						    outcome_text(page->command), "address", addr,
						    "start", start, "end", end, "mapping",
						    outcome_text(page->mapping)));
	}
	json_object_set_new(result, "scrub", json_pack("{s:I, s:I, s:I, s:o}", "pages",
						       (json_int_t)told->pages, "wrong",
						       (json_int_t)told->wrong, "ns",
						       (json_int_t)told->ns, "at", at));
}

static json_t *op_dump_figures(const struct dump_options *o, const struct dump_stats *s)
{
	json_t *result = json_pack("{s:b, s:b, s:i, s:i}",
				   "dry_run", o->dry_run, "killed", o->kill && !o->dry_run,
				   "processes", (int)s->nr_procs,
				   "threads", (int)s->nr_threads);
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "freeze_ns", s->freeze_ns }, { "collect_ns", s->collect_ns },
		{ "clone_ns", s->clone_ns }, { "thaw_ns", s->thaw_ns }, { "pause_ns", s->pause_ns },
		{ "pages_ns", s->pages_ns }, { "contents_ns", s->contents_ns },
		{ "sync_ns", s->sync_ns }, { "commit_ns", s->commit_ns },
		{ "total_ns", s->total_ns }, { "bytes_mapped", s->bytes_mapped },
		{ "bytes_raw", s->bytes_raw }, { "bytes_stored", s->bytes_stored },
		{ "pages_data", s->pages_data }, { "pages_zero", s->pages_zero },
		{ "pages_shared", s->pages_shared },
		{ "pages_same", s->pages_same }, { "pages_base", s->pages_base },
		{ "pages_excluded", s->pages_excluded },
		{ "pages_untouched", s->pages_untouched }, { "pages_file", s->pages_file },
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_object_set_new(result, numbers[i].name,
				    json_integer((json_int_t)numbers[i].value));
	if (o->kill && !o->dry_run)
		json_object_del(result, "thaw_ns");
	op_dump_files(result, &s->files);
	if (s->l0)
		json_object_set_new(result, "l0", json_true());
	if (o->dir)
		json_object_set_new(result, "dir", json_string(o->dir));
	if (o->scrub_every && s->incremental)
		op_dump_scrub(result, &s->scrub);
	if (s->incremental)
		json_object_set_new(result, "base", json_integer((json_int_t)s->base));
	if (s->why_full[0])
		json_object_set_new(result, "why_full", json_string(s->why_full));
	if (o->stop_and_copy && !o->kill)
		json_object_set_new(result, "in_place", json_true());
	return result;
}

static json_t *op_dump_run(const struct dump_options *options)
{
	struct ckpt_error error = { 0 };
	struct dump_stats stats = { 0 };
	json_t *outcome;
	int err;

	err = dump_tree(options, &stats, &error);
	if (err)
		outcome = outcome_engine(err, &error);
	else
		outcome = outcome_ok(op_dump_figures(options, &stats));
	error_done(&error);
	return outcome;
}

json_t *op_dump(const struct op_env *env, json_t *json)
{
	struct dump_args args = { 0 };
	struct dump_options *o = &args.options;
	struct image_key *key = NULL;
	json_t *outcome = op_dump_parse(env, json, &args);

	if (!outcome && o->dir)
		outcome = op_dump_check_directory(o->dir);
	if (!outcome)
		outcome = op_asker_take(env, false, &args.owner, &o->owner);
	if (outcome || (!o->dry_run && op_key_load(env, true, &key, &outcome))) {
		op_asker_done(&args.owner);
		free(args.excludes);
		return outcome;
	}
	o->key = key;
	o->descendants = env->descendants;
	o->shm_dir = env->shm_dir;
	o->externals = env->externals;
	o->nr_externals = env->nr_externals;
	o->living = env->living;
	o->nr_living = env->nr_living;
	o->progress = env->progress;
	o->progress_arg = env->progress_arg;
	o->frozen = env->frozen;
	o->targeted = env->targeted;
	o->frozen_arg = env->frozen_arg;
	o->flushed = env->flushed;
	o->links = env->links;
	o->captured = env->captured;
	o->stored = env->stored;
	o->commits = env->commits;
	o->hold_arg = env->hold_arg;
	o->memory = env->memory;
	o->files_max = env->files_max;
	o->nr_nodes = env->nr_nodes;
	o->writes_tag = env->writes_tag;
	o->holder = env->holder;
	o->holder_max = env->holder_max;
	o->holder_wants = rollback_keep_can;
	o->note = env->note;
	o->record = env->record;
	outcome = op_dump_run(o);
	/* a held dump is one of ranks that ckptrun has started */
	if (!env->nr_living)
		op_mpi_explain(outcome);
	image_key_destroy(key);
	op_asker_done(&args.owner);
	free(args.excludes);
	return outcome;
}
