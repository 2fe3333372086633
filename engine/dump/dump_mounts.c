// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mounts that only the tree has.
 *
 * A restore makes no mounts but those that every job has (/proc, /dev/shm, /dev/mqueue).
 * Any other mount of the tree's own mount namespace would be missing after a restart, and
 * nobody would notice if no file on it is open.  So such a tree is refused.  A mount that
 * only our namespace has does no harm.
 *
 * mountinfo shows mount points from a process's root: one with a changed root is skipped.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP	16384

/* The text of a file of /proc, with a NUL; NULL if it cannot be read. */
static char *dump_mounts_read_text(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL, *more;
	size_t len = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0) {
		more = realloc(text, len + STEP + 1);
		if (!more)
			n = -1;
		else
			text = more;
		if (n > 0)
			n = read(fd, text + len, STEP);
		if (n > 0)
			len += (size_t)n;
	}
	if (!text || n < 0) {
		free(text);
		return NULL;
	}
	text[len] = 0;
	return text;
}

static bool is_jobs_own(const char *point)
{
	static const char *const own[] = { "/proc", "/dev/shm", "/dev/mqueue" };

	for (unsigned int i = 0; i < sizeof(own) / sizeof(*own); i++) {
		size_t len = strlen(own[i]);

		if (strncmp(point, own[i], len) == 0 && (point[len] == ' ' || point[len] == '/'))
			return true;
	}
	return false;
}

/*
 * Find a mount point of @theirs that @ours lacks; both are texts of mountinfo.
 *
 * A line is "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS …"; the fields from MAJOR:MINOR to
 * POINT say what is mounted where.  Spaces in names are escaped.
 */
static const char *find_foreign(char *theirs, const char *ours)
{
	char *save = NULL;

	for (char *line = strtok_r(theirs, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *key = line, *point, *end;

		for (int i = 0; key && i < 2; i++)
			key = strchr(key + (i > 0), ' ');
		point = key ? strchr(key + 1, ' ') : NULL;
		point = point ? strchr(point + 1, ' ') : NULL;
		end = point ? strchr(point + 1, ' ') : NULL;
		if (!end || is_jobs_own(point + 1))
			continue;
		end[1] = 0;
		if (strstr(ours, key))
			continue;
		*end = 0;
		return point + 1;
	}
	return NULL;
}

static bool same_link(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) || stat(b, &y) || (x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

void dump_probe_mounts(struct dump *d, const struct ckpt_rec_proc *rec)
{
	struct error_refusal refusal = { .reason = CKPT_R_NAMESPACE, .pid = rec->host_pid };
	_cleanup_free_ char *theirs = NULL, *ours = NULL;
	const char *foreign;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", rec->host_pid);
	if (same_link(path, "/proc/self/ns/mnt"))
		return;
	snprintf(path, sizeof(path), "/proc/%d/root", rec->host_pid);
	if (!same_link(path, "/"))
		return;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", rec->host_pid);
	theirs = dump_mounts_read_text(path);
	ours = theirs ? dump_mounts_read_text("/proc/self/mountinfo") : NULL;
	foreign = ours ? find_foreign(theirs, ours) : NULL;
	if (!foreign)
		return;
	memcpy(refusal.comm, rec->comm, sizeof(refusal.comm));
	error_refuse(d->error, &refusal, "its mount namespace has a mount that ours lacks: %s",
		      foreign);
}
