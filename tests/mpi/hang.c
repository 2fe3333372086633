// SPDX-License-Identifier: GPL-2.0-only
/*
 * An MPI program that hangs in the way that its argument says, for diagnose.t:
 *
 *	hang WAY	loop, stop, sleep, miss, other, receive, any, request, circle, operation,
 *			eat, wait, write, clean, uneven, slow, once, lost
 *
 * Rank HANG_RANK (1) is the one to blame, in a circle ranks 0 to 2. All ranks first do some
 * collectives and messages together. Rank 0 says "begun" when the others may hang. Clean ways run
 * for the number of seconds in HANG_SECONDS, then end. In "wait" rank 1 sleeps outside MPI for that
 * time; in "eat" it takes memory until somebody ends it, once there is the file HANG_GO if one is
 * named; in "write", which is clean else, it writes the file HANG_FILE and waits for its disk.
 * "once" and "lost" are clean, for HANG_TURNS turns, until there is the file HANG_GO: then rank 1
 * loops, or receives what nobody sends.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size, blamed = 1;
static volatile double sink;

__attribute__((noinline)) void hang_compute(double seconds)
{
	double end = MPI_Wtime() + seconds;

	do {
		for (int i = 1; i < 100000; i++)
			sink += 1.0 / i;
	} while (MPI_Wtime() < end);
}

/* Never leaves this function, and calls nothing. */
__attribute__((noinline)) void hang_loop(void)
{
	for (unsigned int i = 1;; i++)
		sink += 1.0 / i;
}

/* Take memory without end: somebody else has to end this process. */
static void hang_eat(void)
{
	const char *go = getenv("HANG_GO");

	while (go && access(go, F_OK))
		usleep(10000);
	for (;;) {
		char *more = malloc(1 << 20);

		if (more)
			memset(more, 1, 1 << 20);
		usleep(1000);
	}
}

static int no_status(void *state, MPI_Status *status) { return MPI_SUCCESS; }
static int no_free(void *state) { return MPI_SUCCESS; }
static int no_cancel(void *state, int complete) { return MPI_SUCCESS; }

/* Spins in the library: nobody completes this request. */
static void hang_request(void)
{
	MPI_Request request;

	MPI_Grequest_start(no_status, no_free, no_cancel, NULL, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void hang_operation(void *in, void *io, int *len, MPI_Datatype *type)
{
	if (rank == blamed)
		hang_loop();
	*(int *)io += *(int *)in;
}

static void together(void)
{
	int sum, to = (rank + 1) % size, from = (rank + size - 1) % size, got;

	for (int i = 0; i < 20; i++) {
		MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Sendrecv(&rank, 1, MPI_INT, to, 5, &got, 1, MPI_INT, from, 5, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	}
}

/* Rank 1 does this instead of the barrier that the others are in. */
__attribute__((noinline)) static void blame(const char *way)
{
	int got;

	if (!strcmp(way, "loop"))
		hang_loop();
	if (!strcmp(way, "stop"))
		raise(SIGSTOP);
	if (!strcmp(way, "sleep"))
		for (;;)
			pause();
	if (!strcmp(way, "wait"))
		sleep(getenv("HANG_SECONDS") ? atoi(getenv("HANG_SECONDS")) : 5);
	if (!strcmp(way, "eat"))
		hang_eat();
	if (!strcmp(way, "any"))
		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!strcmp(way, "request"))
		hang_request();
	if (!strcmp(way, "other"))
		MPI_Bcast(&got, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (!strcmp(way, "receive"))
		MPI_Recv(&got, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void circle(void)
{
	int got;

	if (rank < 3)
		MPI_Recv(&got, 1, MPI_INT, (rank + 1) % 3, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void operation(void)
{
	MPI_Op op;
	int sum;

	MPI_Op_create(hang_operation, 1, &op);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
}

/* Until somebody gives the job an earlier state. */
static void hang_if_told(const char *way)
{
	const char *go = getenv("HANG_GO");
	int got;

	if (!go || access(go, F_OK))
		return;
	if (!strcmp(way, "lost"))
		MPI_Recv(&got, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		hang_loop();
}

/* Clean for HANG_TURNS of 10 ms, but for one time. Rank 0 says how it was. */
static void hang_once(const char *way)
{
	const char *number = getenv("HANG_TURNS");
	long last = number ? atol(number) : 500, sum = 0, turns = 0, all;
	int mine;

	for (int on = 1; on; turns++) {
		hang_compute(0.01);
		if (rank == blamed)
			hang_if_told(way);
		sum += turns * (rank + 1);
		mine = turns + 1 < last;
		MPI_Allreduce(&mine, &on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	}
	MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		puts(all == turns * (turns - 1) / 2 * size * (size + 1) / 2 ? "right" : "wrong");
}

/* Work that is spread unevenly: rank 1 always comes last; the others work for @theirs. */
static void clean(double share, double theirs)
{
	const char *seconds = getenv("HANG_SECONDS");
	double end = MPI_Wtime() + (seconds ? atof(seconds) : 5);
	int on = 1;

	while (on) {
		if (rank == blamed)
			hang_compute(share);
		else if (theirs > 0)
			hang_compute(theirs);
		MPI_Barrier(MPI_COMM_WORLD);
		on = MPI_Wtime() < end;
		MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
}

/* Rank 1 waits for its disk, the others for it. */
static void hang_write(void)
{
	const char *seconds = getenv("HANG_SECONDS"), *path = getenv("HANG_FILE");
	double end = MPI_Wtime() + (seconds ? atof(seconds) : 5);
	int fd = rank == blamed ? open(path, O_WRONLY | O_CREAT, 0600) : -1, on = 1;

	if (rank == blamed && fd < 0) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	while (on) {
		if (fd >= 0 && (pwrite(fd, &on, sizeof(on), 0) < 0 || fsync(fd)))
			MPI_Abort(MPI_COMM_WORLD, 1);
		usleep(20000);
		MPI_Barrier(MPI_COMM_WORLD);
		on = MPI_Wtime() < end;
		MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "clean";

	if (getenv("HANG_RANK"))
		blamed = atoi(getenv("HANG_RANK"));
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	together();
	if (!rank) {
		puts("begun");
		fflush(stdout);
	}
	if (!strcmp(way, "circle"))
		circle();
	if (!strcmp(way, "operation"))
		operation();
	if (!strcmp(way, "write"))
		hang_write();
	if (!strcmp(way, "once") || !strcmp(way, "lost"))
		hang_once(way);
	if (!strcmp(way, "clean"))
		clean(0.01, 0);
	if (!strcmp(way, "uneven"))
		clean(1.5, 0);
	if (!strcmp(way, "slow"))
		clean(0.5, 0.05);
	if (rank == blamed)
		blame(way);
	if (strcmp(way, "miss") || rank != blamed)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
