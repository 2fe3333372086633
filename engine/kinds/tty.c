// SPDX-License-Identifier: GPL-2.0-only
/*
 * Terminals: pseudo-terminals of the tree, and the terminal of the caller.
 *
 * User space reads settings, size and unread bytes of the tree's own ones in the pause
 * (engine/dump/dump_tty.c), and engine/files/reopen_pipe.c makes them again.
 */
#include "engine/core/state_parse.h"
#include "engine/dump/dump_run.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>

static int tty_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	p->state->ttys[p->state->nr_ttys++] = (const void *)hdr;
	return 0;
}

static int tty_parse_data(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_tty_data *rec = (const void *)hdr;

	if (rec->len > CKPT_TTY_MAX || (rec->kind != CKPT_FILE_PTM && rec->kind != CKPT_FILE_PTS))
		return state_fail(p, -EBADMSG, "bad data of terminal %u", rec->index);
	p->state->tty_data[p->state->nr_tty_data++] = rec;
	return 0;
}

static void tty_policy(struct dump *d, const struct state_file *file)
{
	uint64_t index = file->rec->object;

	switch (file->rec->kind) {
	case CKPT_FILE_PTM:
		return;
	case CKPT_FILE_PTS:
		if (!dump_own_pty(d, file->rec->object) && !dump_external_name(d, file))
			dump_refuse(d, file, CKPT_R_FD_TTY, "terminal");
		return;
	default:	/* /dev/tty: the controlling terminal of the process that opened it */
		if (index > INT_MAX ||
		    (!dump_own_pty(d, index) && !dump_external_tty(d, (int)index)))
			dump_refuse(d, file, CKPT_R_FD_TTY, "terminal /dev/tty");
	}
}

const struct state_kind state_kind_tty = {
	.name = "terminal",
	.records = {
		{ ENGINE_REC_TTY, sizeof(struct engine_rec_tty), STATE_OWNER_ALL, tty_parse },
		{ ENGINE_REC_TTY_DATA,
		  sizeof(struct engine_rec_tty_data) + sizeof(struct engine_tty_bytes),
		  STATE_OWNER_ALL, tty_parse_data },
	},
	.files = { CKPT_FILE_PTS, CKPT_FILE_PTM, CKPT_FILE_TTY },
	.policy = tty_policy,
	.dump = dump_records_ttys,
	.prepare = reopen_ptys,
	.open = reopen_pty,
};
