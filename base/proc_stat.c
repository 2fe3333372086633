// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading /proc/PID/stat; see proc_stat.h.
 *
 * The second field, the program's name, stands in parentheses and may itself hold parentheses
 * and line ends: it ends at the last closing parenthesis of the file.
 */
#include "base/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int proc_stat_read(pid_t pid, struct proc_stat *ret_stat)
{
	char path[40], text[1024];
	_cleanup_fd_ int fd = -1;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	text[n] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at, ") %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			  "%*d %*d %llu", &ret_stat->state, &ret_stat->flags,
			  &ret_stat->start) != 3)
		return -EBADMSG;
	return 0;
}

bool proc_stat_is_dead(const struct proc_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

uint64_t proc_stat_start_ns(const struct proc_stat *stat)
{
	return stat->start * (1000000000ULL / (unsigned long long)sysconf(_SC_CLK_TCK));
}
