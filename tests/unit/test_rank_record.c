// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks in a job's record when a generation is put on nodes: which nodes it can be, where the
 * map stays, and what has to be installed there.
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
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/storage/config.h"
#include "base/outcome.h"
#include "supervisor/job/rank_record.h"

struct node {
	char dir[64];
	char lower[80];
	struct config config;
};

static void make_file(const char *dir, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0755);
	assert_true(fd >= 0);
	close(fd);
}

static int setup(void **state)
{
	struct node *n = calloc(1, sizeof(*n));
	char path[128];

	strcpy(n->dir, "/tmp/test-rank-record-XXXXXX");
	if (!mkdtemp(n->dir))
		return -1;
	snprintf(n->lower, sizeof(n->lower), "%s/lower", n->dir);
	n->config = (struct config) { .node = "a", .mpi_dir = n->dir, .lower = n->lower,
				     .image_dir_shared = true };
	snprintf(path, sizeof(path), "%s/mpich", n->dir);
	mkdir(path, 0755);
	*state = n;
	return 0;
}

static int teardown(void **state)
{
	struct node *n = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", n->dir);
	if (system(command))
		return -1;
	free(n);
	return 0;
}

static json_t *record_of(const char *mpi)
{
	return json_pack("{s:[ss], s:[ss], s:s}", "map", "0,3", "1-2", "nodes", "a", "b", "mpi",
			 mpi);
}

/* Fails with @err, says @text, and leaves the record alone. */
static void refuses(const struct node *n, const char *mpi, const char *nodes, int err,
		    const char *text)
{
	json_t *record = record_of(mpi), *was = json_deep_copy(record);
	json_t *names = nodes ? json_loads(nodes, 0, NULL) : NULL;
	json_t *outcome = rank_record_place(record, names, NULL, &n->config);
	const char *said = json_string_value(json_object_get(json_object_get(outcome, "error"),
							     "text"));

	assert_int_equal(outcome_errno(outcome), err);
	assert_non_null(said);
	if (!strstr(said, text))
		fail_msg("%s: not about %s", said, text);
	if (err == -EINVAL)
		assert_true(json_equal(record, was));
	json_decref(outcome);
	json_decref(names);
	json_decref(record);
	json_decref(was);
}

static void test_where_it_was(void **state)
{
	struct node *n = *state;
	json_t *record = record_of("none");

	assert_null(rank_record_place(record, NULL, NULL, &n->config));
	assert_string_equal(json_string_value(json_array_get(json_object_get(record, "nodes"), 1)),
			    "b");
	json_decref(record);
	n->config.node = "b";
	refuses(n, "none", NULL, -EINVAL, "--nodes");
}

static void test_other_nodes(void **state)
{
	struct node *n = *state;
	json_t *record = record_of("none"), *was = json_deep_copy(record);
	json_t *nodes = json_pack("[ss]", "a", "c");

	assert_null(rank_record_place(record, nodes, NULL, &n->config));
	assert_true(json_equal(json_object_get(record, "nodes"), nodes));
	assert_true(json_equal(json_object_get(record, "map"), json_object_get(was, "map")));
	assert_int_equal(rank_record_size(record), 4);
	json_decref(nodes);
	json_decref(record);
	json_decref(was);
	/* changed places: another home, which is asked */
	n->config.node = "b";
	record = record_of("none");
	nodes = json_pack("[ss]", "b", "a");
	assert_null(rank_record_place(record, nodes, NULL, &n->config));
	json_decref(nodes);
	json_decref(record);
}

static bool map_is(const json_t *record, const char *want)
{
	json_t *map = json_loads(want, 0, NULL);
	bool is = json_equal(json_object_get(record, "map"), map);

	json_decref(map);
	return is;
}

static void test_more_and_fewer(void **state)
{
	struct node *n = *state;
	json_t *record = record_of("none"), *was = json_deep_copy(record), *gathered;
	json_t *nodes = json_pack("[sss]", "a", "c", "d"), *one = json_pack("[s]", "a");
	json_t *map = json_pack("[ss]", "0,2", "1,3"), *two = json_pack("[ss]", "a", "d");
	json_t *outcome;

	assert_null(rank_record_place(record, nodes, NULL, &n->config));
	assert_true(map_is(record, "[\"0-1\", \"2\", \"3\"]"));
	assert_int_equal(json_array_size(json_object_get(record, "nodes")), 3);
	assert_null(rank_record_place(record, two, map, &n->config));
	assert_true(json_equal(json_object_get(record, "map"), map));
	assert_null(rank_record_place(record, one, NULL, &n->config));
	assert_true(map_is(record, "[\"0-3\"]"));
	assert_null(json_object_get(record, "nodes"));
	/* what was on one node has no nodes, wherever the job was later */
	gathered = rank_record_gathered(was);
	assert_true(json_equal(gathered, record));
	json_decref(gathered);

	json_array_set_new(map, 1, json_string("1"));
	outcome = rank_record_place(record, two, map, &n->config);
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
	outcome = rank_record_place(record, NULL, map, &n->config);
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
	json_decref(record);
	json_decref(was);
	json_decref(nodes);
	json_decref(one);
	json_decref(two);
	json_decref(map);
}

static void test_wrong_nodes(void **state)
{
	struct node *n = *state;

	refuses(n, "none", "[]", -EINVAL, "no nodes");
	refuses(n, "none", "[\"a\", \"b\", \"c\", \"d\", \"e\"]", -EINVAL, "4 of them on 5");
	refuses(n, "none", "[\"c\", \"a\"]", -EINVAL, "this one is a, not c");
	refuses(n, "none", "[\"a\", \"a\"]", -EINVAL, "twice");
	refuses(n, "none", "[\"a\", \"b/c\"]", -EINVAL, "b/c is no name");
	refuses(n, "none", "[\"a\", 7]", -EINVAL, "no name of a node");
	refuses(n, "none", "{\"a\": 1}", -EINVAL, "no nodes");
	refuses(n, "lam", NULL, -EINVAL, "lam is no MPI library");
}

/* Our library, its lower half, and the MPI library in the version that the job has. */
static void test_installed(void **state)
{
	struct node *n = *state;
	json_t *record = record_of("mpich"), *outcome;
	char path[256], real[256];

	refuses(n, "mpich", NULL, -ENOENT, "mpich/libmpich.so.12");
	make_file(n->dir, "mpich/libmpich.so.12");
	refuses(n, "mpich", NULL, -ENOENT, "mpich/libmpi.so.12");
	make_file(n->dir, "mpich/libmpi.so.12");
	refuses(n, "mpich", NULL, -ENOENT, "/lower");
	make_file(n->dir, "lower");
	assert_null(rank_record_place(record, NULL, NULL, &n->config));

	snprintf(path, sizeof(path), "%s/libmpich.so.12", n->dir);
	json_object_set_new(record, "library", json_pack("[s, s]", path, "libmpich.so.12.2.2"));
	outcome = rank_record_place(record, NULL, NULL, &n->config);
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
	make_file(n->dir, "libmpich.so.12.2.2");
	snprintf(real, sizeof(real), "%s/libmpich.so.12.2.2", n->dir);
	assert_int_equal(symlink(real, path), 0);
	assert_null(rank_record_place(record, NULL, NULL, &n->config));

	json_object_set_new(record, "library", json_pack("[s, s]", path, "libmpich.so.12.1.0"));
	outcome = rank_record_place(record, NULL, NULL, &n->config);
	assert_int_equal(outcome_errno(outcome), -ENOEXEC);
	json_decref(outcome);
	json_decref(record);
}

/* What was found in the program is loaded on every node, and its version compared if it has one. */
static void test_found_library(struct node *n)
{
	json_t *record = record_of("mpich"), *outcome, *spec, *library;
	char path[256], list[600];

	make_file(n->dir, "mpich/libmpich.so.12");
	make_file(n->dir, "mpich/libmpi.so.12");
	make_file(n->dir, "lower");
	make_file(n->dir, "libmpi.so.12.2.2");
	snprintf(path, sizeof(path), "%s/libmpi.so.12.2.2", n->dir);
	assert_null(rank_record_library(record, path, NULL));
	library = json_object_get(record, "library");
	assert_string_equal(json_string_value(json_array_get(library, 0)), path);
	assert_string_equal(json_string_value(json_array_get(library, 1)), "libmpi.so.12.2.2");
	spec = rank_record_spec(record, 0, &n->config);
	assert_string_equal(json_string_value(json_object_get(spec, "library")), path);
	snprintf(list, sizeof(list), "%s/mpich/libmpich.so.12:%s/mpich/libmpi.so.12",
		 n->config.mpi_dir, n->config.mpi_dir);
	assert_string_equal(json_string_value(json_object_get(spec, "glue")), list);
	json_decref(spec);
	/* where only the user sees it */
	assert_null(rank_record_library(record, "/no/such/libmpi.so.12", NULL));
	library = json_object_get(record, "library");
	assert_int_equal(json_array_size(library), 1);
	assert_null(rank_record_place(record, NULL, NULL, &n->config));
	outcome = rank_record_library(record, "libmpi.so.12", NULL);
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
	json_decref(record);
}

/* What a user has chosen is recorded if it is such a library; nothing else is told of it. */
static void test_chosen_library(void **state)
{
	struct node *n = *state;
	json_t *record = record_of("mpich"), *env;
	char path[256];

	make_file(n->dir, "libmpich.so.12.9.9");
	make_file(n->dir, "secret");
	snprintf(path, sizeof(path), "CKPT_MPI_LIBRARY=%s/libmpich.so.12.9.9", n->dir);
	env = json_pack("[s, s]", "A=1", path);
	assert_null(rank_record_library(record, NULL, env));
	assert_string_equal(json_string_value(
				    json_array_get(json_object_get(record, "library"), 1)),
			    "libmpich.so.12.9.9");
	json_decref(env);
	json_object_del(record, "library");
	snprintf(path, sizeof(path), "CKPT_MPI_LIBRARY=%s/secret", n->dir);
	env = json_pack("[s]", path);
	assert_null(rank_record_library(record, NULL, env));
	assert_null(json_object_get(record, "library"));
	json_decref(env);
	json_decref(record);
	test_found_library(n);
	/* without an MPI library of ours there is nothing to know */
	record = record_of("none");
	assert_null(rank_record_library(record, NULL, NULL));
	assert_null(json_object_get(record, "library"));
	json_decref(record);
}

static json_t *asked(struct node *n, const char *text, json_t **ret_outcome)
{
	json_t *request = json_loads(text, 0, NULL), *record;

	assert_non_null(request);
	*ret_outcome = NULL;
	record = rank_record_make(request, &n->config, ret_outcome);
	json_decref(request);
	return record;
}

/* How collectives are done is the job's, wherever it is; it takes our library. */
static void test_interruptible(void **state)
{
	struct node *n = *state;
	json_t *record, *outcome, *spec;

	make_file(n->dir, "mpich/libmpich.so.12");
	make_file(n->dir, "mpich/libmpi.so.12");
	make_file(n->dir, "lower");
	record = asked(n, "{\"n\": 2, \"mpi\": \"mpich\", \"interruptible\": true}", &outcome);
	assert_non_null(record);
	assert_null(rank_record_place(record, NULL, NULL, &n->config));
	spec = rank_record_spec(record, 0, &n->config);
	assert_true(json_is_true(json_object_get(spec, "interruptible")));
	json_decref(spec);
	json_decref(record);
	record = asked(n, "{\"n\": 2, \"mpi\": \"mpich\"}", &outcome);
	spec = rank_record_spec(record, 0, &n->config);
	assert_false(json_is_true(json_object_get(spec, "interruptible")));
	json_decref(spec);
	json_decref(record);
	assert_null(asked(n, "{\"n\": 2, \"interruptible\": true}", &outcome));
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
	assert_null(asked(n,
			  "{\"n\": 2, \"mpi\": \"mpich\", \"direct\": true, \"interruptible\": "
			  "true}",
			  &outcome));
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
}

/* A restart makes no new library of a job that has none of ours. */
static void test_restart_environment(void **state)
{
	struct node *n = *state;
	static const char *const without[] = {
		"{\"n\": 2, \"mpi\": \"mpich\", \"direct\": true}", "{\"n\": 2}",
	};
	json_t *env = json_pack("[s]", "UCX_NET_DEVICES=eth1"), *wrong = json_pack("[s]", "1=1");
	json_t *outcome, *record;
	size_t i;

	record = json_pack("{s:[s], s:s}", "map", "0-1", "mpi", "mpich");
	assert_null(rank_record_check_env(record, env));
	assert_null(rank_record_check_env(NULL, NULL));
	outcome = rank_record_check_env(record, wrong);
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
	json_decref(record);
	for (i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		record = asked(n, without[i], &outcome);
		assert_non_null(record);
		outcome = rank_record_check_env(record, env);
		assert_int_equal(outcome_errno(outcome), -EINVAL);
		json_decref(outcome);
		json_decref(record);
	}
	outcome = rank_record_check_env(NULL, env);
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
	json_decref(env);
	json_decref(wrong);
}

/* Where images are is the nodes' affair, and theirs alone: a record is never of both kinds. */
static void test_apart(void **state)
{
	struct node *n = *state;
	json_t *nodes = json_pack("[ss]", "a", "b"), *one = json_pack("[s]", "a"), *outcome,
	       *record;

	n->config.image_dir_shared = false;
	record = asked(n, "{\"n\": 2, \"nodes\": [\"a\", \"b\"]}", &outcome);
	assert_non_null(record);
	assert_true(rank_record_is_apart(record));
	assert_null(rank_record_check(record, &n->config));
	/* of one node there is nothing to be shared */
	assert_null(rank_record_place(record, one, NULL, &n->config));
	assert_false(rank_record_is_apart(record));
	assert_null(rank_record_place(record, nodes, NULL, &n->config));
	assert_true(rank_record_is_apart(record));

	n->config.image_dir_shared = true;
	outcome = rank_record_check(record, &n->config);
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	assert_non_null(strstr(json_string_value(json_object_get(json_object_get(outcome, "error"),
								 "text")), "image_dir_shared"));
	json_decref(outcome);
	/* a home that shares its directory now, for a generation from before */
	assert_null(rank_record_place(record, NULL, NULL, &n->config));
	assert_false(rank_record_is_apart(record));
	n->config.image_dir_shared = false;
	outcome = rank_record_check(record, &n->config);
	assert_int_equal(outcome_errno(outcome), -EINVAL);
	json_decref(outcome);
	json_decref(record);
	json_decref(nodes);
	json_decref(one);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_where_it_was),
		test(test_other_nodes),
		test(test_more_and_fewer),
		test(test_wrong_nodes),
		test(test_installed),
		test(test_chosen_library),
		test(test_interruptible),
		test(test_restart_environment),
		test(test_apart),
	};

	return cmocka_run_group_tests_name("rank_record", tests, NULL, NULL);
}
