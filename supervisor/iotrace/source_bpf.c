// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF programs of the collector and their maps; see source_bpf.h.
 *
 * Owns the loaded object. libbpf's own messages are kept for the text of an error only: a kernel
 * without BTF, or a lockdown, is no fault of ckptd's.
 */
#include "supervisor/iotrace/source_bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "iotrace/io_trace.skel.h"

#define BATCH		4096
#define IDLE_TICKS	60	/* after which a file may leave a table that gets full */

struct io_bpf {
	struct io_trace *skel;
	struct ring_buffer *ring;
	struct io_file_key *keys;	/* of one batch */
	struct io_file *files;
	unsigned int nr_files;		/* in the table, as of the last walk */
	io_name_fn name_fn;
	void *name_arg;
	char unseen[256];
};

static int io_bpf_on_message(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static int io_bpf_on_name(void *arg, void *data, size_t size)
{
	struct io_bpf *b = arg;

	return b->name_fn && size >= sizeof(struct io_name) ? b->name_fn(data, b->name_arg) : 0;
}

/*
 * Leave out programs whose function the kernel does not have: one such fails the whole load. The
 * kernel's BTF is read once for all, as that takes longer than anything else here.
 */
static int io_bpf_skip_missing(struct io_bpf *b)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *prog;
	size_t used = 0;

	if (!btf)
		return -errno;
	bpf_object__for_each_program(prog, b->skel->obj) {
		const char *section = bpf_program__section_name(prog);
		const char *function = strchr(section, '/');

		if (!function || btf__find_by_name_kind(btf, function + 1, BTF_KIND_FUNC) > 0)
			continue;
		bpf_program__set_autoload(prog, false);
		if (!strncmp(section, "fentry", 6) && used < sizeof(b->unseen))
			used += (size_t)snprintf(b->unseen + used, sizeof(b->unseen) - used,
						 "%s%s", used ? " " : "", function + 1);
	}
	btf__free(btf);
	return 0;
}

static int io_bpf_load(struct io_bpf *b, struct ckpt_error *error)
{
	int err;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return error_set(error, -ENOTSUP,
				 "the kernel has no BTF (/sys/kernel/btf/vmlinux)");
	libbpf_set_print(io_bpf_on_message);
	b->skel = io_trace__open();
	if (!b->skel)
		return error_set(error, -errno, "the BPF programs cannot be opened: %s",
				 strerror(errno));
	err = io_bpf_skip_missing(b);
	if (!err)
		err = io_trace__load(b->skel);
	if (err)
		return error_set(error, err, "the kernel does not take BPF programs: %s",
				 strerror(-err));
	b->ring = ring_buffer__new(bpf_map__fd(b->skel->maps.names), io_bpf_on_name, b, NULL);
	if (!b->ring)
		return error_set(error, -errno, "the ring of names: %s", strerror(errno));
	err = io_trace__attach(b->skel);
	return err ? error_set(error, err, "the BPF programs cannot be attached: %s",
			       strerror(-err)) : 0;
}

int io_bpf_open(struct io_bpf **ret_bpf, struct ckpt_error *error)
{
	struct io_bpf *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return error_set(error, -ENOMEM, "no memory");
	b->keys = calloc(BATCH, sizeof(*b->keys));
	b->files = calloc(BATCH, sizeof(*b->files));
	err = b->keys && b->files ? io_bpf_load(b, error) :
	      error_set(error, -ENOMEM, "no memory");
	if (err) {
		io_bpf_close(b);
		return err;
	}
	*ret_bpf = b;
	return 0;
}

void io_bpf_close(struct io_bpf *b)
{
	if (!b)
		return;
	ring_buffer__free(b->ring);
	io_trace__destroy(b->skel);
	free(b->keys);
	free(b->files);
	free(b);
}

const char *io_bpf_unseen(const struct io_bpf *b)
{
	return b->unseen;
}

uint64_t io_bpf_missed(const struct io_bpf *b)
{
	uint64_t sum = b->skel->bss->missed;
	struct bpf_program *prog;

	/* a program that interrupted itself on one processor was not run */
	bpf_object__for_each_program(prog, b->skel->obj) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			sum += info.recursion_misses;
	}
	return sum;
}

int io_bpf_watch(struct io_bpf *b, int64_t job, uint32_t ns)
{
	static const struct io_counts none;
	struct io_counts_key key = { .job = (__u64)job };
	int err = 0;

	for (key.stripe = 0; !err && key.stripe < IO_STRIPES; key.stripe++)
		err = bpf_map_update_elem(bpf_map__fd(b->skel->maps.counts), &key, &none, BPF_ANY);
	if (!err)
		err = bpf_map_update_elem(bpf_map__fd(b->skel->maps.jobs), &ns, &job, BPF_ANY);
	if (err)
		io_bpf_unwatch(b, job, ns);
	return err;
}

void io_bpf_unwatch(struct io_bpf *b, int64_t job, uint32_t ns)
{
	struct io_counts_key key = { .job = (__u64)job };

	bpf_map_delete_elem(bpf_map__fd(b->skel->maps.jobs), &ns);
	for (key.stripe = 0; key.stripe < IO_STRIPES; key.stripe++)
		bpf_map_delete_elem(bpf_map__fd(b->skel->maps.counts), &key);
}

int io_bpf_counts(struct io_bpf *b, int64_t job, struct io_counts *ret_counts)
{
	const size_t words = sizeof(*ret_counts) / sizeof(__u64);
	struct io_counts_key key = { .job = (__u64)job };
	struct io_counts one, sum = {};
	size_t i;

	for (key.stripe = 0; key.stripe < IO_STRIPES; key.stripe++) {
		int err = bpf_map_lookup_elem(bpf_map__fd(b->skel->maps.counts), &key, &one);

		if (err)
			return err;
		for (i = 0; i < words; i++)
			((__u64 *)&sum)[i] += ((const __u64 *)&one)[i];
	}
	*ret_counts = sum;
	return 0;
}

/* ----------------------------------------------------------------- files */

/* A walk through the table: which files, and the function that gets them. */
struct io_walk {
	int64_t job;		/* all files of this job, which leave the table; 0: changed ones */
	uint32_t since;
	bool full;
	io_file_fn fn;
	void *arg;
};

static int io_bpf_visit(struct io_bpf *b, const struct io_walk *walk, unsigned int i)
{
	int table = bpf_map__fd(b->skel->maps.files);
	struct io_file last;

	if (walk->job) {
		if (b->keys[i].job != (__u64)walk->job)
			return 0;
		bpf_map_delete_elem(table, &b->keys[i]);
		return walk->fn(&b->keys[i], &b->files[i], walk->arg);
	}
	if ((int32_t)(b->files[i].tick - walk->since) >= 0)
		return walk->fn(&b->keys[i], &b->files[i], walk->arg);
	if (!walk->full || walk->since - b->files[i].tick < IDLE_TICKS)
		return 0;
	/* an operation may have come since the batch was read */
	if (bpf_map_lookup_and_delete_elem(table, &b->keys[i], &last))
		return 0;
	return last.tick != b->files[i].tick ? walk->fn(&b->keys[i], &last, walk->arg) : 0;
}

static int io_bpf_walk(struct io_bpf *b, const struct io_walk *walk)
{
	int table = bpf_map__fd(b->skel->maps.files), err = 0, end = 0;
	unsigned int nr = 0, i;
	__u32 at, *from = NULL;

	while (!err && !end) {
		__u32 count = BATCH;

		end = bpf_map_lookup_batch(table, from, &at, b->keys, b->files, &count, NULL);
		if (end && end != -ENOENT)
			return end;
		from = &at;
		nr += count;
		for (i = 0; i < count && !err; i++)
			err = io_bpf_visit(b, walk, i);
	}
	b->nr_files = nr;
	return err;
}

int io_bpf_files(struct io_bpf *b, io_file_fn fn, void *arg)
{
	const struct io_walk walk = {
		.since = b->skel->bss->tick, .fn = fn, .arg = arg,
		.full = b->nr_files > IO_FILES_MAX / 4 * 3,
	};

	/* changes from here on belong to the next walk; those that race with this one to both */
	b->skel->bss->tick++;
	return io_bpf_walk(b, &walk);
}

int io_bpf_files_of(struct io_bpf *b, int64_t job, io_file_fn fn, void *arg)
{
	const struct io_walk walk = { .job = job, .fn = fn, .arg = arg };

	return io_bpf_walk(b, &walk);
}

int io_bpf_names(struct io_bpf *b, io_name_fn fn, void *arg)
{
	int n;

	b->name_fn = fn;
	b->name_arg = arg;
	n = ring_buffer__consume(b->ring);
	return n < 0 ? n : 0;
}
