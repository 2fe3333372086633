// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of a refused dump of an MPI job that ckptrun did not start, and names of launchers.
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
#include <sys/mman.h>
#include <unistd.h>

#include "base/launcher.h"
#include "base/outcome.h"
#include "engine/op/op_mpi.h"

#define FIRST	"an eventfd is open: [eventfd]"

static json_t *refused(pid_t pid, const char *comm)
{
	json_t *outcome = outcome_error(-EOPNOTSUPP, "%s", FIRST);
	json_t *refusals = json_pack("[{s:i, s:s}, {s:i, s:s}]", "pid", 1, "comm", "init",
				     "pid", (int)pid, "comm", comm);

	json_object_set_new(json_object_get(outcome, "error"), "refusals", refusals);
	return outcome;
}

/* The text of such an outcome has @expected. */
static void says(pid_t pid, const char *comm, const char *expected)
{
	json_t *outcome = refused(pid, comm);
	const char *text;

	op_mpi_explain(outcome);
	text = json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));
	if (!strstr(text, expected))
		fail_msg("%s: %s", comm, text);
	json_decref(outcome);
}

static void *map_file(const char *dir, const char *name, char *path, size_t size)
{
	void *at;
	int fd;

	snprintf(path, size, "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	return at;
}

static void test_launchers(void **state)
{
	says(2, "mpirun.openmpi", "pid 2 (mpirun.openmpi) is a launcher of MPI jobs");
	says(2, "hydra_pmi_proxy", "start it again with ckptrun");
	says(2, "mpirunner", FIRST);
	assert_true(launcher_is("/opt/mpi/bin/mpiexec.hydra"));
	assert_true(launcher_is("hydra_bstrap_proxy"));
	assert_true(launcher_is("srun"));
	assert_false(launcher_is("/opt/srun/solver"));
	assert_false(launcher_is("mpi"));
	assert_false(launcher_is(""));
}

/* A process with an MPI library is meant, unless the library is in our lower half. */
static void test_ranks(void **state)
{
	char dir[] = "/tmp/op-mpi-XXXXXX", library[64], lower[64];
	void *first, *second;

	assert_non_null(mkdtemp(dir));
	says(getpid(), "solver", FIRST);
	first = map_file(dir, "libmpi.so.40.30.4", library, sizeof(library));
	says(getpid(), "solver", "(solver) uses MPI");
	second = map_file(dir, "ckpt-lower", lower, sizeof(lower));
	says(getpid(), "solver", FIRST);
	munmap(first, 4096);
	munmap(second, 4096);
	unlink(library);
	unlink(lower);
	rmdir(dir);
}

/* An outcome without refusals stays as it is. */
static void test_others(void **state)
{
	json_t *good = outcome_ok(NULL), *bad = outcome_error(-ENOSPC, "full");
	json_t *before = json_deep_copy(bad);

	op_mpi_explain(good);
	assert_true(outcome_is_ok(good));
	op_mpi_explain(bad);
	assert_true(json_equal(bad, before));
	op_mpi_explain(NULL);
	json_decref(good);
	json_decref(bad);
	json_decref(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launchers),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests_name("op_mpi", tests, NULL, NULL);
}
