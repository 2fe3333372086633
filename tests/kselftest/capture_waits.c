// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: blocking system calls across freezes.
 *
 * Each call runs in a thread of its own.  With a deadline of two seconds it must
 * end after two seconds, with the result it would have had, although the process
 * is frozen several times meanwhile; without one it must not end at all until it
 * is woken.  No call may fail with EINTR, and no register may change.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define WAIT_MS		2000
#define NR_CALLS	64

struct call {
	const char *name;
	long (*fn)(void);		/* what a timeout or a wake-up gives */
	long want;			/* result, or -errno */
	bool timed;
};

static int pipe_fd[2], epoll_fd, sem_id, msg_id, event_fd;
static struct timespec two = { 2, 0 };

/* As libc would, but with all argument registers looked at afterwards. */
static long checked(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long ax = nr, di = a, si = b, dx = c;

	asm volatile("syscall" : "+a" (ax), "+D" (di), "+S" (si), "+d" (dx), "+r" (r10),
		     "+r" (r8), "+r" (r9) : : "rcx", "r11", "memory");
	if (di != a || si != b || dx != c || r10 != d || r8 != e || r9 != f)
		return -9999;
	return ax;
}

static struct timespec in_two_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += 2;
	return t;
}

static long do_nanosleep(void) { return checked(SYS_nanosleep, (long)&two, 0, 0, 0, 0, 0); }
static long do_clock_nanosleep(void)
{
	return checked(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, (long)&two, 0, 0, 0);
}
static long do_clock_abs(void)
{
	struct timespec t = in_two_seconds(CLOCK_MONOTONIC);

	return checked(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&t, 0, 0, 0);
}
static long do_futex(void)
{
	static int word;

	return checked(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, (long)&two, 0, 0);
}
static long do_futex_bitset(void)
{
	struct timespec t = in_two_seconds(CLOCK_REALTIME);
	static int word;

	return checked(SYS_futex, (long)&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0,
		       (long)&t, 0, FUTEX_BITSET_MATCH_ANY);
}
static long do_cond(void)
{
	struct timespec t = in_two_seconds(CLOCK_REALTIME);
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&m);
	return -pthread_cond_timedwait(&c, &m, &t);
}
static long do_sem(void)
{
	struct timespec t = in_two_seconds(CLOCK_REALTIME);
	sem_t s;

	sem_init(&s, 0, 0);
	return sem_timedwait(&s, &t) ? -errno : 0;
}
static long do_poll(void)
{
	struct pollfd p = { .fd = pipe_fd[0], .events = POLLIN };

	return checked(SYS_poll, (long)&p, 1, WAIT_MS, 0, 0, 0);
}
static long do_ppoll(void)
{
	struct pollfd p = { .fd = pipe_fd[0], .events = POLLIN };
	struct timespec t = two;
	sigset_t set;

	sigfillset(&set);
	return checked(SYS_ppoll, (long)&p, 1, (long)&t, (long)&set, 8, 0);
}
static long do_select(void)
{
	struct timeval t = { 2, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipe_fd[0], &set);
	return checked(SYS_select, pipe_fd[0] + 1, (long)&set, 0, 0, (long)&t, 0);
}
static long do_select_const(void)
{
	struct timeval *t = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	t->tv_sec = 2;
	mprotect(t, PAGE, PROT_READ);
	return checked(SYS_select, 0, 0, 0, 0, (long)t, 0);
}
static long do_pselect(void)
{
	struct timespec t = two;

	return checked(SYS_pselect6, 0, 0, 0, 0, (long)&t, 0);
}
static long do_epoll(void)
{
	struct epoll_event e;

	return checked(SYS_epoll_wait, epoll_fd, (long)&e, 1, WAIT_MS, 0, 0);
}
static long do_epoll_p(void)
{
	struct epoll_event e;
	sigset_t set;

	sigfillset(&set);
	return checked(SYS_epoll_pwait, epoll_fd, (long)&e, 1, WAIT_MS, (long)&set, 8);
}
static long do_epoll_p2(void)
{
	struct epoll_event e;

	return checked(SYS_epoll_pwait2, epoll_fd, (long)&e, 1, (long)&two, 0, 8);
}
static long do_sigtimedwait(void)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return checked(SYS_rt_sigtimedwait, (long)&set, (long)&info, (long)&two, 8, 0, 0);
}
static long do_semtimedop(void)
{
	struct sembuf op = { 0, -1, 0 };

	return checked(SYS_semtimedop, sem_id, (long)&op, 1, (long)&two, 0, 0);
}
static long do_io_getevents(void)
{
	unsigned long ctx = 0;
	char events[32];

	if (syscall(SYS_io_setup, 1, &ctx))
		return 0;
	return checked(SYS_io_getevents, ctx, 1, 1, (long)events, (long)&two, 0);
}
static long do_mq(void)
{
	struct timespec t = in_two_seconds(CLOCK_REALTIME);
	mqd_t q = mq_open("/capture-mq", O_RDWR | O_CREAT, 0600, NULL);
	char buf[8192];

	if (q == (mqd_t)-1)
		return -ETIMEDOUT;	/* a kernel without */
	return checked(SYS_mq_timedreceive, q, (long)buf, sizeof(buf), 0, (long)&t, 0);
}

static long do_pipe_read(void)
{
	char c;

	return checked(SYS_read, pipe_fd[0], (long)&c, 1, 0, 0, 0);
}
static long do_epoll_forever(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	e.events = EPOLLIN;
	epoll_ctl(fd, EPOLL_CTL_ADD, event_fd, &e);
	return checked(SYS_epoll_wait, fd, (long)&e, 1, -1, 0, 0);
}
static long do_semop(void)
{
	struct sembuf op = { 1, -1, 0 };

	return checked(SYS_semop, sem_id, (long)&op, 1, 0, 0, 0);
}
static long do_msgrcv(void)
{
	struct { long type; char c; } m;

	return checked(SYS_msgrcv, msg_id, (long)&m, 1, 0, 0, 0);
}
static long do_wait4(void)
{
	pid_t pid = fork();

	if (!pid) {
		while (!shared->go)
			sleep_ms(10);
		_exit(0);
	}
	return checked(SYS_wait4, pid, 0, 0, 0, 0, 0) == pid ? 0 : -1;
}
static long do_sigwait(void)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	shared->addr[1] = syscall(SYS_gettid);
	return checked(SYS_rt_sigtimedwait, (long)&set, (long)&info, 0, 8, 0, 0);
}
static long do_recv(void)
{
	struct timeval t = { 20, 0 };
	int sv[2];
	char c;

	socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
	setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	shared->addr[2] = sv[1];
	return checked(SYS_recvfrom, sv[0], (long)&c, 1, 0, 0, 0);
}
static long do_accept(void)
{
	struct timeval t = { 2, 0 };
	struct sockaddr any = { .sa_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	bind(fd, &any, sizeof(any.sa_family));
	listen(fd, 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	return checked(SYS_accept, fd, 0, 0, 0, 0, 0) == -EAGAIN ? 0 : -1;
}

static const struct call calls[] = {
	{ "nanosleep", do_nanosleep, 0, true },
	{ "clock_nanosleep", do_clock_nanosleep, 0, true },
	{ "clock_nanosleep, absolute", do_clock_abs, 0, true },
	{ "futex", do_futex, -ETIMEDOUT, true },
	{ "futex, absolute", do_futex_bitset, -ETIMEDOUT, true },
	{ "pthread_cond_timedwait", do_cond, -ETIMEDOUT, true },
	{ "sem_timedwait", do_sem, -ETIMEDOUT, true },
	{ "poll", do_poll, 0, true },
	{ "ppoll", do_ppoll, 0, true },
	{ "select", do_select, 0, true },
	{ "select, constant timeout", do_select_const, 0, true },
	{ "pselect6", do_pselect, 0, true },
	{ "epoll_wait", do_epoll, 0, true },
	{ "epoll_pwait", do_epoll_p, 0, true },
	{ "epoll_pwait2", do_epoll_p2, 0, true },
	{ "rt_sigtimedwait", do_sigtimedwait, -EAGAIN, true },
	{ "semtimedop", do_semtimedop, -EAGAIN, true },
	{ "io_getevents", do_io_getevents, 0, true },
	{ "mq_timedreceive", do_mq, -ETIMEDOUT, true },
	{ "read of a pipe", do_pipe_read, 1, false },
	{ "epoll_wait, no timeout", do_epoll_forever, 1, false },
	{ "semop", do_semop, 0, false },
	{ "msgrcv", do_msgrcv, 1, false },
	{ "wait4", do_wait4, 0, false },
	{ "sigwait", do_sigwait, SIGUSR2, false },
	{ "recv with a timeout", do_recv, 1, false },
	{ "accept with a timeout", do_accept, 0, false },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* shared->n[2i]: ms it took, or -1; n[2i+1]: the result */
static void *run_call(void *arg)
{
	long i = (long)arg;
	uint64_t start;

	am_ready();
	start = now_ns();
	shared->n[2 * i + 1] = calls[i].fn();
	shared->n[2 * i] = (now_ns() - start) / MS;
	return NULL;
}

static void wake_all(void)
{
	struct { long type; char c; } m = { 1, 'x' };
	struct sembuf op = { 1, 1, 0 };
	uint64_t one = 1;

	shared->go = 1;
	if (write(pipe_fd[1], "x", 1) != 1 || write(event_fd, &one, 8) != 8 ||
	    write(shared->addr[2], "x", 1) != 1)
		_exit(1);
	semop(sem_id, &op, 1);
	msgsnd(msg_id, &m, 1, 0);
	syscall(SYS_tgkill, getpid(), shared->addr[1], SIGUSR2);
}

static void blocking(void *unused)
{
	pthread_attr_t attr;
	pthread_t t;
	sigset_t set;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	epoll_fd = epoll_create1(0);
	event_fd = eventfd(0, 0);
	sem_id = semget(IPC_PRIVATE, 2, 0600);
	msg_id = msgget(IPC_PRIVATE, 0600);
	shared->addr[3] = sem_id;
	shared->addr[4] = msg_id;
	if (pipe(pipe_fd))
		_exit(1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 262144);
	for (unsigned long i = 0; i < CALLS; i++)
		pthread_create(&t, &attr, run_call, (void *)i);
	while (!shared->stop)
		sleep_ms(5);
	wake_all();
	for (;;)
		sleep_ms(1000);
}

static bool wait_done(unsigned int ms)
{
	uint64_t end = now_ns() + ms * MS;
	unsigned int left;

	do {
		left = 0;
		for (unsigned int i = 0; i < CALLS; i++)
			left += shared->n[2 * i] < 0;
		sleep_ms(10);
	} while (left && now_ns() < end);
	return !left;
}

part(waits)
{
	pid_t pid;
	int fd, freezes, bad = 0;
	uint64_t start;
	long thawed = 0, frozen = 0, latest;

	for (unsigned int i = 0; i < CALLS; i++)
		shared->n[2 * i] = -1;
	pid = spawn(blocking, NULL);
	wait_ready(CALLS);
	start = now_ns();
	fd = cap_open();
	cap_target(fd, pid, 0);
	for (freezes = 0; now_ns() - start < 1700 * MS; freezes++) {
		uint64_t begin;

		sleep_ms(100);
		begin = now_ns();
		bad += cap_freeze(fd, 5000, 10000, NULL) != 0;
		sleep_ms(250);
		bad += cap_thaw(fd, 0, NULL) != 0;
		frozen += (now_ns() - begin) / MS;
		thawed = (now_ns() - start) / MS;
	}
	/*
	 * What falls due while frozen ends with the pause.  The host may be busy; but
	 * a wait that began again, or stood still with the process, ends later.
	 */
	latest = (thawed > WAIT_MS ? thawed : WAIT_MS) + frozen * 2 / 3;
	tap_is(bad, 0, "frozen %d times for 250 ms while %zu calls wait", freezes, CALLS);
	sleep_ms(2000);
	for (unsigned int i = 0; i < CALLS; i++)
		if (!calls[i].timed && calls[i].fn != do_accept)
			tap_is(shared->n[2 * i], -1, "%s still waits", calls[i].name);
	shared->stop = 1;
	wait_done(10000 * slow());
	for (unsigned int i = 0; i < CALLS; i++) {
		tap_is(shared->n[2 * i + 1], calls[i].want, "%s: result", calls[i].name);
		if (calls[i].timed)
			tap_ok(shared->n[2 * i] >= WAIT_MS - 2 &&
			       shared->n[2 * i] < latest,
			       "%s: took %ld ms", calls[i].name, shared->n[2 * i]);
	}
	close(fd);
	reap(pid);
	semctl(shared->addr[3], 0, IPC_RMID);
	msgctl(shared->addr[4], IPC_RMID, NULL);
	mq_unlink("/capture-mq");
}

/* ------------------------------------------ a handler makes EINTR, as ever */

static void on_signal(int sig) { (void)sig; shared->n[1]++; }

static void interrupted(void *unused)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct epoll_event e;
	int fd = epoll_create1(0);

	(void)unused;
	sigaction(SIGUSR1, &sa, NULL);
	am_ready();
	shared->n[0] = syscall(SYS_epoll_wait, fd, &e, 1, 20000 * slow()) < 0 ? -errno : 0;
	am_ready();
	for (;;)
		pause();
}

part(handlers)
{
	pid_t pid = spawn(interrupted, NULL);
	int fd;

	wait_ready(1);
	await_syscall(pid, SYS_epoll_wait);
	fd = cap_frozen(pid, NULL);
	kill(pid, SIGUSR1);
	sleep_ms(100);
	tap_is(shared->n[1], 0, "a signal waits for the thaw");
	cap_thaw(fd, 0, NULL);
	wait_ready(2);
	tap_is(shared->n[1], 1, "then its handler runs");
	tap_is(shared->n[0], -EINTR, "and the call is interrupted");
	close(fd);
	reap(pid);
}
