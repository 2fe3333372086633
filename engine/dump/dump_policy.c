// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refusals of trees that the kernel can capture: a pipe or terminal leads out of the tree
 * and is no external, or no restore could make something again.
 *
 * Only looks at the records and at the caller's externals, so that a dry run and a dump
 * cannot differ.  It also makes a plan of the restore, collects its refusals and throws it
 * away.  Every finding is reported, not only the first.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"
#include "engine/core/plan.h"
#include "engine/core/state_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define TTY_MAJOR	4
#define TTYAUX_MAJOR	5
#define MEM_MAJOR	1

/* Name, in the refusal, a process and the descriptor by which it has the file. */
static void find_holder(const struct dump *d, const struct state_file *file,
			struct error_refusal *refusal)
{
	const struct state *state = d->cap.state;
	const struct state_proc *owner;

	refusal->object = file->rec->id;
	for (unsigned int i = 0; i < state->nr_fdtables; i++) {
		const struct state_fdtable *table = &state->fdtables[i];

		for (unsigned int j = 0; j < table->nr_fds; j++) {
			if (table->fds[j].file != file)
				continue;
			owner = table->owner;
			refusal->object = (uint64_t)table->fds[j].rec->fd;
			refusal->pid = owner ? owner->rec->host_pid : 0;
			if (owner)
				memcpy(refusal->comm, owner->rec->comm,
				       sizeof(refusal->comm));
			return;
		}
	}
	refusal->pid = file->rec->pid;
}

void dump_refuse(struct dump *d, const struct state_file *file, uint32_t reason,
		 const char *what)
{
	struct error_refusal refusal = { .reason = reason };

	find_holder(d, file, &refusal);
	if (file->nr_fds)
		error_refuse(d->error, &refusal, "fd %llu: %s%s%s",
			      (unsigned long long)refusal.object, what,
			      file->path[0] ? " " : "", file->path);
	else
		error_refuse(d->error, &refusal, "%s%s%s", what,
			      file->path[0] ? " " : "", file->path);
}

/* Does the tree hold the master of this pty? */
bool dump_own_pty(const struct dump *d, uint64_t index)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_files; i++)
		if (state->files[i].rec->kind == CKPT_FILE_PTM &&
		    state->files[i].rec->object == index)
			return true;
	return false;
}

/*
 * A session whose leader is in the tree takes its controlling terminal again at restore, even
 * if no descriptor leads to it, so that terminal must be there.  Other sessions get the
 * terminal of the process that restores.
 */
static void check_control(struct dump *d, const struct ckpt_rec_proc *rec)
{
	struct error_refusal refusal = { .reason = CKPT_R_FD_TTY, .pid = rec->host_pid };

	if (rec->state == CKPT_PROC_ZOMBIE || rec->sid != rec->pid || rec->tty == -1)
		return;
	memcpy(refusal.comm, rec->comm, sizeof(refusal.comm));
	if (rec->tty < 0) {
		error_refuse(d->error, &refusal, "its controlling terminal is no pty");
	} else if (!dump_own_pty(d, (uint64_t)rec->tty) && !dump_external_tty(d, rec->tty)) {
		refusal.object = (uint64_t)rec->tty;
		error_refuse(d->error, &refusal, "its controlling terminal /dev/pts/%d",
			      rec->tty);
	}
}

static void check_chr(struct dump *d, const struct state_file *file)
{
	unsigned int maj = major(file->rec->rdev), min = minor(file->rec->rdev);

	if (maj == MEM_MAJOR && (min == 3 || min == 5 || min == 7 || min == 8 || min == 9))
		return;
	if (dump_external_name(d, file))
		return;
	if (maj == TTY_MAJOR || maj == TTYAUX_MAJOR)
		dump_refuse(d, file, CKPT_R_FD_TTY, "terminal");
	else
		dump_refuse(d, file, CKPT_R_FD_DEVICE, "device");
}

/*
 * Is it a file of /proc about a process or thread that a restore will not make?  A directory
 * of a process that is gone does not count: it is empty, like every removed directory.
 */
static bool is_of_stranger(const struct dump *d, const struct state_file *file)
{
	const struct state_proc *proc;
	int pid, tid = 0;

	if (file->rec->kind == CKPT_FILE_DIR && file->rec->flags & CKPT_FILE_DELETED)
		return false;
	if (file->rec->fs_magic != PROC_SUPER_MAGIC ||
	    sscanf(file->path, "/proc/%d/task/%d", &pid, &tid) < 1)
		return false;
	proc = state_proc_find(d->cap.state, pid);
	if (!proc || !tid || tid == pid)
		return !proc;
	for (unsigned int i = 0; i < proc->nr_threads; i++)
		if (proc->threads[i].rec->tid == tid)
			return false;
	return true;
}

/* Is it a pressure stall file open for writing? A trigger may be set on it that nobody can read. */
static bool is_pressure(const struct state_file *file)
{
	static const char ending[] = ".pressure";
	const struct ckpt_rec_file *rec = file->rec;
	size_t len = strlen(file->path);

	if (rec->kind != CKPT_FILE_REG || !(rec->flags & CKPT_FILE_OPEN) ||
	    (rec->f_flags & O_ACCMODE) == O_RDONLY)
		return false;
	if (rec->fs_magic == PROC_SUPER_MAGIC)
		return strstr(file->path, "/pressure/");
	return rec->fs_magic == CGROUP2_SUPER_MAGIC && len >= sizeof(ending) &&
	       strcmp(file->path + len - (sizeof(ending) - 1), ending) == 0;
}

void dump_check_path(struct dump *d, const struct state_file *file)
{
	const struct ckpt_rec_file *rec = file->rec;
	bool known = rec->kind == CKPT_FILE_REG || rec->kind == CKPT_FILE_DIR ||
		     (rec->kind == CKPT_FILE_FIFO && !rec->nlink);

	if (dump_external_name(d, file))
		return;
	if (is_of_stranger(d, file)) {
		dump_refuse(d, file, CKPT_R_FD_KIND,
			    "it is about a process or thread that is gone or outside the tree:");
		return;
	}
	if (is_pressure(file)) {
		dump_refuse(d, file, CKPT_R_FD_KIND, "a pressure trigger may be set on it:");
		return;
	}
	if (rec->flags & CKPT_FILE_DELETED) {
		if (!known)
			dump_refuse(d, file, CKPT_R_FD_KIND,
				    "deleted, and of a kind that is not supported when deleted:");
		return;
	}
	if (file->path[0] != '/')
		dump_refuse(d, file, CKPT_R_FD_KIND, "has no path:");
}

static void check_file(struct dump *d, const struct state_file *file)
{
	const struct state_kind *kind = state_kind_of_file(file->rec->kind);

	if (kind && kind->policy) {
		kind->policy(d, file);
		return;
	}
	switch (file->rec->kind) {
	case CKPT_FILE_SHM:
	case CKPT_FILE_MEMFD:
	case CKPT_FILE_HUGETLB:
		return;
	case CKPT_FILE_REG:
	case CKPT_FILE_DIR:
	case CKPT_FILE_PATH:
	case CKPT_FILE_SYMLINK:
		dump_check_path(d, file);
		return;
	case CKPT_FILE_CHR:
		check_chr(d, file);
		return;
	default:
		dump_refuse(d, file, CKPT_R_FD_KIND, "of a kind not supported:");
	}
}

/*
 * Refuse a working or root directory in /proc of the tree itself: a restore gives every task
 * its directories before it enters, but its /proc directory is there only after that.
 */
static void dump_policy_check_directory(struct dump *d, const struct ckpt_rec_proc *rec,
					const struct state_file *dir, const char *what)
{
	struct error_refusal refusal = { .reason = CKPT_R_FD_KIND, .pid = rec->host_pid };
	int pid;

	if (!dir || dir->rec->fs_magic != PROC_SUPER_MAGIC ||
	    sscanf(dir->path, "/proc/%d", &pid) != 1 || !state_proc_find(d->cap.state, pid))
		return;
	memcpy(refusal.comm, rec->comm, sizeof(refusal.comm));
	error_refuse(d->error, &refusal, "its %s directory is in /proc of the tree: %s", what,
		      dir->path);
}

static pid_t host_pid_of(const struct dump *d, pid_t pid)
{
	const struct state_proc *proc = state_proc_find(d->cap.state, pid);

	return proc ? proc->rec->host_pid : pid;
}

/* Refuse a tree that no restore can plan: its tables and memory are shared in an odd shape. */
static int check_plan(struct dump *d)
{
	struct ckpt_error found = { 0 };
	struct plan *plan = NULL;
	int ret = plan_make(d->cap.state, NULL, &plan, &found);

	for (unsigned int i = 0; i < found.nr_refusals; i++) {
		struct error_refusal refusal = found.refusals[i];

		refusal.pid = host_pid_of(d, refusal.pid);
		error_refuse(d->error, &refusal, "%s", found.refusals[i].detail);
	}
	if (found.nr_refusals || d->error->nr_refusals)
		ret = 0;	/* the refusals say why */
	else if (ret)
		error_fail(d->error, ret, "no restart could make this tree again: %s", found.text);
	plan_free(plan);
	error_done(&found);
	return ret;
}

static void refuse_many(struct dump *d, const struct state_proc *proc, unsigned int nr,
			const char *what, size_t most)
{
	struct error_refusal refusal = { .reason = CKPT_R_LIMIT, .pid = proc->rec->host_pid };

	if (nr <= most)
		return;
	memcpy(refusal.comm, proc->rec->comm, sizeof(refusal.comm));
	error_refuse(d->error, &refusal, "%u %s: a restart takes at most %zu", nr, what, most);
}

/* Most mappings that fit into one call (CKPT_STATE_MAX), with NUMA policies and rings of some. */
static size_t most_mappings(const struct state_mm *mm)
{
	size_t room = CKPT_STATE_MAX - sizeof(struct ckpt_rec_mm) - sizeof(struct ckpt_rec_pkeys);
	size_t policies = 0;

	for (unsigned int i = 0; i < mm->nr_vmas; i++)
		policies += (mm->vmas[i].mempolicy ? sizeof(struct ckpt_rec_mempolicy) : 0) +
			    (mm->vmas[i].aio ? mm->vmas[i].aio->hdr.len : 0);
	return policies < room ? (room - policies) / sizeof(struct ckpt_rec_vma) : 0;
}

/* Refuse more mappings, descriptors, locks or signals than a restore can pass in one call. */
static void check_amounts(struct dump *d, const struct state_proc *proc)
{
	const struct state *state = d->cap.state;
	const size_t room = CKPT_STATE_MAX;
	unsigned int locks = 0;

	if (proc->mm && proc->mm->owner == proc)
		refuse_many(d, proc, proc->mm->nr_vmas, "mappings", most_mappings(proc->mm));
	if (proc->fdtable && proc->fdtable->owner == proc) {
		for (unsigned int i = 0; i < state->nr_locks; i++)
			locks += state->locks[i].table == proc->fdtable;
		refuse_many(d, proc, proc->fdtable->nr_fds, "descriptors",
			    room / 2 / sizeof(struct ckpt_rec_fd));
		refuse_many(d, proc, locks, "file locks", room / 2 / sizeof(struct ckpt_rec_lock));
	}
	for (unsigned int i = 0; i < proc->nr_threads; i++)
		refuse_many(d, proc, proc->threads[i].nr_pending + (i ? 0 : proc->nr_pending),
			    "pending signals", CKPT_SIGNALS_MAX);
}

int dump_policy_check(struct dump *d)
{
	const struct state *state = d->cap.state;
	int ret;

	for (unsigned int i = 0; state_kinds[i]; i++)
		if (state_kinds[i]->look)
			state_kinds[i]->look(d);
	for (unsigned int i = 0; i < state->nr_files; i++)
		check_file(d, &state->files[i]);
	for (unsigned int i = 0; i < state->nr_procs; i++) {
		const struct state_proc *proc = &state->procs[i];

		check_amounts(d, proc);
		check_control(d, proc->rec);
		dump_policy_check_directory(d, proc->rec, proc->cwd, "working");
		dump_policy_check_directory(d, proc->rec, proc->root, "root");
	}
	ret = check_plan(d);
	return ret ? ret : error_refused(d->error, "dump");
}
