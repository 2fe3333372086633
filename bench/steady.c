// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job that computes at a steady rate, to see by how much checkpoints slow it down.
 *
 *	steady MIB PERCENT
 *
 * Touches MIB of private memory and then smooths a field of 64 KiB after the other in it, so that
 * PERCENT of the memory is written anew in a second, another piece each second. Prints
 * "ready", and on SIGUSR1 "steps N", the number of fields smoothed since it began.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FIELD	8192 /* doubles, 64 KiB */

static volatile sig_atomic_t asked;

static void ask(int sig)
{
	asked = sig;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void smooth(double *field)
{
	double left = field[FIELD - 1];

	for (size_t i = 0; i < FIELD; i++) {
		double here = field[i];

		field[i] = (left + 2 * here + field[(i + 1) % FIELD]) / 4;
		left = here;
	}
}

int main(int argc, char **argv)
{
	size_t fields = argc > 1 ? strtoul(argv[1], NULL, 0) * 16 : 0;
	size_t piece = argc > 2 ? fields * strtoul(argv[2], NULL, 0) / 100 : 0;
	unsigned long steps = 0;
	double *memory, begin;

	if (!piece || piece > fields) {
		fprintf(stderr, "usage: steady MIB PERCENT\n");
		return 2;
	}
	memory = mmap(NULL, fields * FIELD * sizeof(double), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	srandom(1);
	for (size_t i = 0; i < fields * FIELD; i++)
		memory[i] = (double)random();
	signal(SIGUSR1, ask);
	dprintf(STDOUT_FILENO, "ready\n");
	begin = now();
	for (;;) {
		size_t second = (size_t)(now() - begin);

		smooth(memory + (second * piece + steps % piece) % fields * FIELD);
		steps++;
		if (asked) {
			asked = 0;
			dprintf(STDOUT_FILENO, "steps %lu\n", steps);
		}
	}
}
