// SPDX-License-Identifier: GPL-2.0-only
/*
 * See restore_rig.h.  A failure of the rig itself, not of what is tested, ends
 * the program with "Bail out!".
 */
#include "tests/kselftest/restore_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- TAP */

static int tap_count, tap_failed;

static void bail(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	fflush(stdout);
	exit(99);
}

void tap_ok(bool good, const char *what, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	va_start(ap, what);
	vprintf(what, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	tap_failed += !good;
}

void tap_skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
	fflush(stdout);
}

void tap_note(const char *format, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

bool tap_is(long got, long want, const char *what)
{
	tap_ok(got == want, "%s", what);
	if (got != want)
		tap_note("got %ld (%#lx), wanted %ld (%#lx)", got, got, want, want);
	return got == want;
}

int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

/* ----------------------------------------------------------- commands */

int rig_command(struct rig *rig, unsigned long nr, void *arg)
{
	*(__u32 *)arg = _IOC_SIZE(nr);
	return ioctl(rig->ctx, nr, arg) ? -errno : 0;
}

void rig_open(struct rig *rig)
{
	struct ckpt_restore_begin begin = {};

	memset(rig, 0, sizeof(*rig));
	rig->ctx = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	if (rig->ctx < 0)
		bail(CKPT_DEVICE);
	if (rig_command(rig, CKPT_IOC_RESTORE_BEGIN, &begin))
		bail("RESTORE_BEGIN");
	rig->shared_fd = memfd_create("shared", MFD_CLOEXEC);
	if (rig->shared_fd < 0 || ftruncate(rig->shared_fd, 0x10000))
		bail("memfd");
	rig->shared = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_SHARED,
			   rig->shared_fd, 0);
	rig->helpers = mmap(NULL, MAX_HELPERS * sizeof(struct helper),
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rig->shared == MAP_FAILED || rig->helpers == MAP_FAILED)
		bail("mmap");
}

int rig_add(struct rig *rig, int parent, int threads, void (*setup)(struct helper *))
{
	struct helper *helper = &rig->helpers[rig->nr_helpers];

	helper->parent = parent;
	helper->nr_threads = threads;
	helper->setup = setup;
	rig->nr_threads += threads;
	return rig->nr_helpers++;
}

struct entrant {
	struct rig *rig;
	struct helper *self;
	int index;
	int ctx;		/* a descriptor of its own, which the kernel closes */
};

static void enter(int ctx)
{
	struct ckpt_enter arg = { .size = sizeof(arg), .ctx_fd = ctx };

	ioctl(ctx, CKPT_IOC_ENTER, &arg);
	_exit(200);	/* never reached, if all is well */
}

static void *thread_main(void *data)
{
	struct entrant *entrant = data;

	entrant->self->tids[entrant->index] = syscall(SYS_gettid);
	enter(entrant->ctx);
	return NULL;
}

static void spawn(struct rig *rig, int index);

static void helper_main(struct rig *rig, int index)
{
	static struct entrant entrants[MAX_THREADS];
	struct helper *self = &rig->helpers[index];
	pthread_attr_t attr;
	pthread_t thread;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	self->tids[0] = getpid();
	for (i = 0; i < rig->nr_helpers; i++)
		if (rig->helpers[i].parent == index)
			spawn(rig, i);
	if (self->setup)
		self->setup(self);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 1; i < self->nr_threads; i++) {
		entrants[i] = (struct entrant) { rig, self, i, dup(rig->ctx) };
		if (pthread_create(&thread, &attr, thread_main, &entrants[i]))
			_exit(201);
	}
	enter(rig->ctx);
}

static void spawn(struct rig *rig, int index)
{
	pid_t pid = fork();

	if (pid < 0)
		bail("fork");
	if (pid == 0)
		helper_main(rig, index);
	rig->helpers[index].pid = pid;
}

void rig_start(struct rig *rig)
{
	struct ckpt_restore_wait wait = {
		.nr_threads = rig->nr_threads, .timeout_ms = 30000 * (slow() < 20 ? slow() : 20),
	};
	int i, err;

	for (i = 0; i < rig->nr_helpers; i++)
		if (rig->helpers[i].parent < 0)
			spawn(rig, i);
	err = rig_command(rig, CKPT_IOC_RESTORE_WAIT, &wait);
	if (err) {
		tap_note("parked %u of %d", wait.nr_parked, rig->nr_threads);
		errno = -err;
		bail("RESTORE_WAIT");
	}
	for (i = 0; i < rig->nr_helpers; i++)
		if (rig->helpers[i].failed) {
			errno = rig->helpers[i].failed;
			bail("a helper's setup");
		}
}

void rig_close(struct rig *rig)
{
	int i;

	if (rig->ctx >= 0)
		close(rig->ctx);
	for (i = 0; i < rig->nr_helpers; i++)
		if (rig->helpers[i].parent < 0)
			waitpid(rig->helpers[i].pid, NULL, 0);
	munmap(rig->shared, 0x10000);
	munmap(rig->helpers, MAX_HELPERS * sizeof(struct helper));
	close(rig->shared_fd);
}

int rig_commit(struct rig *rig)
{
	struct ckpt_restore_commit commit = { .nr_threads = rig->nr_threads };

	return rig_command(rig, CKPT_IOC_RESTORE_COMMIT, &commit);
}

int rig_state(struct rig *rig, pid_t pid, const struct recs *recs, __u64 *ret_bad)
{
	struct ckpt_restore_state state = {
		.pid = pid, .len = recs->len, .buf = (unsigned long)recs->buf,
	};
	int err = rig_command(rig, CKPT_IOC_RESTORE_STATE, &state);

	if (ret_bad)
		*ret_bad = state.bad_offset;
	else if (err)
		tap_note("RESTORE_STATE: %s at %llu (type %u)", strerror(-err),
			 state.bad_offset, *(__u16 *)(recs->buf + state.bad_offset));
	return err;
}

int rig_write(struct rig *rig, pid_t pid, unsigned long addr, const void *buf, size_t len)
{
	struct ckpt_iovec iov = { .addr = addr, .len = len };
	struct ckpt_pages pages = {
		.mm_id = pid, .nr_iov = 1, .iov = (unsigned long)&iov,
		.buf = (unsigned long)buf,
	};

	return rig_command(rig, CKPT_IOC_PAGES_WRITE, &pages);
}

int rig_share(struct rig *rig, pid_t src, pid_t dst, unsigned long start, unsigned long end)
{
	struct ckpt_pages_share share = {
		.src_pid = src, .dst_pid = dst, .start = start, .end = end,
	};

	return rig_command(rig, CKPT_IOC_PAGES_SHARE, &share);
}

int rig_drop(struct rig *rig, pid_t pid, unsigned long start, unsigned long end)
{
	struct ckpt_pages_drop drop = { .pid = pid, .start = start, .end = end };

	return rig_command(rig, CKPT_IOC_PAGES_DROP, &drop);
}

/* ------------------------------------------------------------ records */

void *recs_add(struct recs *recs, int type, size_t size)
{
	struct ckpt_rec_hdr *hdr;

	size = (size + 7) & ~7UL;
	if (recs->len + size > recs->room) {
		recs->room = 2 * (recs->len + size) + 4096;
		recs->buf = realloc(recs->buf, recs->room);
		if (!recs->buf)
			bail("realloc");
	}
	hdr = (void *)(recs->buf + recs->len);
	memset(hdr, 0, size);
	*hdr = (struct ckpt_rec_hdr) { .type = type, .version = 1, .len = size };
	recs->len += size;
	return hdr;
}

void recs_done(struct recs *recs)
{
	free(recs->buf);
	memset(recs, 0, sizeof(*recs));
}

struct ckpt_rec_mm *recs_mm(struct recs *recs, int exe)
{
	struct ckpt_rec_mm *mm = recs_add(recs, CKPT_REC_MM, sizeof(*mm));

	mm->exe = exe;
	mm->dumpable = 1;
	mm->start_code = PAYLOAD_BASE;
	mm->end_code = PAYLOAD_BASE + 0x1000;
	mm->start_data = SHARED_BASE;
	mm->end_data = SHARED_BASE + 0x1000;
	mm->start_brk = HEAP_BASE;
	mm->brk = HEAP_BASE + HEAP_SIZE - 0x123;
	mm->start_stack = STACK_TOP - 0x100;
	mm->arg_start = STACK_TOP - 0x80;
	mm->arg_end = STACK_TOP - 0x70;
	mm->env_start = STACK_TOP - 0x70;
	mm->env_end = STACK_TOP - 0x60;
	mm->nr_auxv = 4;
	mm->auxv[0] = 6;	/* AT_PAGESZ */
	mm->auxv[1] = 4096;
	return mm;
}

struct ckpt_rec_vma *recs_vma(struct recs *recs, int kind, unsigned long start,
			      unsigned long len, __u64 flags, int fd)
{
	struct ckpt_rec_vma *vma = recs_add(recs, CKPT_REC_VMA, sizeof(*vma));

	vma->kind = kind;
	vma->start = start;
	vma->end = start + len;
	vma->flags = flags;
	vma->file = fd;
	return vma;
}

void recs_vma_end(struct recs *recs)
{
	struct ckpt_rec_mm *mm = (void *)recs->buf;
	struct ckpt_rec_hdr *hdr;
	size_t pos;

	mm->nr_vmas = 0;
	for (pos = mm->hdr.len; pos < recs->len; pos += hdr->len) {
		hdr = (void *)(recs->buf + pos);
		mm->nr_vmas += hdr->type == CKPT_REC_VMA;
	}
}

void recs_basic(struct rig *rig, struct recs *recs,
		void (*more)(struct recs *recs, void *arg), void *arg)
{
	size_t code = (__stop_payload - __start_payload + 4095) & ~4095UL;
	struct ckpt_info info = {};

	if (rig_command(rig, CKPT_IOC_INFO, &info))
		bail("INFO");
	recs_mm(recs, -1);
	recs_vma(recs, CKPT_VMA_ANON, PAYLOAD_BASE, code, CKPT_VM_READ | CKPT_VM_EXEC, -1);
	recs_vma(recs, CKPT_VMA_SHM, SHARED_BASE, 0x10000,
		 CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_SHARED, rig->shared_fd);
	recs_vma(recs, CKPT_VMA_ANON, HEAP_BASE, HEAP_SIZE,
		 CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_ACCOUNT, -1);
	if (more)
		more(recs, arg);
	recs_vma(recs, CKPT_VMA_ANON, STACK_TOP - STACK_SIZE, STACK_SIZE,
		 CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_ACCOUNT | CKPT_VM_GROWSDOWN, -1);
	if (info.vdso_size) {
		recs_vma(recs, CKPT_VMA_VVAR, VVAR_BASE, info.vvar_size, CKPT_VM_READ, -1);
		recs_vma(recs, CKPT_VMA_VDSO, VVAR_BASE + info.vvar_size, info.vdso_size,
			 CKPT_VM_READ | CKPT_VM_EXEC, -1);
	}
	recs_vma_end(recs);
}

void *payload_addr(void *fn)
{
	return (void *)(PAYLOAD_BASE + ((char *)fn - __start_payload));
}

struct ckpt_rec_thread *recs_thread(struct recs *recs, void *fn, long a, long b, long c)
{
	struct ckpt_rec_thread *thread = recs_add(recs, CKPT_REC_THREAD, sizeof(*thread));
	__u64 *regs = thread->regs;

	strcpy(thread->comm, "restored");
	thread->sas_flags = SS_DISABLE;
	regs[14] = a;				/* di */
	regs[13] = b;				/* si */
	regs[12] = c;				/* dx */
	regs[15] = -1;				/* orig_ax */
	regs[16] = (unsigned long)payload_addr(fn);
	regs[17] = 0x33;
	regs[18] = 0x202;
	regs[19] = STACK_TOP - 0x1008;		/* as after a call */
	regs[20] = 0x2b;
	return thread;
}

struct ckpt_rec_proc *recs_proc(struct recs *recs)
{
	struct ckpt_rec_proc *proc = recs_add(recs, CKPT_REC_PROC, sizeof(*proc));

	proc->state = CKPT_PROC_RUNNING;
	proc->exit_signal = SIGCHLD;
	proc->tty = -1;
	return proc;
}

void rig_basic_mm(struct rig *rig, pid_t pid, void (*more)(struct recs *, void *), void *arg)
{
	size_t code = (__stop_payload - __start_payload + 4095) & ~4095UL;
	static char pages[65536] __attribute__((aligned(4096)));
	struct recs recs = {};
	int err;

	recs_basic(rig, &recs, more, arg);
	err = rig_state(rig, pid, &recs, NULL);
	if (!err) {
		memcpy(pages, __start_payload, __stop_payload - __start_payload);
		err = rig_write(rig, pid, PAYLOAD_BASE, pages, code);
	}
	if (err)
		tap_ok(false, "the map of %d: %s", pid, strerror(-err));
	recs_done(&recs);
}

void rig_thread(struct rig *rig, pid_t tid, void *fn, long b, long c)
{
	struct recs recs = {};
	int err;

	recs_thread(&recs, fn, SHARED_BASE, b, c);
	err = rig_state(rig, tid, &recs, NULL);
	if (err)
		tap_ok(false, "the thread %d: %s", tid, strerror(-err));
	recs_done(&recs);
}

/* --------------------------------------------------------- looking on */

long long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

unsigned int slow(void)
{
	const char *s = getenv("VM_SLOW");

	return s && atoi(s) > 0 ? atoi(s) : 1;
}

bool wait_until(volatile int *flag, int value)
{
	long long end = now_us() + 20000000LL * slow();

	while (*flag < value) {
		if (now_us() > end)
			return false;
		usleep(200);
	}
	return true;
}

int wait_exit(pid_t pid)
{
	long long end = now_us() + 20000000LL * slow();
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now_us() > end) {
			tap_note("%d does not end", pid);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		usleep(500);
	}
	return status;
}

bool proc_line(pid_t pid, const char *file, const char *start, char *ret, size_t size)
{
	char path[64], line[4096];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, start, strlen(start));
		if (found && ret)
			snprintf(ret, size, "%s", line + strlen(start));
	}
	if (f)
		fclose(f);
	return found;
}

char proc_state(pid_t pid)
{
	char line[64] = "";

	proc_line(pid, "status", "State:\t", line, sizeof(line));
	return line[0];
}

unsigned long proc_pfn(pid_t pid, unsigned long addr)
{
	unsigned long entry = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &entry, 8, addr / 4096 * 8) != 8)
		entry = 0;
	if (fd >= 0)
		close(fd);
	return entry & (1UL << 63) ? entry & ((1UL << 55) - 1) : 0;
}
