// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dump a tree and hold the image against the memory that it had in the pause.
 *
 *	dumpcheck [--kill|--stop-and-copy] DIR PID…
 *
 * In the pause it takes a copy of its own of every private page of every process
 * (by /proc/PID/pagemap and mem) and of what shared mappings show; after the
 * dump every page of the copy must be in the image with the same content (or be
 * zero and absent), and the image must hold no other page.  Prints the figures of
 * the dump, exits 1 on the first differences.  For tests: the pause is long.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "base/error.h"
#include "image/reader.h"
#include "engine/dump/dump.h"
#include "engine/core/state.h"

#define PAGE		4096UL
#define PM_PRESENT	(1ULL << 63)
#define PM_SWAP		(1ULL << 62)
#define PM_FILE		(1ULL << 61)
#define MAX_REPORTS	10

struct copy {
	pid_t pid;
	bool shared;
	bool seen;		/* the image has it */
	uint64_t addr;
	char *data;
};

struct check {
	const pid_t *roots;
	unsigned int nr_roots;
	pid_t *pids;
	unsigned int nr_pids;
	struct copy *copies;
	size_t nr_copies;
	size_t room;
	unsigned int wrong;
};

/* ---------------------------------------------------------------- copy */

static pid_t parent_of(pid_t pid)
{
	char path[40], line[512], *end;
	int ppid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file) && (end = strrchr(line, ')')))
		sscanf(end, ") %*c %d", &ppid);
	fclose(file);
	return ppid;
}

static bool in_tree(const struct check *c, pid_t pid)
{
	for (; pid > 1; pid = parent_of(pid))
		for (unsigned int i = 0; i < c->nr_roots; i++)
			if (pid == c->roots[i])
				return true;
	return false;
}

static void find_pids(struct check *c)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0 || !in_tree(c, pid))
			continue;
		c->pids = reallocarray(c->pids, c->nr_pids + 1, sizeof(*c->pids));
		c->pids[c->nr_pids++] = pid;
	}
	if (dir)
		closedir(dir);
}

static int copy_page(struct check *c, pid_t pid, int mem, uint64_t addr, bool shared)
{
	struct copy *copy;

	if (c->nr_copies == c->room) {
		c->room = c->room ? c->room * 2 : 4096;
		c->copies = reallocarray(c->copies, c->room, sizeof(*c->copies));
	}
	copy = &c->copies[c->nr_copies];
	*copy = (struct copy){ .pid = pid, .addr = addr, .shared = shared };
	copy->data = malloc(PAGE);
	if (pread(mem, copy->data, PAGE, (off_t)addr) != (ssize_t)PAGE) {
		free(copy->data);
		return 0;	/* special mappings cannot be read */
	}
	c->nr_copies++;
	return 0;
}

static int copy_mapping(struct check *c, pid_t pid, int mem, int pagemap, uint64_t start,
			uint64_t end, bool shared)
{
	uint64_t entries[512];
	ssize_t n;
	int ret = 0;

	while (start < end && !ret) {
		size_t want = (end - start) / PAGE;

		if (want > 512)
			want = 512;
		n = pread(pagemap, entries, want * 8, (off_t)(start / PAGE * 8));
		if (n <= 0)
			return -EIO;
		for (ssize_t i = 0; i < n / 8 && !ret; i++, start += PAGE) {
			uint64_t entry = entries[i];

			if (!(entry & (PM_PRESENT | PM_SWAP)) || (!shared && (entry & PM_FILE)))
				continue;
			ret = copy_page(c, pid, mem, start, shared);
		}
	}
	return ret;
}

static int copy_process(struct check *c, pid_t pid)
{
	char path[40], line[4096], perms[8], name[256];
	unsigned long long start, end;
	int mem, pagemap, ret = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pagemap = open(path, O_RDONLY);
	while (maps && !ret && fgets(line, sizeof(line), maps)) {
		name[0] = 0;
		if (sscanf(line, "%llx-%llx %7s %*x %*s %*s %255s", &start, &end, perms,
			   name) < 3)
			continue;
		if (!strncmp(name, "[v", 2))
			continue;
		ret = copy_mapping(c, pid, mem, pagemap, start, end, perms[3] == 's');
	}
	if (maps)
		fclose(maps);
	close(mem);
	close(pagemap);
	return ret;
}

static int copy_tree(void *arg)
{
	struct check *c = arg;
	int ret = 0;

	find_pids(c);
	for (unsigned int i = 0; i < c->nr_pids && !ret; i++)
		ret = copy_process(c, c->pids[i]);
	return ret;
}

/* ---------------------------------------------------------------- compare */

static void wrong(struct check *c, pid_t pid, uint64_t addr, const char *what)
{
	if (c->wrong++ < MAX_REPORTS)
		printf("pid %d address %#llx: %s\n", pid, (unsigned long long)addr, what);
}

static bool is_zero(const char *page)
{
	return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

static struct copy *find_copy(struct check *c, pid_t pid, uint64_t addr)
{
	size_t low = 0, high = c->nr_copies;

	/* copied pid by pid in address order; pids ascend within /proc */
	while (low < high) {
		size_t mid = (low + high) / 2;
		struct copy *copy = &c->copies[mid];

		if (copy->pid == pid && copy->addr == addr)
			return copy;
		if (copy->pid < pid || (copy->pid == pid && copy->addr < addr))
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static int by_place(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void check_private(struct check *c, struct image_reader *r, const struct state_proc *proc)
{
	uint64_t cursor = 0, mm = proc->mm->rec->mm_id;
	pid_t pid = proc->rec->host_pid;
	struct image_run run;
	char page[PAGE];

	while (image_pages_next(r, mm, &cursor, &run) == 1) {
		for (uint64_t i = 0; i < run.nr_pages; i++) {
			uint64_t addr = run.addr + i * PAGE;
			struct copy *copy = find_copy(c, pid, addr);

			if (image_pages_read(r, mm, addr, 1, page))
				wrong(c, pid, addr, "cannot be read from the image");
			else if (!copy || copy->shared)
				wrong(c, pid, addr, "is in the image, but was not in memory");
			else if (memcmp(page, copy->data, PAGE))
				wrong(c, pid, addr, "differs");
			if (copy)
				copy->seen = true;
		}
	}
}

static void check_shared(struct check *c, struct image_reader *r, const struct state_proc *proc)
{
	char page[PAGE];

	for (unsigned int i = 0; i < proc->mm->nr_vmas; i++) {
		const struct state_vma *vma = &proc->mm->vmas[i];
		const struct engine_rec_blob *blob = vma->file ? vma->file->blob : NULL;

		if (!(vma->rec->flags & CKPT_VM_SHARED) || !blob)
			continue;
		for (uint64_t addr = vma->rec->start; addr < vma->rec->end; addr += PAGE) {
			struct copy *copy = find_copy(c, proc->rec->host_pid, addr);
			uint64_t offset = vma->rec->pgoff * PAGE + addr - vma->rec->start;
			uint64_t len = blob->size - offset < PAGE ? blob->size - offset : PAGE;

			if (!copy || offset >= blob->size)
				continue;
			memset(page, 0, PAGE);
			if (blob->blob && image_blob_read(r, blob->blob, offset, page, len))
				wrong(c, copy->pid, addr, "content cannot be read");
			else if (memcmp(page, copy->data, len))
				wrong(c, copy->pid, addr, "shared content differs");
			copy->seen = true;
		}
	}
}

static struct state *load_state(struct image_reader *r, char **ret_buf)
{
	struct state_error why = { 0 };
	struct image_record rec;
	struct state *state;
	char *buf = NULL;
	size_t len = 0;

	while (image_state_next(r, &rec) == 1) {
		buf = realloc(buf, len + rec.len);
		memcpy(buf + len, rec.data, rec.len);
		len += rec.len;
	}
	*ret_buf = buf;
	if (state_parse(buf, len, &state, &why) == 0)
		return state;
	printf("state stream at %zu: %s\n", why.offset, why.text);
	return NULL;
}

static int compare(struct check *c, const char *dir, const struct image_key *key)
{
	struct image_reader *r = NULL;
	struct ckpt_error why = { 0 };
	size_t zero = 0, missing_shared = 0;
	struct state *state;
	char *buf = NULL;

	qsort(c->copies, c->nr_copies, sizeof(*c->copies), by_place);
	if (image_open(dir, key, NULL, &r, &why)) {
		printf("%s\n", why.text);
		return 1;
	}
	state = load_state(r, &buf);
	if (!state)
		return 1;
	for (unsigned int i = 0; i < state->nr_procs; i++) {
		if (!state->procs[i].mm)
			continue;
		check_private(c, r, &state->procs[i]);
		check_shared(c, r, &state->procs[i]);
	}
	for (size_t i = 0; i < c->nr_copies; i++) {
		struct copy *copy = &c->copies[i];

		if (!copy->seen && copy->shared)
			missing_shared++;	/* of a file that stays where it is */
		else if (!copy->seen && is_zero(copy->data))
			zero++;
		else if (!copy->seen)
			wrong(c, copy->pid, copy->addr, "is not in the image");
		free(copy->data);
	}
	printf("compared %zu pages of %u processes: %zu zero and absent, %zu of files, %u wrong\n",
	       c->nr_copies, c->nr_pids, zero, missing_shared, c->wrong);
	state_free(state);
	free(buf);
	image_close(r);
	free(c->copies);
	free(c->pids);
	return c->wrong > 0;
}

static void print_stats(const struct dump_stats *stats)
{
	printf("%u processes %u threads; freeze %.3f collect %.3f clone %.3f pause %.3f total %.3f "
	       "ms; mapped %llu stored %llu shared %llu zero %llu\n",
	       stats->nr_procs, stats->nr_threads, stats->freeze_ns / 1e6, stats->collect_ns / 1e6,
	       stats->clone_ns / 1e6, stats->pause_ns / 1e6, stats->total_ns / 1e6,
	       (unsigned long long)stats->bytes_mapped, (unsigned long long)stats->bytes_stored,
	       (unsigned long long)stats->pages_shared, (unsigned long long)stats->pages_zero);
}

int main(int argc, char **argv)
{
	static const uint8_t bytes[IMAGE_KEY_BYTES] = "a key for tests, thirty-two long";
	static const struct option longs[] = {
		{ "kill", no_argument, NULL, 'k' },
		{ "stop-and-copy", no_argument, NULL, 's' },
		{ "no-check", no_argument, NULL, 'n' },
		{ "dry-run", no_argument, NULL, 'd' },
		{ NULL }
	};
	struct dump_options options = { .max_pause_ms = 600000 };
	struct check check = { 0 };
	struct ckpt_error error = { 0 };
	struct dump_stats stats = { 0 };
	struct image_key *key = NULL;
	pid_t roots[64];
	int opt, ret;

	options.frozen = copy_tree;
	options.frozen_arg = &check;
	while ((opt = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
		options.kill |= opt == 'k';
		options.stop_and_copy |= opt == 's';
		options.dry_run |= opt == 'd';
		if (opt == 'n')
			options.frozen = NULL;
		if (opt == '?')
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	options.dir = argv[optind++];
	while (optind < argc && options.nr_roots < 64)
		roots[options.nr_roots++] = atoi(argv[optind++]);
	options.roots = check.roots = roots;
	check.nr_roots = options.nr_roots;
	image_key_from_bytes(bytes, &key);
	options.key = key;
	ret = dump_tree(&options, &stats, &error);
	if (ret)
		printf("%s (%d)\n", error.text, ret);
	for (unsigned int i = 0; i < error.nr_refusals; i++)
		printf("refusal %s pid %d %s: %s\n",
		       reason_name(error.refusals[i].reason), error.refusals[i].pid,
		       error.refusals[i].comm, error.refusals[i].detail);
	error_done(&error);
	if (!ret)
		print_stats(&stats);
	if (!ret && options.frozen && !options.dry_run)
		ret = compare(&check, options.dir, key);
	image_key_destroy(key);
	return ret ? 1 : 0;
}
