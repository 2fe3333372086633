/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps of an MPI test program, counted, and gates at which it can be held for a checkpoint.
 * Most programs are over in milliseconds; a gate puts a checkpoint in their middle, the other
 * ranks in whatever they wait in for this one. If that is a collective, a checkpoint cannot be
 * taken before this rank goes on: a gate opens by itself when one was under way for a while. Or
 * a program is made slow, and the checkpoints come when they come. Without MT_DIR nothing
 * happens.
 *
 *   MT_DIR=D                 how many steps this rank made is in D/steps.RANK at its end
 *   MT_GATES=RANK:STEP,...   gate k (from 0): at that step the rank makes D/at.k and waits for
 *   D/go.k MT_PACE=USEC             of a step
 */
#ifndef TESTS_MPI_STEP_H
#define TESTS_MPI_STEP_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long step_number;

static inline int step_rank(void)
{
	static const char *const names[] = { "STILLPOINT_RANK", "OMPI_COMM_WORLD_RANK",
		"PMI_RANK" };

	for (int i = 0; i < 3; i++)
		if (getenv(names[i]))
			return atoi(getenv(names[i]));
	return 0;
}

static inline void step_end(void)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/steps.%d", getenv("MT_DIR"), step_rank());
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "%ld\n", step_number);
	fclose(f);
}

#define STEP_USEC	3000
#define STEP_PATIENCE	150	/* times STEP_USEC */
/* order.intent of mpi-glue/status_page.h; 0 is RUN */
#define STEP_INTENT	68

/* Is this rank asked to be quiet? */
static inline int step_ordered(void)
{
	int fd = getenv("CKPT_STATUS") ? open(getenv("CKPT_STATUS"), O_RDONLY | O_CLOEXEC) : -1;
	int intent = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, &intent, sizeof(intent), STEP_INTENT) != sizeof(intent))
		intent = 0;
	close(fd);
	return intent != 0;
}

static inline void step_wait(const char *dir, int gate)
{
	int fd, ordered = 0;
	char path[4096];

	snprintf(path, sizeof(path), "%s/at.%d", dir, gate);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "%s/go.%d", dir, gate);
	while (access(path, F_OK) && ordered < STEP_PATIENCE) {
		usleep(STEP_USEC);
		ordered += step_ordered();
	}
}

/* Short sleeps take much longer than asked for: few long ones. */
static inline void step_slowly(const char *pace)
{
	static long owed;

	owed += atol(pace);
	if (owed < 2 * STEP_USEC)
		return;
	usleep(owed);
	owed = 0;
}

static inline void step(void)
{
	const char *dir = getenv("MT_DIR"), *gates = getenv("MT_GATES"), *pace = getenv("MT_PACE");
	int gate = 0, rank;
	long at;

	step_number++;
	if (!dir)
		return;
	if (step_number == 1)
		atexit(step_end);
	if (pace)
		step_slowly(pace);
	for (; gates && sscanf(gates, "%d:%ld", &rank, &at) == 2; gate++) {
		if (at == step_number && rank == step_rank())
			step_wait(dir, gate);
		gates = strchr(gates, ',');
		gates += !!gates;
	}
}

/*
 * Before MPI_Finalize: until there is a checkpoint for each gate. The last collective may have
 * been let through for one of them, and then nothing holds the program that it could be held
 * for the others.
 */
static inline void step_last(void)
{
	const char *dir = getenv("MT_DIR"), *gates = getenv("MT_GATES");
	char path[4096];
	int rank;
	long at;

	for (int gate = 0; dir && gates && sscanf(gates, "%d:%ld", &rank, &at) == 2; gate++) {
		snprintf(path, sizeof(path), "%s/go.%d", dir, gate);
		while (access(path, F_OK))
			usleep(STEP_USEC);
		gates = strchr(gates, ',');
		gates += !!gates;
	}
}

#endif
