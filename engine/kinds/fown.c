// SPDX-License-Identifier: GPL-2.0-only
/*
 * Owners of open files: who gets a signal when the file is ready (F_SETOWN, F_SETSIG, O_ASYNC).
 *
 * The kernel module says which files have one, and fcntl(2) tells the rest in the pause.  A restore
 * sets owners when the processes are there and everything else is done to the files.  The signal
 * tells a descriptor's number (si_fd): that at which O_ASYNC was set.  The kernel does not tell
 * that one; the lowest that the tree has of the file is taken.
 */
#include "base/error.h"
#include "engine/core/state_parse.h"
#include "engine/dump/dump_run.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* ---------------------------------------------------------------- dump */

/* The number in the tree's PID namespace of whom fcntl(2) names; 0: not in the tree. */
static int32_t fown_in_tree(const struct state *state, const struct f_owner_ex *owner)
{
	for (unsigned int i = 0; i < state->nr_threads; i++) {
		const struct state_thread *thread = &state->threads[i];
		const struct ckpt_rec_proc *proc = thread->proc->rec;

		if (owner->type == F_OWNER_TID && thread->rec->host_tid == owner->pid)
			return thread->rec->tid;
		if (owner->type == F_OWNER_PID && proc->host_pid == owner->pid)
			return proc->pid;
		if (owner->type == F_OWNER_PGRP && getpgid(proc->host_pid) == owner->pid)
			return proc->pgid;
	}
	return 0;
}

static void fown_ask(struct dump *d, const struct state_file *file)
{
	_cleanup_fd_ int fd = dump_file_fd(d, file);
	struct f_owner_ex owner = { .pid = 0 };
	struct engine_rec_fown *rec;
	int signo, pid = 0;

	if (file->rec->kind == CKPT_FILE_DIR) {
		dump_refuse(d, file, CKPT_R_FD_OWNER, "it may be watched by F_NOTIFY:");
		return;
	}
	signo = fd < 0 ? -1 : fcntl(fd, F_GETSIG);
	if (signo < 0 || fcntl(fd, F_GETOWN_EX, &owner)) {
		dump_refuse(d, file, CKPT_R_FD_OWNER, "cannot be asked for its owner:");
		return;
	}
	if (owner.pid)
		pid = fown_in_tree(d->cap.state, &owner);
	if (owner.pid && !pid) {
		dump_refuse(d, file, CKPT_R_FD_OWNER, "it signals a process outside of the tree:");
		return;
	}
	rec = dump_record_add(d, ENGINE_REC_FOWN, sizeof(*rec), NULL, 0);
	if (!rec) {
		dump_refuse(d, file, CKPT_R_FD_OWNER, "out of memory for");
		return;
	}
	rec->of.file = file->rec->id;
	rec->type = (__s32)owner.type;
	rec->pid = pid;
	rec->signo = signo;
	rec->async = !!(file->rec->f_flags & O_ASYNC);
}

static void fown_look(struct dump *d)
{
	for (unsigned int i = 0; i < d->cap.state->nr_files; i++)
		if (d->cap.state->files[i].rec->flags & CKPT_FILE_OWNER)
			fown_ask(d, &d->cap.state->files[i]);
}

/* ---------------------------------------------------------------- restore */

static int fown_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_fown *rec = (const void *)hdr;

	if (rec->type < F_OWNER_TID || rec->type > F_OWNER_PGRP || rec->pid < 0 ||
	    rec->signo < 0 || rec->signo > SIGRTMAX || rec->async > 1)
		return state_fail(p, -EBADMSG, "impossible owner of file %u", rec->of.file);
	p->state->fowns[p->state->nr_fowns++] = rec;
	return 0;
}

static uint64_t fown_marks(const struct state *state, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_fown *rec = (const void *)hdr;
	const struct state_file *file = state_file_find(state, rec->of.file);

	return file ? file->user : 0;
}

static int fown_set_async(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? flags : fcntl(fd, F_SETFL, flags | O_ASYNC);
}

static int fown_set(struct reopen *r, const struct state_file *file,
		    const struct engine_rec_fown *rec)
{
	const struct f_owner_ex owner = { (enum __pid_type)rec->type, rec->pid };
	int fd = reopen_fd(r, file), ret = 0;

	if (fd < 0 || file->external)
		return 0;
	if ((rec->pid && fcntl(fd, F_SETOWN_EX, &owner)) ||
	    (rec->signo && fcntl(fd, F_SETSIG, rec->signo)))
		ret = -errno;
	if (!ret && rec->async)
		ret = kind_at_number(r, file, fown_set_async);
	return ret ? reopen_failed(r, file, ret, "set the owner of") : 0;
}

static int fown_arm(struct reopen *r)
{
	const struct state *state = r->state;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < state->nr_fowns; i++) {
		const struct state_file *file = state_file_find(state, state->fowns[i]->of.file);

		if (!file)
			ret = error_fail(r->error, -EBADMSG, "owner of no file");
		else
			ret = fown_set(r, file, state->fowns[i]);
	}
	return ret;
}

const struct state_kind state_kind_fown = {
	.name = "owner of a file",
	.records = {
		{ ENGINE_REC_FOWN, sizeof(struct engine_rec_fown), STATE_OWNER_OBJECT,
		  fown_parse },
	},
	.marks = fown_marks,
	.look = fown_look,
	.arm = fown_arm,
};
