// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the way down and up costs, in nanoseconds: the same calls with a switch each
 * and with one switch around the loop, batches of the two alternating. Not a
 * test: run it by hand on a quiet machine, ranks pinned.
 *
 *   mpiexec.mpich -n 2 lower_cost CKPT-LOWER LIBRARY
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/mpi/lower_job.h"

#define BATCHES		201

typedef int (*rank_fn)(handle comm, int *ret);
typedef int (*send_fn)(void *buf, int n, handle type, int to, int tag, handle comm);
typedef int (*recv_fn)(void *buf, int n, handle type, int from, int tag, handle comm,
		       void *status);

struct cost {
	struct job job;
	rank_fn rank;
	send_fn send;
	recv_fn recv;
	char buf[8];
	char status[64];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

#define LOWER __attribute__((noinline, optimize("no-stack-protector")))

static LOWER void switch_only(struct cost *c, int n)
{
	while (n--)
		lower_leave(lower_enter());
}

static LOWER void ranks_each(struct cost *c, int n)
{
	unsigned long upper;
	int r;

	while (n--) {
		upper = lower_enter();
		c->rank(c->job.world, &r);
		lower_leave(upper);
	}
}

static LOWER void ranks_once(struct cost *c, int n)
{
	unsigned long upper = lower_enter();
	int r;

	while (n--)
		c->rank(c->job.world, &r);
	lower_leave(upper);
}

static LOWER void send(struct cost *c, bool each)
{
	unsigned long upper = 0;

	if (each)
		upper = lower_enter();
	c->send(c->buf, 8, c->job.type_char, 1 - c->job.rank, 1, c->job.world);
	if (each)
		lower_leave(upper);
}

static LOWER void recv(struct cost *c, bool each)
{
	unsigned long upper = 0;

	if (each)
		upper = lower_enter();
	c->recv(c->buf, 8, c->job.type_char, 1 - c->job.rank, 1, c->job.world, c->status);
	if (each)
		lower_leave(upper);
}

static LOWER void ping(struct cost *c, int n, bool each)
{
	while (n--) {
		if (c->job.rank == 0)
			send(c, each);
		recv(c, each);
		if (c->job.rank == 1)
			send(c, each);
	}
}

static void ping_each(struct cost *c, int n)
{
	ping(c, n, true);
}

static LOWER void ping_once(struct cost *c, int n)
{
	unsigned long upper = lower_enter();

	ping(c, n, false);
	lower_leave(upper);
}

/* the fastest batch of each, alternating */
static void compare(struct cost *c, const char *what, int n, void (*a)(struct cost *c, int n),
		    void (*b)(struct cost *c, int n))
{
	double best_a = 1e18, best_b = 1e18, t0, t1, t2;
	int i;

	for (i = 0; i < BATCHES; i++) {
		t0 = now();
		a(c, n);
		t1 = now();
		b(c, n);
		t2 = now();
		if (t1 - t0 < best_a)
			best_a = t1 - t0;
		if (t2 - t1 < best_b)
			best_b = t2 - t1;
	}
	if (!c->job.rank)
		printf("%-24s %8.1f ns, one switch for all: %8.1f ns\n", what, best_a / n,
		       best_b / n);
}

static void nothing(struct cost *c, int n)
{
}

int main(int argc, char **argv)
{
	static struct cost c;

	JOB_CHECK(argc == 3, "usage: lower_cost CKPT-LOWER LIBRARY");
	job_load(&c.job, argv[1], argv[2]);
	job_init(&c.job);
	JOB_CHECK(c.job.size == 2, "two ranks, please");
	c.rank = (rank_fn)lower_function(c.job.lower, S_MPI_Comm_rank);
	c.send = (send_fn)lower_function(c.job.lower, S_MPI_Send);
	c.recv = (recv_fn)lower_function(c.job.lower, S_MPI_Recv);
	compare(&c, "down and up", 20000, switch_only, nothing);
	compare(&c, "MPI_Comm_rank", 20000, ranks_each, ranks_once);
	compare(&c, "8 bytes there and back", 500, ping_each, ping_once);
	CALL(&c.job, MPI_Finalize, 0);
	return 0;
}
