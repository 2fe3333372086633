/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A /dev/ckpt without a kernel: answers a capture's commands from a made-up
 * record stream, a list of pages and real descriptors, and notes what was asked.
 */
#ifndef STILLPOINT_TESTS_FAKE_KERNEL_H
#define STILLPOINT_TESTS_FAKE_KERNEL_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/core/kdev.h"
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
	/* what an end of a terminal has not read */
	uint32_t tty_file, tty_len, tty_canon;
	const char *tty_bytes;
	uint64_t tty_marks;
	/* the write log: struct ckpt_write; NULL: there is none */
	const char *writes;
	size_t writes_len;
	uint32_t writes_flags;
	uint64_t writes_since_ns;
	uint64_t writes_seq;		/* of the last name */
	/* faults */
	int tty_ret;
	unsigned int busy;		/* so many freezes are refused with D_STATE */
	unsigned int sockets;		/* and then so many with FD_SOCKET */
	int fail_pagemap_after;		/* PAGEMAP fails with -ETIMEDOUT after so many; 0: never */
	int fail_read_after; /* PAGES_READ fails after so many, with read_err; 0: never */
	int read_err;	     /* 0: -ETIMEDOUT */
	size_t lost; /* so many of the last bytes of the records are not there any more */
	bool expired;	/* the maximum pause has ended the freeze */
	int thaw_ret;
	/* what happened */
	unsigned int opened, closed, freezes, pagemaps, reads, live_reads, pages_read, nr_excludes;
	bool frozen, thawed, killed, dropped;
	struct ckpt_target target;	/* the last one */
	enum ckpt_reason refused;	/* what is read; 0: records */
	size_t read_pos;
};

/* The one that fake_open() opens. */
extern struct fake_kernel fake;

int fake_open(struct kdev **ret_dev, struct ckpt_error *error);
void fake_reset(void);
void fake_fill(uint32_t seed, void *page);	/* what a page of this seed holds */

/* The record of what @fd is, which stays the caller's; valid until the next is added. */
struct ckpt_rec_file *fake_file(uint32_t id, uint32_t kind, const char *path, int fd);
/*
 * Reset, then a process 100 with one thread, @pages in its one mapping of @len bytes at @start, and
 * the root, @root_fd, as its working directory.
 */
void fake_heap(const struct fake_page *pages, unsigned int nr_pages, uint64_t start, uint64_t len,
	       int root_fd);

#endif /* STILLPOINT_TESTS_FAKE_KERNEL_H */
