// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small MPI program for votes: each bit of each rank's memory counts for the result.
 *
 *	ranks FILE PAGES STEPS GO
 *
 * Each rank prints "RANK NAME ADDRESS PAGES" for each stretch of its memory that it only reads. A
 * step reads one page of all, exchanges a page with the neighbours in a ring, and sums over all
 * ranks. SECTION steps are a section (ckpt_section_end()). Rank 0 writes to FILE a line for each
 * step, and "result SUM" last. Under VOTE_ANY=1 rank 0 also takes a message of each other rank in
 * the order in which they come, and keeps that order in its memory. A step takes NAP until there is
 * a file GO.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "libckptctl/ckptctl.h"

#define WORDS	512U	/* of a page */
#define STATIC	64U	/* pages of static data */
#define STACK	32U	/* pages of the stack */
#define SECTION	4U	/* steps */
#define NAP	100000000	/* ns */

struct ring {
	int rank, size, fd;
	bool any;
	unsigned int pages;
	uint64_t *heap, *stack, *mine, *left, *right;
	const char *go;
};

static uint64_t data[STATIC * WORDS] __attribute__((aligned(4096)));
static int order[64];	/* of messages that came in any order */

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void fill(uint64_t *words, unsigned int pages, uint64_t seed)
{
	for (unsigned int i = 0; i < pages * WORDS; i++)
		words[i] = mix(seed + i);
}

static uint64_t add(const uint64_t *words, unsigned int pages, uint64_t sum)
{
	for (unsigned int i = 0; i < pages * WORDS; i++)
		sum = mix(sum ^ words[i]) + i;
	return sum;
}

static void put(const struct ring *r, const char *name, uint64_t number, uint64_t sum)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "%s %llu %016llx\n", name, (unsigned long long)number,
			 (unsigned long long)sum);

	if (!r->rank && write(r->fd, line, (size_t)n) != n)
		MPI_Abort(MPI_COMM_WORLD, 2);
}

static void tell(const struct ring *r, const char *name, const void *at, unsigned int pages)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "%d %s %lx %u\n", r->rank, name, (unsigned long)at,
			 pages);

	if (write(1, line, (size_t)n) != n)
		MPI_Abort(MPI_COMM_WORLD, 2);
}

/* A page to and from either neighbour. */
static void exchange(const struct ring *r, uint64_t number)
{
	int up = (r->rank + 1) % r->size, down = (r->rank + r->size - 1) % r->size;
	int tag = (int)(number % 1000);
	MPI_Request all[4];

	MPI_Irecv(r->left, WORDS, MPI_UINT64_T, down, tag, MPI_COMM_WORLD, &all[0]);
	MPI_Irecv(r->right, WORDS, MPI_UINT64_T, up, tag + 1000, MPI_COMM_WORLD, &all[1]);
	MPI_Isend(r->mine, WORDS, MPI_UINT64_T, up, tag, MPI_COMM_WORLD, &all[2]);
	MPI_Isend(r->mine, WORDS, MPI_UINT64_T, down, tag + 1000, MPI_COMM_WORLD, &all[3]);
	MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

static void in_any_order(const struct ring *r, uint64_t number)
{
	static unsigned int at;
	MPI_Status status;
	int what;

	if (r->rank) {
		/* a different wait in each replica */
		struct timespec nap = { .tv_nsec = (long)(time(NULL) * r->rank % 7) * 1000000 };

		nanosleep(&nap, NULL);
		MPI_Send(&r->rank, 1, MPI_INT, 0, 3000, MPI_COMM_WORLD);
		return;
	}
	for (int i = 1; i < r->size; i++) {
		MPI_Recv(&what, 1, MPI_INT, MPI_ANY_SOURCE, 3000, MPI_COMM_WORLD, &status);
		order[at++ % 64] = status.MPI_SOURCE + (int)number;
	}
}

static uint64_t step(const struct ring *r, uint64_t number, uint64_t sum)
{
	uint64_t all;

	sum = add(r->heap + number % r->pages * WORDS, 1, sum);
	sum = add(data + number % STATIC * WORDS, 1, sum);
	sum = add(r->stack + number % STACK * WORDS, 1, sum);
	fill(r->mine, 1, sum);
	exchange(r, number);
	sum = add(r->left, 1, add(r->right, 1, sum));
	if (r->any)
		in_any_order(r, number);
	MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

static uint64_t last(const struct ring *r, uint64_t sum)
{
	uint64_t all;

	sum = add(r->heap, r->pages, sum);
	sum = add(data, STATIC, sum);
	sum = add(r->stack, STACK, sum);
	MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

static int run(struct ring *r, uint64_t steps)
{
	static const struct timespec nap = { .tv_nsec = NAP };
	uint64_t own[(STACK + 1) * WORDS], sum = 1, i;

	r->stack = (uint64_t *)(((uintptr_t)own + 4095) & ~(uintptr_t)4095);
	fill(r->heap, r->pages, (uint64_t)(r->rank + 1) << 32);
	fill(data, STATIC, (uint64_t)(r->rank + 1) << 40);
	fill(r->stack, STACK, (uint64_t)(r->rank + 1) << 48);
	tell(r, "heap", r->heap, r->pages);
	tell(r, "data", data, STATIC);
	tell(r, "stack", r->stack, STACK);
	for (i = 0; i < steps; i++) {
		sum = step(r, i, sum);
		put(r, "step", i, sum);
		if (access(r->go, F_OK))
			nanosleep(&nap, NULL);
		if (i % SECTION == SECTION - 1 && ckpt_section_end())
			return 2;
	}
	put(r, "result", steps, last(r, sum));
	return 0;
}

int main(int argc, char **argv)
{
	struct ring r = { .any = getenv("VOTE_ANY") };
	int status = 2;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r.size);
	if (argc != 5) {
		fprintf(stderr, "usage: ranks FILE PAGES STEPS GO\n");
		return 2;
	}
	r.go = argv[4];
	r.pages = (unsigned int)atoi(argv[2]);
	r.fd = r.rank ? -1 : open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	r.heap = aligned_alloc(4096, r.pages * WORDS * 8UL);
	r.mine = malloc(WORDS * 8UL);
	r.left = malloc(WORDS * 8UL);
	r.right = malloc(WORDS * 8UL);
	if ((!r.rank && r.fd < 0) || !r.heap || !r.pages || !r.mine || !r.left || !r.right ||
	    ckpt_section_begin())
		perror("ranks");
	else
		status = run(&r, strtoull(argv[3], NULL, 0));
	MPI_Finalize();
	return status;
}
