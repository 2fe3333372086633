// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count the I/O of jobs in the kernel: calls, bytes, sizes, how long they took, and the files.
 *
 * Runs at the entry and the exit of a few functions of the kernel (fentry, fexit) while at least
 * one job is watched. A process is a job's if a PID namespace that it is in stands in the map
 * "jobs". Only counters leave the kernel, once a second, and the name of each file once.
 * Nothing here waits, and no operation fails or is delayed when a map or the ring is full: that
 * is counted.
 */
#include "kernel_types.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "io_trace.h"

#define S_IFMT		0170000
#define S_IFREG		0100000
#define S_IFBLK		0060000
#define FMODE_CREATED	0x100000
#define PIDTYPE_TGID	1
#define NESTED_MAX	4	/* PID namespaces of a process that are looked at */

char LICENSE[] SEC("license") = "GPL";

__u32 tick;			/* of the collector; it writes, the programs read */
__u64 missed;			/* operations that no memory was left for */

/* PID namespace (its inode number) to job */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_JOBS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_JOBS_MAX * IO_STRIPES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct io_counts_key);
	__type(value, struct io_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_FILES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct io_file_key);
	__type(value, struct io_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, IO_NAMES_SIZE);
} names SEC(".maps");

/* The calls of a thread that have begun. */
struct io_begun {
	__u64 job;
	__u64 at[IO_OPS];
	__u32 pid;
	__u32 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct io_begun);
} begun SEC(".maps");

/* ---------------------------------------------------------------- whose */

/*
 * The number of the job that @task is of, and the process' number in the job; NULL: of none. The
 * first process of a job's namespace is our init, whose I/O is not the job's. The kernel's first
 * namespace is no job's, so that processes without another one pay for two reads alone.
 */
static __always_inline __u64 *io_job_of(struct task_struct *task, __u32 *pid)
{
	struct pid *p = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
	__u32 level = BPF_CORE_READ(p, level);
	const void *numbers = (const void *)p + bpf_core_field_offset(struct pid, numbers);
	struct upid one;
	int i;

	for (i = 0; i < NESTED_MAX; i++) {
		const __u32 at = level - i;
		__u32 inum;
		__u64 *job;

		if (!at)
			return NULL;
		if (bpf_probe_read_kernel(&one, sizeof(one), numbers + at * sizeof(one)))
			return NULL;
		inum = BPF_CORE_READ(one.ns, ns.inum);
		job = bpf_map_lookup_elem(&jobs, &inum);
		if (!job)
			continue;
		*pid = one.nr;
		return one.nr == 1 ? NULL : job;
	}
	return NULL;
}

static __always_inline int io_begin(int op)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_begun *b;
	__u32 pid;
	__u64 *job = io_job_of(task, &pid);

	if (!job)
		return 0;
	b = bpf_task_storage_get(&begun, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!b) {
		__sync_fetch_and_add(&missed, 1);
		return 0;
	}
	b->job = *job;
	b->pid = pid;
	b->at[op] = bpf_ktime_get_ns();
	return 0;
}

/* The note of io_begin() of @op, and how long it took; NULL: no job's. */
static __always_inline struct io_begun *io_end(int op, __u64 *ns)
{
	struct io_begun *b = bpf_task_storage_get(&begun, bpf_get_current_task_btf(), 0, 0);

	if (!b || !b->at[op])
		return NULL;
	*ns = bpf_ktime_get_ns() - b->at[op];
	b->at[op] = 0;
	return b;
}

/* ------------------------------------------------------------- counting */

/*
 * The bucket of a histogram. Not static: the verifier looks at such a function once, and not with
 * each of the ways through it that every caller has, which took it seconds.
 */
__noinline __u32 io_bucket(__u64 value)
{
	__u32 n = 0, bits;

#pragma unroll
	for (bits = 32; bits; bits /= 2) {
		if (value >> bits) {
			value >>= bits;
			n += bits;
		}
	}
	n += value ? 1 : 0;
	return n < IO_BUCKETS ? n : IO_BUCKETS - 1;
}

static __always_inline struct io_counts *io_counts_of(__u64 job)
{
	const struct io_counts_key key = {
		.job = job, .stripe = bpf_get_smp_processor_id() % IO_STRIPES,
	};

	return bpf_map_lookup_elem(&counts, &key);
}

static __always_inline void io_add(__u64 *counter, __u64 n)
{
	__sync_fetch_and_add(counter, n);
}

static __always_inline void io_add_hist(struct io_counts *c, int hist, __u64 value)
{
	__u32 at = io_bucket(value);

	if (at < IO_BUCKETS)
		io_add(&c->hist[hist][at], 1);
}

static __always_inline void io_add_op(struct io_counts *c, int op, __s64 ret, __u64 bytes, __u64 ns)
{
	io_add(&c->op[op].count, 1);
	if (ret < 0)
		io_add(&c->op[op].errors, 1);
	if (bytes)
		io_add(&c->op[op].bytes, bytes);
	io_add(&c->op[op].ns, ns);
}

/* The entry of the file, made if it is new; NULL: no room, which is counted. */
static __always_inline struct io_file *io_file_of(__u64 job, struct inode *inode,
						  struct io_counts *c, struct io_file_key *key)
{
	struct io_file fresh = {};
	struct io_file *f;

	*key = (struct io_file_key) {
		.job = job, .ino = BPF_CORE_READ(inode, i_ino),
		.dev = BPF_CORE_READ(inode, i_sb, s_dev),
	};
	f = bpf_map_lookup_elem(&files, key);
	if (f)
		return f;
	fresh.born = bpf_ktime_get_ns();
	bpf_map_update_elem(&files, key, &fresh, BPF_NOEXIST);
	f = bpf_map_lookup_elem(&files, key);
	if (!f)
		io_add(&c->files_lost, 1);
	return f;
}

static __always_inline void io_add_file(struct io_file *f, int w, __u32 pid, __u64 bytes, __u64 end)
{
	struct io_side *s = &f->side[w];
	__u64 many = w ? IO_FILE_WRITERS : IO_FILE_READERS;

	if (s->count && s->end == end - bytes)
		io_add(&s->sequential, 1);
	s->end = end;
	io_add(&s->count, 1);
	io_add(&s->bytes, bytes);
	if (!s->first)
		s->first = pid;
	else if (s->first != pid && !(f->flags & many))
		__sync_fetch_and_or(&f->flags, many);
	if (!(s->processes & (1ull << (pid % 64))))
		__sync_fetch_and_or(&s->processes, 1ull << (pid % 64));
	f->tick = tick;
}

/* A read (@w 0) or a write (1) has ended. */
static __always_inline int io_transfer(int w, struct file *file, void *pos, __s64 ret)
{
	__u64 ns, bytes = ret > 0 ? ret : 0, end = 0;
	struct io_begun *b = io_end(w ? IO_WRITE : IO_READ, &ns);
	struct io_file_key key;
	struct inode *inode;
	struct io_counts *c;
	struct io_file *f;
	__u32 type;

	/* before all else: most calls are no job's */
	if (!b)
		return 0;
	c = io_counts_of(b->job);
	if (!c)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type != S_IFREG && type != S_IFBLK) {
		io_add_op(c, w ? IO_WRITE_OTHER : IO_READ_OTHER, ret, bytes, ns);
		return 0;
	}
	io_add_op(c, w ? IO_WRITE : IO_READ, ret, bytes, ns);
	io_add_hist(c, w ? IO_WRITE_SIZE : IO_READ_SIZE, bytes);
	io_add_hist(c, w ? IO_WRITE_NS : IO_READ_NS, ns);
	f = io_file_of(b->job, inode, c, &key);
	if (!f)
		return 0;
	if (pos)
		bpf_probe_read_kernel(&end, sizeof(end), pos);
	io_add_file(f, w, b->pid, bytes, end);
	return 0;
}

static __always_inline int io_meta(int op, __s64 ret)
{
	__u64 ns;
	struct io_begun *b = io_end(op, &ns);
	struct io_counts *c = b ? io_counts_of(b->job) : NULL;

	if (!c)
		return 0;
	io_add_op(c, op, ret, 0, ns);
	io_add_hist(c, IO_META_NS, ns);
	return 0;
}

/* --------------------------------------------------------------- names */

static __always_inline void io_tell_name(struct file *file, const struct io_file_key *key,
					 struct io_file *f, struct io_counts *c)
{
	struct io_name *name = bpf_ringbuf_reserve(&names, sizeof(*name), 0);
	const unsigned char *last;

	if (!name) {
		io_add(&c->names_lost, 1);
		return;
	}
	name->key = *key;
	name->born = f->born;
	name->partial = 0;
	name->zero = 0;
	if (bpf_d_path(&file->f_path, name->path, sizeof(name->path)) < 0) {
		last = BPF_CORE_READ(file, f_path.dentry, d_name.name);
		name->partial = 1;
		bpf_probe_read_kernel_str(name->path, sizeof(name->path), last);
	}
	/* nobody is woken: the collector looks once a second */
	bpf_ringbuf_submit(name, BPF_RB_NO_WAKEUP);
	__sync_fetch_and_or(&f->flags, IO_FILE_NAMED);
}

SEC("fentry/security_file_open")
int BPF_PROG(io_opened, struct file *file)
{
	struct io_file_key key;
	struct inode *inode;
	struct io_counts *c;
	struct io_file *f;
	__u32 pid;
	__u64 *job;

	job = io_job_of(bpf_get_current_task_btf(), &pid);
	if (!job)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	c = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFREG ? io_counts_of(*job) : NULL;
	if (!c)
		return 0;
	if (BPF_CORE_READ(file, f_mode) & FMODE_CREATED)
		io_add(&c->op[IO_CREATE].count, 1);
	f = io_file_of(*job, inode, c, &key);
	if (!f)
		return 0;
	io_add(&f->opens, 1);
	f->tick = tick;
	if (!(f->flags & IO_FILE_NAMED))
		io_tell_name(file, &key, f, c);
	return 0;
}

/* ------------------------------------------------------------ functions */

#define IO_BEGIN(name, function, op)						\
SEC("fentry/" #function)							\
int BPF_PROG(name)								\
{										\
	return io_begin(op);							\
}

#define IO_META(name, function, op, ...)					\
IO_BEGIN(name##_begin, function, op)						\
SEC("fexit/" #function)								\
int BPF_PROG(name, __VA_ARGS__)							\
{										\
	return io_meta(op, ret);						\
}

#define IO_TRANSFER(name, function, w, ...)					\
IO_BEGIN(name##_begin, function, w ? IO_WRITE : IO_READ)			\
SEC("fexit/" #function)								\
int BPF_PROG(name, struct file *file, __VA_ARGS__)				\
{										\
	return io_transfer(w, file, pos, ret);					\
}

IO_TRANSFER(io_read, vfs_read, 0, void *buf, __u64 count, void *pos, __s64 ret)
IO_TRANSFER(io_write, vfs_write, 1, const void *buf, __u64 count, void *pos, __s64 ret)
IO_TRANSFER(io_readv, vfs_readv, 0, const void *vec, __u64 n, void *pos, int flags, __s64 ret)
IO_TRANSFER(io_writev, vfs_writev, 1, const void *vec, __u64 n, void *pos, int flags, __s64 ret)
IO_META(io_open, do_sys_openat2, IO_OPEN, int dir, const void *name, void *how, __s64 ret)
IO_META(io_close, __x64_sys_close, IO_CLOSE, const void *regs, __s64 ret)
IO_META(io_fsync, __x64_sys_fsync, IO_FSYNC, const void *regs, __s64 ret)
IO_META(io_fdatasync, __x64_sys_fdatasync, IO_FSYNC, const void *regs, __s64 ret)
IO_META(io_rename, do_renameat2, IO_RENAME, int from_dir, void *from, int to_dir, void *to,
	__u32 flags, int ret)
IO_META(io_unlink, do_unlinkat, IO_UNLINK, int dir, void *name, int ret)
