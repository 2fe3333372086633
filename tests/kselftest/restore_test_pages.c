// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: pages, and pages shared copy on write.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

#define RW	(CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_ACCOUNT)
#define HUGE	0x200000UL

/* ---------------------------------------------------------------- pages */

long smaps_kb(pid_t pid, unsigned long addr, const char *field)
{
	char path[64], line[512];
	unsigned long start, end;
	bool here = false;
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = start <= addr && addr < end;
		if (here && !strncmp(line, field, strlen(field)))
			kb = atol(line + strlen(field) + 1);
	}
	if (f)
		fclose(f);
	return kb;
}

void test_pages(void)
{
	enum { MB = 128 };
	unsigned long len = MB << 20, i;
	struct ckpt_iovec iov[3];
	struct ckpt_pages pages;
	long long start, first, copy;
	struct rig rig;
	long *data, sum = 0;
	void *twin;
	pid_t pid;

	tap_note("pages");
	/*
	 * Not congruent to the target's addresses modulo a huge page: in QEMU's TLB
	 * source and destination of the copy would displace each other.
	 */
	data = mmap(NULL, len + 0x11000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	data += 0x11000 / sizeof(*data);
	twin = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < len / 8; i++)
		sum += data[i] = i * 2654435761;
	start = now_us();
	memcpy(twin, data, len);
	copy = now_us() - start;
	munmap(twin, len);

	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, one_vma_add, &len);
	start = now_us();
	tap_is(rig_write(&rig, pid, MORE, data, len), 0, "a large range");
	first = now_us() - start;
	tap_note("%d MiB: %lld us, %lld MB/s (memcpy into fresh memory: %lld us)", MB, first,
		 (long long)len / (first ? first : 1), copy);

	iov[0] = (struct ckpt_iovec) { MORE + 4096, 8192 };
	iov[1] = (struct ckpt_iovec) { MORE + len - 4096, 4096 };
	iov[2] = (struct ckpt_iovec) { MORE + len - 4096, 8192 };
	pages = (struct ckpt_pages) {
		.mm_id = pid, .nr_iov = 2, .iov = (unsigned long)iov,
		.buf = (unsigned long)data + 4096,
	};
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), 0, "several ranges");
	tap_is(pages.done, 12288, "and how much was done");
	pages.nr_iov = 3;
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), -EFAULT, "beyond the mapping");
	tap_is(pages.done, 16384, "and how much until then");
	pages.nr_iov = 2;
	pages.buf = 0x1000;
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), -EFAULT, "a bad buffer");
	iov[0].addr += 8;
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), -EINVAL, "not aligned");
	iov[0] = (struct ckpt_iovec) { MORE, -4096UL };
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), -EINVAL, "overflow");
	pages.nr_iov = 1025;
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), -EINVAL, "too many");
	tap_is(rig_write(&rig, pid, VVAR_BASE, data, 4096), -EFAULT, "the [vvar] pages");

	/* what the failed ones left is undefined */
	rig_write(&rig, pid, MORE + 4096, (char *)data + 4096, 8192);
	rig_write(&rig, pid, MORE + len - 4096, (char *)data + len - 4096, 4096);
	rig_thread(&rig, pid, payload_sum, MORE, len / 8);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_until(&rig.shared->ready, 1);
	tap_is(rig.shared->val[0], sum, "the program finds the same sum");
	rig.shared->go = 1;
	wait_exit(pid);
	rig_close(&rig);
	munmap((char *)data - 0x11000, len + 0x11000);
}

void test_thp(void)
{
	unsigned long len = 16 * HUGE, i;
	struct ckpt_iovec iov[64];
	struct ckpt_pages pages;
	struct rig rig;
	char *data;
	pid_t pid;

	tap_note("huge pages");
	data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(data, 3, len);
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, one_vma_add, &len);
	/* 4 MiB + 1 page, not from an aligned address on */
	tap_is(rig_write(&rig, pid, MORE + 4096, data, 2 * HUGE + 4096), 0, "write");
	tap_is(smaps_kb(pid, MORE, "AnonHugePages"), 4096, "covered blocks are huge pages");
	tap_is(smaps_kb(pid, MORE, "Rss"), 4096 + 8, "the rest is not");
	for (i = 0; i < 64; i++)
		iov[i] = (struct ckpt_iovec) { MORE + 4 * HUGE + i * HUGE / 16, 4096 };
	pages = (struct ckpt_pages) {
		.mm_id = pid, .nr_iov = 64, .iov = (unsigned long)iov,
		.buf = (unsigned long)data,
	};
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), 0, "64 scattered pages");
	tap_is(smaps_kb(pid, MORE, "Rss"), 4096 + 8 + 64 * 4, "cost 64 pages");
	for (i = 0; i < 4; i++)
		iov[i] = (struct ckpt_iovec) { MORE + 10 * HUGE + i * HUGE / 4, HUGE / 4 - 4096 };
	pages.nr_iov = 4;
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), 0, "a block with small holes");
	tap_is(smaps_kb(pid, MORE, "AnonHugePages"), 6144, "becomes a huge page");
	pages.nr_iov = 1;
	iov[0] = (struct ckpt_iovec) { MORE + 12 * HUGE + 8 * 4096, 16 * 4096 };
	pages.flags = CKPT_PAGES_DENSE;
	tap_is(rig_command(&rig, CKPT_IOC_PAGES_WRITE, &pages), 0, "a part of a long run");
	tap_is(smaps_kb(pid, MORE, "AnonHugePages"), 8192, "becomes one, too");
	tap_is(rig_drop(&rig, pid, MORE, MORE + len), 0, "drop");
	tap_is(smaps_kb(pid, MORE, "Rss"), 0, "leaves nothing");
	tap_is(rig_drop(&rig, pid, MORE + 8, MORE + len), -EINVAL, "drop, not aligned");
	rig_close(&rig);
	munmap(data, len);
}

/* ---------------------------------------------------------------- share */

static void share_add(struct recs *recs, void *arg)
{
	struct ckpt_rec_vma *vma;

	recs_vma(recs, CKPT_VMA_ANON, MORE, *(unsigned long *)arg, RW, -1);
	vma = recs_vma(recs, CKPT_VMA_FILE_PRIVATE, MORE + 0x10000000, 16 * 4096, RW,
		       ((int *)arg)[2]);
	vma->pgoff = 0;
	recs_vma(recs, CKPT_VMA_ANON, MORE + 0x18000000, 16 * 4096, RW | CKPT_VM_LOCKED, -1);
}

static int same_pages(pid_t a, pid_t b, unsigned long start, unsigned long end)
{
	unsigned long addr, pfn;
	int same = 0;

	for (addr = start; addr < end; addr += 4096) {
		pfn = proc_pfn(a, addr);
		same += pfn && pfn == proc_pfn(b, addr);
	}
	return same;
}

static void share_refuse(struct rig *rig, pid_t parent, pid_t child, unsigned long len)
{
	tap_is(rig_share(rig, parent, parent, MORE, MORE + 4096), -EINVAL, "with itself");
	tap_is(rig_share(rig, parent, child, MORE, MORE + len + 4096), -EINVAL,
	       "beyond the mapping");
	tap_is(rig_share(rig, parent, child, PAYLOAD_BASE + 0x800, PAYLOAD_BASE + 0x1000), -EINVAL,
	       "not aligned");
	tap_is(rig_share(rig, parent, child, SHARED_BASE, SHARED_BASE + 4096), -EINVAL,
	       "a shared mapping");
	tap_is(rig_share(rig, parent, child, VVAR_BASE, VVAR_BASE + 4096), -EINVAL, "[vvar]");
	tap_is(rig_share(rig, parent, child, MORE + 0x18000000, MORE + 0x18001000), -EINVAL,
	       "a locked mapping");
	tap_is(rig_share(rig, getpid(), child, MORE, MORE + 4096), -ESRCH, "from a stranger");
}

/* Writes of either do not show in the other. */
static void share_poke(struct rig *rig, pid_t parent, pid_t child)
{
	struct shared *sh = rig->shared;

	rig_thread(rig, parent, payload_poke, MORE + 4096, 1);
	rig_thread(rig, child, payload_poke, MORE + 4096, 2);
	tap_is(rig_commit(rig), 0, "commit");
	wait_until(&sh->ready, 2);
	tap_is(same_pages(parent, child, MORE, MORE + 8 * 4096), 8, "still shared when they run");
	sh->go = 1;
	tap_ok(wait_until(&sh->ready, 4), "both write");
	tap_is(sh->val[1], 5, "the parent found what was there");
	tap_is(sh->val[2], 5, "so did the child");
	tap_is(sh->val[33], 1, "the parent sees its own");
	tap_is(sh->val[34], 2, "the child sees its own");
	tap_is(same_pages(parent, child, MORE, MORE + 8 * 4096), 7, "one page came apart");
	sh->go = 2;
	wait_exit(parent);
}

void test_share(void)
{
	unsigned long args[2] = { 64 * 4096 }, len = args[0];
	static char data[64 * 4096], other[4096];
	struct rig rig;
	pid_t parent, child;
	int file;

	tap_note("copy on write between processes");
	memset(data, 5, sizeof(data));
	file = memfd_create("file", MFD_CLOEXEC);
	if (write(file, data, sizeof(data)) < 0)
		return;
	((int *)args)[2] = file;
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_add(&rig, 0, 1, NULL);
	rig_start(&rig);
	parent = rig.helpers[0].pid;
	child = rig.helpers[1].tids[0];
	rig_basic_mm(&rig, parent, share_add, args);
	args[0] = 40 * 4096;	/* the parent's has grown since */
	rig_basic_mm(&rig, child, share_add, args);
	tap_is(rig_share(&rig, parent, child, MORE, MORE + args[0]), 0, "nothing to share yet");
	rig_write(&rig, parent, MORE, data, len - 4096);
	rig_write(&rig, parent, MORE + 0x10000000, data, 8192);
	share_refuse(&rig, parent, child, len);
	tap_is(rig_share(&rig, parent, child, MORE, MORE + args[0]), 0, "part of a mapping");
	tap_is(same_pages(parent, child, MORE, MORE + len), 40, "the pages are the same");
	tap_is(rig_share(&rig, parent, child, MORE + 4096, MORE + 8192), 0, "again");
	tap_is(same_pages(parent, child, MORE, MORE + len), 40, "changes nothing");
	tap_is(rig_share(&rig, parent, child, MORE + 0x10000000, MORE + 0x10000000 + 16 * 4096), 0,
	       "a private file mapping");
	tap_is(same_pages(parent, child, MORE + 0x10000000, MORE + 0x10000000 + 8192), 2,
	       "the pages are the same");
	memset(other, 6, sizeof(other));
	tap_is(rig_write(&rig, child, MORE + 9 * 4096, other, 4096), 0, "write over one");
	tap_is(rig_drop(&rig, child, MORE + 10 * 4096, MORE + 12 * 4096), 0, "drop two");
	tap_is(same_pages(parent, child, MORE, MORE + len), 37, "three differ");
	tap_is(rig_share(&rig, child, parent, MORE, MORE + 4096), -EINVAL,
	       "not back to where it came from");
	share_poke(&rig, parent, child);
	close(file);
	rig_close(&rig);
}

/* Huge pages that were split stay so for the time of a test. */
static void khugepaged_sleep(const char *ms)
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "w");

	if (f) {
		fputs(ms, f);
		fclose(f);
	}
}

void test_share_thp(void)
{
	unsigned long args[2] = { 8 * HUGE }, start = MORE + 4096, end = MORE + 3 * HUGE + 8192;
	struct rig rig;
	pid_t parent, child;
	char *data;
	int file;

	tap_note("copy on write of huge pages");
	khugepaged_sleep("3600000");
	data = mmap(NULL, args[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(data, 5, args[0]);
	file = memfd_create("file", MFD_CLOEXEC);
	if (write(file, data, 65536) < 0)
		return;
	((int *)args)[2] = file;
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_add(&rig, 0, 1, NULL);
	rig_start(&rig);
	parent = rig.helpers[0].pid;
	child = rig.helpers[1].tids[0];
	rig_basic_mm(&rig, parent, share_add, args);
	rig_basic_mm(&rig, child, share_add, args);
	rig_write(&rig, parent, MORE, data, 8 * HUGE);
	tap_is(smaps_kb(parent, MORE, "AnonHugePages"), 8 * 2048, "the parent has huge pages");
	/* begins and ends inside of huge pages */
	tap_is(rig_share(&rig, parent, child, start, end), 0, "share");
	tap_is(same_pages(parent, child, MORE, MORE + 8 * HUGE), (end - start) / 4096,
	       "the pages are the same");
	tap_is(smaps_kb(child, MORE, "Rss"), (end - start) / 1024, "and no more than these");
	tap_is(smaps_kb(child, MORE, "AnonHugePages"), 2 * 2048, "whole ones stayed huge");
	/* a page table of the child is in the way of one */
	tap_is(rig_write(&rig, child, MORE + 5 * HUGE, data, 4096), 0, "a page of the child's own");
	tap_is(rig_share(&rig, parent, child, MORE + 3 * HUGE, MORE + 8 * HUGE), 0, "the rest");
	tap_is(rig_share(&rig, parent, child, MORE, MORE + HUGE), 0, "and the beginning");
	tap_is(same_pages(parent, child, MORE, MORE + 8 * HUGE), 8 * 512, "all are the same");
	share_poke(&rig, parent, child);
	close(file);
	rig_close(&rig);
	munmap(data, args[0]);
	khugepaged_sleep("10000");
}
