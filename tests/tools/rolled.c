// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program for tests of rollbacks: rolled DIR ROUNDS LATER [thread|child|shm|sysv|large]
 *
 * It has four threads, timers, a pending signal and files in DIR, and prints a line for each round.
 * In round LATER it changes all of that: signal actions and masks, memory, descriptors, timers.
 * In every round it checks that everything is as it must be in that round, so a rollback to an
 * earlier round that leaves anything of a later one ends it with status 1 and a line that says what
 * it was. Its output, and its files, are a function of ROUNDS and LATER alone.
 *
 * While there is a file DIR/stop.N, the program waits in round N.
 *
 * The last argument adds in round LATER what a rollback in place cannot take back; "large" gives
 * the program 64 MiB from the start, so that a rollback takes its time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define THREADS		3
#define BYTES		(1UL << 20)
#define LARGE_BYTES	(64UL << 20)
#define PENDING_FROM	5
#define LATER_FD	77
#define SYSV_KEY	0x51
#define LOCK_START	100

static struct {
	const char *dir, *extra;
	unsigned int rounds, later, round;
	uint64_t chain[THREADS + 1];
	uint8_t *memory, *more;
	uint64_t *large;
	int log, table;
	timer_t timer;
	volatile sig_atomic_t ticks, alarms;
	char stack[2][65536];
	pthread_barrier_t begin, end;
} all;

__attribute__((format(printf, 2, 3)))
static void must(bool good, const char *format, ...)
{
	va_list args;

	if (good)
		return;
	printf("wrong in round %u: ", all.round);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts("");
	fflush(stdout);
	_exit(1);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

/* ---------------------------------------------------------------- signals */

static void on_tick(int signo)
{
	all.ticks++;
}

static void on_alarm(int signo)
{
	all.alarms++;
}

static void on_other(int signo)
{
}

static void set_handler(int signo, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK };

	must(!sigaction(signo, &action, NULL), "sigaction");
}

static void set_stack(unsigned int which)
{
	const stack_t stack = { .ss_sp = all.stack[which], .ss_size = sizeof(all.stack[which]) };

	must(!sigaltstack(&stack, NULL), "sigaltstack");
}

static void set_timer(int signo, long ns)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signo };
	const struct itimerspec spec = { .it_value.tv_nsec = ns, .it_interval.tv_nsec = ns };

	must(!timer_create(CLOCK_MONOTONIC, &event, &all.timer), "timer_create");
	must(!timer_settime(all.timer, 0, &spec, NULL), "timer_settime");
}

/* Wait for a tick in a call that replaces the signal mask while it lasts. */
static void await_tick(int signo)
{
	int before = all.ticks;
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigdelset(&mask, signo);
	while (all.ticks == before)
		sigsuspend(&mask);
}

static void begin_signals(void)
{
	const struct itimerval real = { { 0, 50000 }, { 0, 50000 } };
	sigset_t mask;

	set_stack(0);
	set_handler(SIGRTMIN, on_tick);
	set_handler(SIGALRM, on_alarm);
	set_handler(SIGUSR1, on_other);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGRTMIN);
	must(!sigprocmask(SIG_SETMASK, &mask, NULL), "sigprocmask");
	set_timer(SIGRTMIN, 15000000);
	must(!setitimer(ITIMER_REAL, &real, NULL), "setitimer");
}

static void change_signals(void)
{
	const struct itimerval none = { { 0, 0 }, { 0, 0 } };
	const struct timespec now = { 0, 0 };
	siginfo_t info;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	must(sigtimedwait(&mask, &info, &now) == SIGUSR2 && info.si_value.sival_int == 42,
	     "the pending signal");
	must(!timer_delete(all.timer), "timer_delete");
	must(!setitimer(ITIMER_REAL, &none, NULL), "setitimer");
	set_stack(1);
	set_handler(SIGRTMIN + 1, on_tick);
	set_handler(SIGUSR1, SIG_IGN);
	sigaddset(&mask, SIGRTMIN + 1);
	sigaddset(&mask, SIGHUP);
	must(!sigprocmask(SIG_SETMASK, &mask, NULL), "sigprocmask");
	set_timer(SIGRTMIN + 1, 12000000);
}

static void check_signals(bool later)
{
	struct itimerval real;
	struct sigaction action;
	struct itimerspec spec;
	sigset_t mask, pending;
	stack_t stack;

	sigaction(SIGUSR1, NULL, &action);
	must((action.sa_handler == SIG_IGN) == later, "the action of SIGUSR1");
	sigprocmask(SIG_SETMASK, NULL, &mask);
	must(sigismember(&mask, SIGHUP) == later && sigismember(&mask, SIGRTMIN) == !later &&
	     sigismember(&mask, SIGUSR2), "the signal mask");
	sigpending(&pending);
	must(sigismember(&pending, SIGUSR2) == (all.round > PENDING_FROM && !later),
	     "the pending signals");
	sigaltstack(NULL, &stack);
	must(stack.ss_sp == all.stack[later], "the signal stack");
	getitimer(ITIMER_REAL, &real);
	must(!real.it_interval.tv_usec == later, "the interval timer");
	must(!timer_gettime(all.timer, &spec) &&
	     spec.it_interval.tv_nsec == (later ? 12000000 : 15000000), "the timer");
}

/* ------------------------------------------------------------------ files */

static int open_in(const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", all.dir, name);
	fd = open(path, flags | O_CREAT, 0644);
	must(fd >= 0, "open %s: %s", path, strerror(errno));
	return fd;
}

static void begin_files(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = LOCK_START, .l_len = 1 };

	all.log = open_in("log", O_WRONLY | O_APPEND);
	all.table = open_in("table", O_RDWR);
	must(!ftruncate(all.table, 4096), "ftruncate");
	must(!fcntl(all.table, F_SETLK, &lock), "the lock");
}

static void change_files(void)
{
	must(dup2(open_in("later", O_RDWR), LATER_FD) == LATER_FD, "dup2");
	must(!close(all.log), "close");
	all.log = open_in("log", O_RDWR | O_APPEND);
}

static void check_files(bool later)
{
	must((fcntl(LATER_FD, F_GETFD) >= 0) == later, "a descriptor of later");
	must((fcntl(all.log, F_GETFL) & O_ACCMODE) == (later ? O_RDWR : O_WRONLY),
	     "how the log is open");
}

static void write_files(void)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "round %u %016llx\n", all.round,
			   (unsigned long long)all.chain[THREADS]);

	must(write(all.log, line, (size_t)len) == len, "the log");
	must(pwrite(all.table, line, (size_t)len, all.round % 32 * 128) == len, "the table");
	fputs(line, stdout);
	fflush(stdout);
}

/* ----------------------------------------------------------------- memory */

static uint8_t *map(void)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	return p;
}

static void change_memory(void)
{
	must(!munmap(all.memory + BYTES / 2, BYTES / 4), "munmap");
	must(!mprotect(all.memory, 4096, PROT_READ), "mprotect");
	all.more = map();
	memset(all.more, 3, BYTES);
}

static void check_memory(bool later)
{
	unsigned char core[1];

	must((mincore(all.memory + BYTES / 2, 4096, core) < 0) == later, "the memory map");
	must(!all.more == !later, "the memory of later");
}

static void *thread_main(void *arg)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;
	uint64_t on_stack = i;

	for (;;) {
		pthread_barrier_wait(&all.begin);
		for (unsigned int k = 0; k < 1000; k++)
			on_stack = mix(on_stack + all.round);
		all.chain[i] = mix(all.chain[i] ^ on_stack);
		pthread_barrier_wait(&all.end);
	}
	return NULL;
}

static void begin_threads(void)
{
	pthread_t thread;
	sigset_t full, old;

	pthread_barrier_init(&all.begin, NULL, THREADS + 1);
	pthread_barrier_init(&all.end, NULL, THREADS + 1);
	sigfillset(&full);
	sigprocmask(SIG_SETMASK, &full, &old);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(!pthread_create(&thread, NULL, thread_main, (void *)i), "pthread_create");
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void compute(void)
{
	uint64_t sum = all.chain[THREADS];

	pthread_barrier_wait(&all.begin);
	pthread_barrier_wait(&all.end);
	for (unsigned int i = 0; i < THREADS; i++)
		sum = mix(sum ^ all.chain[i]);
	for (unsigned int i = 1; i < 32; i++) {
		uint8_t *byte = &all.memory[i * 8192 % (BYTES / 2)];

		sum = mix(sum + *byte);
		*byte = (uint8_t)sum;
	}
	all.chain[THREADS] = sum;
}

/* ----------------------------------------------------------------- rounds */

static void *sleep_main(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

static void add_extra(void)
{
	pthread_t thread;
	int fd;

	if (!strcmp(all.extra, "thread"))
		must(!pthread_create(&thread, NULL, sleep_main, NULL), "pthread_create");
	if (!strcmp(all.extra, "child") && !fork())
		sleep_main(NULL);
	if (!strcmp(all.extra, "shm")) {
		fd = shm_open("/rolled", O_RDWR | O_CREAT, 0600);
		must(fd >= 0 && !close(fd), "shm_open");
	}
	if (!strcmp(all.extra, "sysv"))
		must(semget(SYSV_KEY, 1, IPC_CREAT | IPC_EXCL | 0600) >= 0, "semget");
}

/* A word of all.large: no two are the same, so no page of it is compressed to nothing. */
static uint64_t large_word(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15;
}

static void make_large(void)
{
	size_t i;

	all.large = malloc(LARGE_BYTES);
	must(all.large, "malloc");
	for (i = 0; i < LARGE_BYTES / sizeof(*all.large); i++)
		all.large[i] = large_word(i);
}

static void check_large(void)
{
	size_t i;

	for (i = 0; i < LARGE_BYTES / sizeof(*all.large); i++)
		must(all.large[i] == large_word(i), "word %zu of the large memory", i);
}

/* The test holds the program in a round while there is DIR/stop.ROUND. */
static bool is_held(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/stop.%u", all.dir, all.round);
	return !access(path, F_OK);
}

static void run_round(void)
{
	bool later = all.round >= all.later;

	if (all.round == all.later) {
		change_signals();
		change_files();
		change_memory();
		add_extra();
	}
	check_signals(later);
	check_files(later);
	check_memory(later);
	compute();
	write_files();
	if (all.round == PENDING_FROM)
		must(!sigqueue(getpid(), SIGUSR2, (union sigval){ .sival_int = 42 }), "sigqueue");
	do {
		await_tick(later ? SIGRTMIN + 1 : SIGRTMIN);
	} while (is_held());
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	all.dir = argv[1];
	all.rounds = (unsigned int)atoi(argv[2]);
	all.later = (unsigned int)atoi(argv[3]);
	all.extra = argc > 4 ? argv[4] : "";
	all.memory = map();
	if (!strcmp(all.extra, "large"))
		make_large();
	begin_threads();
	begin_signals();
	begin_files();
	for (all.round = 1; all.round <= all.rounds; all.round++)
		run_round();
	if (all.large)
		check_large();
	printf("result %016llx\n", (unsigned long long)all.chain[THREADS]);
	return 0;
}
