// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pidfds of processes of the tree, and of such that have ended and were waited for.
 *
 * /proc/PID/fdinfo tells the process; one outside of the tree is refused, as a restart could not
 * know it.  A restore makes pidfds when the processes are there.  Until then a placeholder has the
 * number, which epoll and descriptor tables name.
 */
#include "base/error.h"
#include "engine/core/state_parse.h"
#include "engine/dump/dump_run.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS	(O_NONBLOCK | O_EXCL)	/* PIDFD_NONBLOCK, PIDFD_THREAD */

/* ---------------------------------------------------------------- dump */

/* The number that fdinfo tells of @fd, in our PID namespace; -1: the process is gone. */
static int pidfd_read(int fd, int *ret_pid)
{
	_cleanup_free_ char *line = NULL;
	char name[64];
	size_t room = 0;
	FILE *info;
	int ret = -EPROTO;

	snprintf(name, sizeof(name), "/proc/thread-self/fdinfo/%d", fd);
	info = fopen(name, "re");
	while (info && ret && getline(&line, &room, info) > 0)
		if (sscanf(line, "Pid: %d", ret_pid) == 1)
			ret = 0;
	if (info)
		fclose(info);
	return ret;
}

/* The number in the tree's PID namespace of the process or thread @host; 0: not in the tree. */
static int32_t pid_in_tree(const struct state *state, int host, bool thread)
{
	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (state->procs[i].rec->host_pid == host)
			return state->procs[i].rec->pid;
	for (unsigned int i = 0; thread && i < state->nr_threads; i++)
		if (state->threads[i].rec->host_tid == host)
			return state->threads[i].rec->tid;
	return 0;
}

static void pidfd_policy(struct dump *d, const struct state_file *file)
{
	_cleanup_fd_ int fd = dump_file_fd(d, file);
	struct engine_rec_pidfd *rec;
	int host = 0, pid = 0;
	int ret = fd < 0 ? fd : pidfd_read(fd, &host);

	if (!ret && host > 0)
		pid = pid_in_tree(d->cap.state, host, file->rec->f_flags & O_EXCL);
	if (ret || (host != -1 && !pid)) {
		dump_refuse(d, file, CKPT_R_FD_KIND, "a pidfd of a process outside of the tree:");
		return;
	}
	rec = dump_record_add(d, ENGINE_REC_PIDFD, sizeof(*rec), NULL, 0);
	if (!rec) {
		dump_refuse(d, file, CKPT_R_FD_KIND, "out of memory for");
		return;
	}
	rec->of.file = file->rec->id;
	rec->of.nr = (uint32_t)pid;
}

/* ---------------------------------------------------------------- restore */

static int pidfd_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_pidfd *rec = (const void *)hdr;

	return rec->of.nr <= INT32_MAX ? 0 :
	       state_fail(p, -EBADMSG, "bad process of pidfd %u", rec->of.file);
}

static int pidfd_open_later(struct reopen *r, const struct state_file *file)
{
	int fd;

	if (!file->own)
		return error_fail(r->error, -EBADMSG, "the image has no process of pidfd %u",
				  file->rec->id);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? reopen_failed(r, file, -errno, "make") : fd;
}

/* A pidfd of a process that is gone. */
static int pidfd_gone(unsigned int flags)
{
	pid_t child = fork();
	int fd;

	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(0);
	fd = (int)syscall(SYS_pidfd_open, child, flags);
	if (fd < 0)
		fd = -errno;
	waitpid(child, NULL, 0);
	return fd;
}

static int pidfd_connect(struct reopen *r)
{
	for (unsigned int i = 0; i < r->state->nr_files; i++) {
		const struct state_file *file = &r->state->files[i];
		unsigned int flags = file->rec->f_flags & FLAGS;
		_cleanup_fd_ int fd = -1;

		if (file->rec->kind != CKPT_FILE_PIDFD || r->fds[i] < 0 || file->external)
			continue;
		fd = file->own->nr ? (int)syscall(SYS_pidfd_open, file->own->nr, flags) :
				     pidfd_gone(flags);
		if (fd == -1)
			fd = -errno;
		if (fd < 0)
			return reopen_failed(r, file, fd, "make");
		if (dup3(fd, r->fds[i], O_CLOEXEC) < 0)
			return reopen_failed(r, file, -errno, "put in place");
	}
	return 0;
}

const struct state_kind state_kind_pidfd = {
	.name = "pidfd",
	.records = {
		{ ENGINE_REC_PIDFD, sizeof(struct engine_rec_pidfd), STATE_OWNER_FILE,
		  pidfd_parse },
	},
	.files = { CKPT_FILE_PIDFD },
	.one_description = true,
	.policy = pidfd_policy,
	.open = pidfd_open_later,
	.connect = pidfd_connect,
};
