// SPDX-License-Identifier: GPL-2.0-only
/*
 * The highest job number that was ever given; see job_number.h.
 *
 * The file is replaced by one rename(2), so a crash leaves the old number or the new one. It is
 * raised before the directory of the number is made: a crash in between skips a number, and
 * gives none twice. The lock is on a file of its own, as the other one is replaced, and is
 * opened for writing, because NFS has exclusive locks only on such descriptors.
 */
#include "supervisor/catalog/job_number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_json.h"
#include "base/cleanup.h"
#include "base/log.h"

#define LOCK_TRIES	100
#define LOCK_PAUSE_NS	10000000	/* between two tries */

int job_number_lock(const struct catalog *catalog, int *ret_lock)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	_cleanup_fd_ int fd = -1;
	unsigned int tries;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" JOB_NUMBER_LOCK, catalog->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	for (tries = 0; flock(fd, LOCK_EX | LOCK_NB); tries++) {
		if (errno != EWOULDBLOCK)
			break;
		if (tries == LOCK_TRIES) {
			if (catalog->log)
				log_warning(catalog->log,
					    "%s has been locked by another process for a second; "
					    "if no ckptd of any node is giving a job number, "
					    "remove that file",
					    path);
			return -EBUSY;
		}
		nanosleep(&pause, NULL);
	}
	*ret_lock = take_fd(&fd);
	return 0;
}

/* 0 and the number that the file has; -ENOENT, -EBADMSG (damaged), other negative errno. */
static int job_number_read(const struct catalog *catalog, int64_t *ret_last)
{
	json_t *json = NULL;
	json_int_t last = 0;
	int err = atomic_json_read(catalog->dir, JOB_NUMBER_FILE, &json);

	if (!err && (json_unpack(json, "{s:I}", "last", &last) || last < 0 ||
		     last >= CATALOG_NUMBERS))
		err = -EBADMSG;
	json_decref(json);
	if (!err)
		*ret_last = last;
	return err;
}

int64_t job_number_last(const struct catalog *catalog, int64_t highest)
{
	int64_t last = 0;
	int err = job_number_read(catalog, &last);

	if (catalog->log && err && (highest || err != -ENOENT))
		log_warning(catalog->log,
			    "%s/" JOB_NUMBER_FILE ", the highest job number ever given, is %s: "
			    "job numbers go on after %lld, the highest that has a directory; the "
			    "number of a job that was removed may be given again",
			    catalog->dir, err == -ENOENT ? "not there" :
			    err == -EBADMSG ? "damaged" : strerror(-err), (long long)highest);
	return last > highest ? last : highest;
}

int job_number_write(const struct catalog *catalog, int64_t last)
{
	json_t *json = json_pack("{s:I}", "last", (json_int_t)last);
	int err = json ? atomic_json_write(catalog->dir, JOB_NUMBER_FILE, json) : -ENOMEM;

	json_decref(json);
	return err;
}

int job_number_raise(const struct catalog *catalog, int64_t highest, int64_t job)
{
	int64_t last = 0;

	if (!job_number_read(catalog, &last) && last >= job)
		return 0;
	/* The file is new, was lost, or is older than a directory that was copied here. */
	last = job_number_last(catalog, highest);
	return job_number_write(catalog, last > job ? last : job);
}
