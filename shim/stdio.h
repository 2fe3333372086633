/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job's standard streams: terminal or pipes, and the logs of what it wrote.
 *
 * All the job's output goes to a log first; attached clients are served from the
 * logs.  So a slow or stopped client never holds the job up, and the logs' lengths
 * say exactly where the job stands.  A log that cannot be written (disk full) does
 * hold the job up: the job then waits, a warning is logged once, and nothing is lost.
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
#define STDIO_TAIL_NAME	64

struct shim_stream {
	struct shim_stdio *io;
	int fd;			/* the shim reads here; -1: nothing (more) to read */
	int log;		/* -1: this stream has none */
	uint64_t len;		/* bytes in the log */
	uint64_t ready;		/* bytes of the log that clients are shown */
	struct reactor_source *source;
	struct reactor_source *retry;	/* timer after the log could not be written */
	int log_err;		/* why the last write to the log failed */
	size_t held_len;
	char held[STDIO_READ_MAX];	/* bytes read that are not in the log yet */
};

struct shim_labels;

/* A log that is longer than at the checkpoint; the rest is copied to the file @tail. */
struct shim_cut {
	int log;
	int64_t len;
	char tail[STDIO_TAIL_NAME];
};

struct shim_stdio {
	const struct shim_spec *spec;
	const struct log *says;	/* where failures of the logs are reported */
	struct reactor *reactor;
	int master, slave;	/* terminal; -1: none */
	bool tty_in;		/* in_write is a duplicate of master */
	bool tty_out, tty_err;	/* stream[0].fd, stream[1].fd is one */
	int in_write;		/* the shim's end of the job's input; -1: none */
	int job_ends[3];	/* the job's ends of the pipes; closed once it has them */
	struct shim_stream stream[2];
	struct shim_labels *labels;	/* one pipe per rank; NULL: ranks share one pipe */
	struct shim_cut *cuts;
	unsigned int nr_cuts;
	int cuts_dir;
	char input[STDIO_INPUT_MAX];
	size_t input_len;
	bool input_end;
	bool waits;		/* a log cannot be written, and a warning was logged */
	struct reactor_source *input_source;
	void (*changed)(void *arg);	/* more in a log, room for input, or an end */
	void *arg;
};

/*
 * Make the streams that @spec asks for: open the logs, give them to the job's owner, and copy the
 * part that a restore will cut off. @spec and @says stay the caller's.
 */
int stdio_open(struct shim_stdio *io, const struct shim_spec *spec, const struct log *says,
	       struct ckpt_error *error);
/*
 * The job was restored: cut its logs to their length. @undo: the restore failed, so remove the
 * copies instead. Call as root, before any output is read. Cutting needs no room; a failure is
 * not reported, because the job runs on.
 */
void stdio_cut(struct shim_stdio *io, bool undo);

/*
 * Copy what a log has beyond @len to a file beside it, as one's own, durably.
 * @tail: gets its name, STDIO_TAIL_NAME bytes. 1; 0: there is nothing; -ENODATA: the log is
 * shorter; -errno
 */
int stdio_copy_tail(int dir, int log, const char *name, int64_t len, char *tail);
/* Cut a log (0, 1) in which all output is; 0 also if there is none. -EINVAL, -EBUSY, -errno */
int stdio_cut_log(struct shim_stdio *io, unsigned int stream, uint64_t len);

#define STDIO_NO_INPUT	(1U << 0)	/* /dev/null instead */
#define STDIO_APPEND	(1U << 1)	/* several processes write to one file */
#define STDIO_TRUNCATE	(1U << 2)	/* with STDIO_APPEND: this process is the first */

/*
 * Put terminal and pipes at descriptors 0-2. Call in the job's main process (@index -1) or
 * a rank, before it gives up root's rights.
 */
int stdio_enter(const struct shim_stdio *io, const struct shim_spec *spec,
		unsigned int flags, int index);
/* In the same process, as the user: open the streams that are files. -errno, with *ret_path. */
int stdio_enter_files(const struct shim_spec *spec, unsigned int flags,
		      const char **ret_path);

/* List the externals that a restore connects the job to. Number of *ret (free it), or -ENOMEM. */
int stdio_restore_externals(const struct shim_stdio *io, struct engine_external **ret);

/* The job has its ends of the pipes: close the shim's copies of them and begin to read. */
int stdio_start(struct shim_stdio *io, struct reactor *reactor,
		void (*changed)(void *arg), void *arg);

/* Read and log all that the job has written; 0, or the errno of a failed write. */
int stdio_drain(struct shim_stdio *io);
/* True if all output is in the logs and nobody can write more. */
bool stdio_finished(const struct shim_stdio *io);
/* The job is gone: read the rest out of its terminal and pipes, and read no more after that. */
void stdio_finish(struct shim_stdio *io);

/* Append to the log; bytes that cannot be written are held, and nothing may follow until then. */
int stdio_log(struct shim_stream *stream, const char *data, size_t len);
/* Write the held bytes now. Call it again if that fails and @stream has no retry timer. */
void stdio_retry(struct shim_stream *stream);
/* Call io->changed. */
void stdio_changed(struct shim_stdio *io);

/* Add a line of Stillpoint's to the log of standard error, or to the shim's log without one. */
void stdio_note(struct shim_stdio *io, const char *text);

/*
 * stdio_ends() - the shim's ends of the streams, for a dump
 * @from: the place to begin at, in the order of all possible ends; an end that is closed
 *	meanwhile does not move the others
 * @ret_ends, @ret_fds: room for SHIM_FDS_MAX
 *
 * Return: the place to go on at; 0: that was all.
 */
uint64_t stdio_ends(const struct shim_stdio *io, uint64_t from, struct shim_end *ret_ends,
		    int *ret_fds, unsigned int *ret_nr);

/* Give the job input; bytes taken (0: no room now), or negative errno. */
int stdio_input(struct shim_stdio *io, const char *data, size_t len);
void stdio_input_end(struct shim_stdio *io);
void stdio_window(struct shim_stdio *io, unsigned int window);

#endif /* STILLPOINT_SHIM_STDIO_H */
