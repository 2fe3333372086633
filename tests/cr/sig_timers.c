// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX timers: one that ticks, with the value it was made with; one that expires once, long after;
 * one to a point in time; one that signals a certain thread; ones that signal nobody; ones whose
 * signal is blocked and pending: that tick, with their overruns, from a point in time on, once, and
 * set again since; one that was never set; one whose thread is gone. Numbers have gaps.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define SEC		1000000000ULL
#define TICK_NS		50000000L
#define FAR_S		1000
#define SLOW_S		60	/* between one look at the clock and the next */
#define VALUE		0x1234567

enum {
	TICKS,
	ONCE,
	DATE,
	THREAD,
	SILENT,
	SILENT_DATE,
	BLOCKED,
	BLOCKED_DATE,
	BLOCKED_ONCE,
	SET_AGAIN,
	UNSET,
	GONE,
	NR
};

static timer_t timers[NR];
static volatile sig_atomic_t ticks, thread_ticks, wrong;
static volatile pid_t thread_tid;
static volatile bool done;
static uint64_t date;
static long next_number;
static pthread_t thread;

static void on_tick(int sig, siginfo_t *info, void *context)
{
	ticks++;
	wrong |= info->si_code != SI_TIMER || info->si_value.sival_int != VALUE;
}

static void on_thread_tick(int sig, siginfo_t *info, void *context)
{
	thread_ticks++;
	wrong |= cr_tid() != thread_tid;
}

static void *idle(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	thread_tid = cr_tid();
	while (!done)
		usleep(10000);
	return NULL;
}

static void *leave(void *arg)
{
	thread_tid = cr_tid();
	cr_await("made");
	return NULL;
}

static void make(int which, int clock, int notify, int signo)
{
	struct sigevent event = { .sigev_notify = notify, .sigev_signo = signo };

	event.sigev_value.sival_int = VALUE;
	event._sigev_un._tid = notify == SIGEV_THREAD_ID ? thread_tid : 0;
	cr_sys(timer_create(clock, &event, &timers[which]));
}

static void set(int which, int flags, long sec, long ns, bool again)
{
	struct itimerspec spec = { .it_value = { sec, ns } };

	if (again)
		spec.it_interval = spec.it_value;
	cr_sys(timer_settime(timers[which], flags, &spec, NULL));
}

/* The first is in the past. */
static void set_from_date(int which, long sec)
{
	struct itimerspec spec = { .it_value = { sec, 0 }, .it_interval = { FAR_S, 0 } };

	cr_sys(timer_settime(timers[which], TIMER_ABSTIME, &spec, NULL));
}

static int blocked_signal(int which)
{
	return SIGRTMIN + 2 + which - BLOCKED;
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_RESTART };

	cr_sys(sigaction(sig, &sa, NULL));
}

static void setup(void)
{
	sigset_t blocked;
	timer_t gap;

	handle(SIGRTMIN, on_tick);
	handle(SIGRTMIN + 1, on_thread_tick);
	cr_eq(pthread_create(&thread, NULL, leave, NULL), 0);
	while (!thread_tid)
		usleep(1000);
	make(GONE, CLOCK_MONOTONIC, SIGEV_THREAD_ID, SIGUSR1);
	cr_mark("made");
	cr_eq(pthread_join(thread, NULL), 0);
	thread_tid = 0;
	sigemptyset(&blocked);
	for (int i = BLOCKED; i <= SET_AGAIN; i++)
		sigaddset(&blocked, blocked_signal(i));
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	cr_eq(pthread_create(&thread, NULL, idle, NULL), 0);
	while (!thread_tid)
		usleep(1000);
	make(TICKS, CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN);
	cr_sys(timer_create(CLOCK_MONOTONIC, NULL, &gap));
	make(ONCE, CLOCK_BOOTTIME, SIGEV_SIGNAL, SIGUSR1);
	make(DATE, CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1);
	make(THREAD, CLOCK_MONOTONIC, SIGEV_THREAD_ID, SIGRTMIN + 1);
	make(SILENT, CLOCK_REALTIME, SIGEV_NONE, 0);
	make(SILENT_DATE, CLOCK_REALTIME, SIGEV_NONE, 0);
	make(BLOCKED, CLOCK_MONOTONIC, SIGEV_SIGNAL, blocked_signal(BLOCKED));
	make(BLOCKED_DATE, CLOCK_REALTIME, SIGEV_SIGNAL, blocked_signal(BLOCKED_DATE));
	make(BLOCKED_ONCE, CLOCK_MONOTONIC, SIGEV_SIGNAL, blocked_signal(BLOCKED_ONCE));
	make(SET_AGAIN, CLOCK_BOOTTIME, SIGEV_SIGNAL, blocked_signal(SET_AGAIN));
	make(UNSET, CLOCK_TAI, SIGEV_SIGNAL, SIGUSR1);
	cr_sys(timer_delete(gap));
	date = cr_now(CLOCK_REALTIME) / SEC + FAR_S;
	set(TICKS, 0, 0, TICK_NS, true);
	set(ONCE, 0, FAR_S, 0, false);
	set(DATE, TIMER_ABSTIME, (long)date, 0, false);
	set(THREAD, 0, 0, TICK_NS, true);
	set(SILENT, 0, FAR_S, 0, true);
	set(SILENT_DATE, TIMER_ABSTIME, (long)date, 0, false);
	set(BLOCKED, 0, 0, 1000000, true);
	set_from_date(BLOCKED_DATE, (long)date - FAR_S - 1);
	set(BLOCKED_ONCE, 0, 0, 1000000, false);
	set(SET_AGAIN, 0, 0, 1000000, false);
	set(GONE, 0, FAR_S, 0, false);
	usleep(20000);
	set(SET_AGAIN, 0, FAR_S, 0, false);
	cr_sys(timer_create(CLOCK_MONOTONIC, NULL, &gap));
	cr_sys(timer_delete(gap));
	next_number = (long)gap + 1;
}

static uint64_t left(int which)
{
	struct itimerspec spec;

	cr_sys(timer_gettime(timers[which], &spec));
	return (uint64_t)spec.it_value.tv_sec;
}

static void await(volatile sig_atomic_t *count, const char *what)
{
	int before = *count;

	for (int i = 0; *count < before + 3; i++) {
		cr_check(i < 10000, "%s", what);
		usleep(1000);
	}
}

static bool take(int which, siginfo_t *info)
{
	struct timespec no_wait = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, blocked_signal(which));
	return sigtimedwait(&set, info, &no_wait) > 0;
}

static void check_pending(int which, siginfo_t *info)
{
	cr_check(take(which, info), "%d: no signal", which);
	cr_eq(info->si_code, SI_TIMER);
	cr_eq(info->si_value.sival_int, VALUE);
}

static void check_blocked(uint64_t now)
{
	siginfo_t info;

	check_pending(BLOCKED, &info);
	cr_check(info.si_overrun >= 15, "%d", info.si_overrun);
	cr_eq(timer_getoverrun(timers[BLOCKED]), info.si_overrun);
	for (int i = 0; !take(BLOCKED, &info); i++) {
		cr_check(i < 10000, "it does not go on");
		usleep(1000);
	}
	check_pending(BLOCKED_DATE, &info);
	cr_eq(info.si_overrun, 0);
	cr_check(left(BLOCKED_DATE) + SLOW_S > date - 1 - now &&
			 left(BLOCKED_DATE) < date + 1 - now,
		 "%llu", (unsigned long long)left(BLOCKED_DATE));
	check_pending(BLOCKED_ONCE, &info);
	cr_eq(info.si_overrun, 0);
	cr_eq(left(BLOCKED_ONCE), 0);
	check_pending(SET_AGAIN, &info);
	cr_check(left(SET_AGAIN) > FAR_S - 600 && left(SET_AGAIN) < FAR_S, "%llu",
		 (unsigned long long)left(SET_AGAIN));
	for (int i = BLOCKED_DATE; i <= SET_AGAIN; i++)
		cr_check(!take(i, &info), "%d: twice", i);
}

static void verify(void)
{
	uint64_t now = cr_now(CLOCK_REALTIME) / SEC;
	uint64_t to_date = left(DATE), silent_to_date = left(SILENT_DATE);
	timer_t another;

	cr_check(left(ONCE) > FAR_S - 600 && left(ONCE) < FAR_S, "%llu",
		 (unsigned long long)left(ONCE));
	cr_check(to_date + SLOW_S > date - now && to_date < date - now + 2, "%llu of %llu",
		 (unsigned long long)to_date, (unsigned long long)(date - now));
	cr_check(silent_to_date + SLOW_S > date - now && silent_to_date < date - now + 2,
		 "%llu of %llu", (unsigned long long)silent_to_date,
		 (unsigned long long)(date - now));
	cr_check(left(SILENT) > FAR_S - 600 && left(SILENT) <= FAR_S, "%llu",
		 (unsigned long long)left(SILENT));
	cr_eq(left(UNSET), 0);
	check_blocked(now);
	await(&ticks, "it does not tick");
	await(&thread_ticks, "the thread is not told");
	cr_eq(wrong, 0);
	cr_sys(timer_create(CLOCK_MONOTONIC, NULL, &another));
	cr_eq((long)another, next_number);
	for (int i = 0; i < NR; i++)
		cr_sys(timer_delete(timers[i]));
	done = true;
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
