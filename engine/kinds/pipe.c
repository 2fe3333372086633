// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes and FIFOs.
 *
 * The kernel module copies a pipe's data into the record PIPE, to which the FILE records of its
 * ends refer by number.  engine/files/reopen_pipe.c makes pipes again, and fills those that the
 * caller of a restart gives.
 */
#include "engine/core/state_parse.h"
#include "engine/dump/dump_run.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>

static int pipe_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_pipe *rec = (const void *)hdr;
	struct state_pipe *pipe;

	if (rec->data_len > hdr->len - sizeof(*rec))
		return state_fail(p, -EBADMSG, "data of pipe %llu too short",
				  (unsigned long long)rec->object);
	pipe = &p->state->pipes[p->state->nr_pipes++];
	pipe->rec = rec;
	pipe->data = rec + 1;
	return 0;
}

static void pipe_policy(struct dump *d, const struct state_file *file)
{
	const struct ckpt_rec_pipe *pipe = file->pipe->rec;

	if (file->rec->kind == CKPT_FILE_FIFO)
		dump_check_path(d, file);
	if (pipe->readers == pipe->tree_readers && pipe->writers == pipe->tree_writers)
		return;
	if (dump_external_name(d, file))
		return;
	dump_refuse(d, file, CKPT_R_PIPE_EXTERNAL,
	       pipe->readers != pipe->tree_readers ? "its reader is outside:" :
						     "its writer is outside:");
}

static uint64_t pipe_marks(const struct state *state, const struct ckpt_rec_hdr *hdr)
{
	return state_pipe_find(state, ((const struct ckpt_rec_pipe *)hdr)->object)->user;
}

const struct state_kind state_kind_pipe = {
	.name = "pipe",
	.records = {
		{ CKPT_REC_PIPE, sizeof(struct ckpt_rec_pipe), STATE_OWNER_OBJECT, pipe_parse },
	},
	.files = { CKPT_FILE_PIPE, CKPT_FILE_FIFO },
	.marks = pipe_marks,
	.policy = pipe_policy,
	.prepare = reopen_pipes,
	.open = reopen_pipe,
};
