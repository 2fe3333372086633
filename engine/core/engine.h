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

/* One finding; the kernel's and our own refusals look the same. */
struct engine_refusal {
	uint32_t reason;	/* enum ckpt_reason */
	pid_t pid;		/* 0: none */
	pid_t tid;
	uint64_t object;
	char comm[16];
	char detail[104];
};

/* Filled on failure; text says what happened and what to do next. */
struct engine_error {
	int err;		/* negative errno, what the call returned */
	char text[512];
	struct engine_refusal *refusals;	/* owned; engine_error_done() */
	unsigned int nr_refusals;
};

void engine_error_done(struct engine_error *error);	/* frees, zeroes; NULL is fine */

/* For the engine itself. Both keep what was said first, take a NULL error, and
 * return err: return engine_fail(error, -EIO, "…: %s", strerror(EIO)).
 */
__attribute__((format(printf, 3, 4)))
int engine_fail(struct engine_error *error, int err, const char *format, ...);
/* Adds a finding; the detail is formatted into it. */
__attribute__((format(printf, 3, 4)))
void engine_refuse(struct engine_error *error, const struct engine_refusal *refusal,
		   const char *format, ...);
/* -EOPNOTSUPP and a text made of the first finding, if there are any; else 0. */
int engine_refused(struct engine_error *error, const char *what);

const char *engine_reason_name(uint32_t reason);	/* "FD_SOCKET" */
const char *engine_reason_text(uint32_t reason);
const char *engine_reason_advice(uint32_t reason);

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
