// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals that arrive while a rank is in the MPI library: the application's handlers
 * run with the application's thread-local storage, none is lost, and the
 * library's storage is unharmed. What the application asks about its handlers
 * is what it has set; what the library sets is not seen.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/lower_job.h"

#define WANTED		500
#define CANARY		0x5ca1ab1e
#define BYTES		64

/* large enough to reach far below the FS base, where the lower half keeps its own */
static __thread volatile unsigned int mine[256];
static __thread volatile unsigned int handled;
static __thread volatile unsigned int below;
static volatile bool stop;

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	unsigned int i;

	for (i = 0; i < 256; i++) {
		if (mine[i] != CANARY)
			job_fail("a handler sees somebody else's thread-local storage");
		mine[i] = CANARY;
	}
	errno = E2BIG;
	handled = handled + 1;
	below = below + (lower_nesting != 0);
	if (sig != SIGUSR2 || info->si_signo != sig || !context)
		job_fail("a handler's arguments");
}

static void on_other(int sig)
{
}

static void fill(void)
{
	unsigned int i;

	for (i = 0; i < 256; i++)
		mine[i] = CANARY;
}

/* the signal is sent to the thread itself, not to whichever is free */
static void *send_signals(void *arg)
{
	pthread_t target = *(pthread_t *)arg;

	while (!stop) {
		pthread_kill(target, SIGUSR2);
		usleep(200);
	}
	return NULL;
}

static void check_dispositions(void)
{
	struct sigaction action = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO }, old;

	JOB_CHECK(!sigaction(SIGUSR2, &action, NULL), "sigaction");
	JOB_CHECK(!sigaction(SIGUSR2, NULL, &old) && old.sa_sigaction == on_alarm &&
		  old.sa_flags & SA_SIGINFO, "sigaction() forgot the handler");
	JOB_CHECK(signal(SIGHUP, on_other) == SIG_DFL, "SIGHUP was not default");
	JOB_CHECK(signal(SIGHUP, SIG_IGN) == on_other, "signal() forgot the handler");
	JOB_CHECK(signal(SIGHUP, SIG_DFL) == SIG_IGN, "SIGHUP was not ignored");
	action.sa_handler = on_other;
	action.sa_flags = (int)SA_RESETHAND;
	JOB_CHECK(!sigaction(SIGWINCH, &action, NULL), "sigaction");
	raise(SIGWINCH);
	JOB_CHECK(!sigaction(SIGWINCH, NULL, &old) && old.sa_handler == SIG_DFL,
		  "SA_RESETHAND did not reset");
	JOB_CHECK(sigset(SIGWINCH, SIG_HOLD) == SIG_DFL &&
		  sigset(SIGWINCH, on_other) == SIG_HOLD &&
		  sigset(SIGWINCH, SIG_DFL) == on_other, "sigset()");
	errno = 0;
	JOB_CHECK(sigaction(SIGKILL, &action, NULL) && errno == EINVAL, "SIGKILL has a handler");
	JOB_CHECK(sigaction(1000, &action, NULL) && errno == EINVAL, "signal 1000 has a handler");
}

/* the library sets handlers of its own: the application never sees them */
static void check_untouched(void)
{
	static const int signals[] = { SIGHUP, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGUSR1, SIGSEGV };
	struct sigaction old;
	unsigned int i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		JOB_CHECK(!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL,
			  "signal %d is not as the application left it", signals[i]);
}

static void *other_rank_thread(void *arg)
{
	struct job *job = arg;
	char in[BYTES], out[BYTES] = { 0 }, status[64];
	pthread_t self = pthread_self(), sender;
	time_t end = time(NULL) + 20;
	unsigned int rounds, before;

	fill();
	JOB_CHECK(!pthread_create(&sender, NULL, send_signals, &self), "thread");
	for (rounds = 0; time(NULL) < end; rounds++) {
		int go = handled < WANTED || rounds < 100, all = 0;

		/* neither rank may leave the other alone */
		if (rounds % 64 == 0) {
			CALL(job, MPI_Allreduce, P(&go), P(&all), 1, job->type_int, job->sum,
			     job->world);
			if (!all)
				break;
		}
		CALL(job, MPI_Sendrecv, P(out), BYTES, job->type_char, 1 - job->rank, 1, P(in),
		     BYTES, job->type_char, 1 - job->rank, 1, job->world, P(status));
	}
	stop = true;
	pthread_join(sender, NULL);
	/* the library's own raise() reaches the thread that called, not its companion */
	before = handled;
	CALL(job, raise, SIGUSR2);
	JOB_CHECK(handled == before + 1, "raise() below was handled by another thread");
	JOB_CHECK(handled >= WANTED, "only %u signals arrived", handled);
	JOB_CHECK(below * 10 > handled, "only %u of %u signals met a call", below, handled);
	printf("# rank %d: %u signals, %u of them in the library\n", job->rank, handled, below);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct job job;
	pthread_t thread;

	JOB_CHECK(argc == 3, "usage: lower_signals CKPT-LOWER LIBRARY");
	/* one from before the load */
	JOB_CHECK(signal(SIGWINCH, on_other) == SIG_DFL, "SIGWINCH");
	job_load(&job, argv[1], argv[2]);
	JOB_CHECK(signal(SIGWINCH, SIG_DFL) == on_other, "the load forgot a handler");
	job_init(&job);
	check_untouched();
	check_dispositions();
	JOB_CHECK(job.size == 2, "two ranks, please");
	other_rank_thread(&job);
	stop = false;
	JOB_CHECK(!pthread_create(&thread, NULL, other_rank_thread, &job), "thread");
	pthread_join(thread, NULL);
	job_traffic(&job);
	CALL(&job, MPI_Finalize, 0);
	check_untouched();
	return 0;
}
