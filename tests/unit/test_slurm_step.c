// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of launches of a batch script, and which job of an earlier run a launch is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/slurm/step.h"

static void test_names(void **state)
{
	struct step_key key = { 0x1f, 0x2, 0xabcd, 0, 0x10 }, read = { 0 };
	char name[STEP_NAME_MAX];
	uint32_t number = 7;

	step_print(name, &key, 12);
	assert_string_equal(name, "0000001f-12-0002abcd00000010");
	assert_true(step_parse(name, &read, &number));
	assert_memory_equal(&read, &key, sizeof(key));
	assert_int_equal(number, 12);
	/* of ckpt-slurm-run --step */
	assert_false(step_parse("script", &read, &number));
	assert_false(step_parse("0000001f-12-0002abcd00000010x", &read, &number));
	assert_false(step_parse("1f-12-0002abcd00000010", &read, &number));
	assert_false(step_parse("0000001f-12", &read, &number));
}

static const char *shape(const char *path)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s", path);
	step_shape(text, "node7.site");
	return text;
}

static void test_shapes(void **state)
{
	assert_string_equal(shape("/a/log.1764532033"), "/a/log.*");
	assert_string_equal(shape("/a/log.2026-11-28_10:22:33.txt"), "/a/log.*.txt");
	assert_string_equal(shape("/a/log-20261128T1022"), "/a/log-*");
	assert_string_equal(shape("/tmp/tmp.k3Xy9aQ1Zz"), "/tmp/*");
	assert_string_equal(shape("/a/node7/x-node7"), "/a/*/x-*");
	/* which one it is */
	assert_string_equal(shape("/a/out17"), "/a/out17");
	assert_string_equal(shape("/a/out-3.12"), "/a/out-3.12");
	assert_string_equal(shape("/a/node71/tmpl"), "/a/node71/tmpl");
}

static void test_commands(void **state)
{
	char *one[] = { (char *)"solver", (char *)"a b", NULL };
	char *other[] = { (char *)"solver", (char *)"a", (char *)"b", NULL };
	const int fds[3] = { 0, 1, 2 };
	struct step_key key = step_key("/a", one, NULL, fds, 0);

	assert_int_equal(step_key("/a", one, NULL, fds, 0).command, key.command);
	assert_int_not_equal(step_key("/b", one, NULL, fds, 0).command, key.command);
	assert_int_not_equal(step_key("/a", other, NULL, fds, 0).command, key.command);
	assert_int_equal(step_key("/a", one, "3 0", fds, 0).command, key.command);
	assert_int_not_equal(step_key("/a", one, "3 0", fds, 0).line,
			     step_key("/a", one, "4 0", fds, 0).line);
}

static void test_streams(void **state)
{
	char *argv[] = { (char *)"solver", NULL };
	char a[] = "/tmp/test_stepXXXXXX", b[] = "/tmp/test_stepXXXXXX";
	const int null = open("/dev/null", O_RDWR), first = mkstemp(a), second = mkstemp(b);
	const int none[3] = { null, null, null }, to_a[3] = { null, first, null },
		  to_b[3] = { null, second, null }, from_a[3] = { first, null, null };
	struct step_key key = step_key("/", argv, NULL, to_a, 0);
	int kept;

	assert_int_equal(step_key("/", argv, NULL, to_a, 0).output, key.output);
	assert_int_equal(step_key("/", argv, NULL, to_b, 0).command, key.command);
	assert_int_not_equal(step_key("/", argv, NULL, to_b, 0).output, key.output);
	assert_int_equal(step_key("/", argv, NULL, to_b, 0).input, key.input);
	assert_int_not_equal(step_key("/", argv, NULL, from_a, 0).input, key.input);
	assert_int_not_equal(step_key("/", argv, NULL, none, 0).output, key.output);
	assert_int_not_equal(step_key("/", argv, NULL, none, 0).shape, key.shape);
	/* the script's own output may have the node in its name */
	kept = dup(1);
	dup2(first, 1);
	assert_int_equal(step_key("/", argv, NULL, to_a, getpid()).output,
			 step_key("/", argv, NULL, none, getpid()).output);
	assert_int_not_equal(step_key("/", argv, NULL, to_b, getpid()).output,
			     step_key("/", argv, NULL, none, getpid()).output);
	dup2(kept, 1);
	unlink(a);
	/* a here-document */
	assert_int_equal(step_key("/", argv, NULL, from_a, 0).input,
			 step_key("/", argv, NULL, none, 0).input);
	unlink(b);
}

#define NR(LIST) (sizeof(LIST) / sizeof((LIST)[0]))
/* A launch in line L with input I and output O, whose shape is S. */
#define KEY(L, I, O, S) { .line = L, .input = I, .output = O, .shape = S }

/* The number of the job that the launch is, as of a script that has had @claims; or an error. */
static int chosen(struct step_key key, const struct step_job *jobs, size_t nr,
		  struct step_claims *claims)
{
	uint32_t number = 99;
	int index = step_choose(&key, jobs, nr, claims, &number);

	if (index == -ENOTUNIQ) {
		assert_int_equal(number, 99);
		return index;
	}
	number = index < 0 ? number : jobs[index].number;
	assert_int_equal(step_claim(claims, number), 0);
	return (int)number;
}

static int choose(struct step_key key, const struct step_job *jobs, size_t nr)
{
	struct step_claims claims = { 0 };
	int number = chosen(key, jobs, nr, &claims);

	free(claims.numbers);
	return number;
}

/* Steps in the order of before: each takes the first that is left. */
static void test_in_order(void **state)
{
	const struct step_key key = KEY(1, 0, 1, 1);
	const struct step_job jobs[] = { { 1, KEY(1, 0, 1, 1), true },
					 { 0, KEY(1, 0, 1, 1), false } };
	struct step_claims claims = { 0 };

	assert_int_equal(chosen(key, jobs, NR(jobs), &claims), 0);
	assert_int_equal(chosen(key, jobs, NR(jobs), &claims), 1);
	assert_int_equal(chosen(key, jobs, NR(jobs), &claims), 2);
	/* no run before */
	assert_int_equal(chosen(key, NULL, 0, &claims), 3);
	free(claims.numbers);
}

/* The script skips what it has done: the second step is not taken for the first, which is over. */
static void test_skipped(void **state)
{
	const struct step_job files[] = { { 0, KEY(1, 0, 1, 1), false },
					  { 1, KEY(1, 0, 2, 2), true } };
	const struct step_job lines[] = { { 0, KEY(1, 0, 0, 0), false },
					  { 1, KEY(2, 0, 0, 0), true } };
	struct step_claims claims = { 0 };

	assert_int_equal(chosen((struct step_key)KEY(1, 0, 2, 2), files, NR(files), &claims), 1);
	assert_int_equal(chosen((struct step_key)KEY(1, 0, 3, 3), files, NR(files), &claims), 2);
	free(claims.numbers);
	claims = (struct step_claims) { 0 };
	assert_int_equal(chosen((struct step_key)KEY(2, 0, 0, 0), lines, NR(lines), &claims), 1);
	/* a third step, which is in another line, was not there before */
	assert_int_equal(chosen((struct step_key)KEY(3, 0, 0, 0), lines, NR(lines), &claims), 2);
	free(claims.numbers);
}

/* Launches side by side come in another order. */
static void test_exchanged(void **state)
{
	const struct step_job jobs[] = { { 0, KEY(1, 0, 1, 1), true },
					 { 1, KEY(1, 0, 2, 2), true } };
	struct step_claims claims = { 0 };

	assert_int_equal(chosen((struct step_key)KEY(1, 0, 2, 2), jobs, NR(jobs), &claims), 1);
	assert_int_equal(chosen((struct step_key)KEY(1, 0, 1, 1), jobs, NR(jobs), &claims), 0);
	free(claims.numbers);
}

/* One of many with the same command was not launched before: it takes no other's job. */
static void test_many(void **state)
{
	const struct step_job jobs[] = { { 0, KEY(1, 5, 5, 5), true },
					 { 1, KEY(1, 6, 6, 6), true } };

	assert_int_equal(choose((struct step_key)KEY(1, 17, 17, 17), jobs, NR(jobs)), 2);
	assert_int_equal(choose((struct step_key)KEY(1, 17, 17, 17), jobs, 1), 1);
}

/* The names of files have the time in them: their order counts. */
static void test_times(void **state)
{
	const struct step_job jobs[] = { { 0, KEY(1, 0, 1, 7), false },
					 { 1, KEY(1, 0, 2, 7), true } };
	struct step_claims claims = { 0 };

	assert_int_equal(chosen((struct step_key)KEY(1, 0, 3, 7), jobs, NR(jobs), &claims), 0);
	assert_int_equal(chosen((struct step_key)KEY(1, 0, 4, 7), jobs, NR(jobs), &claims), 1);
	assert_int_equal(chosen((struct step_key)KEY(1, 0, 5, 7), jobs, NR(jobs), &claims), 2);
	free(claims.numbers);
}

/* The first run and the others launch in different lines, perhaps: > and >>. */
static void test_other_line(void **state)
{
	const struct step_job jobs[] = { { 0, KEY(1, 0, 1, 1), true } };
	const struct step_job over[] = { { 0, KEY(1, 0, 1, 1), false } };

	assert_int_equal(choose((struct step_key)KEY(2, 0, 1, 1), jobs, 1), 0);
	assert_int_equal(choose((struct step_key)KEY(2, 0, 1, 1), over, 1), 1);
}

/* The names of files are others in each run, nobody knows how. */
static void test_other_files(void **state)
{
	const struct step_job one[] = { { 0, KEY(1, 0, 1, 1), true } };
	const struct step_job two[] = { { 0, KEY(1, 0, 1, 1), true },
					{ 1, KEY(1, 0, 2, 2), true } };
	const struct step_job over[] = { { 0, KEY(1, 0, 1, 1), false } };
	struct step_claims claims = { 0 };

	assert_int_equal(choose((struct step_key)KEY(1, 0, 9, 9), one, 1), 0);
	assert_int_equal(choose((struct step_key)KEY(1, 0, 9, 9), two, 2), -ENOTUNIQ);
	/* what is over is not taken for it: it is done again */
	assert_int_equal(choose((struct step_key)KEY(1, 0, 9, 9), over, 1), 1);
	/* names are the same in each run, as one of them has told */
	assert_int_equal(chosen((struct step_key)KEY(1, 0, 1, 1), two, 2, &claims), 0);
	assert_int_equal(chosen((struct step_key)KEY(1, 0, 9, 9), two, 2, &claims), 2);
	free(claims.numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test(test_exchanged),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_other_line),
		cmocka_unit_test(test_other_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
