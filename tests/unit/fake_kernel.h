/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A /dev/ckpt without a kernel: answers a capture's commands from a made-up
 * record stream, a list of pages and real descriptors, and notes what was asked.
 */
#ifndef STILLPOINT_TESTS_FAKE_KERNEL_H
#define STILLPOINT_TESTS_FAKE_KERNEL_H

#include <stdbool.h>

#include "supervisor/kdev.h"
#include "tests/unit/stream.h"

struct fake_page {
	uint32_t mm_id;
	uint64_t addr;
	uint32_t seed;		/* what it holds; 0: zeros */
	uint32_t flags;		/* CKPT_RUN_* */
	uint64_t cookie;
	bool live;		/* the snapshot does not hold it */
};

struct fake_kernel {
	struct stream stream;
	const struct fake_page *pages;	/* ascending by mm_id, addr */
	unsigned int nr_pages;
	int fds[64];			/* by file_id; 0: none */
	uint64_t features;		/* CKPT_FEAT_* */
	uint64_t base, token;		/* of every map; its clean pages are those of the flag */
	/* faults */
	unsigned int busy;		/* so many freezes are refused with D_STATE */
	int fail_read_after;		/* PAGES_READ fails with -ETIMEDOUT after so many; 0: never */
	int thaw_ret;
	/* what happened */
	unsigned int opened, closed, freezes, reads, live_reads, pages_read, nr_excludes;
	bool frozen, thawed, killed, dropped;
	bool reading_refusals;
	size_t read_pos;
};

/* The one that fake_open() opens. */
extern struct fake_kernel fake;

int fake_open(struct kdev **ret_dev, struct engine_error *error);
void fake_reset(void);
void fake_fill(uint32_t seed, void *page);	/* what a page of this seed holds */

#endif /* STILLPOINT_TESTS_FAKE_KERNEL_H */
