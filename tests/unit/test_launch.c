// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launches of one run of a batch script: their numbers, and who waits for whom.
 *
 * Two struct launch stand for two processes: the locks belong to the open file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/slurm/launch.h"

static char directory[] = "/tmp/test_launch-XXXXXX";
static char given[64];

static int make_directory(void **state)
{
	if (!mkdtemp(directory) || setenv("TMPDIR", directory, 1))
		return -1;
	snprintf(given, sizeof(given), "%s/given", directory);
	launch_given = given;
	return 0;
}

static int remove_directory(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

/* Number of launches of @command so far; takes one more, @number. */
static size_t claim(struct launch *launch, uint32_t command, uint32_t number)
{
	struct step_claims claims;
	size_t nr;

	assert_int_equal(launch_lock_names(launch, command, &claims), 0);
	nr = claims.nr;
	if (nr)
		assert_int_equal(claims.numbers[nr - 1], number - 1);
	assert_int_equal(launch_claim(launch, command, number), 0);
	launch_unlock_names(launch);
	free(claims.numbers);
	return nr;
}

static void test_claims(void **state)
{
	struct launch run, again, next;

	assert_int_equal(launch_open(&run, 7, 0), 0);
	assert_int_equal(claim(&run, 0xab, 5), 0);
	/* another command */
	assert_int_equal(claim(&run, 0xb, 1), 0);
	/* another process of the run */
	assert_int_equal(launch_open(&again, 7, 0), 0);
	assert_int_equal(claim(&again, 0xab, 6), 1);
	assert_int_equal(claim(&run, 0xab, 7), 2);
	/* the next run of the script, and another job, begin anew */
	assert_int_equal(launch_open(&next, 7, 1), 0);
	assert_int_equal(claim(&next, 0xab, 5), 0);
	launch_close(&next);
	assert_int_equal(launch_open(&next, 8, 0), 0);
	assert_int_equal(claim(&next, 0xab, 5), 0);
	launch_close(&next);
	launch_close(&run);
	launch_close(&again);
}

/* A file of the user's directory that was last touched so many days ago. */
static void make_old(const char *name, int days, char path[256])
{
	const time_t then = time(NULL) - days * 86400LL;
	const struct timespec times[2] = { { .tv_sec = then }, { .tv_sec = then } };
	int fd;

	assert_int_equal(launch_directory(path, 256), 0);
	strcat(strcat(path, "/"), name);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void test_tidy(void **state)
{
	char old[256], slot[256], young[256], used[256], held[256], other[256];
	struct launch launch, next;
	int fd;

	make_old("70.0", 31, old);
	make_old("70-1.slot", 31, slot);
	make_old("71.0", 29, young);
	make_old("notes", 99, other);
	make_old("72-1.slot", 99, held);
	fd = open(held, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(launch_open(&launch, 73, 0), 0);
	make_old("73.0", 99, used);
	assert_int_equal(launch_open(&next, 74, 0), 0);
	launch_close(&next);
	assert_int_equal(access(old, F_OK), -1);
	assert_int_equal(access(slot, F_OK), -1);
	assert_int_equal(access(young, F_OK), 0);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(access(held, F_OK), 0);
	assert_int_equal(access(used, F_OK), 0);
	launch_close(&launch);
	close(fd);
}

/* Slurm has forgotten a start, and starts the script again as the same run. */
static void test_started_twice(void **state)
{
	struct launch run, again;

	setenv("SLURM_TASK_PID", "100", 1);
	assert_int_equal(launch_open(&run, 11, 2), 0);
	assert_int_equal(claim(&run, 3, 0), 0);
	launch_close(&run);
	setenv("SLURM_TASK_PID", "200", 1);
	assert_int_equal(launch_open(&again, 11, 2), 0);
	assert_int_equal(claim(&again, 3, 0), 0);
	assert_int_equal(claim(&again, 3, 1), 1);
	/* steps of srun count together, whatever their first processes are */
	setenv("SLURM_STEP_ID", "0", 1);
	assert_int_equal(claim(&again, 3, 0), 0);
	setenv("SLURM_TASK_PID", "300", 1);
	assert_int_equal(claim(&again, 3, 1), 1);
	launch_close(&again);
	unsetenv("SLURM_STEP_ID");
	unsetenv("SLURM_TASK_PID");
}

static void test_saved(void **state)
{
	struct launch one, two, three;

	assert_int_equal(launch_open(&one, 9, 0), 0);
	assert_int_equal(launch_open(&two, 9, 0), 0);
	assert_int_equal(launch_open(&three, 9, 0), 0);
	assert_false(launch_is_demanded(&two));
	assert_int_equal(launch_demand(&one), 0);
	assert_true(launch_is_demanded(&two));
	launch_saved(&one);
	assert_false(launch_all_saved(&one));
	launch_saved(&two);
	assert_false(launch_all_saved(&two));
	/* the third has ended, in whatever way */
	launch_close(&three);
	assert_true(launch_all_saved(&one));
	assert_true(launch_all_saved(&two));
	launch_close(&one);
	launch_close(&two);
	/* the next run of the script does not see the demand */
	assert_int_equal(launch_open(&one, 9, 1), 0);
	assert_false(launch_is_demanded(&one));
	launch_close(&one);
}

static void test_directory(void **state)
{
	struct launch launch;
	char path[64], moved[80];

	snprintf(path, sizeof(path), "%s/stillpoint-slurm-%u", directory, geteuid());
	snprintf(moved, sizeof(moved), "%s.moved", path);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(launch_open(&launch, 7, 0), -EPERM);
	launch_close(&launch);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink(moved, path), 0);
	assert_int_equal(launch_open(&launch, 7, 0), -EPERM);
	launch_close(&launch);
	assert_int_equal(setenv("TMPDIR", "/no/such", 1), 0);
	assert_int_equal(launch_open(&launch, 7, 0), -ENOENT);
	launch_close(&launch);
}

/* Root has made a directory: nobody could have taken the name, and no other one is looked at. */
static void test_given_directory(void **state)
{
	char own[80], path[PATH_MAX];

	assert_int_equal(setenv("TMPDIR", directory, 1), 0);
	snprintf(own, sizeof(own), "%s/%u", given, geteuid());
	assert_int_equal(mkdir(given, 0755), 0);
	assert_int_equal(launch_directory(path, sizeof(path)), -EPERM);
	assert_int_equal(mkdir(own, 0700), 0);
	assert_int_equal(launch_directory(path, sizeof(path)), 0);
	assert_string_equal(path, own);
	assert_int_equal(chmod(own, 0750), 0);
	assert_int_equal(launch_directory(path, sizeof(path)), -EPERM);
	assert_string_equal(path, own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_tidy),
		cmocka_unit_test(test_started_twice),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_given_directory),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
