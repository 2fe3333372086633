// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ways out of a process with a lower half, and what belongs to a half alone: exit(),
 * MPI_Abort(), abort(), fatal errors, children, cancelled threads, environment, standard output.
 *
 *   lower_ends CKPT-LOWER LIBRARY CASE
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/lower_job.h"

static void at_exit(void)
{
	printf("at exit;");
}

/* the caller looks at output and status: "buffered;at exit;" and 3 */
static void case_exit(struct job *job)
{
	atexit(at_exit);
	printf("buffered;");
	exit(3);
}

/* the same, and 7; the library calls exit() of its own libc */
static void case_abort(struct job *job)
{
	atexit(at_exit);
	printf("buffered;");
	CALL(job, MPI_Abort, job->world, 7);
	_exit(0);
}

static void case_fatal(struct job *job)
{
	int nobody = 99;
	char byte, status[64];

	atexit(at_exit);
	printf("buffered;");
	CALL(job, MPI_Sendrecv, P(&byte), 1, job->type_char, nobody, 0, P(&byte), 1,
	     job->type_char, nobody, 0, job->world, P(status));
	_exit(0);
}

static void on_abort(int sig)
{
	if (write(STDOUT_FILENO, "handled;", 8) != 8)
		_exit(0);
}

/* the library fails an assertion, and the application's handler returns: "handled;" and SIGABRT */
static void case_abort_handled(struct job *job)
{
	signal(SIGABRT, on_abort);
	CALL(job, abort, 0);
	_exit(0);
}

static void *sleep_above(void *unused)
{
	pause();
	return NULL;
}

static void cancel_above(void)
{
	pthread_t thread;
	void *ended = NULL;

	JOB_CHECK(!pthread_create(&thread, NULL, sleep_above, NULL), "thread");
	usleep(50000);
	JOB_CHECK(!pthread_cancel(thread) && !pthread_join(thread, &ended) &&
		  ended == PTHREAD_CANCELED, "the application's thread ended with %p", ended);
}

static void cancel_below(struct job *job)
{
	void *(*lower_dlsym)(void *, const char *) = lower_function(job->lower, S_dlsym);
	int (*create)(unsigned long *, const void *, void *, void *);
	unsigned long upper, thread = 0;
	void *ended = NULL;

	upper = lower_enter();
	/* ckpt-lower's, as the library has it */
	create = lower_dlsym(NULL, "pthread_create");
	create(&thread, NULL, lower_function(job->lower, S_pause), NULL);
	lower_leave(upper);
	/* asleep by then: it is cancelled with a signal */
	usleep(50000);
	CALL(job, pthread_cancel, thread);
	CALL(job, pthread_join, thread, P(&ended));
	JOB_CHECK(ended == PTHREAD_CANCELED, "the library's thread ended with %p", ended);
	job_traffic(job);
}

/* the library alone cancels threads of its own */
static void case_cancel(struct job *job)
{
	cancel_below(job);
	cancel_below(job);
}

/* each its own, the application first */
static void case_cancel_both(struct job *job)
{
	int i;

	for (i = 0; i < 3; i++) {
		cancel_above();
		cancel_below(job);
	}
}

/* nobody flushes: the process is killed */
static void case_stdout(struct job *job)
{
	CALL(job, printf, P("from below"));
	kill(getpid(), SIGKILL);
}

static void case_environment(struct job *job)
{
	typedef char *(*getenv_fn)(const char *);
	getenv_fn lower_getenv = (getenv_fn)lower_function(job->lower, S_getenv);
	char name[32], *before, *after, *preload, *caches;
	unsigned long upper;
	int i;

	upper = lower_enter();
	before = lower_getenv("PATH");
	caches = lower_getenv("UCX_MEM_EVENTS");
	lower_leave(upper);
	JOB_CHECK(before && !strcmp(before, getenv("PATH")), "the environment is not a copy");
	JOB_CHECK(caches && !strcmp(caches, "no"), "a cache hears of no munmap(), and is there");
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "STILLPOINT_%d", i);
		setenv(name, "x", 1);
	}
	setenv("PATH", "/elsewhere", 1);
	upper = lower_enter();
	preload = lower_getenv("LD_PRELOAD");
	after = lower_getenv("PATH");
	lower_leave(upper);
	JOB_CHECK(after == before, "setenv() reached the lower half");
	JOB_CHECK(!preload, "LD_PRELOAD reached the lower half: %s", preload);
	setenv("PATH", before, 1);
	job_traffic(job);
}

static int wait_for(pid_t child)
{
	int status = -1;

	JOB_CHECK(waitpid(child, &status, 0) == child, "waitpid");
	return status;
}

static void check_child(struct job *job)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start;
	char line[256];
	int fd;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx", &start) == 1)
			JOB_CHECK(start < LOWER_BASE || start >= LOWER_END,
				  "the child has %s", line);
	for (fd = 3; fd < 64; fd++)
		JOB_CHECK(fcntl(fd, F_GETFD) < 0 || job->fds[fd] || (f && fd == fileno(f)),
			  "the child has descriptor %d", fd);
}

static void case_fork(struct job *job)
{
	int fds[64], status, i;
	size_t nr = lower_fds(job->lower, fds, 64);
	pid_t child;

	for (i = 0; i < 3; i++) {
		child = fork();
		if (!child) {
			check_child(job);
			_exit(5);
		}
		status = wait_for(child);
		JOB_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5, "child: %x", status);
		job_traffic(job);
	}
	child = fork();
	if (!child) {
		int rank;

		fclose(stderr);
		close(STDERR_FILENO);
		CALL(job, MPI_Comm_rank, job->world, P(&rank));
		_exit(0);
	}
	status = wait_for(child);
	JOB_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
		  "a child called MPI: %x", status);
	JOB_CHECK(lower_fds(job->lower, fds, 64) == nr, "the parent's descriptors changed");
	job_traffic(job);
}

static void case_system(struct job *job)
{
	char line[64] = "";
	FILE *f;
	int i;

	for (i = 0; i < 5; i++) {
		JOB_CHECK(WEXITSTATUS(system("exit 5")) == 5, "system()");
		f = popen("echo hello", "r");
		JOB_CHECK(f && fgets(line, sizeof(line), f) && !strcmp(line, "hello\n") &&
			  !pclose(f), "popen()");
		job_traffic(job);
	}
	job_inside(job);
}

static const struct {
	const char *name;
	void (*run)(struct job *job);
} cases[] = {
	{ "exit", case_exit },		{ "abort", case_abort },
	{ "fatal", case_fatal },	{ "stdout", case_stdout },
	{ "environment", case_environment },
	{ "abort_handled", case_abort_handled },
	{ "cancel", case_cancel },	{ "cancel_both", case_cancel_both },
	{ "fork", case_fork },		{ "system", case_system },
};

int main(int argc, char **argv)
{
	static struct job job;
	unsigned int i;

	JOB_CHECK(argc == 4, "usage: lower_ends CKPT-LOWER LIBRARY CASE");
	if (!strcmp(argv[3], "environment")) {
		setenv("LD_PRELOAD", "/nowhere", 1);
		setenv("UCX_MEM_EVENTS", "yes", 1);
	}
	job_load(&job, argv[1], argv[2]);
	job_init(&job);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[3]))
			cases[i].run(&job);
	CALL(&job, MPI_Finalize, 0);
	return 0;
}
