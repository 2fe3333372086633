// SPDX-License-Identifier: GPL-2.0-only
/*
 * Marks of the inodes that stay where they are, so that a restart can find them again under
 * another name, and does not take a later inode of the same number for them.
 *
 * Runs after the thaw: the descriptors of the inodes are held, so an inode cannot become
 * another one meanwhile.
 */
#include "engine/core/file_mark.h"
#include "engine/dump/dump_run.h"

#include <errno.h>

static int dump_mark_add(struct dump *d, const struct state_file *file, int fd)
{
	struct engine_rec_file_mark *rec;
	struct file_mark mark;

	file_mark_read(fd, &mark);
	if (!mark.btime_ns && !mark.handle_len)
		return 0;
	rec = dump_record_add(d, ENGINE_REC_FILE_MARK | CKPT_REC_OPTIONAL, sizeof(*rec),
			      mark.handle, mark.handle_len);
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	rec->file_id = file->rec->id;
	rec->btime_ns = mark.btime_ns;
	rec->handle_type = mark.handle_type;
	rec->handle_len = mark.handle_len;
	return 0;
}

int dump_marks(struct dump *d)
{
	struct state *state = d->cap.state;
	int ret = 0;

	for (unsigned int i = 0; i < state->nr_files && !ret; i++) {
		const struct dump_inode *inode = dump_inode(d, &state->files[i]);

		if (inode && inode->track && !inode->exec && inode->fd >= 0)
			ret = dump_mark_add(d, &state->files[i], inode->fd);
	}
	return ret;
}
