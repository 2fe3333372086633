// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thread-local storage of the lower half for upper threads. The lower libc does not know
 * threads of the upper half, so an upper thread borrows the storage of a lower thread
 * that is parked for good, its companion, from its first call to its end.
 *
 * Companions are made by a lower thread that does nothing else (the spawner in
 * lower_main.c): pthread_create() is never called with a borrowed FS base. The
 * first companion has no kernel thread: it is the lower main thread's storage,
 * and the thread that loaded the lower half has it.
 *
 * A companion is never unmade before the lower half is.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

/* glibc's own signal for setuid(), which glibc leaves unblocked in every thread */
#define SIGNAL_END	33
#define HIDDEN_TRIES	400	/* for a thread that may be of the lower half to show its stack */
#define HIDDEN_PAUSE_NS	1000000
#define ANSWER_SECONDS	30
#define END_TRIES	2000

__thread unsigned long lower_fs_base;
__thread unsigned int lower_nesting;

static struct {
	pthread_mutex_t lock;		/* protects companions' owners */
	pthread_once_t once;
	pthread_key_t key;
	struct lower_boot *boot;	/* NULL: nothing is loaded */
	bool forked;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static __attribute__((noreturn)) void die(const char *why)
{
	dprintf(STDERR_FILENO, "stillpoint: %s\n", why);
	abort();
}

/* ---- borrowing */

static void set_upper(const struct lower_companion *c, unsigned long upper_fs)
{
	*(unsigned long *)(c->fs + pool.boot->upper_word) = upper_fs;
}

static void lower_pool_borrow(struct lower_companion *c)
{
	c->owner = &lower_fs_base;
	set_upper(c, lower_fs_read());
	lower_fs_base = c->fs;
}

/*
 * Called when an upper thread ends. The thread may have outlived the lower half it called,
 * or called none. After a restart the thread may end before the pool knows that the lower
 * half is gone.
 */
static void lower_pool_give_back(void *unused)
{
	struct lower_companion *c;
	unsigned int i;

	pthread_mutex_lock(&pool.lock);
	for (i = 0; pool.boot && lower_fs_base && i < pool.boot->nr_companions; i++) {
		c = &pool.boot->companions[i];
		if (c->owner != &lower_fs_base)
			continue;
		/*
		 * leave the companion's upper_word as it is: after a restart the lower half
		 * may be gone at any moment
		 */
		c->owner = NULL;
		break;
	}
	lower_fs_base = 0;
	pthread_mutex_unlock(&pool.lock);
}

static void lower_pool_make_key(void)
{
	if (pthread_key_create(&pool.key, lower_pool_give_back))
		die("no key for thread-specific data is left");
}

static struct lower_companion *find_idle(struct lower_boot *boot)
{
	unsigned int i;

	for (i = 0; i < boot->nr_companions; i++)
		if (!boot->companions[i].owner)
			return &boot->companions[i];
	return NULL;
}

/* the spawner gets one request at a time: the caller holds the lock */
static void ask_for_one(struct lower_boot *boot)
{
	struct timespec patience = { .tv_sec = ANSWER_SECONDS };
	uint32_t made = boot->made;
	long ret;

	atomic_fetch_add(&boot->asked, 1);
	lower_raw(SYS_futex, &boot->asked, FUTEX_WAKE_PRIVATE, 1);
	while (boot->made == made) {
		ret = lower_raw4(SYS_futex, &boot->made, FUTEX_WAIT_PRIVATE, made, &patience);
		if (ret == -ETIMEDOUT)
			die("the lower half does not answer a request for a thread");
	}
}

unsigned long lower_attach(void)
{
	struct lower_companion *c = NULL;

	if (pool.forked)
		die("MPI was called in a child that fork() made of an MPI process");
	pthread_once(&pool.once, lower_pool_make_key);
	pthread_mutex_lock(&pool.lock);
	if (!pool.boot)
		die("MPI was called while no MPI library is loaded");
	c = find_idle(pool.boot);
	if (!c) {
		ask_for_one(pool.boot);
		c = find_idle(pool.boot);
	}
	if (!c)
		die("no thread could be made for a thread that calls MPI");
	lower_pool_borrow(c);
	pthread_mutex_unlock(&pool.lock);
	if (pthread_setspecific(pool.key, &pool))
		die("no memory for thread-specific data");
	return lower_fs_base;
}

int lower_pool_begin(struct lower_boot *boot)
{
	pthread_once(&pool.once, lower_pool_make_key);
	if (pthread_setspecific(pool.key, &pool))
		return -ENOMEM;
	pthread_mutex_lock(&pool.lock);
	pool.boot = boot;
	lower_pool_borrow(&boot->companions[0]);
	pthread_mutex_unlock(&pool.lock);
	return 0;
}

void lower_pool_end(struct lower_boot *boot)
{
	unsigned int i;

	pthread_mutex_lock(&pool.lock);
	for (i = 0; i < boot->nr_companions; i++)
		if (boot->companions[i].owner)
			*boot->companions[i].owner = 0;
	memset(boot->companions, 0, boot->nr_companions * sizeof(boot->companions[0]));
	boot->nr_companions = 0;
	pool.boot = NULL;
	pthread_mutex_unlock(&pool.lock);
}

void lower_pool_forked(void)
{
	pool.forked = true;
	lower_fs_base = 0;
}

/* ---- ending the lower half's threads */

/* previous handler of SIGNAL_END; lower_pool_kill() does not run twice at a time */
static void (*end_before)(int sig, siginfo_t *info, void *context);

/* signals of send_end() carry this variable's address; all others are from setuid() */
static const char end_mark;

LOWER_TEXT static void end_thread(int sig, siginfo_t *info, void *context)
{
	if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != &end_mark) {
		if ((unsigned long)end_before > 1)
			end_before(sig, info, context);
		return;
	}
	if (lower_in_range(lower_fs_read()))
		lower_raw(SYS_exit, 0, 0, 0);
}

static bool send_end(int pid, int tid)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	info.si_pid = pid;
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)&end_mark;
	return lower_raw4(SYS_rt_tgsigqueueinfo, pid, tid, SIGNAL_END, &info) == 0;
}

__asm__(".pushsection lower_text,\"ax\",@progbits\n"
	".globl lower_pool_restore\n"
	".hidden lower_pool_restore\n"
	".type lower_pool_restore,@function\n"
	"lower_pool_restore:\n"
	"	mov $15, %rax\n"	/* rt_sigreturn */
	"	syscall\n"
	".size lower_pool_restore,.-lower_pool_restore\n"
	".popsection\n");

struct kernel_action {
	void (*handler)(int sig, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* stack pointer of a thread that waits in the kernel; 0 if the thread does not wait */
static unsigned long stack_of(int tid)
{
	char path[64], line[256] = "", *sp = NULL, *p;
	unsigned int fields = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	for (p = line; (p = strstr(p, " 0x")); p++)
		fields++;
	/* the stack pointer is the last field but one */
	for (p = line; fields > 1 && (p = strstr(p, " 0x")); p++)
		if (fields-- == 2)
			sp = p + 1;
	return sp ? strtoul(sp, NULL, 16) : 0;
}

/* the signals that a thread can block and the C library blocks in threads of its own */
#define ALL_SIGNALS	(-1UL & ~(1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1) | 3UL << 31))

/*
 * true if the thread may be one of the lower C library's own, which nobody can tell now: it is on a
 * processor, or would like to be, so its stack is not told, and it blocks all signals. The threads
 * of aio_write() are such, and Open MPI writes files with that. They wait again in a moment.
 */
static bool is_hidden(int tid)
{
	char path[64], line[256];
	unsigned long blocked = 0;
	FILE *f;

	if (tid == gettid() || stack_of(tid))
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SigBlk: %lx", &blocked) == 1)
			break;
	if (f)
		fclose(f);
	return (blocked & ALL_SIGNALS) == ALL_SIGNALS;
}

/* true if the thread has ended: its id may belong to a new thread of the application by now */
static bool has_ended(int pid, int tid)
{
	unsigned long sp;

	if (lower_raw(SYS_tgkill, pid, tid, 0) < 0)
		return true;
	sp = stack_of(tid);
	return sp && !lower_in_range(sp);
}

static unsigned int end_recorded(struct lower_boot *boot, int pid)
{
	unsigned int i, alive = 0;
	int tid;

	for (i = 0; i < LOWER_THREADS_MAX; i++) {
		tid = boot->tids[i];
		if (!tid)
			continue;
		if (tid != LOWER_STARTING && has_ended(pid, abs(tid))) {
			boot->tids[i] = 0;
			continue;
		}
		alive++;
		if (tid > 0)
			send_end(pid, tid);
	}
	return alive;
}

/* Compare and exchange: another thread may have taken the slot meanwhile. */
void lower_pool_sweep(struct lower_boot *boot)
{
	int pid = getpid();

	for (unsigned int i = 0; i < LOWER_THREADS_MAX; i++) {
		int tid = boot->tids[i];

		if (tid < LOWER_STARTING && has_ended(pid, -tid))
			atomic_compare_exchange_strong(&boot->tids[i], &tid, 0);
	}
}

/* id of the next thread in @dir; 0 after the last one */
static int next_task(DIR *dir)
{
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			return atoi(e->d_name);
	return 0;
}

/*
 * End threads made without pthread_create(), which are known by the place of their stack.
 * @hidden: those that may be some count, too: one that was sent the signal has its stack till it
 * has ended
 */
static unsigned int end_unrecorded(int pid, bool hidden)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned int alive = 0;
	int tid;

	while ((tid = next_task(dir))) {
		if (lower_in_range(stack_of(tid)))
			alive += send_end(pid, tid);
		else if (hidden && is_hidden(tid))
			alive++;
	}
	if (dir)
		closedir(dir);
	return alive;
}

static bool is_among(int tid, const int *tids, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

size_t lower_pool_unrecorded(int *tids, size_t nr, size_t max)
{
	const struct timespec pause = { .tv_nsec = HIDDEN_PAUSE_NS };
	unsigned int tries = HIDDEN_TRIES;
	size_t recorded = nr < max ? nr : max;
	DIR *dir = opendir("/proc/self/task");
	int tid;

	while ((tid = next_task(dir))) {
		if (is_among(tid, tids, recorded))
			continue;
		for (; tries && is_hidden(tid); tries--)
			nanosleep(&pause, NULL);
		if (!lower_in_range(stack_of(tid)))
			continue;
		if (nr < max)
			tids[nr] = tid;
		nr++;
	}
	if (dir)
		closedir(dir);
	return nr;
}

int lower_pool_kill(struct lower_boot *boot)
{
	struct kernel_action action = {
		.handler = end_thread,
		.flags = SA_SIGINFO | SA_RESTART | 0x04000000 /* SA_RESTORER */,
		.restorer = lower_pool_restore,
		.mask = -1UL,
	}, before;
	struct timespec pause = { .tv_nsec = 100000 };
	unsigned int tries = 0, alive;
	int pid = getpid();

	lower_raw4(SYS_rt_sigaction, SIGNAL_END, 0, &before, 8);
	end_before = before.handler;
	lower_raw4(SYS_rt_sigaction, SIGNAL_END, &action, 0, 8);
	do {
		alive = end_recorded(boot, pid);
		if (!alive)
			alive = end_unrecorded(pid, tries < HIDDEN_TRIES);
		if (alive)
			nanosleep(&pause, NULL);
		if (tries == 50)
			pause.tv_nsec = 5000000;
	} while (alive && ++tries < END_TRIES);
	lower_raw4(SYS_rt_sigaction, SIGNAL_END, &before, 0, 8);
	return alive ? -EBUSY : 0;
}
