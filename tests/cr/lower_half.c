// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process with a part that a checkpoint leaves out: a range of memory with files,
 * segments that strangers share, a thread whose stack and thread-local storage lie
 * there, one that runs all the time, and descriptors that could not be kept.  It has
 * either all of it, or, restored, nothing, and can then make it anew.
 *
 * What is to be left out is told to the runner in the file "exclude"; $CR_OUTSIDE
 * is a file that the runner maps, and descriptor 0 a socket whose other end it has.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define LOW	0x200000000000UL
#define HIGH	0x210000000000UL
#define GAP	(1UL << 30)
#define LEN	(64UL << 10)
#define DATA	(8UL << 20)
#define FDS	100	/* and the next ones are left out */
#define NR_FDS	4

enum { TEXT, ANON, SHARED_ANON, OUTSIDE, SEGMENT, THREADS, NR_MAPS };

/* At the head of a thread's memory; its stack grows down from the end. */
struct lodger {
	volatile uint32_t parked;	/* futex: stays 0 */
	volatile uint32_t count;
	volatile uint32_t runs;		/* it does not park */
	uint32_t tid;
	void *tls[128];			/* the pointer is in the middle */
};

static char *data;
static pthread_t own;
static volatile uint32_t stop;

static char *place(int what)
{
	return (char *)(LOW + (unsigned long)what * GAP);
}

static struct lodger *lodger(int i)
{
	return (struct lodger *)(place(THREADS) + (unsigned long)i * LEN);
}

/* No libc here: it would take this thread for one of its own. */
static long raw_futex(volatile uint32_t *word, long op, long value)
{
	register long r10 __asm__("r10") = 0;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "0"((long)SYS_futex), "D"(word), "S"(op), "d"(value), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static int live(void *arg)
{
	struct lodger *l = arg;

	for (;;) {
		l->count++;
		if (!l->runs)
			raw_futex(&l->parked, FUTEX_WAIT, 0);
	}
	return 0;
}

static void start(int i, bool runs)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_SETTLS;
	struct lodger *l = lodger(i);
	void **tls = &l->tls[64];

	tls[0] = tls;
	tls[2] = tls;
	l->runs = runs;
	l->tid = (uint32_t)cr_sys(clone(live, (char *)l + LEN, flags, l, NULL, tls));
	while (!l->count)
		sched_yield();
}

static void *map_file(int what, int fd, int prot, int flags)
{
	void *p = mmap(place(what), LEN, prot, flags | MAP_FIXED_NOREPLACE, fd, 0);

	cr_check(p == place(what), "%p: %s", p, strerror(errno));
	return p;
}

static void open_lower(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	const char *outside = getenv("CR_OUTSIDE");
	int fd = (int)cr_sys(open("/proc/self/exe", O_RDONLY)), segment;

	map_file(TEXT, fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	close(fd);
	cr_fill(map_file(ANON, -1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS), LEN, 1);
	cr_fill(map_file(SHARED_ANON, -1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS),
		LEN, 2);
	if (!outside)
		cr_skip("no CR_OUTSIDE: run by tests/cr/run");
	fd = (int)cr_sys(open(outside, O_RDWR));
	cr_sys(unlink(outside));
	map_file(OUTSIDE, fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	cr_sys(dup2(fd, FDS));
	close(fd);
	segment = (int)cr_sys(shmget(IPC_PRIVATE, LEN, IPC_CREAT | 0600));
	cr_check(shmat(segment, place(SEGMENT), 0) == place(SEGMENT), "%s", strerror(errno));
	cr_sys(shmctl(segment, IPC_RMID, NULL));
	cr_fill(place(SEGMENT), LEN, 3);
	cr_sys(dup2(0, FDS + 1));
	fd = (int)cr_sys(open("/dev/null", O_RDWR));
	cr_sys(dup2(fd, 0));
	close(fd);
	fd = (int)cr_sys(epoll_create1(0));
	cr_sys(epoll_ctl(fd, EPOLL_CTL_ADD, FDS + 1, &event));
	cr_sys(dup2(fd, FDS + 2));
	close(fd);
	fd = (int)cr_sys(eventfd(1, 0));
	cr_sys(dup2(fd, FDS + 3));
	close(fd);
}

static void open_threads(void)
{
	void *p = mmap(place(THREADS), 2 * LEN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	cr_check(p == place(THREADS), "%p: %s", p, strerror(errno));
	start(0, false);
	start(1, true);
}

static void tell(void)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "--exclude-range=%d:%lx-%lx\n", getpid(), LOW, HIGH);

	for (int i = 0; i < NR_FDS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "--exclude-fd=%d:%d\n",
			      getpid(), FDS + i);
	for (int i = 0; i < 2; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "--exclude-thread=%d:%u\n",
			      getpid(), lodger(i)->tid);
	cr_write_file(cr_path("exclude"), text, (size_t)n);
}

static void *own_thread(void *arg)
{
	while (!stop)
		syscall(SYS_futex, &stop, FUTEX_WAIT, 0, NULL, NULL, 0);
	return data;
}

static void setup(void)
{
	data = cr_map(DATA, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(data, DATA, 4);
	cr_eq(pthread_create(&own, NULL, own_thread, NULL), 0);
	open_lower();
	open_threads();
	tell();
}

/* ------------------------------------------------------------------ afterwards */

static int count_maps(void)
{
	char *maps = cr_read("/proc/self/maps", NULL), *save = NULL;
	unsigned long start;
	int n = 0;

	for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		start = strtoul(line, NULL, 16);
		n += start >= LOW && start < HIGH;
	}
	free(maps);
	return n;
}

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	cr_check(dir, "%s", strerror(errno));
	for (struct dirent *e; (e = readdir(dir)); )
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static int count_fds(void)
{
	int n = 0;

	for (int i = 0; i < NR_FDS; i++)
		n += fcntl(FDS + i, F_GETFD) >= 0;
	return n;
}

static void verify_there(void)
{
	uint32_t was = lodger(1)->count;
	uint64_t events;

	cr_eq(count_fds(), NR_FDS);
	cr_eq(count_threads(), 4);
	cr_check_fill(place(ANON), LEN, 1);
	cr_check_fill(place(SHARED_ANON), LEN, 2);
	cr_check_fill(place(SEGMENT), LEN, 3);
	cr_check(!memcmp(place(OUTSIDE), "outside", 8), "the stranger's memory");
	cr_check(!memcmp(place(TEXT), "\177ELF", 4), "text");
	cr_eq(cr_sys(write(FDS + 1, "x", 1)), 1);
	cr_eq(cr_sys(read(FDS + 3, &events, sizeof(events))), 8);
	cr_eq(lodger(0)->count, 1);
	while (lodger(1)->count == was)
		sched_yield();
}

static void verify(void)
{
	void *ret;

	cr_check_fill(data, DATA, 4);
	if (count_maps()) {
		verify_there();
	} else {
		cr_eq(count_fds(), 0);
		cr_eq(count_threads(), 2);
		open_threads();
		cr_eq(count_threads(), 4);
		cr_eq(lodger(0)->count, 1);
	}
	stop = 1;
	syscall(SYS_futex, &stop, FUTEX_WAKE, 1, NULL, NULL, 0);
	cr_eq(pthread_join(own, &ret), 0);
	cr_check(ret == data, "%p", ret);
}

CR_TEST(.setup = setup, .verify = verify, .loose_fds = true);
