// SPDX-License-Identifier: GPL-2.0-only
/*
 * Diagnoses from images; see image_look.h. Owns the images that it opens, for the time of a call.
 * Opens everything that needs root's rights first: the images. Then the process becomes the job's
 * owner, as it reads files that the owner named; it must not read them as root.
 */
#include "supervisor/diagnose/image_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "engine/op/op_args.h"
#include "supervisor/diagnose/saved_job.h"
#include "supervisor/diagnose/report.h"
#include "supervisor/diagnose/stacks.h"

/* The image of one node, and of an earlier generation if there is one. */
struct image_part {
	const char *node;	/* borrowed */
	struct saved_job now, before;
};

struct image_look {
	const struct op_env *env;
	const struct image_key *key;
	struct image_part *part;
	size_t nr;
	bool stacks;
	json_int_t recent, full;	/* as in struct threads_of */
	json_t *notes, *away, *looks;
};

/* ------------------------------------------------------------- one thread */

/* The memory of a rank's process in an image, and the place of its thread there. */
struct image_thread {
	const struct state_thread *thread;
	struct image_memory *memory;	/* NULL: none */
	struct thread_sample sample;
	struct place place;
	bool placed;
};

/* The thread @tid of the image; false: it is not in it. */
static bool image_thread_open(struct saved_job *s, uint32_t tid, struct image_thread *out)
{
	/* by DWARF's numbers 6, 3, 12 to 15, in user_regs_struct's order */
	static const unsigned int preserved[] = { 4, 5, 3, 2, 1, 0 };
	const struct ckpt_rec_thread *rec;

	*out = (struct image_thread){ .thread = state_thread_find(s->state, (pid_t)tid) };
	if (!out->thread)
		return false;
	rec = out->thread->rec;
	out->sample = (struct thread_sample){
		.known = true, .ip = rec->regs[16], .sp = rec->regs[19],
		.state = out->thread->proc->rec->state == CKPT_PROC_STOPPED ? 'T' :
			 rec->flags & CKPT_THREAD_IN_SYSCALL ? 'S' : 'R',
	};
	for (unsigned int i = 0; i < ARRAY_SIZE(preserved); i++)
		out->sample.preserved[i] = rec->regs[preserved[i]];
	if (out->thread->proc->mm &&
	    !image_memory_open(s->reader, out->thread->proc->mm, s->files, &out->memory))
		out->placed = image_memory_find(out->memory, out->sample.ip, &out->place);
	return true;
}

static json_t *image_thread_frames(struct image_thread *t)
{
	const struct stack_source of = {
		.places = image_memory_places(t->memory), .pid = t->thread->rec->pid,
		.tid = t->thread->rec->tid, .last = &t->sample,
		.report = image_memory_report, .arg = t->memory,
	};

	return stacks_frames(&of);
}

/* Was the thread in the same call, or outside the same two calls, in the earlier image? */
static bool image_thread_stayed(const struct saved_job *before, const struct reading *now,
				const struct status_thread *t)
{
	const struct reading *page = saved_job_page(before, now->head.rank);
	const struct status_thread *was = page ? reading_thread(page, t->tid) : NULL;

	return was && was->ops == t->ops && was->call == t->call;
}

static void image_thread_compare(struct image_part *part, const struct reading *now,
				 const struct status_thread *t, struct seen *seen)
{
	struct image_thread was;

	if (!part->before.reader || !image_thread_stayed(&part->before, now, t) ||
	    !image_thread_open(&part->before, t->tid, &was))
		return;
	seen->samples = 2;
	if (was.sample.state != seen->state)
		seen->state = 0;
	seen->steady = seen->placed && was.placed && row_same_place(&was.place, &seen->place);
	seen->in_library = seen->in_library && was.placed &&
			   row_in_library(&was.place, was.sample.ip);
	seen->busy = seen->busy && was.sample.state == 'R';
	image_memory_close(was.memory);
}

static json_t *image_look_thread(struct image_look *look, struct image_part *part,
				 const struct reading *now, const struct status_thread *t)
{
	struct image_thread thread;
	struct seen seen;
	json_t *json;

	if (!image_thread_open(&part->now, t->tid, &thread))
		return NULL;
	seen = (struct seen){
		.pid = thread.thread->rec->pid, .tid = thread.thread->rec->tid, .samples = 1,
		.state = thread.sample.state, .placed = thread.placed,
		.busy = thread.sample.state == 'R', .place = thread.place,
		.in_library = thread.placed && row_in_library(&thread.place, thread.sample.ip),
	};
	image_thread_compare(part, now, t, &seen);
	json = row_thread(&seen);
	if (look->stacks && thread.memory)
		json_object_set_new(json, "frames", image_thread_frames(&thread));
	image_memory_close(thread.memory);
	return json;
}

/* ------------------------------------------------------------------- rows */

static void image_look_recent(const struct image_look *look, const struct image_part *part,
			      const struct reading *now, const struct status_thread *t, json_t *row)
{
	const bool full = look->full == now->head.rank;
	const size_t index = t ? (size_t)(t - now->thread) : STATUS_THREADS;

	if (index < now->nr_rings && (full || look->recent > 0))
		row_recent(row, &now->ring[index], t, now->head.mpi, part->now.now_ns,
			   full ? STATUS_OPS : (unsigned int)look->recent);
}

static json_t *image_look_row(struct image_look *look, struct image_part *part,
			      const struct reading *now)
{
	const struct status_thread *t = reading_main(now);
	/* all ranks stand still for the image: what they waited for before that counts */
	json_t *row = row_make(now, t, part->now.now_ns, false), *thread;

	json_object_set_new(row, "node", json_string(part->node));
	image_look_recent(look, part, now, t, row);
	json_object_set_new(row, "moved", json_false());
	thread = t ? image_look_thread(look, part, now, t) : NULL;
	if (thread)
		json_object_set_new(row, "thread", thread);
	else
		json_object_set_new(row, "life", json_string("ended"));
	return row;
}

static void image_look_bad_file(const char *path, void *arg)
{
	json_t *notes = arg, *text, *note;
	size_t i;

	text = json_sprintf("%s is missing, or is of another build than in the image: functions "
			    "in it have no names, and stacks may end there", path);
	json_array_foreach(notes, i, note) {
		if (json_equal(note, text)) {
			json_decref(text);
			return;
		}
	}
	json_array_append_new(notes, text);
}

static json_t *image_look_rows(struct image_look *look)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < look->nr; i++) {
		struct image_part *part = &look->part[i];

		for (unsigned int k = 0; k < part->now.nr; k++)
			json_array_append_new(rows, image_look_row(look, part, &part->now.page[k]));
		image_files_bad(part->now.files, image_look_bad_file, look->notes);
		json_array_append_new(look->looks,
				      json_pack("{s:s, s:i, s:b}", "node", part->node, "samples",
						part->before.reader ? 2 : 1, "module", false));
	}
	return rows;
}

/* ------------------------------------------------------------------- open */

static void image_look_before(struct image_look *look, struct image_part *part, const char *dir)
{
	struct ckpt_error error = { 0 };

	if (dir && saved_job_open(dir, look->key, look->env->viewer, &part->before, &error))
		json_array_append_new(look->notes, json_sprintf("the generation before this one is "
								"not looked at: %s", error.text));
}

/* The directory of the image of @node among @parts; NULL: none here. */
static const char *image_look_part_dir(const json_t *parts, const char *node)
{
	const json_t *part;
	size_t i;

	json_array_foreach(parts, i, part) {
		const char *name = json_string_value(json_object_get(part, "node"));

		if (name && !strcmp(name, node) && !json_is_true(json_object_get(part, "away")))
			return json_string_value(json_object_get(part, "dir"));
	}
	return NULL;
}

static json_t *image_look_open(struct image_look *look, const char *dir, const char *before,
			       const char *node)
{
	struct image_part *part = &look->part[look->nr];
	struct ckpt_error error = { 0 };
	int err = saved_job_open(dir, look->key, look->env->viewer, &part->now, &error);

	if (err)
		return outcome_error(err, "%s: %s", error_path_tail(dir), error.text);
	part->node = node ?: image_manifest(part->now.reader)->identity.hostname;
	look->nr++;
	image_look_before(look, part, before);
	return NULL;
}

/* Open the images of all nodes that are here. NULL, or an outcome. */
static json_t *image_look_open_parts(struct image_look *look, const json_t *parts,
				     const json_t *before)
{
	json_t *outcome = NULL;
	const json_t *part;
	size_t i;

	json_array_foreach(parts, i, part) {
		const char *node = json_string_value(json_object_get(part, "node")) ?: "?";
		const char *dir = image_look_part_dir(parts, node);

		if (dir)
			outcome = image_look_open(look, dir, image_look_part_dir(before, node),
						  node);
		else
			json_array_append_new(look->away, json_string(node));
		if (outcome)
			return outcome;
	}
	return look->nr ? NULL : outcome_error(-ENOENT, "no image of the generation is on this "
					       "node");
}

/* ----------------------------------------------------------------- result */

static json_t *image_look_result(struct image_look *look, json_int_t patience_ms)
{
	const struct image_manifest *m = image_manifest(look->part[0].now.reader);
	json_t *rows, *result;
	int err = stacks_become(m->identity.uid, m->identity.gid);

	if (err)
		return outcome_error(err, "cannot take the rights of user %u: %s", m->identity.uid,
				     strerror(-err));
	rows = image_look_rows(look);
	result = report_make(rows, look->part[0].now.nr_ranks, (uint64_t)patience_ms);
	if (!result)
		return outcome_error(-ENOMEM, "out of memory");
	json_object_set_new(result, "generation", json_integer((json_int_t)m->generation));
	json_object_set_new(result, "job", json_integer(strtoll(m->job ?: "0", NULL, 10)));
	json_object_set_new(result, "created", json_integer((json_int_t)(m->identity.created_ns /
									 1000000000)));
	json_object_set_new(result, "patience_ms", json_integer(patience_ms));
	json_object_set(result, "looks", look->looks);
	if (json_array_size(look->away))
		json_object_set(result, "away_nodes", look->away);
	if (json_array_size(look->notes))
		json_object_set(result, "notes", look->notes);
	return outcome_ok(result);
}

static json_t *image_look_run(struct image_look *look, json_t *args, const char *dir,
			      json_int_t patience_ms)
{
	json_t *parts = json_object_get(args, "parts");
	const char *before = json_string_value(json_object_get(args, "before"));
	json_t *outcome;

	look->part = calloc(json_array_size(parts) + 1, sizeof(*look->part));
	if (!look->part)
		return outcome_error(-ENOMEM, "out of memory");
	if (parts)
		outcome = image_look_open_parts(look, parts, json_object_get(args, "before_parts"));
	else
		outcome = image_look_open(look, dir, before, NULL);
	if (!outcome)
		outcome = image_look_result(look, patience_ms);
	for (size_t i = 0; i < look->nr; i++) {
		saved_job_close(&look->part[i].now);
		saved_job_close(&look->part[i].before);
	}
	free(look->part);
	return outcome;
}

json_t *diagnose_image(const struct op_env *env, json_t *args)
{
	struct image_look look = { .env = env };
	struct image_key *key = NULL;
	json_int_t patience_ms = 0;
	json_t *outcome = NULL;
	const char *dir = NULL;
	json_error_t why;
	int stacks = 0;

	look.full = -1;
	if (json_unpack_ex(args, &why, 0, "{s?s, s:I, s?b, s?I, s?I}", "dir", &dir, "patience_ms",
			   &patience_ms, "stacks", &stacks, "recent", &look.recent, "rank",
			   &look.full) ||
	    (!dir && !json_object_get(args, "parts")))
		return outcome_error(-EINVAL, "bad arguments");
	if (op_key_load(env, false, &key, &outcome))
		return outcome;
	look.key = key;
	look.stacks = stacks;
	look.notes = json_array();
	look.away = json_array();
	look.looks = json_array();
	outcome = image_look_run(&look, args, dir, patience_ms);
	json_decref(look.notes);
	json_decref(look.away);
	json_decref(look.looks);
	image_key_destroy(key);
	return outcome;
}
