// SPDX-License-Identifier: GPL-2.0-only
/*
 * NUMA policies of threads: each its own, a child that inherited one, a thread without any.
 */
#include <pthread.h>

#include "tests/cr/numa.h"

static struct numa_nodes all, last, none;
static pthread_t threads[2];
static pid_t child;
static int ready;

static void set(int mode, const struct numa_nodes *nodes)
{
	cr_sys(syscall(SYS_set_mempolicy, mode, nodes->bits, NUMA_BITS));
}

static void in_child(void *arg)
{
	cr_mark("child");
	cr_wait_go();
	numa_check(NULL, MPOL_INTERLEAVE | MPOL_F_RELATIVE_NODES, &all);
}

static void *interleaved(void *arg)
{
	set(MPOL_INTERLEAVE | MPOL_F_RELATIVE_NODES, &all);
	child = cr_fork(in_child, NULL);
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	cr_wait_go();
	numa_check(NULL, MPOL_INTERLEAVE | MPOL_F_RELATIVE_NODES, &all);
	return NULL;
}

static void *without(void *arg)
{
	set(MPOL_DEFAULT, &none);
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	cr_wait_go();
	numa_check(NULL, MPOL_DEFAULT, &none);
	return NULL;
}

static void setup(void)
{
	all = numa_all();
	last = numa_one(numa_last());
	set(MPOL_BIND, &last);
	cr_eq(pthread_create(&threads[0], NULL, interleaved, NULL), 0);
	cr_eq(pthread_create(&threads[1], NULL, without, NULL), 0);
	cr_await("child");
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
}

static void verify(void)
{
	numa_check(NULL, MPOL_BIND, &last);
	for (int i = 0; i < 2; i++)
		cr_eq(pthread_join(threads[i], NULL), 0);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
