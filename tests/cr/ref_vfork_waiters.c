// SPDX-License-Identifier: GPL-2.0-only
/*
 * A freeze that is given up cuts no call short: threads that wait where a signal would end
 * the wait, and that get hardly any CPU, so that they have not parked by then.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define WAITERS	8
#define GROUP	"/sys/fs/cgroup/ref_vfork_waiters"

static pthread_t waiters[WAITERS];
static atomic_int waiting, cut;
static int poll_fd, end_fd;

static void make_group(void)
{
	if (mkdir(GROUP, 0755) < 0 && errno != EEXIST)
		cr_skip("no control groups");
	if (access(GROUP "/cpu.max", F_OK)) {
		rmdir(GROUP);
		cr_skip("no control group with cpu.max");
	}
}

static void put_into_group(pid_t pid)
{
	char text[24];

	snprintf(text, sizeof(text), "%d", pid);
	cr_write_file(GROUP "/cgroup.procs", text, strlen(text));
}

/*
 * In the vfork child: a hundredth of a processor for all of the program, so that who is woken runs
 * much later. Not before there is a child: the program would hardly come to have one, and a tree
 * that has none can be saved.
 */
static void throttle(void)
{
	const char *quota = "1000 100000";

	put_into_group(getppid());
	put_into_group(getpid());
	cr_write_file(GROUP "/cpu.max", quota, strlen(quota));
}

static void *waiter(void *arg)
{
	struct epoll_event event;
	sigset_t set;
	int ret;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	waiting++;
	if ((uintptr_t)arg % 2)
		ret = epoll_wait(poll_fd, &event, 1, -1);
	else
		ret = sigwaitinfo(&set, NULL);
	if (ret < 0 && errno == EINTR)
		cut++;
	return NULL;
}

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	cr_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	poll_fd = (int)cr_sys(epoll_create1(0));
	end_fd = (int)cr_sys(eventfd(0, 0));
	cr_sys(epoll_ctl(poll_fd, EPOLL_CTL_ADD, end_fd, &event));
	for (uintptr_t i = 0; i < WAITERS; i++)
		cr_eq(pthread_create(&waiters[i], NULL, waiter, (void *)i), 0);
	while (waiting < WAITERS)
		usleep(1000);
	usleep(50000);
	make_group();
}

static void block(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		throttle();
		while (access(cr_path("go"), F_OK) < 0)
			usleep(2000);
		_exit(0);
	}
	cr_join(pid);
}

static void verify(void)
{
	uint64_t one = 1;

	cr_write_file(GROUP "/cpu.max", "max", 3);
	cr_eq(write(end_fd, &one, sizeof(one)), sizeof(one));
	for (int i = 0; i < WAITERS; i++) {
		if (i % 2 == 0)
			cr_eq(pthread_kill(waiters[i], SIGUSR2), 0);
		cr_eq(pthread_join(waiters[i], NULL), 0);
	}
	cr_write_file("/sys/fs/cgroup/cgroup.procs", "0", 1);
	rmdir(GROUP);
	cr_eq(cut, 0);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
