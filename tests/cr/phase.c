// SPDX-License-Identifier: GPL-2.0-only
/*
 * main() of every test program and what they share; see phase.h.
 *
 *   PROGRAM DIR [WAIT_MS [load]]
 *
 * Owns the order of the phases, the three files through which a program meets
 * its runner, and the checks that hold for every program whatever its property
 * is: the same pid, tid, process group, session, signal mask, umask, name and
 * number of descriptors after the wait as before it.  It must not keep a
 * descriptor, a mapping or a timer of its own while the program waits, or a
 * test would be about the harness.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static const char *dir;
static unsigned int wait_ms = 200;
static bool load;

/* -------------------------------------------------------------- the files */

const char *cr_path(const char *name)
{
	static __thread char ring[16][512];
	static __thread unsigned int next;
	char *path = ring[next++ % 16];

	snprintf(path, sizeof(ring[0]), "%s/%s", dir, name);
	return path;
}

static void put_file(const char *name, const char *text)
{
	int fd = open(cr_path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return;	/* the first verdict counts */
	if (write(fd, text, strlen(text)) < 0)
		perror(name);
	close(fd);
}

/* written beside and renamed, so that nobody reads half of it */
static void put_verdict(const char *text)
{
	char tmp[512], part[64];

	snprintf(part, sizeof(part), "result.%d", cr_tid());
	put_file(part, text);
	snprintf(tmp, sizeof(tmp), "%s", cr_path(part));
	if (link(tmp, cr_path("result")) < 0 && errno != EEXIST)
		perror("result");
	unlink(tmp);
}

_Noreturn void cr_fail_at(const char *file, int line, const char *format, ...)
{
	char text[1024], reason[800];
	int saved = errno;
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "FAIL %s:%d: %s (errno %d)\n", file, line,
		 reason, saved);
	fputs(text, stderr);
	put_verdict(text);
	_exit(1);
}

_Noreturn void cr_skip(const char *format, ...)
{
	char text[512] = "SKIP ";
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + 5, sizeof(text) - 5, format, ap);
	va_end(ap);
	put_verdict(text);
	_exit(77);
}

bool cr_go(void)
{
	return access(cr_path("go"), F_OK) == 0;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

void cr_pause(void)
{
	if (!load)
		sleep_ms(2);
}

void cr_wait_go(void)
{
	while (!cr_go())
		sleep_ms(2);
}

unsigned int cr_wait_ms(void)
{
	return wait_ms;
}

static void run_when_go(void *arg)
{
	void (**fn)(void) = arg;

	cr_wait_go();
	sleep_ms(20);
	(*fn)();
}

pid_t cr_when_go(void (*fn)(void))
{
	return cr_fork(run_when_go, &fn);
}

/* ------------------------------------------------------------------- time */

uint64_t cr_now(clockid_t clock)
{
	struct timespec ts;

	cr_sys(clock_gettime(clock, &ts));
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

struct timespec cr_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000ULL),
				  (long)(ns % 1000000000ULL) };
}

void cr_woke(void)
{
	cr_mark("woke");
	cr_wait_go();
}

/*
 * "go" says how much longer than asked a wait may have been: the scheduler's
 * delay on this machine, and the time between a kill and the restore (which the
 * program's CLOCK_MONOTONIC may or may not have seen).
 */
void cr_check_waited_on(clockid_t clock, uint64_t start, uint64_t ns)
{
	uint64_t waited = cr_now(clock) - start;
	char *text;
	long extra;

	cr_woke();
	text = cr_read(cr_path("go"), NULL);
	extra = strtol(text, NULL, 10);
	free(text);
	cr_check(waited >= ns, "%llu ms is too short, %llu ms asked",
		 (unsigned long long)waited / 1000000,
		 (unsigned long long)ns / 1000000);
	cr_check(waited <= ns + (uint64_t)extra * 1000000,
		 "%llu ms is too long, %llu + %ld ms allowed",
		 (unsigned long long)waited / 1000000,
		 (unsigned long long)ns / 1000000, extra);
}

void cr_check_waited(uint64_t start, uint64_t ns)
{
	cr_check_waited_on(CLOCK_MONOTONIC, start, ns);
}

/* ------------------------------------------------- processes and threads */

pid_t cr_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

pid_t cr_fork(void (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = (pid_t)cr_sys(fork());
	if (pid == 0) {
		fn(arg);
		_exit(0);
	}
	return pid;
}

int cr_wait_status(pid_t pid)
{
	int status;
	pid_t got;

	do {
		got = waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	cr_check(got == pid, "waitpid(%d)", pid);
	return status;
}

void cr_join(pid_t pid)
{
	int status = cr_wait_status(pid);

	cr_check(status == 0, "child %d ended with status %#x", pid, status);
}

void cr_mark(const char *name)
{
	put_file(name, "\n");
}

void cr_await(const char *name)
{
	while (access(cr_path(name), F_OK) < 0)
		sleep_ms(1);
}

void cr_await_state(pid_t pid, char state)
{
	char path[64], *text, *at;
	char now;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (;;) {
		text = cr_read(path, NULL);
		at = strrchr(text, ')');
		now = at ? at[2] : '?';
		free(text);
		if (now == state)
			return;
		sleep_ms(1);
	}
}

/* ------------------------------------------- what holds for every program */

struct identity {
	pid_t pid, tid, pgid, sid;
	sigset_t mask;
	mode_t umask;
	char comm[17];
	unsigned int nr_fds;
};

static unsigned int count_fds(void)
{
	struct dirent *entry;
	unsigned int n = 0;
	DIR *d = opendir("/proc/self/fd");

	if (!d)
		return 0;	/* a changed root has no /proc */
	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

static void identify(struct identity *id)
{
	memset(id, 0, sizeof(*id));
	id->pid = getpid();
	id->tid = cr_tid();
	id->pgid = getpgid(0);
	id->sid = getsid(0);
	sigprocmask(SIG_SETMASK, NULL, &id->mask);
	id->umask = umask(0);
	umask(id->umask);
	prctl(PR_GET_NAME, id->comm);
	id->nr_fds = count_fds();
}

static void check_identity(const struct identity *old)
{
	struct identity now;

	identify(&now);
	cr_eq(now.pid, old->pid);
	cr_eq(now.tid, old->tid);
	if (!cr_test.loose_session) {
		cr_eq(now.pgid, old->pgid);
		cr_eq(now.sid, old->sid);
	}
	cr_eq(now.umask, old->umask);
	cr_check(!memcmp(&now.mask, &old->mask, sizeof(now.mask)), "signal mask");
	cr_check(!strcmp(now.comm, old->comm), "%s, not %s", now.comm, old->comm);
	if (!cr_test.loose_fds)
		cr_eq(now.nr_fds, old->nr_fds);
}

int main(int argc, char **argv)
{
	struct identity id;

	if (argc < 2) {
		fprintf(stderr, "usage: %s DIR [WAIT_MS [load]]\n", argv[0]);
		return 2;
	}
	dir = argv[1];
	if (argc > 2)
		wait_ms = (unsigned int)strtoul(argv[2], NULL, 10);
	load = argc > 3 && !strcmp(argv[3], "load");

	if (cr_test.setup)
		cr_test.setup();
	identify(&id);
	put_file("ready", "\n");
	if (cr_test.wait) {
		cr_test.wait();
		cr_wait_go();
	} else {
		while (!cr_go()) {
			if (cr_test.step)
				cr_test.step();
			cr_pause();
		}
	}
	check_identity(&id);
	cr_test.verify();
	if (cr_test.teardown)
		cr_test.teardown();
	put_verdict("PASS\n");
	return 0;
}
