// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes and FIFOs: who holds their ends, and the data in them.
 *
 * All holders in the tree are frozen.  A holder outside may be using the pipe, so the pipe's mutex
 * is taken, waiting for a bounded time only; data is copied while the pipe cannot change.  An
 * outside holder is recorded, not refused: user space decides whether it is acceptable.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/pipe_fs_i.h>
#include <linux/sched/signal.h>

#include "collect.h"
#include "collect_kind.h"
#include "records.h"

#define CKPT_PIPE_LOCK_TRIES	100	/* x 100 us */

static struct pipe_inode_info *ckpt_pipe_of(struct file *file)
{
	struct inode *inode = file_inode(file);

	if (!S_ISFIFO(inode->i_mode) || file->f_mode & FMODE_PATH)
		return NULL;
	return READ_ONCE(inode->i_pipe);
}

static int ckpt_pipe_meet(struct ckpt_collect *c, struct ckpt_object *file_obj)
{
	struct file *file = file_obj->file.file;
	struct pipe_inode_info *pipe = ckpt_pipe_of(file);
	struct ckpt_object *obj;
	bool is_new;

	if (!pipe)
		return 0;
	obj = ckpt_object_get(c->objs, CKPT_OBJ_PIPE, pipe, NULL, &is_new);
	if (!obj)
		return -ENOMEM;
	if (is_new) {
		obj->pipe.file = file;
		obj->task = file_obj->task;
	}
	if (file->f_mode & FMODE_READ)
		obj->pipe.readers++;
	if (file->f_mode & FMODE_WRITE)
		obj->pipe.writers++;
	file_obj->file.pipe = obj;
	return 0;
}

static void ckpt_pipe_met(struct ckpt_collect *c)
{
	struct ckpt_object *obj;
	unsigned long id;

	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_PIPE) {
		struct pipe_inode_info *pipe = ckpt_pipe_of(obj->pipe.file);

		obj->pipe.total_readers = READ_ONCE(pipe->readers);
		obj->pipe.total_writers = READ_ONCE(pipe->writers);
		obj->pipe.external = obj->pipe.total_readers > obj->pipe.readers ||
				     obj->pipe.total_writers > obj->pipe.writers;
	}
}

/* True for a FIFO opened without a writer, before any came: poll(2) reports no hangup. */
bool ckpt_file_is_unseen_fifo(struct file *file)
{
	struct pipe_inode_info *pipe = ckpt_pipe_of(file);

	return pipe && !READ_ONCE(pipe->writers) &&
	       file_inode(file)->i_sb->s_magic != PIPEFS_MAGIC &&
	       ckpt_file_pipe_version(file) == READ_ONCE(pipe->w_counter);
}

static bool ckpt_pipe_trylock(struct pipe_inode_info *pipe)
{
	unsigned int tries;

	for (tries = 0; tries < CKPT_PIPE_LOCK_TRIES; tries++) {
		if (mutex_trylock(&pipe->mutex))
			return true;
		usleep_range(50, 100);
	}
	return false;
}

static size_t ckpt_pipe_bytes(struct pipe_inode_info *pipe)
{
	unsigned int mask = pipe->ring_size - 1, i;
	size_t bytes = 0;

	for (i = pipe->tail; i != pipe->head; i++)
		bytes += pipe->bufs[i & mask].len;
	return bytes;
}

static int ckpt_pipe_copy(struct pipe_inode_info *pipe, char *out)
{
	unsigned int mask = pipe->ring_size - 1, i;
	int err;

	for (i = pipe->tail; i != pipe->head; i++) {
		struct pipe_buffer *buf = &pipe->bufs[i & mask];
		unsigned int done = 0;

		err = pipe_buf_confirm(pipe, buf);
		if (err)
			return err;
		/* a buffer of spliced data may span the pages of a compound page */
		while (done < buf->len) {
			unsigned int pos = buf->offset + done;
			unsigned int n = min_t(unsigned int, buf->len - done,
					       PAGE_SIZE - offset_in_page(pos));
			char *from = kmap_local_page(buf->page + (pos >> PAGE_SHIFT));

			memcpy(out, from + offset_in_page(pos), n);
			kunmap_local(from);
			out += n;
			done += n;
		}
	}
	return 0;
}

static bool ckpt_pipe_has_packets(struct pipe_inode_info *pipe)
{
	unsigned int mask = pipe->ring_size - 1, i;

	for (i = pipe->tail; i != pipe->head; i++)
		if (pipe->bufs[i & mask].flags & PIPE_BUF_FLAG_PACKET)
			return true;
	return false;
}

/* Emit the pipe's record and data; called with the pipe's mutex held. */
static int ckpt_pipe_emit(struct ckpt_collect *c, struct ckpt_object *obj,
			  struct pipe_inode_info *pipe)
{
	size_t bytes = ckpt_pipe_bytes(pipe);
	struct ckpt_rec_pipe *rec;
	int err;

	if (ckpt_pipe_has_packets(pipe))
		ckpt_refuse(c->cap, CKPT_R_PIPE_PACKET, obj->task, obj->id,
			    "%zu bytes in packets", bytes);
#ifdef CONFIG_WATCH_QUEUE
	if (pipe->watch_queue) {	/* a watch queue fills without the mutex */
		ckpt_refuse(c->cap, CKPT_R_FD_KIND, obj->task, obj->id, "watch queue");
		return 0;
	}
#endif
	rec = ckpt_records_add(c->recs, CKPT_REC_PIPE, sizeof(*rec) + bytes);
	if (!rec)
		return -ENOMEM;
	rec->object = obj->id;
	rec->ring_size = pipe->max_usage * PAGE_SIZE;
	rec->readers = obj->pipe.total_readers;
	rec->writers = obj->pipe.total_writers;
	rec->tree_readers = obj->pipe.readers;
	rec->tree_writers = obj->pipe.writers;
	rec->data_len = bytes;
	err = ckpt_pipe_copy(pipe, (char *)(rec + 1));
	if (err)
		ckpt_refuse(c->cap, CKPT_R_FD_KIND, obj->task, obj->id,
			    "data in the pipe cannot be read (%d)", err);
	return 0;
}

static int ckpt_pipe_finish(struct ckpt_collect *c)
{
	struct ckpt_object *obj;
	unsigned long id;
	int err = 0;

	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_PIPE) {
		struct pipe_inode_info *pipe = ckpt_pipe_of(obj->pipe.file);

		if (!ckpt_pipe_trylock(pipe)) {
			ckpt_refuse(c->cap, CKPT_R_TIMEOUT, obj->task, obj->id,
				    "a pipe is locked by someone outside");
			continue;
		}
		err = ckpt_pipe_emit(c, obj, pipe);
		mutex_unlock(&pipe->mutex);
		if (err)
			break;
	}
	return err;
}

const struct ckpt_collect_kind ckpt_kind_pipe = {
	.kinds = { CKPT_FILE_PIPE, CKPT_FILE_FIFO },
	.meet = ckpt_pipe_meet,
	.met = ckpt_pipe_met,
	.finish = ckpt_pipe_finish,
};
