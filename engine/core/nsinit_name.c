// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which processes are inits that a restore made; see nsinit_name.h.
 *
 * Reads /proc/PID/status of the caller's PID namespace and nothing else. A process that ends
 * meanwhile is none.
 */
#include "engine/core/nsinit_name.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Last are the numbers that it has in the namespaces below ours. */
bool nsinit_is(pid_t pid)
{
	static const char name[] = "Name:\t" NSINIT_NAME "\n";
	_cleanup_fd_ int fd = -1;
	char text[4096], *line, *end;
	ssize_t n;

	snprintf(text, sizeof(text), "/proc/%d/status", (int)pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = 0;
	line = strstr(text, "\nNSpid:");
	end = line ? strchr(line + 1, '\n') : NULL;
	return end && !strncmp(text, name, sizeof(name) - 1) && !strncmp(end - 2, "\t1", 2);
}
