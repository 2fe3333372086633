// SPDX-License-Identifier: GPL-2.0-only
/*
 * Namespaces that a job has from its caller; see job_namespaces.h.
 *
 * They are those of the job's init. Mount and PID namespaces are not entered: every job has its
 * own, the engine expects that, and images lie where ckptd sees them.
 */
#include "supervisor/job/job_namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"

json_t *job_namespaces_enter(const struct job *job)
{
	/* with types: a system call filter allows no call that does not name one */
	static const struct {
		const char *name;
		int type;
	} entered[] = {
		{ "net", CLONE_NEWNET }, { "uts", CLONE_NEWUTS }, { "cgroup", CLONE_NEWCGROUP },
	};
	struct stat own, theirs;
	char path[64];
	size_t i;

	for (i = 0; job->init && i < ARRAY_SIZE(entered); i++) {
		_cleanup_fd_ int fd = -1;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", entered[i].name);
		if (stat(path, &own))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)job->init,
			 entered[i].name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		/* The job is over: the dump itself finds that out. */
		if (fd < 0 || fstat(fd, &theirs))
			continue;
		if (theirs.st_ino != own.st_ino && setns(fd, entered[i].type))
			return outcome_error(-errno, "the %s namespace of job %lld: %s",
					     entered[i].name, (long long)job->id, strerror(errno));
	}
	return NULL;
}
