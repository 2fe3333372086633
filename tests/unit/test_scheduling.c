// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scheduling of a process: read from one, set in another, the same again; and texts that are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scheduling.h"

#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK	0x40000000
#endif

/* A process that has one CPU, a nice value and a policy of its own, and waits. */
static pid_t process_with(int policy, int nice)
{
	const struct sched_param param = { .sched_priority = 0 };
	int pipe_fd[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (!pid) {
		cpu_set_t all, one;
		int cpu = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CPU_ZERO(&one);
		sched_getaffinity(0, sizeof(all), &all);
		while (!CPU_ISSET(cpu, &all))
			cpu++;
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) ||
		    setpriority(PRIO_PROCESS, 0, nice) || sched_setscheduler(0, policy, &param))
			_exit(1);
		if (write(pipe_fd[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	close(pipe_fd[1]);
	assert_int_equal(read(pipe_fd[0], &c, 1), 1);
	close(pipe_fd[0]);
	return pid;
}

static int ended(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_same_again(void **state)
{
	json_t *was = NULL, *is = NULL;
	pid_t pid = process_with(SCHED_BATCH, 5), other;
	struct ckpt_error error;

	(void)state;
	assert_int_equal(scheduling_of(pid, &was), 0);
	kill(pid, SIGKILL);
	ended(pid);
	assert_int_equal(json_integer_value(json_object_get(was, "policy")), SCHED_BATCH);
	assert_int_equal(json_integer_value(json_object_get(was, "nice")), 5);
	assert_null(strpbrk(json_string_value(json_object_get(was, "cpus")), ",-"));
	other = fork();
	if (!other) {
		int err = scheduling_set(was, &error);

		_exit(err || scheduling_of(getpid(), &is) || !json_equal(was, is));
	}
	assert_int_equal(ended(other), 0);
	json_decref(was);
	assert_int_equal(scheduling_of(pid, &was), -ESRCH);
}

static void test_not_for_children(void **state)
{
	pid_t pid = process_with(SCHED_BATCH | SCHED_RESET_ON_FORK, 3);
	json_t *was = NULL;

	(void)state;
	assert_int_equal(scheduling_of(pid, &was), 0);
	kill(pid, SIGKILL);
	ended(pid);
	/* only what is better than usual is kept from children */
	assert_int_equal(json_integer_value(json_object_get(was, "policy")), SCHED_BATCH);
	assert_int_equal(json_integer_value(json_object_get(was, "nice")), 3);
	json_decref(was);
}

static void test_bad_texts(void **state)
{
	static const char *const bad[] = {
		"", ",", "1,", "-1", "1-", "3-1", "8192", "0-8192", "1;2", " 1", "+1",
		"99999999999999999999",
	};
	struct ckpt_error error = {};
	json_t *sched = NULL;
	size_t i;

	(void)state;
	assert_int_equal(scheduling_of(getpid(), &sched), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_object_set_new(sched, "cpus", json_string(bad[i]));
		assert_int_equal(scheduling_set(sched, &error), -EINVAL);
		assert_non_null(strstr(error.text, "CPU"));
	}
	json_object_set_new(sched, "cpus", json_string("8191"));
	assert_int_equal(scheduling_set(sched, &error), -EINVAL);
	json_object_del(sched, "cpus");
	assert_int_equal(scheduling_set(sched, &error), 0);
	json_object_del(sched, "nice");
	assert_int_equal(scheduling_set(sched, &error), -EINVAL);
	json_decref(sched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_not_for_children),
		cmocka_unit_test(test_bad_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
