/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One capture: from naming the tree to letting it go.
 *
 * Freezes (tries again while the kernel says "try again"), snapshots, reads and
 * parses the records.  From capture_begin() to capture_thaw() the tree stands
 * still; capture_end() thaws it if nobody did, whatever happened.
 */
#ifndef STILLPOINT_CAPTURE_H
#define STILLPOINT_CAPTURE_H

#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/core/state.h"

typedef int (*kdev_open_fn)(struct kdev **ret_dev, struct ckpt_error *error);

struct capture_options {
	kdev_open_fn open;
	const pid_t *roots;
	unsigned int nr_roots;
	bool descendants;
	const struct ckpt_exclude *excludes;	/* pids and tids as we see them */
	unsigned int nr_excludes;
	bool in_place;			/* no snapshot: read while frozen */
	bool dry_run;
	bool track;			/* from now on, as far as the module can */
	unsigned int freeze_timeout_ms;	/* for all attempts together */
	unsigned int max_pause_ms;	/* 0: as long as the module allows */
	int (*frozen)(void *arg);	/* between freeze and snapshot; NULL: nobody */
	void *frozen_arg;
};

struct capture {
	struct kdev *dev;
	struct ckpt_freeze freeze;
	struct ckpt_snapshot snapshot;
	void *records;			/* the kernel's stream */
	size_t records_len;
	struct state *state;		/* the model of it */
	bool frozen;
	uint64_t pause_ns;		/* after capture_thaw() */
};

/* Open the device and name the target: finds what is wrong before any freeze. */
int capture_open(struct capture *cap, const struct capture_options *options,
		 struct ckpt_error *error);
/* Freeze, snapshot, records.  On failure the tree runs. */
int capture_begin(struct capture *cap, const struct capture_options *options,
		  struct ckpt_error *error);
/* @flags: CKPT_THAW_*; -ETIMEDOUT if the kernel thawed it before. */
int capture_thaw(struct capture *cap, unsigned int flags, struct ckpt_error *error);
void capture_end(struct capture *cap);

/*
 * Does the tree still stand still, with its snapshot? -ETIMEDOUT, -ENOMEM: it does not.  For
 * who works long in the pause and has nothing else to ask the kernel for.
 */
int capture_check(struct capture *cap, struct ckpt_error *error);
/* What a failed command of the pause means, for people; returns err. */
int capture_failed(const struct capture *cap, int err, const char *what,
		   struct ckpt_error *error);

#endif /* STILLPOINT_CAPTURE_H */
