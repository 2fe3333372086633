// SPDX-License-Identifier: GPL-2.0-only
/*
 * The robust list head and the rseq area that the C library registered for each
 * thread are registered with the kernel again.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define THREADS	4

static pthread_t thread[THREADS];
static atomic_int started;

static void head_of(void **ret_head, size_t *ret_len)
{
	*ret_head = NULL;
	*ret_len = 0;
	cr_sys(syscall(SYS_get_robust_list, 0, ret_head, ret_len));
}

static void *body(void *arg)
{
	void *head, *now;
	size_t len, now_len;

	head_of(&head, &len);
	cr_eq(len, sizeof(struct robust_list_head));
	atomic_fetch_add(&started, 1);
	cr_wait_go();
	head_of(&now, &now_len);
	cr_check(now == head, "%p, not %p", now, head);
	cr_eq(now_len, len);
	return NULL;
}

static void setup(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, NULL), 0);
	while (atomic_load(&started) < THREADS)
		cr_pause();
}

static void verify(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
