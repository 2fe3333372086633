// SPDX-License-Identifier: GPL-2.0-only
/*
 * Record streams for tests.  Numbers are chosen so that a stream that is not
 * tampered with is well formed; tests spoil what they want to see rejected.
 */
#include "tests/unit/stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void *stream_add(struct stream *s, uint16_t type, size_t size, const void *tail,
		 size_t tail_len)
{
	size_t len = (size + tail_len + 7) & ~(size_t)7;
	struct ckpt_rec_hdr *hdr;

	if (s->len + len > s->room) {
		s->room = (s->len + len) * 2;
		s->buf = realloc(s->buf, s->room);
		if (!s->buf)
			abort();
	}
	hdr = (void *)((char *)s->buf + s->len);
	memset(hdr, 0, len);
	hdr->type = type;
	hdr->version = 1;
	hdr->len = (uint32_t)len;
	if (tail_len)
		memcpy((char *)hdr + size, tail, tail_len);
	s->len += len;
	return hdr;
}

void stream_done(struct stream *s)
{
	free(s->buf);
	memset(s, 0, sizeof(*s));
}

void stream_system(struct stream *s)
{
	struct ckpt_rec_system *rec = stream_add(s, CKPT_REC_SYSTEM, sizeof(*rec), NULL, 0);

	rec->api = CKPT_API;
	rec->monotonic_ns = 1000;
	strcpy(rec->release, "6.1.0-test");
}

struct ckpt_rec_proc stream_proc(struct stream *s, int pid, int ppid, uint32_t mm_id,
				 uint32_t files_id, unsigned int nr_threads)
{
	struct ckpt_rec_proc *proc = stream_add(s, CKPT_REC_PROC, sizeof(*proc), NULL, 0);
	struct ckpt_rec_proc copy;

	proc->pid = proc->host_pid = pid;
	proc->ppid = ppid;
	proc->flags = ppid ? 0 : CKPT_PROC_ROOT;
	proc->pgid = proc->sid = pid;
	proc->state = CKPT_PROC_RUNNING;
	proc->mm_id = mm_id;
	proc->files_id = files_id;
	proc->cwd = proc->root = STREAM_CWD;
	proc->tty = -1;
	proc->nr_threads = nr_threads;
	strcpy(proc->comm, "made-up");
	copy = *proc;
	for (unsigned int i = 0; i < nr_threads; i++) {
		struct ckpt_rec_thread *thread =
			stream_add(s, CKPT_REC_THREAD, sizeof(*thread), NULL, 0);
		struct ckpt_rec_xstate *xstate;

		thread->tid = thread->host_tid = pid + (int)i;
		thread->pid = pid;
		thread->flags = i ? 0 : CKPT_THREAD_LEADER;
		strcpy(thread->comm, "made-up");
		xstate = stream_add(s, CKPT_REC_XSTATE, sizeof(*xstate), "xsave", 5);
		xstate->tid = pid + (int)i;
		xstate->size = 5;
	}
	struct ckpt_rec_sigactions *actions =
		stream_add(s, CKPT_REC_SIGACTIONS, sizeof(*actions), NULL, 0);

	actions->pid = pid;
	return copy;
}

void stream_zombie(struct stream *s, int pid, int ppid, int exit_code)
{
	struct ckpt_rec_proc *proc = stream_add(s, CKPT_REC_PROC, sizeof(*proc), NULL, 0);

	proc->pid = proc->host_pid = pid;
	proc->ppid = ppid;
	proc->flags = ppid ? 0 : CKPT_PROC_ROOT;
	proc->state = CKPT_PROC_ZOMBIE;
	proc->exit_code = exit_code;
	proc->tty = -1;
}

struct ckpt_rec_mm *stream_mm(struct stream *s, uint32_t mm_id, int pid, uint32_t nr_vmas)
{
	struct ckpt_rec_mm *mm = stream_add(s, CKPT_REC_MM, sizeof(*mm), NULL, 0);

	mm->mm_id = mm_id;
	mm->pid = mm->host_pid = pid;
	mm->nr_vmas = nr_vmas;
	return mm;
}

void stream_vma(struct stream *s, uint32_t mm_id, uint64_t start, uint64_t end,
		uint32_t kind, uint64_t flags, int32_t file)
{
	struct ckpt_rec_vma *vma = stream_add(s, CKPT_REC_VMA, sizeof(*vma), NULL, 0);

	vma->mm_id = mm_id;
	vma->start = start;
	vma->end = end;
	vma->kind = kind;
	vma->flags = flags;
	vma->file = file;
}

void stream_fd(struct stream *s, uint32_t files_id, int fd, int32_t file)
{
	struct ckpt_rec_fd *rec = stream_add(s, CKPT_REC_FD, sizeof(*rec), NULL, 0);

	rec->files_id = files_id;
	rec->fd = fd;
	rec->file = file;
}

struct ckpt_rec_file *stream_file(struct stream *s, uint32_t id, uint32_t kind,
				  const char *path)
{
	struct ckpt_rec_file *rec = stream_add(s, CKPT_REC_FILE, sizeof(*rec), path,
					       strlen(path) + 1);

	rec->id = id;
	rec->kind = kind;
	rec->dev = 1;
	rec->ino = 1000 + id;
	rec->mode = (kind == CKPT_FILE_DIR ? S_IFDIR : S_IFREG) | 0644;
	rec->nlink = 1;
	rec->path_len = (uint32_t)strlen(path) + 1;
	return rec;
}

struct ckpt_rec_lock *stream_lock(struct stream *s, int32_t file, uint32_t files_id)
{
	struct ckpt_rec_lock *rec = stream_add(s, CKPT_REC_LOCK, sizeof(*rec), NULL, 0);

	rec->file = file;
	rec->files_id = files_id;
	rec->kind = files_id ? CKPT_LOCK_POSIX : CKPT_LOCK_FLOCK;
	rec->type = F_WRLCK;
	rec->end = INT64_MAX;
	return rec;
}

struct ckpt_rec_pipe *stream_pipe(struct stream *s, uint64_t object, const char *data)
{
	struct ckpt_rec_pipe *rec = stream_add(s, CKPT_REC_PIPE, sizeof(*rec), data,
					       strlen(data));

	rec->object = object;
	rec->ring_size = 65536;
	rec->readers = rec->writers = rec->tree_readers = rec->tree_writers = 1;
	rec->data_len = (uint32_t)strlen(data);
	return rec;
}
