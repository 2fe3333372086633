/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What dump and restore of one process tree have in common: options, progress,
 * errors with reasons, and the user-space records that the two exchange.
 *
 * The engine is a library: it neither logs nor exits.  ckptd calls it from a
 * worker process of its own (never from the event loop), ckptctl --standalone
 * in-process.  Both calls block until they are done.
 */
#ifndef STILLPOINT_ENGINE_H
#define STILLPOINT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/ckpt.h>

#include "base/error.h"

/* Called now and then, from the calling thread. */
struct engine_progress {
	const char *phase;	/* "freeze", "snapshot", "dump", "sync", "commit", "tree", "memory", … */
	uint64_t done;		/* bytes */
	uint64_t total;		/* 0: unknown */
};
typedef void (*engine_progress_fn)(const struct engine_progress *progress, void *arg);

enum engine_files {
	ENGINE_FILES_TRACK,	/* put back output that only grew, refuse rewritten files */
	ENGINE_FILES_CARRY,	/* carry the contents in the image */
	ENGINE_FILES_IGNORE,	/* open whatever is there */
};

/* Own record types in an image's state stream; the kernel's are below 0x1000. */
enum engine_rec_type {
	ENGINE_REC_TREE = 0x1000,	/* roots, options, identity of the dump */
	ENGINE_REC_FILE_TRACK = 0x1001,	/* file_id: length, mtime, content hash of the tail, build-id */
	ENGINE_REC_BLOB = 0x1002,	/* file_id or path: content is blob N */
	ENGINE_REC_TTY = 0x1003,	/* termios and window size of a pty by index */
	ENGINE_REC_EXTERNAL = 0x1004,	/* an end outside the tree (stdio of the shim) by object and name */
	ENGINE_REC_FILE_PLACE = 0x1005,	/* file_id: where it is to be opened instead of its path */
	ENGINE_REC_TTY_DATA = 0x1006,	/* what an end of a pty has not read */
};

/* An end outside the tree that the caller knows and gives again at restore. */
struct engine_external {
	char name[32];		/* "stdin", "stdout", "stderr", "tty" */
	int fd;			/* dump: caller's descriptor of the same pipe, pty or file; restore: what to put there; -1: /dev/null */
};

#endif /* STILLPOINT_ENGINE_H */
