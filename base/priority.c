// SPDX-License-Identifier: GPL-2.0-only
/*
 * Setting the nice value of this process and of its autogroup; see priority.h.
 *
 * No state.  Failures are ignored: the process then keeps the nice value that it has.
 * Both functions are for the process's only thread.
 */
#include "base/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void priority_set(int nice)
{
	char text[16];
	int fd, n = snprintf(text, sizeof(text), "%d", nice);

	setpriority(PRIO_PROCESS, 0, nice);
	if (getsid(0) != getpid())
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;		/* a kernel without autogroup */
	if (write(fd, text, (size_t)n) < 0)
		errno = 0;	/* not permitted: the group keeps its nice value */
	close(fd);
}

int priority_get(void)
{
	return getpriority(PRIO_PROCESS, 0);
}
