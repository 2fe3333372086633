/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rollback of a running tree to an image of it, in place: its processes and threads stay.
 *
 * read the image's state → freeze the tree → compare → read the pages that will be needed, or thaw,
 * verify all of the image, and freeze again → check its files → CKPT_IOC_ROLLBACK → files, memory
 * and state as in a restore → commit.  Up to CKPT_IOC_ROLLBACK a failure leaves the tree as it was,
 * running.  After that a failure ends the tree; the image stays, and every file is as it was before
 * the call.
 */
#ifndef STILLPOINT_ROLLBACK_H
#define STILLPOINT_ROLLBACK_H

#include "base/error.h"
#include "engine/restore/restore.h"

enum rollback_end {
	ROLLBACK_REFUSED,	/* the tree runs; a restart would fail, too, or who asks may not */
	ROLLBACK_IMPOSSIBLE,	/* the tree runs; a restart is not known to fail */
	ROLLBACK_LOST,		/* the tree was ended */
	ROLLBACK_DONE,
};

/**
 * struct rollback_options - what is rolled back, and how
 * @restore: the image, who asks, how files are treated, progress and notes; its @externals and
 *	@journal do not count
 * @init: a process in the namespaces of the tree
 * @descendants: the tree is the descendants of @init, else @init as well
 * @externals, @nr_externals: the caller's ends of the tree's pipes and terminals, as for a dump
 * @journal: path of the tree's write journal, complete once @frozen was called; NULL: none
 * @ranks: the tree has ranks: what their MPI library has, and no image has, goes: threads,
 *	descriptors, memory. All of the tree's /dev/shm is made anew
 * @library: with @ranks: addresses of that library's memory, start and end
 * @reread: write all memory anew: what was not written may be wrong
 * @targeted, @frozen: as in struct capture_options
 * @completes: called last before the commit: take back what else the tree has done; or NULL
 */
struct rollback_options {
	const struct restore_options *restore;
	pid_t init;
	bool descendants;
	const struct engine_external *externals;
	unsigned int nr_externals;
	const char *journal;
	bool ranks;
	uint64_t library[2];
	bool reread;
	int (*targeted)(void *arg, struct ckpt_error *error);
	int (*frozen)(void *arg);
	int (*completes)(void *arg);
	void *arg;
};

struct rollback_stats {
	struct restore_stats restore;
	uint64_t pause_ns;	/* how long the tree stood still */
	uint64_t kept;		/* bytes of memory that were as in the image, and stayed */
};

/* Return: 0: *@ret_end is ROLLBACK_DONE; negative errno with @error: it says how the tree is. */
int rollback_tree(const struct rollback_options *options, enum rollback_end *ret_end,
		  struct rollback_stats *ret_stats, struct ckpt_error *error);

#endif /* STILLPOINT_ROLLBACK_H */
