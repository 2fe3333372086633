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
	&state_kind_epoll,		/* watches files of all kinds above */
	&state_kind_fown,		/* what is done to a file would signal its owner */
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
