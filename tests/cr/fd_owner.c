// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that signal an owner: a pipe that signals the process (O_ASYNC), a socket pair that signals
 * a thread with a chosen real-time signal, and a pipe with a chosen signal and no owner.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fds[2], socks[2], chosen[2];
static volatile sig_atomic_t hits, number, who;
static pthread_t thread;
static volatile pid_t tid;

static void on_io(int sig)
{
	hits++;
}

static void on_chosen(int sig, siginfo_t *info, void *context)
{
	number = info->si_fd;
	who = cr_tid();
}

static void *idle(void *arg)
{
	tid = cr_tid();
	cr_mark("thread");
	cr_wait_go();
	cr_await("done");
	return NULL;
}

static void setup(void)
{
	struct sigaction action = { .sa_sigaction = on_chosen, .sa_flags = SA_SIGINFO };
	struct f_owner_ex owner = { .type = F_OWNER_TID };

	signal(SIGIO, on_io);
	cr_sys(sigaction(SIGRTMIN + 3, &action, NULL));
	cr_eq(pthread_create(&thread, NULL, idle, NULL), 0);
	cr_await("thread");
	cr_sys(pipe(fds));
	cr_sys(fcntl(fds[0], F_SETOWN, getpid()));
	cr_sys(fcntl(fds[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	owner.pid = tid;
	cr_sys(fcntl(socks[0], F_SETOWN_EX, &owner));
	cr_sys(fcntl(socks[0], F_SETSIG, SIGRTMIN + 3));
	cr_sys(fcntl(socks[0], F_SETFL, O_ASYNC));
	cr_sys(pipe(chosen));
	cr_sys(fcntl(chosen[0], F_SETSIG, SIGUSR1));
}

static void verify(void)
{
	struct f_owner_ex owner;

	cr_eq(hits, 0);
	cr_eq(fcntl(fds[0], F_GETOWN), getpid());
	cr_eq(fcntl(fds[0], F_GETFL) & (O_ASYNC | O_NONBLOCK), O_ASYNC | O_NONBLOCK);
	cr_sys(fcntl(socks[0], F_GETOWN_EX, &owner));
	cr_eq(owner.type, F_OWNER_TID);
	cr_eq(owner.pid, tid);
	cr_eq(fcntl(chosen[0], F_GETSIG), SIGUSR1);
	cr_eq(fcntl(chosen[0], F_GETOWN), 0);
	cr_eq(cr_sys(write(fds[1], "x", 1)), 1);
	for (int i = 0; !hits && i < 10000; i++)
		usleep(1000);
	cr_check(hits > 0, "no SIGIO");
	cr_eq(cr_sys(write(socks[1], "x", 1)), 1);
	for (int i = 0; !who && i < 10000; i++)
		usleep(1000);
	cr_eq(who, tid);
	cr_eq(number, socks[0]);
	cr_mark("done");
	cr_eq(pthread_join(thread, NULL), 0);
}

/* the thread looks for files while it waits */
CR_TEST(.setup = setup, .verify = verify, .loose_fds = true);
