/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One capture: from naming the tree to letting it go.
 *
 * Freezes (tries again while the kernel says "try again"), snapshots, reads and
 * parses the records.  From capture_begin() to capture_thaw() the tree stands
 * still.  capture_end() thaws a tree that was not thawed before, whatever happened.
 */
#ifndef STILLPOINT_CAPTURE_H
#define STILLPOINT_CAPTURE_H

#include "base/error.h"
#include "engine/core/asker.h"
#include "engine/core/kdev.h"
#include "engine/core/state.h"

typedef int (*kdev_open_fn)(struct kdev **ret_dev, struct ckpt_error *error);

struct capture;

struct capture_options {
	kdev_open_fn open;
	const pid_t *roots;
	unsigned int nr_roots;
	bool descendants;
	const struct asker *owner;	/* refuse what is not his; NULL: the caller may all */
	const struct ckpt_exclude *excludes;	/* pids and tids as we see them */
	unsigned int nr_excludes;
	bool in_place;			/* no snapshot: memory is read while frozen */
	bool no_sysv;			/* refused: System V objects, message queues, io_uring */
	bool rolls_back;		/* it is not saved: CKPT_TARGET_ROLLBACK */
	bool dry_run;
	bool track;			/* track writes from now on, if the module can */
	unsigned int freeze_timeout_ms;	/* for all attempts together */
	unsigned int max_pause_ms;	/* 0: as long as the module allows */
	/*
	 * Called with the parsed state, in the pause; NULL: no call.  Refuses by -EOPNOTSUPP
	 * with findings in @error, and is called again if another attempt is made for them.
	 */
	int (*check)(struct capture *cap, struct ckpt_error *error);
	const char *sockets;		/* for check() */
	bool links;			/* the caller asks for connections to the outside later */
	/*
	 * Called when the roots are named, and whenever they are named anew.  From then on they are
	 * held, so that a root that is found to be the right process now was it when it was named.
	 * -ESTALE with @error: it is not.  NULL: no call.
	 */
	int (*targeted)(void *arg, struct ckpt_error *error);
	int (*frozen)(void *arg);	/* called between freeze and snapshot; NULL: no call */
	void *frozen_arg;
};

struct capture {
	struct kdev *dev;
	struct ckpt_freeze freeze;
	struct ckpt_snapshot snapshot;
	void *records;			/* the kernel's stream */
	size_t records_len;
	struct state *state;		/* the model of @records */
	bool frozen;
	uint64_t pause_ns;		/* after capture_thaw() */
	const char *sockets;		/* of the caller: sock_rules.h; NULL: none */
	bool links;			/* of the caller, if the module tells enough */
};

/* Open the device and name the target: these errors show before any freeze. */
int capture_open(struct capture *cap, const struct capture_options *options,
		 struct ckpt_error *error);
/* Freeze the tree, snapshot it, read its records.  On failure the tree runs. */
int capture_begin(struct capture *cap, const struct capture_options *options,
		  struct ckpt_error *error);
/* Thaw the tree. @flags: CKPT_THAW_*; -ETIMEDOUT if the kernel had thawed it before. */
int capture_thaw(struct capture *cap, unsigned int flags, struct ckpt_error *error);
void capture_end(struct capture *cap);

/*
 * Does the tree still stand still, with its snapshot? -ETIMEDOUT, -ENOMEM: it does not.
 * For long work in the pause that makes no other call into the kernel module.
 */
int capture_check(struct capture *cap, struct ckpt_error *error);
/*
 * Explain in @error why a command in the pause failed; returns err, or -ETIMEDOUT if the maximum
 * pause had ended the freeze: then this is the cause.
 */
int capture_failed(const struct capture *cap, int err, const char *what,
		   struct ckpt_error *error);
/*
 * The same for a dump that failed with @err anywhere, with its text in @error: in the pause it may
 * fail because of the tree that runs again.  Refusals stay as they are.
 */
int capture_explain(const struct capture *cap, int err, struct ckpt_error *error);

#endif /* STILLPOINT_CAPTURE_H */
