// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restoring a job's images on this node; see restore.h.
 *
 * Images are restored one after the other, and run together. The one whose clock is ahead is first:
 * its tree gets a time namespace, which the other trees enter, so no clock goes backwards. The
 * others' clocks may jump ahead, by the difference of their nodes' uptimes.
 */
#include "shim/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/op/op.h"
#include "shim/confine.h"
#include "base/outcome.h"

#define LAST_PID	"/proc/sys/kernel/ns_last_pid"
#define PIDS_LEAST	64	/* pids per node below which spreading is not worth it */

/* --------------------------------------------------------------- numbers */

static long read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? strtol(text, NULL, 10) : -1;
}

static void set_last_pid(long pid)
{
	FILE *f = fopen(LAST_PID, "we");

	if (!f)
		return;
	fprintf(f, "%ld", pid);
	fclose(f);
}

void restore_spread(const struct shim *shim)
{
	const struct ranks *ranks = &shim->spec.ranks;
	long max = read_number("/proc/sys/kernel/pid_max");
	long each = ranks->size ? max / (long)ranks->nr_nodes : 0;

	/* The first node's pids follow init's own. */
	if (!shim->spec.host_ns && ranks->node && each >= PIDS_LEAST)
		set_last_pid(each * (long)ranks->node);
}

static bool pid_was_taken(const json_t *outcome)
{
	const json_t *refusals = json_object_get(json_object_get(outcome, "error"),
						 "refusals");

	return json_integer_value(json_object_get(json_array_get(refusals, 0), "reason")) ==
	       CKPT_R_PID_TAKEN;
}

/* ---------------------------------------------------------------- images */

struct image_clock {
	size_t image;
	int64_t ns;
};

static int by_clock(const void *a, const void *b)
{
	const struct image_clock *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->image < y->image ? -1 : 1;
}

/* Find the order in which images are restored. Return a failure's outcome, or NULL. */
static json_t *find_order(const struct op_env *env, const json_t *images,
			  struct image_clock *clocks)
{
	size_t i, nr = json_array_size(images);
	json_t *outcome = NULL;

	for (i = 0; i < nr && !outcome; i++) {
		clocks[i].image = i;
		if (nr > 1)
			outcome = op_restore_clock(env, json_array_get(images, i), &clocks[i].ns);
	}
	qsort(clocks, nr, sizeof(*clocks), by_clock);
	return outcome;
}

/*
 * The restoring processes get pids of the new namespace, too.  The job's pids were given out
 * upwards, so the restoring processes take theirs from the top.  A job whose pids wrapped
 * around, or that ran on several nodes, may have pids there: then try other places.
 */
static json_t *restore_one(const struct shim *shim, const struct op_env *env, json_t *args,
			   pid_t *roots, unsigned int *nr_roots)
{
	static const long places[] = { 256, 1024, 4096, 12000 };
	long max = read_number("/proc/sys/kernel/pid_max");
	json_t *outcome = NULL;
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!shim->spec.host_ns && max > 2 * places[i])
			set_last_pid(max - places[i]);
		json_decref(outcome);
		outcome = op_restore(env, args, roots, nr_roots);
		if (shim->spec.host_ns || !pid_was_taken(outcome))
			break;
	}
	return outcome;
}

/* ---------------------------------------------------------- all of them */

struct restored {
	json_t *outcome;
	unsigned int nr_roots;
	pid_t roots[OP_ROOTS_MAX];
};

/*
 * Each image but the last is held while the next one is restored, so that no tree runs before all
 * have put their files back. The last one's tree is the first to run.
 */
struct restoring {
	const struct shim *shim;
	struct op_env *env;
	const struct image_clock *clocks;
	engine_held_fn held;
	void *arg;
	size_t nr, at;		/* images; the one that is restored */
	struct restored **done;	/* [nr] */
	json_t *failure;	/* of an image; the outcomes of those before it tell less */
};

static void restore_from(struct restoring *r, size_t i);

static int restore_on_held(const struct engine_hold *hold, void *arg)
{
	struct restoring *r = arg;

	if (!r->env->beside)
		r->env->beside = hold->process;
	if (r->at + 1 < r->nr && r->env->progress)
		r->env->progress(&(const struct engine_progress){ .phase = SPEC_NEXT },
				 r->env->progress_arg);
	if (r->at + 1 < r->nr)
		restore_from(r, r->at + 1);
	else if (r->held)
		return r->held(hold, r->arg);
	return r->failure ? -ECANCELED : 0;
}

/* Restore the image that is the @i-th in order, and all after it. */
static void restore_from(struct restoring *r, size_t i)
{
	struct op_env env = *r->env;
	struct restored *done = calloc(1, sizeof(*done));

	if (!done) {
		r->failure = outcome_error(-ENOMEM, "out of memory");
		return;
	}
	r->at = i;
	r->done[i] = done;
	env.followed = i + 1 < r->nr;
	env.held = env.followed || r->held ? restore_on_held : NULL;
	env.held_arg = r;
	done->outcome = restore_one(r->shim, &env,
				    json_array_get(r->shim->spec.restore, r->clocks[i].image),
				    done->roots, &done->nr_roots);
	if (!outcome_is_ok(done->outcome) && !r->failure)
		r->failure = json_incref(done->outcome);
}

/* Add the result of one more image to @sum; of "total_ns" the first one's has the others' in it. */
static void shim_restore_add(json_t *sum, const json_t *outcome)
{
	static const char *const names[] = {
		"processes", "threads", "plan_ns", "tree_ns", "memory_ns", "bytes_read",
	};
	json_t *to = json_object_get(sum, "result");
	const json_t *from = json_object_get(outcome, "result");
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_set_new(to, names[i],
				    json_integer(
					    json_integer_value(json_object_get(to, names[i])) +
					    json_integer_value(json_object_get(from, names[i]))));
	json_array_extend(json_object_get(to, "pids"), json_object_get(from, "pids"));
	json_array_extend(json_object_get(to, "notes"), json_object_get(from, "notes"));
}

/* All outcomes as one; *@ret_main is set. */
static json_t *restore_sum(const struct restoring *r, pid_t *ret_main)
{
	const struct restored *done;
	json_t *sum = NULL;
	size_t i, k;

	for (i = 0; i < r->nr; i++) {
		done = r->done[i];
		for (k = 0; k < done->nr_roots; k++)
			if (!*ret_main || done->roots[k] == r->shim->spec.main_pid)
				*ret_main = done->roots[k];
		if (sum)
			shim_restore_add(sum, done->outcome);
		else
			sum = json_incref(done->outcome);
	}
	return sum;
}

static json_t *restore_all(const struct shim *shim, struct op_env *env, engine_held_fn held,
			   void *arg, pid_t *ret_main)
{
	const json_t *images = shim->spec.restore;
	size_t nr = json_array_size(images);
	struct image_clock *clocks = calloc(nr + 1, sizeof(*clocks));
	struct restoring r = {
		.shim = shim, .env = env, .clocks = clocks, .held = held, .arg = arg, .nr = nr,
		.done = calloc(nr + 1, sizeof(struct restored *)),
	};
	json_t *sum;

	r.failure = clocks && r.done ? find_order(env, images, clocks) :
		    outcome_error(-ENOMEM, "out of memory");
	if (!r.failure)
		restore_from(&r, 0);
	sum = r.failure ? r.failure : restore_sum(&r, ret_main);
	for (size_t i = 0; r.done && i < nr; i++) {
		if (r.done[i])
			json_decref(r.done[i]->outcome);
		free(r.done[i]);
	}
	free(r.done);
	free(clocks);
	return sum;
}

json_t *restore_images(const struct shim *shim, engine_progress_fn progress,
		       engine_held_fn held, void *arg, pid_t *ret_main)
{
	struct engine_external *externals = NULL;
	int nr = stdio_restore_externals(&shim->io, &externals);
	struct op_env env = {
		.key = shim->spec.key,
		.secret = shim->spec.encryption_key,
		.progress = progress,
		.progress_arg = arg,
		.externals = externals,
		.nr_externals = nr > 0 ? (unsigned int)nr : 0,
		.shm_dir = shim->spec.host_ns ? NULL : "/dev/shm",
		.any_rights = shim->spec.any_rights,
		.enter = confine_self,
		.enter_arg = (void *)&shim->spec,
		.asker = shim->spec.asker,
	};
	json_t *outcome;

	if (nr < 0)
		return outcome_error(nr, "the job's standard streams: %s", strerror(-nr));
	outcome = restore_all(shim, &env, held, arg, ret_main);
	free(externals);
	if (outcome_is_ok(outcome) && *ret_main && !shim->spec.host_ns)
		set_last_pid(*ret_main);
	return outcome;
}
