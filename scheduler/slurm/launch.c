// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file that the launches of one run of a batch script share; see launch.h.
 *
 * Byte LOCK_LIST is locked while the lines are read and written, byte LOCK_UNSAVED for reading by
 * each launch that is not saved. Both are locks of the open file, so they end with this process
 * however it ends. The bytes are far behind the lines. The file is not removed when a launch ends:
 * the next one of the same run would count from the start. A later launch removes files that
 * nobody has touched for TIDY_S.
 */
#include "scheduler/slurm/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_LIST	(1LL << 40)
#define LOCK_UNSAVED	(LOCK_LIST + 1)
#define LIST_MAX	(1 << 20)	/* bytes of the file */
#define DEMAND		"save"
#define TIDY_S		(30 * 86400LL)

static int launch_lock(const struct launch *launch, off_t byte, short type, int how)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	while (fcntl(launch->fd, how, &lock)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

const char *launch_given = LAUNCH_GIVEN;

/* Is it a directory that nobody but this user may use? */
static int launch_check(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) ? 0 : -EPERM;
}

int launch_directory(char *path, size_t size)
{
	const char *tmp = getenv("TMPDIR");
	int err;

	if ((size_t)snprintf(path, size, "%s/%u", launch_given, geteuid()) >= size)
		return -ENAMETOOLONG;
	err = launch_check(path);
	if (err != -ENOENT)
		return err;
	if ((size_t)snprintf(path, size, "%s/stillpoint-slurm-%u", tmp && *tmp ? tmp : "/tmp",
			     geteuid()) >= size)
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	return launch_check(path);
}

/* Does a launch, or a program that srun's front has started, hold the file? */
static bool launch_is_held(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return flock(fd, LOCK_EX | LOCK_NB) || fcntl(fd, F_OFD_GETLK, &lock) ||
	       lock.l_type != F_UNLCK;
}

/* Remove files of batch jobs that are over long since: ID.RESTARTS, and ID-N.slot of the front. */
static void launch_tidy(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	struct stat st;
	int fd;

	while (dir && (entry = readdir(dir))) {
		size_t digits = strspn(entry->d_name, "0123456789");

		if (!digits || (entry->d_name[digits] != '.' && entry->d_name[digits] != '-') ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || st.st_mtime > time(NULL) - TIDY_S)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && !launch_is_held(fd))
			unlinkat(dirfd(dir), entry->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

int launch_open(struct launch *launch, uint32_t id, unsigned int restarts)
{
	size_t len;
	int err;

	launch->fd = -1;
	err = launch_directory(launch->path, sizeof(launch->path));
	if (err)
		return err;
	launch_tidy(launch->path);
	len = strlen(launch->path);
	if ((size_t)snprintf(launch->path + len, sizeof(launch->path) - len, "/%u.%u", id,
			     restarts) >= sizeof(launch->path) - len)
		return -ENAMETOOLONG;
	launch->fd = open(launch->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (launch->fd < 0)
		return -errno;
	return launch_lock(launch, LOCK_UNSAVED, F_RDLCK, F_OFD_SETLKW);
}

void launch_close(struct launch *launch)
{
	if (launch->fd >= 0)
		close(launch->fd);
	launch->fd = -1;
}

/* ----------------------------------------------------------------- lines */

/*
 * Hand each line of the file to @take until that is not 0; the last return value, or a negative
 * errno.
 */
static int launch_lines(const struct launch *launch, int (*take)(const char *line, void *arg),
			void *arg)
{
	char *text = malloc(LIST_MAX + 1), *at, *next = text;
	ssize_t size = text ? pread(launch->fd, text, LIST_MAX, 0) : -1;
	int ret = 0;

	if (size < 0) {
		free(text);
		return text ? -EIO : -ENOMEM;
	}
	text[size] = '\0';
	while (!ret && (at = strsep(&next, "\n")))
		ret = take(at, arg);
	free(text);
	return ret;
}

static int launch_write(const struct launch *launch, const char *line)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "%s\n", line);

	return write(launch->fd, text, (size_t)len) == len ? 0 : -EIO;
}

/*
 * The first process of the batch script. A slurmctld that is killed forgets a start that it has not
 * written down, and starts the script again with the same number of restarts: launches of the run
 * before must not count then. Steps of srun have first processes of their own, and count together.
 */
static const char *launch_task(void)
{
	const char *task = getenv("SLURM_TASK_PID");

	return task && !getenv("SLURM_STEP_ID") ? task : "";
}

/* The numbers of one command, as its lines are found. */
struct launch_numbers {
	char begin[64];		/* of its lines */
	struct step_claims claims;
};

static int launch_take_number(const char *line, void *arg)
{
	struct launch_numbers *numbers = arg;
	size_t len = strlen(numbers->begin);

	return strncmp(line, numbers->begin, len) ? 0 :
	       step_claim(&numbers->claims, (uint32_t)strtoul(line + len, NULL, 10));
}

static void launch_begin(char begin[64], uint32_t command)
{
	snprintf(begin, 64, "%08x %.32s ", command, launch_task());
}

int launch_lock_names(struct launch *launch, uint32_t command, struct step_claims *ret)
{
	struct launch_numbers numbers = { 0 };
	int err = launch_lock(launch, LOCK_LIST, F_WRLCK, F_OFD_SETLKW);

	if (err)
		return err;
	launch_begin(numbers.begin, command);
	err = launch_lines(launch, launch_take_number, &numbers);
	*ret = numbers.claims;
	if (!err)
		return 0;
	free(ret->numbers);
	launch_unlock_names(launch);
	return err;
}

int launch_claim(struct launch *launch, uint32_t command, uint32_t number)
{
	char begin[64], line[96];

	launch_begin(begin, command);
	snprintf(line, sizeof(line), "%s%u", begin, number);
	return launch_write(launch, line);
}

void launch_unlock_names(struct launch *launch)
{
	launch_lock(launch, LOCK_LIST, F_UNLCK, F_OFD_SETLK);
}

/* ----------------------------------------------------------------- saving */

int launch_demand(struct launch *launch)
{
	return launch_is_demanded(launch) ? 0 : launch_write(launch, DEMAND);
}

static int launch_take_demand(const char *line, void *arg)
{
	return !strcmp(line, DEMAND);
}

bool launch_is_demanded(struct launch *launch)
{
	return launch_lines(launch, launch_take_demand, NULL) > 0;
}

void launch_saved(struct launch *launch)
{
	launch_lock(launch, LOCK_UNSAVED, F_UNLCK, F_OFD_SETLK);
}

bool launch_all_saved(struct launch *launch)
{
	if (launch_lock(launch, LOCK_UNSAVED, F_WRLCK, F_OFD_SETLK))
		return false;
	launch_lock(launch, LOCK_UNSAVED, F_UNLCK, F_OFD_SETLK);
	return true;
}
