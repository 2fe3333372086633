// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/PID/stat of processes whose name looks like more of it, that are stopped, dead and gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc_stat.h"

#define NAME	") Z 1 (\n) 2 3"
#define EXITING	0x4	/* PF_EXITING */

static uint64_t since_boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void test_states(void **state)
{
	uint64_t before = since_boot_ns(), tick = 1000000000U / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_stat stat, again;
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, NAME);
		raise(SIGSTOP);
		_exit(3);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(proc_stat_read(pid, &stat), 0);
	assert_int_equal(stat.state, 'T');
	assert_false(stat.flags & EXITING);
	assert_false(proc_stat_is_dead(&stat));
	assert_in_range(proc_stat_start_ns(&stat), before - tick, since_boot_ns());

	kill(pid, SIGCONT);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_stat_read(pid, &again), 0);
	assert_true(proc_stat_is_dead(&again));
	assert_true(again.flags & EXITING);
	assert_true(again.start == stat.start);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(proc_stat_read(pid, &again), -ESRCH);
}

/* No descriptor is left: that is not "gone". */
static void test_cannot_tell(void **state)
{
	struct rlimit old, none;
	struct proc_stat stat;
	int err;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = proc_stat_read(getpid(), &stat);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(err, -EMFILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_cannot_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
