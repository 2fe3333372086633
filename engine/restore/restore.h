/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Restore of one process tree from one image directory.
 *
 * read and verify → plan (pids, sessions, files, sharing) → check this node → builder
 * process (drops to the owner) → clone3(set_tid) of every process and thread →
 * memory → commit.  Any failure kills the half-restored processes and leaves the image
 * whole.
 */
#ifndef STILLPOINT_RESTORE_H
#define STILLPOINT_RESTORE_H

#include "base/error.h"
#include "engine/core/asker.h"
#include "engine/core/engine.h"

struct image_key;
struct path_map;
struct restore_subset;
struct write_journal;

enum restore_pidns {
	RESTORE_PIDNS_AUTO,	/* the caller's; a new one when a pid is taken */
	RESTORE_PIDNS_CALLER,	/* refuse with PID_TAKEN */
	RESTORE_PIDNS_NEW,
};

struct restore_options {
	const char *dir;
	const struct image_key *key;
	enum restore_pidns pidns;
	enum engine_files files;
	bool accept_changed;	/* go on although tracked files were rewritten */
	/*
	 * The tree becomes his, and gets no more than he has (asker.h).  NULL: root asks, if
	 * this process is root's; else this process itself, whose limits the kernel enforces.
	 */
	const struct asker *asker;
	const struct restore_subset *subset;	/* restore_subset.h; NULL: all of the image */
	pid_t beside;		/* a process of the same job, restored here from another image: the
				 * tree gets its clocks, and an entry of /dev/shm that exists
				 * already is an error; 0: none
				 */
	int (*enter)(void *arg);	/* called with the caller's rights in the process that makes
					 * the tree, before all else: takes away what the tree must
					 * not have. Negative errno: the restore fails. Or NULL
					 */
	void *enter_arg;
	/*
	 * Called when the files are put back and the tree is ready: returns when it may run.
	 * Negative errno: it must not, and everything is taken back. NULL: it runs at once
	 */
	engine_held_fn held;
	void *held_arg;
	bool followed;		/* held() restores other images of the job: their trees run first */
	bool dry_run;		/* read, verify, plan, check this node; create nothing */
	bool links_only;	/* dry run: tell links alone; an older run of the tree lives */
	const struct write_journal *journal;	/* what the tree changed since; NULL: do not ask */
	struct path_map *map;	/* paths that lie elsewhere by now (path_map.h); NULL: none */
	const char *shm_dir;	/* where carried /dev/shm content goes; NULL: /dev/shm */
	const struct engine_external *externals;
	unsigned int nr_externals;
	engine_progress_fn progress;
	void *progress_arg;
	engine_note_fn note;	/* or NULL */
	void *note_arg;
	const struct engine_given *given;	/* NULL: no other node is asked */
	engine_given_fn tell_given;	/* with given->ask; gets note_arg */
	const struct sock_links *links;	/* connections to other nodes: sock_link.h; NULL: none */
	/*
	 * Called in a dry run, if there are no @links, for each connection to another node of the
	 * job that the image has; gets note_arg. @addr: where this end would be, without a port.
	 */
	void (*tell_link)(uint32_t link, uint32_t role, const char *addr, void *arg);
};

struct restore_stats {
	uint64_t plan_ns;
	uint64_t tree_ns;
	uint64_t memory_ns;
	uint64_t total_ns;
	uint64_t bytes_read;
	uint64_t bytes_copied;	/* of a rollback: from snapshots that the kernel has kept */
	unsigned int nr_procs;
	unsigned int nr_threads;
};

/**
 * restore_tree() - bring the tree back and let it run
 * @ret_roots: pids (caller's namespace) of the roots, children of the caller
 *	(created with CLONE_PARENT), which must reap them; in a new PID namespace
 *	a small init is the caller's child instead and hands on the status of the
 *	first root as its own exit status.
 *
 * Return: number of pids in @ret_roots (at most @max_roots), or negative errno;
 * -EOPNOTSUPP with refusals.
 */
int restore_tree(const struct restore_options *options, pid_t *ret_roots,
		 unsigned int max_roots, struct restore_stats *ret_stats,
		 struct ckpt_error *error);

/* Read CLOCK_MONOTONIC, as the tree saw it when it was frozen, in nanoseconds. */
int restore_clock(const char *dir, const struct image_key *key, int64_t *ret_ns,
		  struct ckpt_error *error);

#endif /* STILLPOINT_RESTORE_H */
