/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dump of one process tree into one image directory.
 *
 * freeze → snapshot → records, pipes, what must be read in place → thaw →
 * pages, file contents → sync of the job's files → commit.  On any failure the
 * tree runs on (or stays stopped as it was) and no image appears under dir.
 */
#ifndef STILLPOINT_DUMP_H
#define STILLPOINT_DUMP_H

#include "base/error.h"
#include "engine/core/engine.h"

struct image_key;

struct dump_options {
	const pid_t *roots;
	unsigned int nr_roots;
	bool descendants;	/* the roots' descendants, not the roots themselves */
	const char *dir;	/* image directory; must not exist or be empty; parent must exist */
	const struct image_key *key;	/* with a secret: the image is encrypted */
	uint64_t generation;	/* recorded; 0 for a plain dump */
	const char *job;	/* recorded name or NULL */
	bool kill;		/* keep the tree frozen until commit, then SIGKILL it */
	bool stop_and_copy;	/* no snapshot: frozen until all is read */
	/*
	 * Of memory that was not written since the image @base was taken, store that it is
	 * as there.  One that cannot be used is no error: then all is stored.  @track: such
	 * a dump can follow this one.
	 */
	const char *base;	/* NULL: store all */
	unsigned int chain_max;	/* most earlier images whose pages this one may need */
	bool track;
	bool verify_base;	/* read that memory all the same, and fail where it is another */
	bool dry_run;		/* check only: refusals as for a real dump, nothing written */
	unsigned int freeze_timeout_ms;	/* 0: 10000 */
	unsigned int max_pause_ms;	/* 0: 60000 */
	uint64_t hold_max;	/* bytes held in memory in the pause; 0: a share of what is free */
	uint64_t memory;	/* to write the image with: as in struct image_options */
	enum engine_files files;
	const char *shm_dir;	/* the job's private /dev/shm as the caller sees it; carried whole; NULL: none */
	const struct engine_external *externals;
	unsigned int nr_externals;
	/*
	 * Memory, descriptors and threads that the image does not hold and a restore
	 * does not bring back; pids and tids as the caller sees them.  Of which kinds
	 * they are does not matter, what others share of them neither.
	 */
	const struct ckpt_exclude *excludes;
	unsigned int nr_excludes;
	/* Processes without which the image is of no use, in the tree's own numbers; 0: none.  -ECHILD. */
	const pid_t *living;
	unsigned int nr_living;
	engine_progress_fn progress;
	void *progress_arg;
	/*
	 * Called in the pause, when the tree is frozen and nothing of it has been
	 * read: what it wrote to an external end can be taken out now, and is then
	 * in no image.  A negative errno ends the dump.  NULL: nobody.
	 */
	int (*frozen)(void *arg);
	void *frozen_arg;
	/*
	 * For whoever has more trees to save than this one: called when all is captured
	 * and the tree may run on as far as it is concerned, and when the image is complete
	 * and in its place. Either may wait; a negative errno undoes everything. NULL: nobody.
	 */
	int (*captured)(void *arg);
	int (*stored)(void *arg);
	/* Called before the image is made durable: a negative errno ends the dump. NULL: nobody. */
	int (*commits)(void *arg);
	void *hold_arg;
	/*
	 * Kept in the manifest under "note", for the caller of a later restore.
	 * Read at the commit: frozen() may still write it.  NULL: none.
	 */
	const char *note;
	/*
	 * Kept under "record": what whoever has nothing but the image has to know of the job.
	 * NULL: none.
	 */
	const char *record;
};

struct dump_stats {
	uint64_t freeze_ns;	/* first thread told until the last one parked */
	uint64_t collect_ns;
	uint64_t clone_ns;
	uint64_t thaw_ns;	/* order to let it run until that was done; 0: it was to end */
	uint64_t pause_ns;	/* first thread parked until thaw: what the job sees */
	uint64_t pages_ns;	/* behind the tree's back: memory, contents of files, */
	uint64_t contents_ns;
	uint64_t sync_ns;	/* what it wrote itself, and the image made whole and durable */
	uint64_t commit_ns;
	uint64_t total_ns;
	uint64_t bytes_mapped;	/* pages found */
	uint64_t bytes_raw;	/* of them and of contents what was not left out */
	uint64_t bytes_stored;	/* in the image */
	uint64_t bytes_held;	/* most at a time in memory, over the thaw or in the pause */
	uint64_t pages_data;
	uint64_t pages_zero;
	uint64_t pages_shared;	/* with another process, and still after a restore */
	uint64_t pages_same;	/* with data stored for other pages */
	uint64_t pages_base;	/* as in the image before */
	uint64_t pages_excluded;	/* that the tree did not want saved (ckpt_exclude()) */
	uint64_t pages_untouched;	/* of private mappings, those that there were not: of memory, */
	uint64_t pages_file;		/* and of files, which have them */
	unsigned int nr_procs;
	unsigned int nr_threads;
	uint64_t base;		/* generation that it stands on; full: see why */
	bool incremental;
	char why_full[160];	/* a base was wanted; "": none was */
};

/* 0; -EOPNOTSUPP or -EBUSY with refusals; other negative errno. */
int dump_tree(const struct dump_options *options, struct dump_stats *ret_stats,
	      struct ckpt_error *error);

#endif /* STILLPOINT_DUMP_H */
