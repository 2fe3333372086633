// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking all NVMe controllers, each by a child; see nvme_health.h.
 *
 * A child keeps nothing of its parent's but a pipe, so that one that hangs holds up nobody who
 * waits for a descriptor to be closed. Its lock is a byte of a file, by the controller's number.
 */
#include "supervisor/devices/nvme_health.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/devices/nvme_ask.h"

#define SYS_NVME	"/sys/class/nvme"

struct nvme_answer {
	int err;	/* as of nvme_ask(); -EBUSY: an earlier child still waits */
	uint8_t log[NVME_LOG_BYTES];
};

struct nvme_asked {
	unsigned int number;
	pid_t pid;
	int fd;		/* -1: answered, or not asked */
	struct nvme_answer answer;
};

static unsigned int nvme_list(struct nvme_asked *asked, unsigned int max)
{
	DIR *dir = opendir(SYS_NVME);
	unsigned int nr = 0, number;
	struct dirent *e;

	while (dir && nr < max && (e = readdir(dir))) {
		int n = 0;

		if (sscanf(e->d_name, "nvme%u%n", &number, &n) == 1 && !e->d_name[n])
			asked[nr++] = (struct nvme_asked){ .number = number, .fd = -1 };
	}
	if (dir)
		closedir(dir);
	return nr;
}

bool nvme_is_there(void)
{
	struct nvme_asked one;

	return nvme_list(&one, 1);
}

/* ------------------------------------------------------------ in the child */

/* Take the controller's lock, for as long as this process lives; false: another one has it. */
static bool nvme_lock(const char *state_dir, unsigned int number)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = number,
			      .l_len = 1 };
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/" NVME_LOCK_FILE, state_dir);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd >= 0 && !fcntl(fd, F_SETLK, &lock);
}

static void nvme_child(const char *state_dir, unsigned int number, int fd)
{
	struct nvme_answer answer = { .err = -EBUSY };
	char name[32];
	ssize_t n;

	if (fd && dup2(fd, 0) < 0)
		_exit(1);
	close_range(1, ~0U, 0);
	snprintf(name, sizeof(name), "nvme%u", number);
	if (nvme_lock(state_dir, number))
		answer.err = nvme_ask(name, answer.log);
	/* shorter than a pipe takes at once; if nobody reads, nobody misses it */
	n = write(0, &answer, sizeof(answer));
	_exit(n != sizeof(answer));
}

/* ----------------------------------------------------------- in the parent */

static void nvme_start(const char *state_dir, struct nvme_asked *a)
{
	int pipes[2];

	a->answer.err = -ETIMEDOUT;
	if (pipe2(pipes, O_CLOEXEC)) {
		a->answer.err = -errno;
		return;
	}
	a->pid = fork();
	if (!a->pid)
		nvme_child(state_dir, a->number, pipes[1]);
	close(pipes[1]);
	a->fd = pipes[0];
	if (a->pid < 0) {
		a->answer.err = -errno;
		close(a->fd);
		a->fd = -1;
	}
}

static void nvme_take(struct nvme_asked *a)
{
	struct nvme_answer answer;
	const ssize_t n = read(a->fd, &answer, sizeof(answer));

	if (n < 0 && errno == EINTR)
		return;
	if (n == sizeof(answer))
		a->answer = answer;
	else
		a->answer.err = -EIO;
	close(a->fd);
	a->fd = -1;
	waitpid(a->pid, NULL, 0);
}

/* Take the answers that come before the deadline. */
static void nvme_wait(struct nvme_asked *asked, unsigned int nr)
{
	const int64_t end = clock_monotonic_ms() + NVME_ANSWER_MS;
	struct pollfd fds[NVME_CONTROLLERS_MAX];
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
				nvme_take(&asked[i]);
		}
	} while (waits && left > 0);
}

/* Leave alone who has not answered: what hangs in the kernel ends when the kernel lets it. */
static void nvme_leave(struct nvme_asked *asked, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (asked[i].fd < 0)
			continue;
		kill(asked[i].pid, SIGKILL);
		close(asked[i].fd);
		waitpid(asked[i].pid, NULL, WNOHANG);
	}
}

static json_t *nvme_model(unsigned int number)
{
	char path[64], text[64] = "";
	FILE *f;

	/* the kernel has it from when it found the controller */
	snprintf(path, sizeof(path), SYS_NVME "/nvme%u/model", number);
	f = fopen(path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
	while (*text && text[strlen(text) - 1] == ' ')
		text[strlen(text) - 1] = '\0';
	return outcome_text(text);
}

static json_t *nvme_error(int err)
{
	if (err == -EBUSY)
		return json_string("still waits for the answer to an earlier question");
	if (err == -ETIMEDOUT)
		return json_sprintf("no answer within %d s", NVME_ANSWER_MS / 1000);
	if (err == -EBADMSG)
		return json_string("has no health log");
	if (err == -EOPNOTSUPP && *nvme_ask_missing)
		return json_string(nvme_ask_missing);
	return err > 0 ? json_sprintf("refuses the question with status 0x%x", err) :
	       json_string(strerror(-err));
}

static json_t *nvme_row(const struct nvme_asked *a)
{
	struct nvme_health h = {};
	const int err = a->answer.err ? a->answer.err : nvme_health_parse(a->answer.log, &h);
	const bool silent = err == -EBUSY || err == -ETIMEDOUT;
	const unsigned int warnings = silent ? 1u << NVME_SILENT : nvme_health_warnings(&h);
	json_t *row, *words = json_array();
	unsigned int i;

	for (i = 0; i < NVME_WARNINGS; i++) {
		if (warnings & 1u << i)
			json_array_append_new(words, json_string(nvme_warning_name(i)));
	}
	row = json_pack("{s:o, s:o, s:b, s:o*, s:o}", "controller",
			json_sprintf("nvme%u", a->number), "model", nvme_model(a->number),
			"answered", !err, "error", err ? nvme_error(err) : NULL, "warnings", words);
	if (err)
		return row;
	json_object_update_new(row, json_pack(
		"{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I}", "critical_warning",
		h.critical_warning, "temperature_celsius", h.temperature_celsius, "spare_percent",
		(int)h.spare_percent, "spare_threshold_percent", (int)h.spare_threshold_percent,
		"used_percent", (int)h.used_percent, "media_errors", (json_int_t)h.media_errors,
		"unsafe_shutdowns", (json_int_t)h.unsafe_shutdowns, "power_on_hours",
		(json_int_t)h.power_on_hours, "read_bytes", (json_int_t)h.read_bytes,
		"written_bytes", (json_int_t)h.written_bytes));
	return row;
}

static int nvme_by_number(const void *a, const void *b)
{
	const unsigned int x = ((const struct nvme_asked *)a)->number;
	const unsigned int y = ((const struct nvme_asked *)b)->number;

	return x < y ? -1 : x > y;
}

json_t *nvme_rows(const char *state_dir)
{
	struct nvme_asked *asked = calloc(NVME_CONTROLLERS_MAX, sizeof(*asked));
	unsigned int nr = asked ? nvme_list(asked, NVME_CONTROLLERS_MAX) : 0, i;
	json_t *rows = json_array();

	if (nr)
		qsort(asked, nr, sizeof(*asked), nvme_by_number);
	for (i = 0; i < nr; i++)
		nvme_start(state_dir, &asked[i]);
	if (nr)
		nvme_wait(asked, nr);
	nvme_leave(asked, nr);
	for (i = 0; i < nr; i++)
		json_array_append_new(rows, nvme_row(&asked[i]));
	free(asked);
	return rows;
}
