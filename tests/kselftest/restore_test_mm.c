// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: memory maps.  What is in them is restore_test_pages.c's.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

#define R	CKPT_VM_READ
#define W	CKPT_VM_WRITE
#define X	CKPT_VM_EXEC
#define ACC	CKPT_VM_ACCOUNT
#define RW	(R | W | ACC)
#define HUGE	0x200000UL

void *vdso_clock_gettime(unsigned long vvar, struct rig *rig)
{
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *ehdr = (const void *)base;
	const Elf64_Sym *sym = NULL;
	struct ckpt_info info = {};
	const char *str = NULL;
	const Elf64_Phdr *phdr;
	const Elf64_Dyn *dyn;
	unsigned long i, nr = 0;
	int p;

	if (!base || rig_command(rig, CKPT_IOC_INFO, &info) || !info.vdso_size)
		return NULL;
	phdr = (const void *)(base + ehdr->e_phoff);
	for (p = 0; p < ehdr->e_phnum; p++) {
		if (phdr[p].p_type != PT_DYNAMIC)
			continue;
		for (dyn = (const void *)(base + phdr[p].p_offset); dyn->d_tag; dyn++) {
			if (dyn->d_tag == DT_SYMTAB)
				sym = (const void *)(base + dyn->d_un.d_ptr);
			if (dyn->d_tag == DT_STRTAB)
				str = base + dyn->d_un.d_ptr;
			if (dyn->d_tag == DT_HASH)
				nr = ((const Elf32_Word *)(base + dyn->d_un.d_ptr))[1];
		}
	}
	for (i = 0; sym && str && i < (nr ? nr : 32); i++)
		if (!strcmp(str + sym[i].st_name, "__vdso_clock_gettime"))
			return (void *)(vvar + info.vvar_size + sym[i].st_value);
	return NULL;
}

/* --------------------------------------------------------------- layout */

struct want {
	int kind;
	unsigned long start;	/* in pages from MORE */
	unsigned long len;	/* in pages */
	__u64 flags;
	unsigned long pgoff;
	const char *vmflags;	/* some of smaps' VmFlags */
	const char *not;	/* and some that must not be there */
};

static const struct want layout[] = {
	{ CKPT_VMA_ANON, 0, 4, RW, 0, "rd wr mr mw me ac", "dd dc" },
	/* these touch, and only their record keeps them apart */
	{ CKPT_VMA_ANON, 4, 4, RW, 0, "rd wr ac", "dd" },
	{ CKPT_VMA_ANON, 8, 4, RW | CKPT_VM_DONTDUMP, 0, "rd wr dd", NULL },
	{ CKPT_VMA_ANON, 12, 4, RW | CKPT_VM_DONTDUMP, 0, "dd", NULL },
	{ CKPT_VMA_ANON, 16, 4, RW | CKPT_VM_DONTCOPY, 0, "dc", "dd wf" },
	{ CKPT_VMA_ANON, 20, 4, RW | CKPT_VM_WIPEONFORK, 0, "wf", "dc dd" },
	{ CKPT_VMA_ANON, 24, 4, RW | CKPT_VM_NOHUGEPAGE, 0, "nh", "hg" },
	{ CKPT_VMA_ANON, 28, 4, RW | CKPT_VM_HUGEPAGE, 0, "hg", "nh" },
	{ CKPT_VMA_ANON, 32, 4, RW | CKPT_VM_MERGEABLE, 0, "mg", "dd" },
	{ CKPT_VMA_ANON, 36, 4, R | ACC, 0, "rd ac", "wr" },	/* was writable once */
	{ CKPT_VMA_ANON, 40, 4, R, 0, "rd", "wr ac" },
	{ CKPT_VMA_ANON, 44, 4, ACC, 0, "mr mw ac", "rd wr" },
	{ CKPT_VMA_ANON, 48, 4, 0, 0, "mr mw me", "rd wr ac" },
	{ CKPT_VMA_ANON, 52, 4, R | W | CKPT_VM_NORESERVE, 0, "nr", "ac" },
	{ CKPT_VMA_ANON, 56, 4, RW | CKPT_VM_LOCKED, 0, "lo", "lf" },
	{ CKPT_VMA_ANON, 60, 4, RW | CKPT_VM_LOCKED | CKPT_VM_LOCKONFAULT, 0, "lo", NULL },
	{ CKPT_VMA_ANON, 64, 4, R | X, 0, "rd ex", "wr" },
	{ CKPT_VMA_FILE_PRIVATE, 68, 4, R, 0, "rd mr mw me", "wr ac sh" },
	{ CKPT_VMA_FILE_PRIVATE, 72, 4, R | ACC, 4, "rd ac", "wr" },	/* relro */
	{ CKPT_VMA_FILE_PRIVATE, 76, 4, RW, 8, "rd wr ac", NULL },
	{ CKPT_VMA_FILE_PRIVATE, 80, 4, R | X | CKPT_VM_RAND_READ, 12, "rd ex rr", "sr" },
	/* one descriptor for both: the record says what may become writable */
	{ CKPT_VMA_FILE_SHARED, 84, 4, R | CKPT_VM_SEQ_READ, 1, "rd sr ms", "wr dd mw sh" },
	{ CKPT_VMA_FILE_SHARED, 88, 4, R | W, 2, "rd wr sh ms", "ac" },
	{ CKPT_VMA_FILE_SHARED, 92, 4, R | W, 6, "rd wr sh ms", "ac" },
	{ CKPT_VMA_FILE_SHARED, 96, 4, R | CKPT_VM_MAYWRITE, 6, "rd mw sh ms", "wr" },
	{ CKPT_VMA_FILE_SHARED, 100, 4, CKPT_VM_MAYWRITE, 6, "mw sh ms", "rd wr" },
	{ CKPT_VMA_ANON, 200, 8, RW | CKPT_VM_GROWSDOWN, 0, "gd", NULL },
};

#define NR_LAYOUT (sizeof(layout) / sizeof(layout[0]))

static void layout_add(struct recs *recs, void *arg)
{
	struct ckpt_rec_vma *vma;
	const struct want *w;

	for (w = layout; w < layout + NR_LAYOUT; w++) {
		vma = recs_vma(recs, w->kind, MORE + w->start * 4096, w->len * 4096, w->flags,
			       w->kind == CKPT_VMA_ANON ? -1 : *(int *)arg);
		vma->pgoff = w->kind == CKPT_VMA_ANON ? vma->start / 4096 : w->pgoff;
	}
}

/* All words of @want in @have? (or none of them) */
static bool words(const char *have, const char *want, bool all)
{
	char word[4] = "";

	for (; want && *want; want += want[2] ? 3 : 2) {
		memcpy(word, want, 2);
		if (!strstr(have, word) == all)
			return false;
	}
	return true;
}

/* Compare smaps with layout[]; -1 while flags are not final. */
static int layout_check(pid_t pid, bool late)
{
	unsigned long start = 0, end = 0, off = 0;
	char path[64], line[512];
	const struct want *w = NULL;
	int good = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 && start >= MORE) {
			for (w = layout; w < layout + NR_LAYOUT; w++)
				if (start == MORE + w->start * 4096 &&
				    end == start + w->len * 4096)
					break;
			if (w == layout + NR_LAYOUT)
				w = NULL;
			if (!w && start < MORE + 0x1000000)
				tap_note("not in the records: %s", line);
		}
		if (!w || strncmp(line, "VmFlags: ", 9))
			continue;
		if (w->kind != CKPT_VMA_ANON && off != w->pgoff * 4096)
			tap_note("%lx has offset %lx", start, off);
		else if (words(line + 9, w->vmflags, true) &&
			 (!late || words(line + 9, w->not, false)))
			good++;
		else
			tap_note("%lx is %s# wanted %s not %s", start, line, w->vmflags, w->not);
		w = NULL;
	}
	if (f)
		fclose(f);
	return good;
}

void test_layout(void)
{
	struct rig rig;
	struct recs recs = {};
	char data[4096] __attribute__((aligned(8)));
	unsigned int i;
	int file, err;
	pid_t pid;

	tap_note("layout of memory maps");
	rig_open(&rig);
	rig_add(&rig, -1, 2, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	file = memfd_create("file", MFD_CLOEXEC);
	if (ftruncate(file, 64 * 4096))
		return;
	rig_basic_mm(&rig, pid, layout_add, &file);
	tap_is(layout_check(pid, false), NR_LAYOUT, "the layout is that of the records");
	memset(data, 'x', sizeof(data));
	for (i = 0, err = 0; i < NR_LAYOUT; i++)
		if (layout[i].kind == CKPT_VMA_ANON || layout[i].kind == CKPT_VMA_FILE_PRIVATE)
			err |= rig_write(&rig, pid, MORE + (layout[i].start + 1) * 4096, data,
					 4096);
	tap_is(err, 0, "all private mappings can be filled");
	tap_is(rig_write(&rig, pid, MORE + 84 * 4096, data, 4096), -EFAULT,
	       "a shared one without write permission cannot");
	for (i = 0; i < 2; i++)
		rig_thread(&rig, rig.helpers[0].tids[i], payload_hold, 0, 0);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_until(&rig.shared->ready, 2);
	tap_is(layout_check(pid, true), NR_LAYOUT, "protections are final");
	rig.shared->go = 1;
	wait_exit(pid);
	close(file);
	recs_done(&recs);
	rig_close(&rig);
}

static void many_add(struct recs *recs, void *arg)
{
	int i, nr = *(int *)arg;

	for (i = 0; i < nr; i++)
		recs_vma(recs, CKPT_VMA_ANON, MORE + i * 4096UL, 4096, i % 2 ? RW : R, -1);
}

static long long many_run(int nr)
{
	long long start;
	struct recs recs = {};
	struct rig rig;
	int err;

	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	recs_basic(&rig, &recs, many_add, &nr);
	start = now_us();
	err = rig_state(&rig, rig.helpers[0].pid, &recs, NULL);
	start = now_us() - start;
	if (err)
		tap_ok(false, "%d VMAs: %s", nr, strerror(-err));
	recs_done(&recs);
	rig_close(&rig);
	return start;
}

static long long min_of(long long a, long long b)
{
	return a < b ? a : b;
}

void test_many_vmas(void)
{
	long long few = LLONG_MAX, many = LLONG_MAX;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "w");

	if (f) {
		fprintf(f, "65530\n");
		fclose(f);
	}
	many_run(100);
	for (int i = 0; i < 5; i++) {
		few = min_of(few, many_run(1000));
		many = min_of(many, many_run(10000));
	}
	/* ten times, if nothing else ran; a hundred times, if it were quadratic */
	tap_note("1000 VMAs: %lld us, 10000: %lld us", few, many);
	tap_ok(many < 40 * few, "10000 VMAs do not cost the square of 1000");
}

void one_vma_add(struct recs *recs, void *arg)
{
	recs_vma(recs, CKPT_VMA_ANON, MORE, *(unsigned long *)arg, RW, -1);
}

void test_large_vma(void)
{
	unsigned long len = 1UL << 40;
	struct recs recs = {};
	struct rig rig;

	tap_note("a mapping larger than memory");
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	recs_basic(&rig, &recs, one_vma_add, &len);
	tap_is(rig_state(&rig, rig.helpers[0].pid, &recs, NULL), 0, "1 TiB, accounted");
	recs_done(&recs);
	rig_close(&rig);
}

static void policy_add(struct recs *recs, void *arg)
{
	recs_vma(recs, CKPT_VMA_ANON, MORE, 4096, RW, -1);
	recs_vma(recs, CKPT_VMA_ANON, MORE + 4096, 4096, RW, -1);
}

static int policy_try(struct rig *rig, struct ckpt_rec_mempolicy policy, int nr)
{
	struct recs recs = {};
	int ret;

	recs_basic(rig, &recs, policy_add, NULL);
	while (nr--) {
		struct ckpt_rec_mempolicy *rec = recs_add(&recs, CKPT_REC_MEMPOLICY, sizeof(*rec));

		policy.hdr = rec->hdr;
		*rec = policy;
	}
	ret = rig_state(rig, rig->helpers[0].pid, &recs, NULL);
	recs_done(&recs);
	return ret;
}

/* Of the second mapping; the first one has none. */
static void policy_is(const struct ckpt_rec_mempolicy *policy, const char *want, const char *what)
{
	char line[256], start[32];
	struct rig rig;

	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	tap_is(policy_try(&rig, *policy, 1), 0, what);
	snprintf(start, sizeof(start), "%08lx", MORE + 4096UL);
	if (!proc_line(rig.helpers[0].pid, "numa_maps", start, line, sizeof(line)))
		line[0] = 0;
	line[strcspn(line, "\n")] = 0;
	tap_ok(strstr(line, want), "%s: %s", what, line);
	snprintf(start, sizeof(start), "%08lx", MORE);
	tap_ok(proc_line(rig.helpers[0].pid, "numa_maps", start, line, sizeof(line)) &&
	       strstr(line, "default"), "its neighbour has none");
	rig_close(&rig);
}

void test_mempolicy(void)
{
	const struct ckpt_rec_mempolicy good = {
		.mm_id = 1, .start = MORE + 4096, .mode = MPOL_BIND, .home = -1, .nodes = { 1 },
	};
	struct ckpt_rec_mempolicy bad = good;
	struct rig rig;

	tap_note("NUMA policies");
	if (access("/proc/self/numa_maps", F_OK)) {
		tap_skip("NUMA policies", "no NUMA");
		return;
	}
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	bad.mode = 64;
	tap_is(policy_try(&rig, bad, 1), -EINVAL, "no mode");
	bad = good;
	bad.flags = 1;
	tap_is(policy_try(&rig, bad, 1), -EINVAL, "no flag");
	bad = good;
	bad.start += 4096;
	tap_is(policy_try(&rig, bad, 1), -EINVAL, "of no mapping");
	bad = good;
	bad.tid = 1;
	tap_is(policy_try(&rig, bad, 1), -EINVAL, "of a thread");
	tap_is(policy_try(&rig, good, 2), -EINVAL, "twice");
	rig_close(&rig);

	policy_is(&good, "bind:0", "bound to a node");
	bad = good;
	bad.nodes[0] = 1UL << 63;
	policy_is(&bad, "default", "a node that is not here");
	bad.nodes[0] = 1;
	bad.mode = 63;
	policy_is(&bad, "default", "a mode of another kernel");
}

/* Flags of the mappings at MORE and behind it. */
static void keys_add(struct recs *recs, void *arg)
{
	const __u64 *flags = arg;

	for (unsigned int i = 0; i < 3; i++)
		recs_vma(recs, CKPT_VMA_ANON, MORE + i * 4096, 4096, flags[i], -1);
}

static __u64 keyed(__u64 key)
{
	return X | key << CKPT_VM_KEY_SHIFT;
}

static int keys_try(struct rig *rig, __u64 a, __u64 b, __u64 c)
{
	__u64 flags[] = { a, b, c };
	struct recs recs = {};
	int ret;

	recs_basic(rig, &recs, keys_add, flags);
	ret = rig_state(rig, rig->helpers[0].pid, &recs, NULL);
	recs_done(&recs);
	return ret;
}

/* The protection key in smaps of the mapping, or -1. */
static int key_of(pid_t pid, unsigned long addr)
{
	char path[64], line[512];
	unsigned long start, end, at = 0;
	int key = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			at = start;
		if (at == addr)
			sscanf(line, "ProtectionKey: %d", &key);
	}
	if (f)
		fclose(f);
	return key;
}

void test_exec_key(void)
{
	__u64 flags[] = { keyed(3), X, keyed(3) | ACC };
	struct rig rig;
	pid_t pid;

	tap_note("protection keys of memory that may only be executed");
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	tap_is(keys_try(&rig, keyed(3) | R, X, X), -EINVAL, "of memory that may be read");
	tap_is(keys_try(&rig, keyed(3), keyed(4), X), -EINVAL, "two of one map");
	if (!proc_line(getpid(), "smaps", "ProtectionKey:", NULL, 0)) {
		tap_is(keys_try(&rig, keyed(3), X, X), -EOPNOTSUPP, "a processor without keys");
	} else {
		rig_basic_mm(&rig, pid, keys_add, flags);
		tap_is(key_of(pid, MORE), 3, "the key of the record");
		tap_is(key_of(pid, MORE + 4096), 0, "its neighbour has none");
		rig_thread(&rig, rig.helpers[0].tids[0], payload_hold, 0, 0);
		tap_is(rig_commit(&rig), 0, "commit");
		wait_until(&rig.shared->ready, 1);
		tap_is(key_of(pid, MORE + 2 * 4096), 3, "it comes with the final protection");
		tap_is(key_of(pid, MORE + 4096), 0, "its neighbour has none still");
		rig.shared->go = 1;
		wait_exit(pid);
	}
	rig_close(&rig);
}

static void huge_add(struct recs *recs, void *arg)
{
	struct ckpt_rec_vma *vma;

	vma = recs_vma(recs, CKPT_VMA_HUGETLB_PRIVATE, MORE, 2 * HUGE, R | W, -1);
	vma->hugepage_shift = 21;
	vma = recs_vma(recs, CKPT_VMA_HUGETLB_PRIVATE, MORE + 2 * HUGE, HUGE, R, -1);
	vma->hugepage_shift = 21;
	vma = recs_vma(recs, CKPT_VMA_HUGETLB_SHARED, MORE + 4 * HUGE, HUGE,
		       R | W | CKPT_VM_SHARED, *(int *)arg);
	vma->hugepage_shift = 21;
}

static int huge_pages(int nr)
{
	char line[32] = "0";
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "w");

	if (!f)
		return 0;
	fprintf(f, "%d\n", nr);
	fclose(f);
	f = fopen("/proc/sys/vm/nr_hugepages", "r");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	return atoi(line);
}

void test_hugetlb(void)
{
	static char data[4096] __attribute__((aligned(8)));
	struct rig rig;
	char *map;
	int file;
	pid_t pid;

	tap_note("hugetlb");
	if (huge_pages(6) < 6) {
		tap_skip("hugetlb", "no huge pages to be had");
		return;
	}
	file = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | 21 << 26);
	if (file < 0 || ftruncate(file, HUGE)) {
		tap_skip("hugetlb", "no hugetlb memfd");
		return;
	}
	map = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, huge_add, &file);
	memset(data, 1, sizeof(data));
	tap_is(rig_write(&rig, pid, MORE + HUGE, data, 4096), 0, "private, writable");
	tap_is(rig_write(&rig, pid, MORE + 2 * HUGE, data, 4096), 0, "private, read only");
	tap_is(rig_write(&rig, pid, MORE + 4 * HUGE, data, 4096), 0, "shared");
	tap_is(map[4095], 1, "the caller sees it");
	rig_thread(&rig, pid, payload_sum, MORE + 2 * HUGE, 513);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_until(&rig.shared->ready, 1);
	tap_is(rig.shared->val[0], (long)(0x0101010101010101UL << 9), "the program reads it");
	rig.shared->go = 1;
	wait_exit(pid);
	rig_close(&rig);
	munmap(map, HUGE);
	close(file);
	tap_is(huge_pages(0), 0, "no huge page was leaked");
}
