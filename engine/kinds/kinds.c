// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the kinds of state; see engine/core/state_kind.h.
 *
 * The order is that in which each step of a dump and of a restore asks them: terminals before
 * pipes, as both always were; what waits for other files comes after these.
 */
#include "engine/kinds/kinds.h"
#include "engine/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

const struct state_kind *const state_kinds[] = {
	&state_kind_timer,
	&state_kind_aio,
	&state_kind_tty,
	&state_kind_pipe,
	&state_kind_socket,
	&state_kind_eventfd,
	&state_kind_signalfd,
	&state_kind_timerfd,
	&state_kind_sysv,
	&state_kind_mqueue,
	&state_kind_pidfd,
	&state_kind_uring,		/* has files of all kinds above registered */
	&state_kind_epoll,		/* watches files of all kinds above */
	&state_kind_fown,		/* what is done to a file would signal its owner */
	&state_kind_lease,		/* the same would break it */
	&state_kind_inotify,		/* the same would be an event */
	NULL,
};

void kind_passes(struct dump *d, const struct state_file *file)
{
	(void)d;
	(void)file;
}

int kind_flags(struct reopen *r, const struct state_file *file, int fd)
{
	int ret;

	if (!fcntl(fd, F_SETFL, file->rec->f_flags & O_NONBLOCK))
		return fd;
	ret = reopen_failed(r, file, -errno, "set the flags of");
	close(fd);
	return ret;
}

static int kind_number(const struct state *state, const struct state_file *file)
{
	int lowest = -1;

	for (unsigned int i = 0; i < state->nr_fds; i++)
		if (state->fds[i].file == file &&
		    (lowest < 0 || state->fds[i].rec->fd < lowest))
			lowest = state->fds[i].rec->fd;
	return lowest;
}

int kind_at_number(struct reopen *r, const struct state_file *file, int (*set)(int fd))
{
	int number = kind_number(r->state, file), fd = reopen_fd(r, file), status;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child == 0) {
		if (number >= 0 && number != fd && dup2(fd, number) < 0)
			_exit(errno);
		_exit(set(number < 0 ? fd : number) < 0 ? errno : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPROTO;
}
