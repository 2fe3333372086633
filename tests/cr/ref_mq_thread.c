// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: mq_notify with SIGEV_THREAD; a message starts the thread afterwards.
 */
#include <semaphore.h>
#include <signal.h>

#include "tests/cr/mq.h"

static mqd_t queue;
static sem_t told;

static void tell(union sigval value)
{
	cr_eq(value.sival_int, 77);
	sem_post(&told);
}

static void setup(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell,
		.sigev_value.sival_int = 77,
	};

	mq_namespace();
	sem_init(&told, 0, 0);
	queue = mq_new("/cr", 2, MQ_MOST);
	cr_sys(mq_notify(queue, &event));
}

static void verify(void)
{
	mq_put(queue, 3, 1, 1);
	cr_sys(sem_wait(&told));
}

CR_TEST(.setup = setup, .verify = verify);
