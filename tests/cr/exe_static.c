// SPDX-License-Identifier: GPL-2.0-only
/*
 * A statically linked program: no interpreter, no libraries, threads and TLS all
 * the same.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static atomic_long rounds;
static __thread long mine = 17;
static pthread_t thread;
static uint8_t *heap;

static void *spin(void *arg)
{
	while (!cr_go()) {
		mine++;
		atomic_fetch_add(&rounds, 1);
		cr_pause();
	}
	return (void *)mine;
}

static void setup(void)
{
	char *maps = cr_read("/proc/self/maps", NULL);

	cr_check(!strstr(maps, "libc"), "not static");
	free(maps);
	heap = malloc(100000);
	cr_fill(heap, 100000, 1);
	cr_eq(pthread_create(&thread, NULL, spin, NULL), 0);
}

static void verify(void)
{
	void *result;

	cr_eq(pthread_join(thread, &result), 0);
	cr_eq((long)result, 17 + atomic_load(&rounds));
	cr_eq(mine, 17);
	cr_check_fill(heap, 100000, 1);
}

CR_TEST(.setup = setup, .verify = verify);
