/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between state.c, state_parse.c and the parsers of engine/kinds/ only.
 *
 * state_parse.c checks the records of a stream one by one and appends them to the
 * model's arrays; state.c then links them.  The model owns the index.
 */
#ifndef STILLPOINT_STATE_PARSE_H
#define STILLPOINT_STATE_PARSE_H

#include "engine/core/state.h"

struct state_index {
	struct state_proc **by_pid;
	struct state_thread **by_tid;
	const struct ckpt_rec_sigpending **pending;	/* all queues, stream order */
	unsigned int nr_pending;
	const struct engine_rec_file_track **tracks;
	unsigned int nr_tracks;
	const struct engine_rec_file_place **places;
	unsigned int nr_places;
	const struct engine_rec_file_mark **marks;
	unsigned int nr_marks;
	const struct engine_rec_blob **blobs_by_inode;	/* blobs of files, sorted by dev, ino */
	unsigned int nr_blobs_by_inode;
	const struct ckpt_rec_of_file **own;	/* records of files' kinds, stream order */
	unsigned int nr_own;
	const struct engine_rec_sock_options **sock_options;
	unsigned int nr_sock_options;
};

struct state_parser {
	struct state *state;
	struct state_proc *proc;	/* latest PROC record: the next ones belong to it */
	struct state_thread *thread;	/* latest THREAD record, the same */
	struct state_mm *mm;		/* latest MM record, the same */
	const void *timers_end;		/* first byte behind the latest TIMER record */
	const void *semadjs_end;	/* the same of SEMADJ */
	const void *buf;
	size_t offset;
	struct state_error *error;
};

/* Describe a failure in the parser's error; returns @err. */
int state_fail(struct state_parser *p, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Walks the stream twice: counts and allocates, then checks and appends. */
int state_parse_records(struct state_parser *p, size_t len);

#endif /* STILLPOINT_STATE_PARSE_H */
