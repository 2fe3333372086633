// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process whose leader has left has all that a process has: a child, a zombie, a
 * signal pending, a timer, a working directory, a name; it ends with its last
 * thread's status.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static volatile pid_t *pids;	/* child and zombie, of the process under test */
static volatile sig_atomic_t alarms;
static pid_t subject;

static void on_alarm(int signo)
{
	alarms++;
}

static void in_child(void *arg)
{
	cr_wait_go();
	_exit(3);
}

static void in_zombie(void *arg)
{
	_exit(4);
}

static void check(void)
{
	char *cwd = getcwd(NULL, 0), *comm;
	sigset_t pending;

	cr_check(strcmp(cwd, "/") == 0, "in %s", cwd);
	free(cwd);
	sigpending(&pending);
	cr_eq(sigismember(&pending, SIGUSR1), 1);
	comm = cr_read("/proc/self/comm", NULL);
	cr_check(strcmp(comm, "the leader\n") == 0, "named %s", comm);
	free(comm);
	cr_await_state(getpid(), 'Z');
	cr_await_state(pids[1], 'Z');
}

static void *body(void *arg)
{
	struct itimerval timer = { { 0, 20000 }, { 0, 20000 } };

	cr_await_state(getpid(), 'Z');
	signal(SIGALRM, on_alarm);
	cr_sys(setitimer(ITIMER_REAL, &timer, NULL));
	check();
	cr_mark("ready");
	cr_wait_go();
	check();
	cr_eq(cr_wait_status(pids[1]), 4 << 8);
	cr_eq(cr_wait_status(pids[0]), 3 << 8);
	alarms = 0;
	while (!alarms)
		pause();
	cr_mark("checked");
	syscall(SYS_exit, 9);
	return NULL;
}

static void lead(void *arg)
{
	pthread_t thread;
	sigset_t set;

	cr_sys(chdir("/"));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	cr_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	cr_sys(kill(getpid(), SIGUSR1));
	pids[0] = cr_fork(in_child, NULL);
	pids[1] = cr_fork(in_zombie, NULL);
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	cr_write_file("/proc/self/comm", "the leader", 10);
	syscall(SYS_exit, 0);
}

static void setup(void)
{
	pids = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
	subject = cr_fork(lead, NULL);
	cr_await("ready");
}

static void verify(void)
{
	cr_await("checked");
	cr_eq(cr_wait_status(subject), 9 << 8);
}

CR_TEST(.setup = setup, .verify = verify);
