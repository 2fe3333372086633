// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing pages from several threads at once: into one map and into two, blocks
 * that may become huge pages beside blocks that must not, and other commands in
 * between.  Every page must hold what was written, and no other page be there.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

#define PAGE	4096UL
#define HUGE	(2UL << 20)
#define AREA	0x40000000UL
#define BLOCKS	8UL
#define FEW	16UL		/* pages of a block that is not to become huge */
#define ROUNDS	200

struct writer {
	struct rig *rig;
	pid_t pid;
	const char *data;	/* of BLOCKS blocks */
	unsigned long first;	/* block; every fourth from there on */
	bool dense;
	int ret;
};

static void add_area(struct recs *recs, void *arg)
{
	recs_vma(recs, CKPT_VMA_ANON, AREA, *(unsigned long *)arg,
		 CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_MAYWRITE, -1);
}

/* A quarter of the block at a time. */
static int write_dense(const struct writer *w, unsigned long block)
{
	int ret = 0;

	for (unsigned long at = 0; at < HUGE && !ret; at += HUGE / 4) {
		struct ckpt_iovec iov = { AREA + block * HUGE + at, HUGE / 4 };
		struct ckpt_pages pages = {
			.flags = CKPT_PAGES_DENSE, .mm_id = w->pid, .nr_iov = 1,
			.iov = (unsigned long)&iov,
			.buf = (unsigned long)w->data + block * HUGE + at,
		};

		ret = rig_command(w->rig, CKPT_IOC_PAGES_WRITE, &pages);
	}
	return ret;
}

static int write_few(const struct writer *w, unsigned long block)
{
	int ret = 0;

	for (unsigned long i = 0; i < FEW && !ret; i++) {
		unsigned long at = block * HUGE + i * (HUGE / FEW);

		ret = rig_write(w->rig, w->pid, AREA + at, w->data + at, PAGE);
	}
	return ret;
}

static void *write_blocks(void *arg)
{
	struct writer *w = arg;

	for (unsigned long b = w->first; b < BLOCKS && !w->ret; b += 4)
		w->ret = w->dense ? write_dense(w, b) : write_few(w, b);
	return NULL;
}

/* Even blocks are whole, odd ones hold few pages. */
static long count_wrong(pid_t pid, const char *data)
{
	char page[PAGE];
	long wrong = 0;

	for (unsigned long at = 0; at < BLOCKS * HUGE; at += PAGE) {
		struct iovec here = { page, PAGE }, there = { (void *)(AREA + at), PAGE };

		if (at / HUGE % 2 && at % (HUGE / FEW))
			continue;	/* looking would make it */
		wrong += process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)PAGE ||
			 memcmp(page, data + at, PAGE);
	}
	return wrong;
}

static void check(pid_t pid, const char *data)
{
	tap_is(smaps_kb(pid, AREA, "AnonHugePages"), BLOCKS / 2 * 2048, "huge pages");
	tap_is(smaps_kb(pid, AREA, "Rss"), BLOCKS / 2 * (2048 + FEW * 4), "and few small ones");
	tap_is(count_wrong(pid, data), 0, "pages that hold something else");
}

void test_beside(void)
{
	unsigned long len = (BLOCKS + 1) * HUGE, nr = 0;
	struct writer writers[8];
	pthread_t threads[8];
	struct rig rig;
	unsigned int seed = 1;
	int bad = 0;
	char *data;

	tap_note("writes side by side");
	data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned long i = 0; i < len; i += PAGE)
		*(int *)(data + i) = rand_r(&seed);
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	for (int h = 0; h < 2; h++)
		rig_basic_mm(&rig, rig.helpers[h].pid, add_area, &len);
	for (int h = 0; h < 2; h++)
		for (unsigned long first = 0; first < 4; first++, nr++) {
			writers[nr] = (struct writer){
				.rig = &rig, .pid = rig.helpers[h].pid, .data = data,
				.first = first, .dense = first % 2 == 0,
			};
			pthread_create(&threads[nr], NULL, write_blocks, &writers[nr]);
		}
	for (int i = 0; i < ROUNDS; i++)
		bad |= rig_drop(&rig, rig.helpers[i % 2].pid, AREA + BLOCKS * HUGE, AREA + len);
	tap_is(bad, 0, "other commands in between");
	for (unsigned long i = 0; i < nr; i++) {
		pthread_join(threads[i], NULL);
		bad |= writers[i].ret;
	}
	tap_is(bad, 0, "all writes");
	for (int h = 0; h < 2; h++)
		check(rig.helpers[h].pid, data);
	rig_close(&rig);
	munmap(data, len);
}
