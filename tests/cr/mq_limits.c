// SPDX-License-Identifier: GPL-2.0-only
/*
 * A POSIX message queue longer than the node lets anybody make one, with more bytes than the
 * program's limit permits by now.
 */
#include <sys/resource.h>

#include "tests/cr/mq.h"

#define NR	300

static mqd_t queue;

static void setup(void)
{
	struct rlimit limit = { 1 << 22, 1 << 22 };

	mq_namespace();
	if (setrlimit(RLIMIT_MSGQUEUE, &limit) < 0)
		cr_skip("setrlimit: %s", strerror(errno));
	queue = mq_new("/long", NR, MQ_MOST);
	for (unsigned int i = 0; i < NR; i++)
		mq_put(queue, i, i % 3, i);
	limit.rlim_cur = 1000;
	cr_sys(setrlimit(RLIMIT_MSGQUEUE, &limit));
}

static void verify(void)
{
	struct rlimit limit;

	cr_sys(getrlimit(RLIMIT_MSGQUEUE, &limit));
	cr_eq(limit.rlim_cur, 1000);
	for (unsigned int p = 3; p--;)
		for (unsigned int i = p; i < NR; i += 3)
			mq_take(queue, i, p, i);
	mq_is_empty(queue);
}

CR_TEST(.setup = setup, .verify = verify);
