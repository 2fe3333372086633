/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations on one process tree, on this node and on images.  A worker of ckptd runs
 * them in a process of its own, ckptctl --standalone in-process.
 *
 * Each takes its arguments as a JSON object, the same that goes over the socket, and
 * answers an outcome (base/outcome.h).  An unknown argument is refused, so that the
 * request of a newer client is never half done.
 */
#ifndef STILLPOINT_OP_H
#define STILLPOINT_OP_H

#include <jansson.h>
#include <sys/types.h>

#include "engine/core/engine.h"

#define OP_KEY_DEFAULT	"/etc/stillpoint/key"
#define OP_ROOTS_MAX	1024

struct sock_link;

/* Settings of the caller of an operation, apart from the arguments. */
struct op_env {
	const char *key;	/* path of the key file; NULL: OP_KEY_DEFAULT */
	const char *secret;	/* path for image_key_secret(): dumps are encrypted; NULL: none */
	bool first_use;		/* dump: a missing key is made; else it is an error */
	engine_progress_fn progress;	/* or NULL */
	void *progress_arg;
	const struct engine_external *externals;
	unsigned int nr_externals;
	const struct ckpt_exclude *excludes;	/* dump: in addition to those of the arguments */
	unsigned int nr_excludes;
	const pid_t *living;	/* dump, as in struct dump_options */
	unsigned int nr_living;
	const char *shm_dir;	/* the job's /dev/shm; NULL: none */
	bool descendants;	/* dump: the descendants of the pids, not the pids themselves */
	/*
	 * dump, restore: who asks, as of op_asker.h; or, if root does, NULL and @any_rights.  With
	 * neither the operation fails: a caller must not forget to say it.
	 */
	const json_t *asker;
	bool any_rights;
	uid_t viewer;		/* show, diff: the user who asks; 0: root, who may see all */
	pid_t beside;		/* restore: as in struct restore_options */
	int (*enter)(void *arg);	/* restore, as in struct restore_options; or NULL */
	void *enter_arg;
	engine_held_fn held;	/* restore, as in struct restore_options; or NULL */
	void *held_arg;
	bool followed;
	int (*frozen)(void *arg);	/* dump, as in struct dump_options; or NULL */
	int (*targeted)(void *arg, struct ckpt_error *error);
	void *frozen_arg;
	int (*flushed)(void *arg);	/* dump, as in struct dump_options; or NULL */
	int (*links)(void *arg, struct sock_link *links, unsigned int nr);
	int (*captured)(void *arg);
	int (*stored)(void *arg);
	int (*commits)(void *arg);
	void *hold_arg;
	uint64_t memory;	/* dump: as in struct image_options */
	uint64_t files_max;	/* dump, as in struct dump_options */
	unsigned int nr_nodes;
	uint64_t writes_tag;
	int holder;		/* dump, as in struct dump_options; result.l0: it keeps snapshots */
	uint64_t holder_max;
	const char *note;	/* dump, as in struct dump_options; or NULL */
	const char *record;	/* dump, as in struct dump_options; or NULL */
};

/**
 * op_dump() - dump one tree
 * @args: pids [n, ...], dir, kill, dry_run, stop_and_copy, files,
 *	freeze_timeout_ms, max_pause_ms, generation, job,
 *	exclude [{kind: range|fd|thread, pid, start, end}, ...]: excluded things, as
 *	in struct ckpt_exclude; end with a range only; base, chain_max, track, verify_base, sockets,
 *	scrub_every
 *
 * The result has "files" ("grows", "copied", "cloned", "watched": each with "nr" and "bytes")
 * and "files_named", a list of {"path", "how", "bytes", "once"} of the first that are not
 * "grows"; "once": the tree had closed the file, and had written it but once.
 * "files_closed" tells of files that the tree had closed: "known" (they are among these),
 * "complete" (none is missing), "since" (the time from which on they are known; 0: always).
 *
 * "scrub", with scrub_every and a base: {"pages", "wrong", "ns", "at"}, as in struct
 * dump_scrub_told; "at" is a list of {"pid", "command", "address", "start", "end", "mapping"},
 * addresses in hexadecimal digits.
 *
 * env->frozen and env->note are as in struct dump_options.
 */
json_t *op_dump(const struct op_env *env, json_t *args);

/**
 * op_restore() - restore one tree; its roots become children of the caller
 * @args: dir, dry_run, accept_changed, files, pidns; map_path [[OLD, NEW], ...], as in
 *	path_map.h; generation and job: an image of another one is refused (-ESTALE); roots
 *	and others [pid, ...]: as in struct restore_subset; writes: path of the tree's write
 *	journal (write_journal.h), so that files that it changed since are noticed; given and
 *	wanted [hash, ...] and ask: as in struct engine_given; with ask, in a dry run, the result
 *	has "wants", "keeps" and "made": [[hash, path, time_ns], ...] of struct
 *	engine_given_file, and "links": [[link, role, address], ...] of connections to other nodes
 *	(sock_link.h); with links_only, in a dry run, these alone are told, also while processes
 *	of the image run; links {"token": T, "places": [[link, address that listens, address that
 *	connects], ...]}: where all ends of these are
 * @ret_roots: room for OP_ROOTS_MAX pids
 * @ret_nr_roots: 0 after a failure or a dry run
 *
 * result.notes has texts about files that were renamed since.
 */
json_t *op_restore(const struct op_env *env, json_t *args, pid_t *ret_roots,
		   unsigned int *ret_nr_roots);

/**
 * op_rollback() - roll a running tree back to an image of it, in place
 * @args: dir, accept_changed, files, generation, job, writes: as of op_restore(); pidns, which
 *	means nothing here; init: the init of the tree's PID namespace,
 *	whose descendants are the tree; reread: bool, write all memory anew
 *
 * env->targeted and env->frozen are as in struct dump_options; env->commits is called last before
 * the commit. All get env->frozen_arg.
 *
 * result.in_place says whether the tree was rolled back. If not, result.why says why, and
 * result.ended whether the tree was ended; else the tree runs as before. An error: the tree runs as
 * before, and a restart would fail, too.
 */
json_t *op_rollback(const struct op_env *env, json_t *args);

/* Read the clock of the tree of @args (restore_clock()). NULL and *ret_ns, or an error outcome. */
json_t *op_restore_clock(const struct op_env *env, const json_t *args, int64_t *ret_ns);

/**
 * op_doctor() - check whether this node, or a tree on it, can be checkpointed
 * @args: pid and image_dir, both optional
 *
 * The outcome is ok if the checks ran; result.ready says whether all required ones passed.
 */
json_t *op_doctor(const struct op_env *env, json_t *args);

/*
 * Describe an image by its manifest, with the note parsed. @args: dir, generation, job.
 * If the secret of an encrypted image is missing, the note is missing, and "locked" says why.
 */
json_t *op_describe(const struct op_env *env, json_t *args);
/*
 * Show the content of an image. @args: dir, records, runs: both tell addresses, and are refused
 * (-EACCES) for an image with a process that env->viewer could not trace.
 */
json_t *op_show(const struct op_env *env, json_t *args);
/* Check an image for damage. @args: dir, deep, generation, job */
json_t *op_verify(const struct op_env *env, json_t *args);
/* Compare two images. @args: dir, other. Refused as op_show() with addresses. */
json_t *op_diff(const struct op_env *env, json_t *args);

#endif /* STILLPOINT_OP_H */
