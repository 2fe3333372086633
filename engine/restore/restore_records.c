// SPDX-License-Identifier: GPL-2.0-only
/*
 * Giving state records back to the kernel; see restore_records.h.
 *
 * One call carries the records that the kernel applies together (CKPT_IOC_RESTORE_STATE).
 * A record is copied before it is changed: the model must stay as it is.
 */
#include "engine/restore/restore_records.h"
#include "base/error.h"
#include "engine/core/cpu.h"
#include "engine/core/state_kind.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

void *restore_records_append(struct restore_records *s, size_t len)
{
	size_t padded = (len + 7) & ~(size_t)7;
	char *more;

	if (s->room - s->len < padded) {
		size_t room = (s->len + padded) * 2;

		more = realloc(s->buf, room);
		if (!more)
			return NULL;
		s->buf = more;
		s->room = room;
	}
	more = s->buf + s->len;
	memset(more, 0, padded);
	((struct ckpt_rec_hdr *)more)->len = (__u32)padded;
	s->len += padded;
	return more;
}

static int restore_records_copy(struct restore_records *s, const struct ckpt_rec_hdr *rec)
{
	void *to = restore_records_append(s, rec->len);

	if (!to)
		return -ENOMEM;
	memcpy(to, rec, rec->len);
	return 0;
}

/* The lock of the model that a record of a failed call is a copy of, or NULL. */
static const struct state_lock *lock_of(const struct restore_records *s,
					const struct ckpt_rec_lock *rec)
{
	const struct state *state = s->files->state;

	for (unsigned int i = 0; i < state->nr_locks; i++) {
		const struct state_lock *lock = &state->locks[i];

		if (lock->table && reopen_fd(s->files, lock->file) == rec->file)
			return lock;
	}
	return NULL;
}

static int call_failed(const struct restore_records *s, int err, pid_t pid, const char *what,
		       uint64_t offset)
{
	const struct ckpt_rec_hdr *bad = offset + sizeof(*bad) <= s->len ?
		(const void *)(s->buf + offset) : NULL;
	const struct state_lock *lock = bad && bad->type == CKPT_REC_LOCK ?
		lock_of(s, (const void *)bad) : NULL;

	if (lock)
		return reopen_locked(s->error, err, lock);
	if (bad && bad->type == CKPT_REC_AIO && err == -EAGAIN)
		return error_fail(s->error, err, "process %d: this node has too many contexts of "
				  "asynchronous I/O; raise fs.aio-max-nr (sysctl)", pid);
	return error_fail(s->error, err,
			   "cannot restore %s of process %d (record %u at %llu): %s", what, pid,
			   bad ? bad->type : 0, (unsigned long long)offset, strerror(-err));
}

int restore_records_call(struct restore_records *s, pid_t pid, const char *what)
{
	struct ckpt_restore_state arg = {
		.pid = pid, .len = (__u32)s->len, .buf = (uintptr_t)s->buf,
	};
	int ret = kdev_restore_state(s->dev, &arg);

	if (ret)
		ret = call_failed(s, ret, pid, what, arg.bad_offset);
	s->len = 0;
	return ret;
}

int restore_records_no_memory(struct restore_records *s)
{
	s->len = 0;
	return error_fail(s->error, -ENOMEM, "out of memory");
}

pid_t restore_records_tid(const struct state_proc *proc)
{
	return proc->threads[0].rec->tid;
}

/* Add the asynchronous I/O contexts behind all mappings, and before the policies. */
static int add_aios(struct restore_records *s, const struct state_mm *mm)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < mm->nr_vmas; i++)
		if (mm->vmas[i].aio)
			ret = restore_records_copy(s, &mm->vmas[i].aio->hdr);
	return ret;
}

/* Add the policies behind all mappings: the kernel sets them when the mappings are there. */
static int add_mempolicies(struct restore_records *s, const struct state_mm *mm)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < mm->nr_vmas; i++)
		if (mm->vmas[i].mempolicy)
			ret = restore_records_copy(s, &mm->vmas[i].mempolicy->hdr);
	return ret;
}

static int restore_records_mm(struct restore_records *s, const struct state_mm *mm)
{
	struct ckpt_rec_mm *rec = restore_records_append(s, sizeof(*rec));

	if (!rec)
		return restore_records_no_memory(s);
	*rec = *mm->rec;
	rec->hdr.len = sizeof(*rec);
	rec->exe = (__u32)reopen_fd(s->files, mm->exe);
	rec->exe_recorded = mm->exe && reopen_is_recorded(mm->exe, (int)rec->exe);
	if (mm->pkeys && restore_records_copy(s, &mm->pkeys->hdr))
		return restore_records_no_memory(s);
	for (unsigned int i = 0; i < mm->nr_vmas; i++) {
		struct ckpt_rec_vma *vma = restore_records_append(s, sizeof(*vma));

		if (!vma)
			return restore_records_no_memory(s);
		*vma = *mm->vmas[i].rec;
		vma->hdr.len = sizeof(*vma);
		vma->file = reopen_fd(s->files, mm->vmas[i].file);
	}
	if (add_aios(s, mm) || add_mempolicies(s, mm))
		return restore_records_no_memory(s);
	return restore_records_call(s, restore_records_tid(mm->owner), "the memory map");
}

/* Is the ring that the map has from a fork that of a map in @made? */
static bool ring_is_made(const struct state *state, const bool *made, uint32_t ring)
{
	for (unsigned int i = 0; i < state->nr_mms; i++) {
		const struct state_mm *mm = &state->mms[i];

		for (unsigned int v = 0; made[i] && mm->nr_aios && v < mm->nr_vmas; v++)
			if (mm->vmas[v].aio && !mm->vmas[v].aio->flags &&
			    mm->vmas[v].aio->ring == ring)
				return true;
	}
	return false;
}

/* May the map be made now, with all rings that it has from forks? */
static bool mm_is_next(const struct state *state, const bool *made, const struct state_mm *mm)
{
	for (unsigned int v = 0; mm->nr_aios && v < mm->nr_vmas; v++)
		if (mm->vmas[v].aio && mm->vmas[v].aio->flags == CKPT_AIO_INHERITED &&
		    !ring_is_made(state, made, mm->vmas[v].aio->ring))
			return false;
	return true;
}

int restore_records_mms(struct restore_records *s)
{
	const struct state *state = s->files->state;
	bool *made = calloc(state->nr_mms + 1, sizeof(*made));
	unsigned int nr = 0, before;
	int ret = 0;

	if (!made)
		return restore_records_no_memory(s);
	do {
		before = nr;
		for (unsigned int i = 0; !ret && i < state->nr_mms; i++) {
			if (made[i] || !mm_is_next(state, made, &state->mms[i]))
				continue;
			ret = restore_records_mm(s, &state->mms[i]);
			made[i] = true;
			nr++;
		}
	} while (!ret && nr > before);
	if (!ret && nr < state->nr_mms)
		ret = error_fail(s->error, -EBADMSG, "a process has the ring of a context of "
				 "asynchronous I/O that no process of the image has");
	free(made);
	return ret;
}

/* Add the POSIX locks of the table, behind its descriptors. */
static int add_locks(struct restore_records *s, const struct state_fdtable *table)
{
	const struct state *state = s->files->state;

	for (unsigned int i = 0; i < state->nr_locks; i++) {
		const struct state_lock *lock = &state->locks[i];
		struct ckpt_rec_lock *rec;

		if (lock->table != table || lock->file->external)
			continue;
		rec = restore_records_append(s, sizeof(*rec));
		if (!rec)
			return -ENOMEM;
		*rec = *lock->rec;
		rec->hdr.len = sizeof(*rec);
		rec->file = reopen_fd(s->files, lock->file);
	}
	return 0;
}

int restore_records_fds(struct restore_records *s, const struct state_fdtable *table)
{
	struct ckpt_rec_fd *none;

	if (!table->nr_fds) {	/* a call is never empty: "no descriptor" is a record */
		none = restore_records_append(s, sizeof(*none));
		if (!none)
			return restore_records_no_memory(s);
		none->hdr.type = CKPT_REC_FD;
		none->hdr.version = 1;
		none->files_id = table->files_id;
		none->fd = -1;
		none->file = -1;
	}
	for (unsigned int i = 0; i < table->nr_fds; i++) {
		struct ckpt_rec_fd *fd = restore_records_append(s, sizeof(*fd));

		if (!fd)
			return restore_records_no_memory(s);
		*fd = *table->fds[i].rec;
		fd->hdr.len = sizeof(*fd);
		fd->file = reopen_fd(s->files, table->fds[i].file);
	}
	if (add_locks(s, table))
		return restore_records_no_memory(s);
	return restore_records_call(s, restore_records_tid(table->owner), "the descriptors");
}

static int add_pending(struct restore_records *s, const struct ckpt_rec_sigpending **pending,
		       unsigned int nr)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < nr; i++)
		ret = restore_records_copy(s, &pending[i]->hdr);
	return ret;
}

/* Add the register area, in the layout of this node's CPU. */
static int restore_records_xstate(struct restore_records *s, const struct ckpt_rec_xstate *rec)
{
	const struct ckpt_info *node = &s->dev->info;
	struct ckpt_rec_xstate *to;
	int ret;

	if (!cpu_moves_xstate(s->cpu, node, rec->size))
		return restore_records_copy(s, &rec->hdr) ? restore_records_no_memory(s) : 0;
	to = restore_records_append(s, sizeof(*to) + node->xstate_size);
	if (!to)
		return restore_records_no_memory(s);
	to->hdr.type = CKPT_REC_XSTATE;
	to->hdr.version = 1;
	to->tid = rec->tid;
	to->size = node->xstate_size;
	ret = cpu_move_xstate(s->cpu, node, rec + 1, rec->size, to + 1);
	return ret ? error_fail(s->error, ret,
				 "thread %d: its register area contradicts its CPU's layout",
				 rec->tid) : 0;
}

static int restore_records_thread(struct restore_records *s, const struct state_thread *thread)
{
	const struct state_proc *proc = thread->proc;
	int ret = restore_records_copy(s, &thread->rec->hdr);

	if (!ret && thread->xstate) {
		ret = restore_records_xstate(s, thread->xstate);
		if (ret)
			return ret;
	}
	if (!ret)
		ret = add_pending(s, thread->pending, thread->nr_pending);
	if (!ret && thread == &proc->threads[0])
		ret = add_pending(s, proc->pending, proc->nr_pending);
	return ret ? restore_records_no_memory(s) :
		     restore_records_call(s, thread->rec->tid, "a thread");
}

int restore_records_proc(struct restore_records *s, const struct state_proc *proc)
{
	struct ckpt_rec_proc *rec = restore_records_append(s, sizeof(*rec));
	int ret;

	if (!rec)
		return restore_records_no_memory(s);
	*rec = *proc->rec;
	rec->hdr.len = sizeof(*rec);
	rec->cwd = (__u32)-1;	/* the tasks set both by system calls */
	rec->root = (__u32)-1;
	if (s->in_place) {
		rec->pgid = 0;
		rec->sid = 0;
	}
	/* a root has a new parent, which expects SIGCHLD, as after every change of parents */
	if (rec->flags & CKPT_PROC_ROOT && rec->exit_signal >= 0)
		rec->exit_signal = SIGCHLD;
	ret = restore_records_call(s, restore_records_tid(proc), "the process state");
	if (ret)
		return ret;
	if (restore_records_copy(s, &proc->sigactions->hdr))
		return restore_records_no_memory(s);
	ret = restore_records_call(s, restore_records_tid(proc), "the signal actions");
	for (unsigned int i = 0; !ret && state_kinds[i]; i++)
		if (state_kinds[i]->apply_proc)
			ret = state_kinds[i]->apply_proc(s, proc);
	for (unsigned int i = 0; !ret && i < proc->nr_threads; i++)
		ret = restore_records_thread(s, &proc->threads[i]);
	return ret;
}

int restore_records_zombie(struct restore_records *s, const struct state_proc *proc)
{
	struct ckpt_rec_proc *rec = restore_records_append(s, sizeof(*rec));

	if (!rec)
		return restore_records_no_memory(s);
	*rec = *proc->rec;
	rec->hdr.len = sizeof(*rec);
	return restore_records_call(s, rec->pid, "the state");
}

void restore_records_done(struct restore_records *s)
{
	free(s->buf);
	s->buf = NULL;
	s->len = 0;
	s->room = 0;
}
