/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations on one process tree, on this node and on images: what a worker of
 * ckptd runs in a process of its own, and ckptctl --standalone in-process.
 *
 * Each takes its arguments as a JSON object, the same that goes over the
 * socket, and answers an outcome (base/outcome.h).  An argument that is
 * not known is refused: what a newer client asks for is never half done.
 */
#ifndef STILLPOINT_OP_H
#define STILLPOINT_OP_H

#include <jansson.h>
#include <sys/types.h>

#include "engine/core/engine.h"

#define OP_KEY_DEFAULT	"/etc/stillpoint/key"
#define OP_ROOTS_MAX	1024

/* What the caller of an operation has, apart from the arguments. */
struct op_env {
	const char *key;	/* path; NULL: OP_KEY_DEFAULT */
	const char *secret;	/* of image_key_secret(): dumps are encrypted with it; NULL: none */
	bool first_use;		/* dump: a key that is not there is made, and not looked for */
	engine_progress_fn progress;	/* or NULL */
	void *progress_arg;
	const struct engine_external *externals;
	unsigned int nr_externals;
	const struct ckpt_exclude *excludes;	/* dump: beside those of the arguments */
	unsigned int nr_excludes;
	const pid_t *living;	/* dump, as in struct dump_options */
	unsigned int nr_living;
	const char *shm_dir;	/* the job's /dev/shm; NULL: none */
	bool descendants;	/* dump: what is below pid, not pid itself */
	bool any_rights;	/* restore: root asks for it, not a job's owner */
	pid_t beside;		/* restore: as in struct restore_options */
	int (*frozen)(void *arg);	/* dump; or NULL */
	void *frozen_arg;
	int (*captured)(void *arg);	/* dump, as in struct dump_options; or NULL */
	int (*stored)(void *arg);
	int (*commits)(void *arg);
	void *hold_arg;
	uint64_t memory;	/* dump: as in struct image_options */
	const char *note;	/* dump; or NULL */
	const char *record;	/* the same */
};

/**
 * op_dump() - dump one tree
 * @args: pids [n, ...], dir, kill, dry_run, stop_and_copy, files,
 *	freeze_timeout_ms, max_pause_ms, generation, job,
 *	exclude [{kind: range|fd|thread, pid, start, end}, ...]: what is left out, as
 *	in struct ckpt_exclude; end with a range only
 *
 * With env->frozen and env->note as in struct dump_options.
 */
json_t *op_dump(const struct op_env *env, json_t *args);

/**
 * op_restore() - restore one tree; its roots become children of the caller
 * @args: dir, dry_run, accept_changed, files, pidns; generation and job: the
 *	image is refused (-ESTALE) if it is another's; roots and others [pid, ...]: as in struct
 *	restore_subset
 * @ret_roots: room for OP_ROOTS_MAX pids
 * @ret_nr_roots: 0 after a failure or a dry run
 */
json_t *op_restore(const struct op_env *env, json_t *args, pid_t *ret_roots,
		   unsigned int *ret_nr_roots);

/* NULL and how far the clock of the tree of @args had gone (restore_clock()), or an outcome. */
json_t *op_restore_clock(const struct op_env *env, const json_t *args, int64_t *ret_ns);

/**
 * op_doctor() - can this node, or a tree on it, be checkpointed?
 * @args: pid (optional)
 *
 * The answer is ok when the checks ran; result.ready says what they found.
 */
json_t *op_doctor(const struct op_env *env, json_t *args);

/*
 * args: dir, generation, job; result: what the manifest says, note parsed; of an image whose secret
 * is not there no note, and in "locked" the reason
 */
json_t *op_describe(const struct op_env *env, json_t *args);
/* args: dir, records, runs */
json_t *op_show(const struct op_env *env, json_t *args);
/* args: dir, deep */
json_t *op_verify(const struct op_env *env, json_t *args);
/* args: dir, other */
json_t *op_diff(const struct op_env *env, json_t *args);

#endif /* STILLPOINT_OP_H */
