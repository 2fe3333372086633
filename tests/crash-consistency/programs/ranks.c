// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks change files and close them, and others go on with these: what one node wrote, another one
 * reads, renames or removes.
 *
 *	ranks closed	files of the ranks' own making
 *	ranks inputs	files that were there before the program, each used up in its own way
 *	ranks held	a log that the first rank has open all along, the others only to add a line
 *	ranks output	a new file in each step, which one rank makes and all write, as parallel
 *			libraries do
 *	ranks alone	a log to which every rank adds lines of its own, whatever others do; the
 *			last node's ranks have more memory, so they are restored later
 */
#include <mpi.h>
#include <sys/stat.h>

#include "step.h"

#define SIZE	8192
#define STEPS	16
#define INPUTS	8
#define KEPT	2		/* steps for which a file is there */

static int rank, size;

/* Replace what the descriptor's file holds by what the chain says. */
static void ranks_fill(int fd, uint64_t chain)
{
	static uint64_t block[SIZE / 8];

	step_fill(chain, block, SIZE);
	step_write(fd, block, SIZE / 2, 0);
	step_nap();
	step_write(fd, block + SIZE / 16, SIZE / 2, SIZE / 2);
	step_call(close(fd), "close");
}

static uint64_t ranks_mix(uint64_t chain, const char *name)
{
	int fd = step_open(name, O_RDONLY);

	chain = step_mix_file(chain, fd);
	step_call(close(fd), "close");
	return chain;
}

/* Each rank rewrites a file of its own in place. */
static uint64_t ranks_own(uint64_t chain)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "own.%d", rank);
	fd = step_open(name, O_RDWR | O_CREAT);
	chain = step_mix_file(chain, fd);
	ranks_fill(fd, chain);
	return chain;
}

/* One after the other adds a line to the common log. */
static void ranks_log(int step, uint64_t chain)
{
	char line[64];
	int fd, turn, len;

	for (turn = 0; turn < size; turn++) {
		if (turn == rank) {
			len = snprintf(line, sizeof(line), "%d %d %016llx\n", step, rank,
				       (unsigned long long)chain);
			fd = step_open("log", O_WRONLY | O_CREAT | O_APPEND);
			step_call(write(fd, line, (size_t)len), "write");
			step_call(close(fd), "close");
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* Another rank in each step replaces the common state; all read it. */
static uint64_t ranks_shared(int step, uint64_t chain)
{
	if (step % size == rank) {
		ranks_fill(step_open("shared.new", O_WRONLY | O_CREAT | O_TRUNC), chain);
		step_call(rename("shared.new", "shared"), "rename");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	chain = ranks_mix(chain, "shared");
	MPI_Barrier(MPI_COMM_WORLD);
	return chain;
}

/* A file that one rank makes is read and removed by the next one, and made anew by a third. */
static uint64_t ranks_passed(int step, uint64_t chain)
{
	char name[32];

	if (step >= KEPT && (step + 1) % size == rank) {
		snprintf(name, sizeof(name), "passed.%d", step % KEPT);
		chain = ranks_mix(chain, name);
		step_call(unlink(name), "unlink");
	}
	step_nap();
	MPI_Barrier(MPI_COMM_WORLD);
	if ((step + 2) % size == rank) {
		snprintf(name, sizeof(name), "passed.%d", step % KEPT);
		ranks_fill(step_open(name, O_WRONLY | O_CREAT | O_EXCL), chain);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return chain;
}

/* The rank whose turn it is reads an input and uses it up; the first step begins the journal. */
static uint64_t ranks_input(int step, uint64_t chain)
{
	char name[32], used[32];
	int fd;

	step_nap();
	if (step % size == rank) {
		snprintf(name, sizeof(name), "in.%d", step + 1);
		snprintf(used, sizeof(used), "used.%d", step + 1);
		chain = ranks_mix(chain, name);
		if (step % 4 == 0)
			step_call(unlink(name), "unlink");
		else if (step % 4 == 1)
			step_call(rename(name, used), "rename");
		fd = step_open(step % 4 < 2 ? "journal" : name,
			       O_WRONLY | O_CREAT | (step % 4 == 3 ? O_TRUNC : O_APPEND));
		step_call(write(fd, "used\n", 5), "write");
		step_call(close(fd), "close");
	}
	step_nap();
	MPI_Barrier(MPI_COMM_WORLD);
	return chain;
}

static int held = -1;

/* The last rank reads what all have added, the first one by a descriptor of the first step. */
static uint64_t ranks_held(int step, uint64_t chain)
{
	char line[64];
	int turn, len, fd;

	for (turn = 0; turn < size; turn++) {
		if (turn == rank) {
			len = snprintf(line, sizeof(line), "%d %d %016llx\n", step, rank,
				       (unsigned long long)chain);
			if (!rank && held < 0)
				held = step_open("log", O_WRONLY | O_CREAT | O_APPEND);
			fd = rank ? step_open("log", O_WRONLY | O_APPEND) : held;
			step_call(write(fd, line, (size_t)len), "write");
			step_call(rank ? close(fd) : fsync(fd), "close");
		}
		step_nap();
		MPI_Barrier(MPI_COMM_WORLD);
	}
	chain = rank == size - 1 ? ranks_mix(chain, "log") : chain;
	MPI_Barrier(MPI_COMM_WORLD);
	return chain;
}

/*
 * Make a file. A rank that SIGKILL met within its open() on NFS has left an empty one, of which its
 * kernel knows nothing (KI-284).
 */
static int ranks_make(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	struct stat st;

	if (fd < 0 && errno == EEXIST && !stat(name, &st) && !st.st_size)
		fd = open(name, O_RDWR | O_CLOEXEC);
	return (int)step_call(fd, name);
}

static uint64_t ranks_output(int step, uint64_t chain)
{
	static uint64_t block[SIZE / 8];
	char name[32], older[32];
	int fd = -1;

	snprintf(name, sizeof(name), "out.%d", step);
	snprintf(older, sizeof(older), "out.%d", step - KEPT);
	if (step % size == rank)
		fd = ranks_make(name);
	MPI_Barrier(MPI_COMM_WORLD);
	if (fd < 0)
		fd = step_open(name, O_RDWR);
	step_nap();
	step_fill(chain, block, SIZE);
	step_write(fd, block, SIZE, (off_t)rank * SIZE);
	step_nap();
	step_call(fsync(fd), "fsync");
	step_call(close(fd), "close");
	MPI_Barrier(MPI_COMM_WORLD);
	if ((step + 1) % size == rank)
		chain = ranks_mix(chain, name);
	if ((step + 2) % size == rank && step >= KEPT)
		step_call(unlink(older), "unlink");
	step_nap();
	MPI_Barrier(MPI_COMM_WORLD);
	return chain;
}

#define ALONE_STEPS	3
#define ALONE_LINES	96		/* of a rank, in a step */
#define ALONE_BYTES	(48UL << 20)

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of the log, sorted: as the ranks wrote them their order is nobody's. */
static void ranks_sort(const char *name)
{
	static char text[ALONE_STEPS * ALONE_LINES * 64 * 8];
	static char *lines[ALONE_STEPS * ALONE_LINES * 8];
	int fd = step_open(name, O_RDONLY), nr = 0;
	char *at;

	text[step_call(read(fd, text, sizeof(text) - 1), "read")] = 0;
	step_call(close(fd), "close");
	for (at = strtok(text, "\n"); at; at = strtok(NULL, "\n"))
		lines[nr++] = at;
	qsort(lines, (size_t)nr, sizeof(*lines), by_line);
	fd = step_open("log.new", O_WRONLY | O_CREAT | O_TRUNC);
	for (int i = 0; i < nr; i++)
		dprintf(fd, "%s\n", lines[i]);
	step_call(close(fd), "close");
	step_call(rename("log.new", name), "rename");
}

static uint64_t ranks_alone(int step, uint64_t chain)
{
	static uint64_t *ballast;
	struct stat st;
	char line[64];
	int fd, len;

	if (!ballast && rank >= size / 2) {
		ballast = malloc(ALONE_BYTES);
		step_fill(chain, ballast, ALONE_BYTES);
	}
	for (int i = 0; i < ALONE_LINES; i++) {
		len = snprintf(line, sizeof(line), "%02d %02d %02d %016llx\n", step, rank, i,
			       (unsigned long long)chain);
		fd = step_open("log", O_WRONLY | O_CREAT | O_APPEND);
		step_call(write(fd, line, (size_t)len), "write");
		step_call(close(fd), "close");
		step_nap();
	}
	MPI_Barrier(MPI_COMM_WORLD);
	step_call(stat("log", &st), "log");
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank && step == ALONE_STEPS - 1)
		ranks_sort("log");
	return step_mix(chain, (uint64_t)st.st_size + (ballast ? ballast[ALONE_BYTES / 8 - 1] : 0));
}

static uint64_t ranks_closed(int step, uint64_t chain)
{
	chain = ranks_own(chain);
	ranks_log(step, chain);
	chain = ranks_shared(step, chain);
	return ranks_passed(step, chain);
}

static const struct ranks_way {
	const char *name;
	int steps;
	uint64_t (*step)(int step, uint64_t chain);
	const char *last;	/* mixed into the result; NULL: no file */
} ways[] = {
	{ "closed", STEPS, ranks_closed, "log" },
	{ "inputs", INPUTS, ranks_input, "journal" },
	{ "held", STEPS, ranks_held, "log" },
	{ "output", 2 * STEPS, ranks_output, NULL },
	{ "alone", ALONE_STEPS, ranks_alone, "log" },
};

int main(int argc, char **argv)
{
	const struct ranks_way *way = ways;
	uint64_t chain, all = 0;
	int step;

	while (argc > 1 && way < ways + sizeof(ways) / sizeof(ways[0]) - 1 &&
	       strcmp(argv[1], way->name))
		way++;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	chain = (uint64_t)rank + 1;
	for (step = 0; step < way->steps; step++) {
		chain = way->step(step, chain);
		MPI_Allreduce(&chain, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
		chain = step_mix(chain, all);
		if (!rank && step % 4 == 0)
			step_say((unsigned int)step, all);
	}
	if (!rank)
		step_say((unsigned int)step, way->last ? ranks_mix(chain, way->last) : all);
	MPI_Finalize();
	return 0;
}
