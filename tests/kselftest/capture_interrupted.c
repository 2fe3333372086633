// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: calls that were interrupted and are to go on, where nothing else leads the thread
 * through the code of the kernel that restarts calls. No program may see the numbers that ask for a
 * restart, 512 to 516, and none of these calls may end by itself.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

/* shared->n[0]: the signal, or -errno; n[1]: it is over */
static void await_signal(void *arg)
{
	struct timespec long_time = { 600, 0 };
	sigset_t set;
	long ret;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	am_ready();
	ret = syscall(SYS_rt_sigtimedwait, &set, NULL, arg ? &long_time : NULL, 8);
	shared->n[0] = ret < 0 ? -errno : ret;
	shared->n[1] = 1;
	pause();
}

/* Stopped in the call, frozen, and continued before the snapshot, whose clone it makes. */
static void continued_in(bool timed)
{
	const char *what = timed ? "with a timeout" : "without one";
	int fd, status;
	pid_t pid;

	shared->ready = 0;
	shared->n[1] = 0;
	pid = spawn(await_signal, timed ? shared : NULL);
	wait_ready(1);
	await_syscall(pid, SYS_rt_sigtimedwait);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	fd = cap_open();
	if (cap_target(fd, pid, 0) || cap_freeze(fd, slowly(5000), 60000, NULL))
		tap_bail("freeze");
	kill(pid, SIGCONT);
	sleep_ms(100);
	cap_snapshot(fd, 0, NULL);	/* or it is to be tried again */
	cap_thaw(fd, 0, NULL);
	close(fd);
	sleep_ms(100);
	tap_is(shared->n[1], 0, "it still waits, %s", what);
	kill(pid, SIGUSR1);
	for (unsigned int i = 0; !shared->n[1] && i < 5000 * slow(); i++)
		sleep_ms(1);
	tap_is(shared->n[0], SIGUSR1, "and has the signal, %s", what);
	reap(pid);
}

part(continued_wait)
{
	for (int i = 0; i < 5; i++) {
		continued_in(false);
		continued_in(true);
	}
}

/* With a stack that ends below the red zone, where a timeout would be passed. */
static void small_stack(void *unused)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct timespec long_time = { 600, 0 };
	static sigset_t set;
	register long r10 asm("r10") = 8;
	long ax = SYS_rt_sigtimedwait, saved;

	(void)unused;
	mprotect(pages, PAGE, PROT_NONE);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	am_ready();
	asm volatile("mov %%rsp, %1\n\tmov %2, %%rsp\n\tsyscall\n\tmov %1, %%rsp"
		     : "+a" (ax), "=&r" (saved)
		     : "r" (pages + PAGE + 64), "D" (&set), "S" (NULL), "d" (&long_time), "r" (r10)
		     : "rcx", "r11", "memory");
	shared->n[0] = ax;
	shared->n[1] = 1;
	pause();
}

part(small_stack)
{
	pid_t pid = spawn(small_stack, NULL);

	wait_ready(1);
	await_syscall(pid, SYS_rt_sigtimedwait);
	for (int i = 0; i < 2 && !shared->n[1]; i++) {
		int fd = cap_frozen(pid, NULL);

		cap_thaw(fd, 0, NULL);
		close(fd);
		sleep_ms(100);
	}
	if (!shared->n[1])
		kill(pid, SIGUSR1);
	for (unsigned int i = 0; !shared->n[1] && i < 5000 * slow(); i++)
		sleep_ms(1);
	tap_ok(shared->n[0] == -EINTR || shared->n[0] == SIGUSR1, "it ends as calls do: %ld",
	       shared->n[0]);
	reap(pid);
}
