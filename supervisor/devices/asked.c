// SPDX-License-Identifier: GPL-2.0-only
/*
 * Children that ask what may hang; see asked.h.
 *
 * A child closes all that its parent had open, so that nobody who waits for a descriptor to be
 * closed waits for the child. It calls no library that keeps a state of the parent's.
 */
#include "supervisor/devices/asked.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define STEP		4096
#define STATUS_BUSY	2	/* of a child that found the lock taken */

/* ------------------------------------------------------------ in the child */

/* Take the number's lock, for as long as this process lives; -EBUSY: another one has it. */
static int asked_lock(const char *state_dir, unsigned int number)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = number,
			      .l_len = 1 };
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/" ASKED_LOCK_FILE, state_dir);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fcntl(fd, F_SETLK, &lock))
		return fd >= 0 && (errno == EAGAIN || errno == EACCES) ? -EBUSY : -EIO;
	return 0;
}

static void asked_child(const struct asked *a, const char *state_dir, int fd, asked_fn fn,
			void *arg)
{
	int err;

	if (fd && dup2(fd, 0) < 0)
		_exit(1);
	close_range(1, ~0U, 0);
	/* nobody reads any more: nobody misses the answer */
	signal(SIGPIPE, SIG_DFL);
	err = asked_lock(state_dir, a->number);
	if (err)
		_exit(err == -EBUSY ? STATUS_BUSY : 1);
	_exit(fn(a->number, arg, 0) ? 1 : 0);
}

/* ----------------------------------------------------------- in the parent */

/* Children that were left alone, until the kernel lets them end; 0: a free place. */
static pid_t asked_left[ASKED_MAX];

static void asked_reap_left(void)
{
	size_t i;

	for (i = 0; i < ASKED_MAX; i++) {
		if (asked_left[i] && waitpid(asked_left[i], NULL, WNOHANG))
			asked_left[i] = 0;
	}
}

void asked_start(struct asked *a, const char *state_dir, asked_fn fn, void *arg)
{
	int pipes[2];

	asked_reap_left();
	*a = (struct asked){ .number = a->number, .fd = -1, .err = -ETIMEDOUT };
	if (pipe2(pipes, O_CLOEXEC)) {
		a->err = -errno;
		return;
	}
	a->pid = fork();
	if (!a->pid)
		asked_child(a, state_dir, pipes[1], fn, arg);
	if (a->pid < 0) {
		a->err = -errno;
		close(pipes[0]);
	} else {
		a->fd = pipes[0];
	}
	close(pipes[1]);
}

static void asked_end(struct asked *a, int err)
{
	close(a->fd);
	a->fd = -1;
	a->err = err;
}

/* The pipe is closed, so the child is about to end. */
static void asked_reap(struct asked *a)
{
	int status;

	while (waitpid(a->pid, &status, 0) < 0) {
		if (errno != EINTR) {
			asked_end(a, -errno);
			return;
		}
	}
	asked_end(a, WIFEXITED(status) && !WEXITSTATUS(status) ? 0 :
		     WIFEXITED(status) && WEXITSTATUS(status) == STATUS_BUSY ? -EBUSY : -EIO);
}

/* The answer is of no use, or does not come. */
static void asked_leave(struct asked *a, int err)
{
	size_t i = 0;

	kill(a->pid, SIGKILL);
	/* what hangs in the kernel is not waited for */
	while (i < ASKED_MAX && asked_left[i])
		i++;
	if (i < ASKED_MAX)
		asked_left[i] = a->pid;
	asked_end(a, err);
}

/* Take what is there of the answer. */
static void asked_take(struct asked *a)
{
	char *more = realloc(a->answer, a->size + STEP + 1);
	ssize_t n;

	if (!more || a->size + STEP > ASKED_BYTES) {
		a->answer = more ? more : a->answer;
		asked_leave(a, more ? -EFBIG : -ENOMEM);
		return;
	}
	a->answer = more;
	n = read(a->fd, more + a->size, STEP);
	if (n > 0)
		a->size += (size_t)n;
	more[a->size] = '\0';
	if (!n)
		asked_reap(a);
	else if (n < 0 && errno != EINTR)
		asked_leave(a, -errno);
}

void asked_wait(struct asked *asked, unsigned int nr, unsigned int ms)
{
	const int64_t end = clock_monotonic_ms() + ms;
	struct pollfd fds[ASKED_MAX];
	unsigned int i, waits;
	int64_t left;

	do {
		for (i = 0, waits = 0; i < nr; i++) {
			fds[i] = (struct pollfd){ .fd = asked[i].fd, .events = POLLIN };
			waits += asked[i].fd >= 0;
		}
		left = end - clock_monotonic_ms();
		if (!waits || left <= 0 || poll(fds, nr, (int)left) <= 0)
			continue;
		for (i = 0; i < nr; i++) {
			if (asked[i].fd >= 0 && fds[i].revents)
				asked_take(&asked[i]);
		}
	} while (waits && left > 0);
	for (i = 0; i < nr; i++) {
		if (asked[i].fd >= 0)
			asked_leave(&asked[i], -ETIMEDOUT);
	}
}

void asked_free(struct asked *asked, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		free(asked[i].answer);
}
