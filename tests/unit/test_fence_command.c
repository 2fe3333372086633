// SPDX-License-Identifier: GPL-2.0-only
/*
 * The site's fence command (supervisor/parts/fence_command.h), with real programs. Only exit status
 * 0 of a program that root alone can write says that a node is off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outcome.h"
#include "base/reactor.h"
#include "supervisor/parts/fence_command.h"
#include "supervisor/storage/common.h"

static char dir[] = "/tmp/test-fence.XXXXXX";
static char program[64], seen[64];

static void write_program(const char *text, mode_t mode)
{
	FILE *file = fopen(program, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", text);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(program, mode), 0);
}

struct box {
	struct common common;
	json_t *outcome;
};

static void on_outcome(json_t *outcome, void *arg)
{
	struct box *box = arg;

	box->outcome = outcome;
	reactor_stop(box->common.reactor);
}

/* 0, or the errno of the outcome. */
static int fences(void)
{
	struct box box = { .common.config.fence_command = program };
	struct fence_command fence = { .node = "n2", .job = 7, .fn = on_outcome, .arg = &box };
	int err;

	assert_int_equal(reactor_create(&box.common.reactor), 0);
	box.common.workers.reactor = box.common.reactor;
	assert_int_equal(fence_command_start(&box.common, &fence), 0);
	assert_non_null(fence.worker);
	assert_int_equal(reactor_run(box.common.reactor), 0);
	assert_null(fence.worker);
	fence_command_stop(&fence);
	reactor_destroy(box.common.reactor);
	err = outcome_is_ok(box.outcome) ? 0 : outcome_errno(box.outcome);
	json_decref(box.outcome);
	return err;
}

static void off(void **state)
{
	char text[128], line[128] = "";
	FILE *file;

	snprintf(text, sizeof(text), "echo \"$#:$1:$2\" >%s", seen);
	write_program(text, 0700);
	assert_int_equal(fences(), 0);
	file = fopen(seen, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_string_equal(line, "2:n2:job 7 is cut off from it\n");
}

static void not_off(void **state)
{
	write_program("exit 3", 0700);
	assert_int_equal(fences(), -EIO);
	write_program("kill -9 $$", 0700);
	assert_int_equal(fences(), -EIO);
	/* no program at all */
	assert_int_equal(unlink(program), 0);
	assert_int_equal(fences(), -ENOENT);
	/* not executable */
	write_program("exit 0", 0600);
	assert_int_equal(fences(), -EIO);
}

static void written_by_others(void **state)
{
	write_program("exit 0", 0722);
	assert_int_equal(fences(), -EPERM);
	write_program("exit 0", 0700);
	assert_int_equal(chown(program, 65534, 65534), 0);
	assert_int_equal(fences(), -EPERM);
}

/* The caller does not wait for it any more. */
static void stopped(void **state)
{
	struct box box = { .common.config.fence_command = program };
	struct fence_command fence = { .node = "n2", .job = 7, .fn = on_outcome, .arg = &box };

	assert_int_equal(unlink(program), 0);
	write_program("sleep 3", 0700);
	assert_int_equal(reactor_create(&box.common.reactor), 0);
	box.common.workers.reactor = box.common.reactor;
	assert_int_equal(fence_command_start(&box.common, &fence), 0);
	fence_command_stop(&fence);
	assert_null(fence.worker);
	assert_null(box.outcome);
	reactor_destroy(box.common.reactor);
}

static int clean_up(void **state)
{
	unlink(program);
	unlink(seen);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off), cmocka_unit_test(not_off),
		cmocka_unit_test(written_by_others), cmocka_unit_test(stopped),
	};

	if (geteuid()) {
		puts("1..0 # SKIP must be root");
		return 0;
	}
	if (!mkdtemp(dir))
		return 1;
	snprintf(program, sizeof(program), "%s/fence", dir);
	snprintf(seen, sizeof(seen), "%s/seen", dir);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
