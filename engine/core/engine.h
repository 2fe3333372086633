/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Types that dump and restore of one process tree share: progress, options, and the
 * types of the user-space records that the two exchange.
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

/* The function is called now and then, from the thread that called the engine. */
struct engine_progress {
	const char *phase;	/* "freeze", "dump", "sync", "commit", "tree", "memory", … */
	uint64_t done;		/* bytes */
	uint64_t total;		/* 0: unknown */
};
typedef void (*engine_progress_fn)(const struct engine_progress *progress, void *arg);

/* The function is told, in a line for people, of something that a restore does or would do. */
typedef void (*engine_note_fn)(const char *text, void *arg);

#define ENGINE_GIVEN_MAX	20000	/* that all parts want; a message between nodes has room */
#define ENGINE_GIVEN_FREED	0x5555555555555555LL	/* a hash of what is to be gone: XOR this */

enum engine_given_kind { ENGINE_GIVEN_WANTED, ENGINE_GIVEN_KEPT, ENGINE_GIVEN_MADE };

/**
 * struct engine_given_file - a file that several nodes of a job changed (files/reopen_given.c)
 * @kind: a part restores nothing without it; the part's image has it; the part's ranks made it
 *	after the checkpoint, when nothing had the name, so the part takes it away
 * @hash: of name, size and time; not of one that is MADE
 * @path: hash of the name
 * @time_ns: WANTED: the file's time; MADE: when it was made, by the same clock
 */
struct engine_given_file {
	enum engine_given_kind kind;
	int64_t hash, path, time_ns;
};
typedef void (*engine_given_fn)(const struct engine_given_file *file, void *arg);

/**
 * struct engine_given - what other nodes of the job do about files that a part wants
 * @hashes: [nr], ascending: hashes of WANTED files that are KEPT; XOR ENGINE_GIVEN_FREED: MADE
 * @wanted: [nr_wanted], ascending: with @ask: hashes and names of what parts want; those of them
 *	that are KEPT or MADE are told
 * @ask: in a dry run: a file that is not among @hashes is no refusal, but told as WANTED
 */
struct engine_given {
	const int64_t *hashes, *wanted;
	unsigned int nr, nr_wanted;
	bool ask;
};

/**
 * struct engine_hold - a tree that is restored is held before it runs
 * @process: one of the tree, in the caller's PID namespace
 * @looks: the files are put back. Next the tree looks at files that other nodes put back, and then
 *	it is held once more
 */
struct engine_hold {
	pid_t process;
	bool looks;
};
/* Returns when the tree may go on. Negative errno: it may not. */
typedef int (*engine_held_fn)(const struct engine_hold *hold, void *arg);

/* The values are in images (struct engine_rec_tree): new ones are added at the end. */
enum engine_files {
	ENGINE_FILES_TRACK,	/* put back output that only grew, refuse rewritten files */
	ENGINE_FILES_CARRY,	/* carry the contents in the image */
	ENGINE_FILES_IGNORE,	/* open whatever is there */
	ENGINE_FILES_KEEP,	/* the default: keep what the tree can write in place, else track */
};

/* Own record types in an image's state stream; the kernel's are below 0x1000. */
enum engine_rec_type {
	ENGINE_REC_TREE = 0x1000,	/* roots, options, identity of the dump */
	ENGINE_REC_FILE_TRACK = 0x1001,	/* file_id: length, mtime, hash of the tail, build-id */
	ENGINE_REC_BLOB = 0x1002,	/* file_id or path: content is blob N */
	ENGINE_REC_TTY = 0x1003,	/* termios and window size of a pty by index */
	ENGINE_REC_EXTERNAL = 0x1004,	/* file_id: an external (stdio of the shim), by name */
	ENGINE_REC_FILE_PLACE = 0x1005,	/* file_id: where it is to be opened instead of its path */
	ENGINE_REC_TTY_DATA = 0x1006,	/* unread bytes of one end of a pty */
	ENGINE_REC_FILE_MARK = 0x1008,	/* CKPT_REC_OPTIONAL; file_id: which inode it was */
	ENGINE_REC_CLOSED = 0x1009,	/* a name that the tree changed and has not open */
	ENGINE_REC_SOCK_OPTIONS = 0x1010, /* options of a socket */
	ENGINE_REC_SOCK_END = 0x1011,	/* a socket whose peer is outside: how it comes back */
	ENGINE_REC_IPC = 0x1014,	/* a System V object: all but a segment's content */
	ENGINE_REC_INOTIFY = 0x1015,	/* the watches of an inotify descriptor */
	ENGINE_REC_PIDFD = 0x1016,	/* the process that a pidfd leads to */
	ENGINE_REC_FOWN = 0x1017,	/* whom an open file signals */
	ENGINE_REC_MQUEUE = 0x1019,	/* a POSIX message queue with its messages */
	ENGINE_REC_SOCK_LINK = 0x1018,	/* a connection to another node of the job */
	ENGINE_REC_WRITES = 0x100c,	/* CKPT_REC_OPTIONAL; how far the write log was read */
	ENGINE_REC_BLOB_HASHES = 0x100b, /* CKPT_REC_OPTIONAL; blob N: hashes of its pages */
};

/*
 * An external: a pipe, pty or file outside the tree that the caller knows at dump and
 * gives again, under the same name, at restore.
 *
 * @fd is the caller's.  At dump it leads to the same pipe, pty or file; at restore it
 * replaces it, -1: /dev/null does.
 */
struct engine_external {
	char name[32];		/* "stdin", "stdout", "stderr", "tty" */
	int fd;
};

#endif /* STILLPOINT_ENGINE_H */
