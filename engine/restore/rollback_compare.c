// SPDX-License-Identifier: GPL-2.0-only
/*
 * The comparison before a rollback; see rollback_compare.h.
 *
 * The records of a thread and of a process are compared by groups of fields, each with its words.
 * Fields that are in no group are set by the rollback.
 */
#include "engine/restore/rollback_compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Flags of a process and of a thread that a rollback does not set. */
#define PROC_FLAGS	(CKPT_PROC_SUBREAPER | CKPT_PROC_ROOT | CKPT_PROC_LEADER_DEAD | \
			 CKPT_PROC_SESSION_LEADER | CKPT_PROC_MDWE | CKPT_PROC_MDWE_NO_INHERIT)
#define THREAD_FLAGS	(CKPT_THREAD_NO_NEW_PRIVS | CKPT_THREAD_RESET_ON_FORK)

struct why {
	char *text;
	size_t size;
	bool ranks;
};

__attribute__((format(printf, 2, 3)))
static bool differs(struct why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, why->size, format, args);
	va_end(args);
	return false;
}

/* ---------------------------------------------------------------- threads */

bool rollback_same_policy(const struct ckpt_rec_mempolicy *a, const struct ckpt_rec_mempolicy *b)
{
	return a && b ? a->mode == b->mode && a->flags == b->flags &&
			!memcmp(a->nodes, b->nodes, sizeof(a->nodes)) : a == b;
}

static bool same_groups(const struct ckpt_rec_groups *a, const struct ckpt_rec_groups *b)
{
	unsigned int nr = a ? a->nr : 0;

	return nr == (b ? b->nr : 0) && (!nr || !memcmp(a + 1, b + 1, nr * sizeof(__u32)));
}

static bool same_scheduling(const struct state_thread *image, const struct state_thread *now)
{
	const struct ckpt_rec_thread *a = image->rec, *b = now->rec;

	return a->sched_policy == b->sched_policy && a->sched_priority == b->sched_priority &&
	       a->nice == b->nice && a->ioprio == b->ioprio &&
	       !memcmp(a->cpus, b->cpus, sizeof(a->cpus)) &&
	       rollback_same_policy(image->mempolicy, now->mempolicy);
}

static bool compare_thread(const struct state_thread *image, const struct state_thread *now,
			   struct why *why)
{
	int tid = image->rec->tid;

	if (!same_scheduling(image, now))
		return differs(why, "thread %d is scheduled in another way", tid);
	if (memcmp(&image->rec->creds, &now->rec->creds, sizeof(image->rec->creds)) ||
	    !same_groups(image->groups, now->groups) ||
	    (image->rec->flags ^ now->rec->flags) & THREAD_FLAGS)
		return differs(why, "thread %d has other rights", tid);
	return true;
}

static bool compare_threads(const struct state *state, const struct state_proc *image,
			    const struct state_proc *now, struct why *why)
{
	for (unsigned int i = 0; i < image->nr_threads; i++) {
		const struct state_thread *is =
			state_thread_find(state, image->threads[i].rec->tid);

		if (!is || is->proc != now)
			return differs(why, "thread %d has ended", image->threads[i].rec->tid);
		if (!compare_thread(&image->threads[i], is, why))
			return false;
	}
	if (image->nr_threads != now->nr_threads && !why->ranks)
		return differs(why, "process %d has more threads", image->rec->pid);
	return true;
}

/* -------------------------------------------------------------- processes */

static bool same_place(const struct state_file *a, const struct state_file *b)
{
	return a && b && a->rec->dev == b->rec->dev && a->rec->ino == b->rec->ino &&
	       !strcmp(a->path, b->path);
}

static bool compare_proc(const struct state_proc *image, const struct state_proc *now,
			 struct why *why)
{
	const struct ckpt_rec_proc *a = image->rec, *b = now->rec;
	int pid = a->pid;

	if (a->state != CKPT_PROC_RUNNING || b->state != CKPT_PROC_RUNNING)
		return differs(why, "process %d is stopped, or has ended", pid);
	if (a->ppid != b->ppid || a->pgid != b->pgid || a->sid != b->sid || a->tty != b->tty ||
	    (a->flags ^ b->flags) & PROC_FLAGS)
		return differs(why, "process %d has another parent, group, session or terminal",
			       pid);
	if (!same_place(image->cwd, now->cwd) || !same_place(image->root, now->root))
		return differs(why, "process %d is in another directory", pid);
	if (a->umask != b->umask || a->personality != b->personality)
		return differs(why, "process %d has another umask or personality", pid);
	if (memcmp(a->limits, b->limits, sizeof(a->limits)))
		return differs(why, "process %d has other resource limits", pid);
	if (image->nr_semadjs || now->nr_semadjs)
		return differs(why, "process %d uses System V semaphores", pid);
	return true;
}

/* Do both trees share alike between two of their processes? */
static bool same_sharing(const struct state_proc *a, const struct state_proc *b,
			 const struct state_proc *x, const struct state_proc *y)
{
	return (a->rec->mm_id == b->rec->mm_id) == (x->rec->mm_id == y->rec->mm_id) &&
	       (a->rec->files_id == b->rec->files_id) == (x->rec->files_id == y->rec->files_id) &&
	       (a->rec->fs_id == b->rec->fs_id) == (x->rec->fs_id == y->rec->fs_id) &&
	       (a->rec->sighand_id == b->rec->sighand_id) ==
	       (x->rec->sighand_id == y->rec->sighand_id);
}

static bool compare_sharing(const struct state *image, const struct state *now, struct why *why)
{
	for (unsigned int i = 0; i < image->nr_procs; i++) {
		const struct state_proc *a = &image->procs[i];
		const struct state_proc *x = state_proc_find(now, a->rec->pid);

		for (unsigned int j = 0; j < i; j++) {
			const struct state_proc *b = &image->procs[j];

			if (!same_sharing(a, b, x, state_proc_find(now, b->rec->pid)))
				return differs(why, "processes %d and %d share other things",
					       b->rec->pid, a->rec->pid);
		}
	}
	return true;
}

/* ------------------------------------------------------------------- tree */

static bool has_shm_entry(const struct state *state)
{
	for (unsigned int i = 0; i < state->nr_blobs; i++)
		if (state->blobs[i]->kind == ENGINE_BLOB_SHM_DIR &&
		    state_blob_path(state->blobs[i]))
			return true;
	return false;
}

/* A pipe to outside is refilled with what nobody had read, behind what is in it now. */
static bool has_input(const struct state *state)
{
	for (unsigned int i = 0; i < state->nr_files; i++)
		if (state->files[i].external && state->files[i].pipe &&
		    state->files[i].pipe->rec->data_len)
			return true;
	return false;
}

/*
 * A process whose controlling terminal has its master in the tree: the terminal hangs up when the
 * tree's descriptors are closed, and only a new session leader could take another one.
 */
static const struct state_proc *find_own_terminal(const struct state *state)
{
	for (unsigned int i = 0; i < state->nr_procs; i++) {
		const struct state_proc *proc = &state->procs[i];

		for (unsigned int k = 0; proc->rec->tty >= 0 && k < state->nr_files; k++)
			if (state->files[k].rec->kind == CKPT_FILE_PTM &&
			    (int)state->files[k].rec->object == proc->rec->tty)
				return proc;
	}
	return NULL;
}

static bool has_uring(const struct state *state)
{
	for (unsigned int i = 0; i < state->nr_files; i++)
		if (state->files[i].rec->kind == CKPT_FILE_URING)
			return true;
	return false;
}

/* Kinds of objects that outlive the processes, or that others have, too. */
static bool compare_kinds(const struct state *image, const struct state *now, struct why *why)
{
	const struct state_proc *own = find_own_terminal(image) ?: find_own_terminal(now);

	if (own)
		return differs(why, "process %d has a terminal of the job's own", own->rec->pid);
	if (image->nr_socks || now->nr_socks)
		return differs(why, "it has sockets");
	if (image->nr_ipcs)
		return differs(why, "it has System V objects");
	if (has_uring(image))
		return differs(why, "it has an io_uring");
	if (image->nr_mqueues)
		return differs(why, "it has POSIX message queues");
	if (has_shm_entry(image) && !why->ranks)
		return differs(why, "it has files in /dev/shm");
	if (has_input(image))
		return differs(why, "it had not read all of its standard input");
	return true;
}

bool rollback_compare(const struct state *image, const struct state *now, bool ranks, char *text,
		      size_t size)
{
	struct why why = { text, size, ranks };

	for (unsigned int i = 0; i < image->nr_procs; i++) {
		const struct state_proc *is = state_proc_find(now, image->procs[i].rec->pid);

		if (!is)
			return differs(&why, "process %d has ended", image->procs[i].rec->pid);
		if (!compare_proc(&image->procs[i], is, &why) ||
		    !compare_threads(now, &image->procs[i], is, &why))
			return false;
	}
	if (image->nr_procs != now->nr_procs)
		return differs(&why, "it has started processes since");
	return compare_sharing(image, now, &why) && compare_kinds(image, now, &why);
}
