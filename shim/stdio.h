/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job's standard streams: terminal or pipes, and the logs of what it wrote.
 *
 * Everything the job writes goes to a log first; whoever is attached is served
 * from there.  So nobody slow or stopped holds the job up, and how far the
 * logs reach says exactly where the job stands.  A log that cannot be written
 * (disk full) does: the job then waits, which is told once, and nothing is lost.
 */
#ifndef STILLPOINT_SHIM_STDIO_H
#define STILLPOINT_SHIM_STDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/proto.h"
#include "shim/spec.h"
#include "engine/core/engine.h"
#include "base/log.h"
#include "base/reactor.h"

#define STDIO_INPUT_MAX	65536
#define STDIO_READ_MAX	65536

struct shim_stream {
	struct shim_stdio *io;
	int fd;			/* we read here; -1: nothing (more) to read */
	int log;		/* -1: this stream has none */
	uint64_t len;		/* bytes in the log */
	uint64_t ready;		/* of them, shown to clients */
	struct reactor_source *source;
	struct reactor_source *retry;	/* the log could not be written */
	int log_err;		/* why the last write to the log failed */
	size_t held_len;
	char held[STDIO_READ_MAX];	/* read, and not in the log yet */
};

struct shim_labels;

/* A log that is longer than at the checkpoint; what is beyond is kept as @tail. */
struct shim_cut {
	int log;
	int64_t len;
	char tail[64];
};

struct shim_stdio {
	const struct shim_spec *spec;
	const struct log *says;	/* where it is told what becomes of the logs */
	struct reactor *reactor;
	int master, slave;	/* terminal; -1: none */
	bool tty_in;		/* in_write is a duplicate of master */
	bool tty_out, tty_err;	/* stream[0].fd, stream[1].fd is one */
	int in_write;		/* our end of its input; -1 */
	int job_ends[3];	/* pipes' ends for the job; closed once it has them */
	struct shim_stream stream[2];
	struct shim_labels *labels;	/* ranks write through these; NULL: as one */
	struct shim_cut *cuts;
	unsigned int nr_cuts;
	int cuts_dir;
	char input[STDIO_INPUT_MAX];
	size_t input_len;
	bool input_end;
	bool waits;		/* a log cannot be written, and that was told */
	struct reactor_source *input_source;
	void (*changed)(void *arg);	/* more in a log, room for input, or an end */
	void *arg;
};

/*
 * Make what @spec asks for; logs are opened, given away, and what a restore will cut off is copied.
 * @spec and @says stay the caller's.
 */
int stdio_open(struct shim_stdio *io, const struct shim_spec *spec, const struct log *says, char *why,
	       size_t size);
/*
 * The job is there: cut its logs to their length; @undo: it is not, so remove the copies. As root, before
 * anything is read. Cutting needs no room; a failure is not told, as the job runs on.
 */
void stdio_cut(struct shim_stdio *io, bool undo);

#define STDIO_NO_INPUT	(1U << 0)	/* /dev/null instead */
#define STDIO_APPEND	(1U << 1)	/* several write to one file */
#define STDIO_TRUNCATE	(1U << 2)	/* with it: this one is the first */

/*
 * In the job's main process (@index -1) or a rank, before it is the user: terminal
 * and pipes to 0-2.
 */
int stdio_enter(const struct shim_stdio *io, const struct shim_spec *spec,
		unsigned int flags, int index);
/* In the same, as the user: what goes to files. -errno, with *ret_path. */
int stdio_enter_files(const struct shim_spec *spec, unsigned int flags,
		      const char **ret_path);

/* What a restore puts where the job's ends were: -ENOMEM or the number of *ret, to be freed. */
int stdio_restore_externals(const struct shim_stdio *io, struct engine_external **ret);

/* The job has its ends: close ours of them and begin to read. */
int stdio_start(struct shim_stdio *io, struct reactor *reactor,
		void (*changed)(void *arg), void *arg);

/* Read and log all that the job has written; 0 or why it could not be. */
int stdio_drain(struct shim_stdio *io);
/* Everything written is in the logs and nobody can write more. */
bool stdio_finished(const struct shim_stdio *io);
/* The job is gone: what is still in a terminal or pipe is the end of it. */
void stdio_finish(struct shim_stdio *io);

/* Into the log; what cannot be written is held, and nothing may follow until then. */
int stdio_log(struct shim_stream *stream, const char *data, size_t len);
/* What is held is to be written now; nothing else comes back to it if @stream has no timer for that. */
void stdio_retry(struct shim_stream *stream);
/* Call io->changed. */
void stdio_changed(struct shim_stdio *io);

/* A line of ours among what the job wrote to standard error; if that is not logged, in our own log. */
void stdio_note(struct shim_stdio *io, const char *text);

/*
 * stdio_ends() - our ends, for a dump
 * @from: a place in the order of all that there can be, so that one that is
 *	closed meanwhile moves no other
 * @ret_ends, @ret_fds: room for SHIM_FDS_MAX
 *
 * Return: where to go on; 0: that was all.
 */
uint64_t stdio_ends(const struct shim_stdio *io, uint64_t from, struct shim_end *ret_ends,
		    int *ret_fds, unsigned int *ret_nr);

/* Input for the job; bytes taken (0: no room now), or negative errno. */
int stdio_input(struct shim_stdio *io, const char *data, size_t len);
void stdio_input_end(struct shim_stdio *io);
void stdio_window(struct shim_stdio *io, unsigned int window);

#endif /* STILLPOINT_SHIM_STDIO_H */
