// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancellation: a thread in a blocking call ends with its clean-up run, one that has it disabled
 * does not.
 */
#include <pthread.h>

#include "tests/cr/phase.h"

static pthread_t blocked, disabled;
static volatile int started, cleaned, over;

static void clean(void *arg)
{
	cleaned++;
}

static void *blocked_run(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	__atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *disabled_run(void *arg)
{
	cr_eq(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
	__atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
	while (!over)
		usleep(1000);
	return (void *)7;
}

static void setup(void)
{
	cr_eq(pthread_create(&blocked, NULL, blocked_run, NULL), 0);
	cr_eq(pthread_create(&disabled, NULL, disabled_run, NULL), 0);
	while (started < 2)
		usleep(1000);
	cr_eq(pthread_cancel(disabled), 0);
}

static void verify(void)
{
	void *result;

	cr_eq(pthread_cancel(blocked), 0);
	cr_eq(pthread_join(blocked, &result), 0);
	cr_check(result == PTHREAD_CANCELED, "%p", result);
	cr_eq(cleaned, 1);
	over = 1;
	cr_eq(pthread_join(disabled, &result), 0);
	cr_check(result == (void *)7, "%p", result);
}

CR_TEST(.setup = setup, .verify = verify);
