// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct reads of a file that never stop: requests are in flight when the tree is frozen, and each
 * gives its data and its event once.  Where the file system takes no direct reads, each is done
 * when it is submitted.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "tests/cr/aio.h"

#define BLOCK	4096UL
#define BLOCKS	256
#define DEPTH	16

static aio_context_t context;
static uint64_t submitted, reaped;
static char *bufs[DEPTH];
static unsigned int free_bufs[DEPTH], nr_free;
static unsigned int block_of[DEPTH];
static int file;

static void submit(void)
{
	unsigned int i = free_bufs[--nr_free];

	block_of[i] = (unsigned int)(submitted++ * 37 % BLOCKS);
	memset(bufs[i], 0, BLOCK);
	cr_eq(aio_submit(context, IOCB_CMD_PREAD, file, bufs[i], BLOCK,
			 (long long)(block_of[i] * BLOCK), i, -1), 1);
}

static void reap(long least)
{
	struct io_event events[DEPTH];
	long nr = cr_sys(aio_getevents(context, least, DEPTH, events, NULL));

	for (long k = 0; k < nr; k++) {
		unsigned int i = (unsigned int)events[k].data;

		cr_eq(events[k].res, BLOCK);
		cr_check_fill(bufs[i], BLOCK, 1 + block_of[i]);
		free_bufs[nr_free++] = i;
		reaped++;
	}
}

static void step(void)
{
	while (nr_free)
		submit();
	reap(1);
}

static void setup(void)
{
	char *block = aligned_alloc(BLOCK, BLOCK);
	const char *path = cr_path("data");

	file = (int)cr_sys(open(path, O_RDWR | O_CREAT, 0600));
	for (unsigned int i = 0; i < BLOCKS; i++) {
		cr_fill(block, BLOCK, 1 + i);
		cr_eq(pwrite(file, block, BLOCK, (off_t)(i * BLOCK)), BLOCK);
	}
	cr_sys(fsync(file));
	cr_sys(close(file));
	file = open(path, O_RDONLY | O_DIRECT);
	if (file < 0)
		file = (int)cr_sys(open(path, O_RDONLY));
	context = aio_setup(DEPTH);
	for (unsigned int i = 0; i < DEPTH; i++) {
		bufs[i] = aligned_alloc(BLOCK, BLOCK);
		free_bufs[nr_free++] = i;
	}
	free(block);
}

static void verify(void)
{
	step();
	while (nr_free < DEPTH)
		reap(1);
	cr_eq(submitted, reaped);
	aio_check_empty(context);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
