// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rank maps: what is taken, and that no rank can be missing, double or too much;
 * the pieces of a fence; which MPI library a program needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ckptctl/mpi_detect.h"
#include "shim/fence.h"
#include "shim/ranks.h"

static int parse(const char *text, struct ranks *ranks)
{
	json_t *json = json_loads(text, 0, NULL);
	struct ckpt_error error = {};
	int err;

	assert_non_null(json);
	err = ranks_parse(json, ranks, &error);
	assert_int_equal(error.err, err);
	if (err)
		assert_true(error.text[0]);
	json_decref(json);
	return err;
}

static void test_map(void **state)
{
	struct ranks ranks;

	assert_int_equal(parse("{\"map\": [\"0-2,5\", \"3-4,6\"], \"node\": 1, \"mpi\": \"ompi\"}",
			       &ranks), 0);
	assert_int_equal(ranks.size, 7);
	assert_int_equal(ranks.nr_nodes, 2);
	assert_int_equal(ranks.nr, 3);
	assert_int_equal(ranks.rank[0], 3);
	assert_int_equal(ranks.rank[2], 6);
	assert_int_equal(ranks.node_of[5], 0);
	assert_int_equal(ranks.mpi, RANKS_OMPI);
	assert_int_equal(ranks.failed, -1);
	ranks_done(&ranks);
	assert_int_equal(parse("{\"map\": [\"0-2\"], \"pids\": [0, 0, 9], \"failed\": [1, 1280]}",
			       &ranks), 0);
	assert_int_equal(ranks.pids[2], 9);
	assert_int_equal(ranks.failed, 1);
	assert_int_equal(ranks.failed_status, 1280);
	ranks_done(&ranks);
}

/* Ranks of several programs have the commands in their order, on whatever node they are. */
static void test_programs(void **state)
{
	json_t *json = json_loads("{\"map\": [\"0,2\", \"1,3\"], \"node\": 1, \"programs\": ["
				  "{\"n\": 2, \"argv\": [\"a\", \"x\"]},"
				  "{\"n\": 2, \"argv\": [\"b\"]}]}", 0, NULL);
	struct ranks ranks;
	char **argv;

	assert_int_equal(ranks_parse(json, &ranks, NULL), 0);
	assert_int_equal(ranks.app_of[1], 0);
	assert_int_equal(ranks.app_of[3], 1);
	argv = ranks_argv(&ranks, 0);
	assert_string_equal(argv[0], "a");
	assert_string_equal(argv[1], "x");
	assert_null(argv[2]);
	free(argv);
	argv = ranks_argv(&ranks, 1);
	assert_string_equal(argv[0], "b");
	free(argv);
	ranks_done(&ranks);
	json_object_del(json, "programs");
	assert_int_equal(ranks_parse(json, &ranks, NULL), 0);
	assert_null(ranks_argv(&ranks, 0));
	ranks_done(&ranks);
	json_decref(json);
}

/* 1,024 nodes with 128 ranks each, every rank on another node than the one before it. */
static void test_large_map(void **state)
{
	enum { NODES = 1024, EACH = 128 };
	json_t *map = json_array(), *spec;
	char text[EACH * 8];
	struct ranks ranks = { 0 };
	unsigned int i, k;

	for (i = 0; i < NODES; i++) {
		char *at = text;

		for (k = 0; k < EACH; k++)
			at += sprintf(at, "%s%u", k ? "," : "", k * NODES + i);
		json_array_append_new(map, json_string(text));
	}
	spec = json_pack("{s:o, s:i}", "map", map, "node", NODES - 1);
	assert_int_equal(ranks_parse(spec, &ranks, NULL), 0);
	assert_int_equal(ranks.size, NODES * EACH);
	assert_int_equal(ranks.nr, EACH);
	assert_int_equal(ranks.node_of[NODES * EACH - 1], NODES - 1);
	assert_int_equal(ranks.rank[1], 2 * NODES - 1);
	ranks_done(&ranks);
	json_decref(spec);
}

static void test_bad_maps(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"map\": []}",
		"{\"map\": [\"\"]}",
		"{\"map\": \"0\"}",
		"{\"map\": [\"0-1\", \"1\"]}",
		"{\"map\": [\"0\", \"2\"]}",
		"{\"map\": [\"1-0\"]}",
		"{\"map\": [\"0-\"]}",
		"{\"map\": [\"0,\"]}",
		"{\"map\": [\"-1\"]}",
		"{\"map\": [\" 0\"]}",
		"{\"map\": [\"0-1048576\"]}",
		"{\"map\": [\"0\", \"1,0\"]}",
		"{\"map\": [\"0-99999999999\"]}",
		"{\"map\": [\"0-1024\"]}",
		"{\"map\": [\"0\"], \"node\": 1}",
		"{\"map\": [\"0\"], \"node\": -1}",
		"{\"map\": [\"0\", \"\"], \"node\": 1}",
		"{\"map\": [0]}",
		"{\"map\": [\"0\"], \"mpi\": \"lam\"}",
		"{\"map\": [\"0\"], \"other\": 1}",
		"{\"map\": [\"0\"], \"failed\": [1, 256]}",
		"{\"map\": [\"0\"], \"failed\": [-2, 256]}",
		"{\"map\": [\"0\"], \"failed\": [0]}",
		"{\"map\": [\"0\"], \"env\": [1]}",
		"{\"map\": [\"0\"], \"programs\": []}",
		"{\"map\": [\"0\"], \"programs\": [{\"n\": 1, \"argv\": []}]}",
		"{\"map\": [\"0\"], \"programs\": [{\"n\": 1, \"argv\": [7]}]}",
		"{\"map\": [\"0\"], \"programs\": [{\"n\": 2, \"argv\": [\"a\"]}]}",
		"{\"map\": [\"0\"], \"programs\": [{\"n\": 0, \"argv\": [\"a\"]}]}",
		"{\"map\": [\"0\"], \"programs\": [{\"argv\": [\"a\"]}]}",
		"{\"map\": [\"0-1\"], \"pids\": [1]}",
		"{\"map\": [\"0\"], \"pids\": [0]}",
	};
	struct ranks ranks;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i], &ranks), -EINVAL);
}

static void test_even(void **state)
{
	static const char *const expected[] = { "0-2", "3-4", "5-6" };
	json_t *map = ranks_map_even(7, 3);
	size_t i;

	for (i = 0; i < 3; i++)
		assert_string_equal(json_string_value(json_array_get(map, i)), expected[i]);
	json_decref(map);
	map = ranks_map_even(1, 1);
	assert_string_equal(json_string_value(json_array_get(map, 0)), "0");
	json_decref(map);
}

static void test_environment(void **state)
{
	struct ranks ranks;

	assert_int_equal(parse("{\"map\": [\"0\", \"1-2\"], \"node\": 1}", &ranks), 0);
	ranks.glue = "/x/libmpich.so.12";
	setenv("LD_PRELOAD", "", 1);
	assert_int_equal(ranks_setenv(&ranks, 1), 0);
	assert_string_equal(getenv("STILLPOINT_RANK"), "2");
	assert_string_equal(getenv("STILLPOINT_RANKS"), "3");
	assert_string_equal(getenv("LD_PRELOAD"), "/x/libmpich.so.12");
	setenv("LD_PRELOAD", "/y.so", 1);
	assert_int_equal(ranks_setenv(&ranks, 1), 0);
	assert_string_equal(getenv("LD_PRELOAD"), "/y.so:/x/libmpich.so.12");
	unsetenv("LD_PRELOAD");
	ranks_done(&ranks);
}

/*
 * All ranks gather before collectives, or none does: the environment of who starts them says
 * nothing.
 */
static void test_collectives(void **state)
{
	struct ranks ranks;

	setenv("CKPT_COLLECTIVES", "interruptible", 1);
	assert_int_equal(parse("{\"map\": [\"0-1\"]}", &ranks), 0);
	assert_int_equal(ranks_setenv(&ranks, 0), 0);
	assert_null(getenv("CKPT_COLLECTIVES"));
	ranks_done(&ranks);
	assert_int_equal(parse("{\"map\": [\"0-1\"], \"interruptible\": true}", &ranks), 0);
	assert_int_equal(ranks_setenv(&ranks, 0), 0);
	assert_string_equal(getenv("CKPT_COLLECTIVES"), "interruptible");
	unsetenv("CKPT_COLLECTIVES");
	ranks_done(&ranks);
}

static int check(const char *a, const char *b, const char *text)
{
	json_t *env = json_pack("[s, s]", a, b);
	struct ckpt_error error = {};
	int err = ranks_env_check(env, &error);

	if (err && !strstr(error.text, text))
		fail_msg("%s", error.text);
	json_decref(env);
	return err;
}

/* What a restart gives the new MPI library: variables, and no more than a page has room for. */
static void test_restart_environment(void **state)
{
	static const char *const bad[] = { "", "=", "=x", "1A=x", "A-B=x", "A B", "\303\244=1" };
	char *longest = malloc(RANKS_ENV_MAX);
	json_t *number = json_pack("[s, i]", "A=1", 1), *none = json_string("A=1");
	size_t i;

	assert_int_equal(check("UCX_NET_DEVICES=eth1,eth2", "_a9", ""), 0);
	assert_int_equal(check("A=", "AB==", ""), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(check("A=1", bad[i], "NAME=VALUE"), -EINVAL);
	assert_int_equal(check("A=1", "A", "A is there twice"), -EINVAL);
	assert_int_equal(check("A=1", "CKPT_LOWER=/x", "CKPT_LOWER is Stillpoint's own"), -EINVAL);
	/* with the other's four and its own 0 it is just as long as it may be */
	memset(longest, 'x', RANKS_ENV_MAX);
	longest[RANKS_ENV_MAX - 5] = '\0';
	assert_int_equal(check("A=1", longest, ""), 0);
	assert_int_equal(check("AB=1", longest, "2048 bytes"), -EINVAL);
	assert_int_equal(ranks_env_check(number, NULL), -EINVAL);
	assert_int_equal(ranks_env_check(none, NULL), -EINVAL);
	json_decref(number);
	json_decref(none);
	free(longest);
}

static void test_restart_environment_first(void **state)
{
	json_t *to = json_pack("[s, s, s]", "PMI_PORT=a:1", "A=1", "B"), *expected;
	json_t *env = json_pack("[s, s, s, s]", "B=2", "A", "AB=3", "PMI_POR=x");

	ranks_env_put(to, NULL);
	assert_int_equal(json_array_size(to), 3);
	ranks_env_put(to, env);
	expected = json_pack("[s, s, s, s, s]", "PMI_PORT=a:1", "A", "B=2", "AB=3", "PMI_POR=x");
	assert_true(json_equal(to, expected));
	json_decref(to);
	json_decref(env);
	json_decref(expected);
}

static void test_fence(void **state)
{
	struct shim_fence fence = { 0 };
	struct fence_reader reader = { 0 };
	uint64_t number;
	const char *data;
	size_t len;
	bool more;

	assert_false(fence_peek(&fence, &reader, 4, &data, &len, &more));
	assert_int_equal(fence_begin(&fence, "abcdef", 6), 0);
	assert_int_equal(fence_begin(&fence, "", 0), -EBUSY);
	assert_true(fence_peek(&fence, &reader, 4, &data, &len, &more));
	assert_int_equal(len, 4);
	assert_true(more);
	fence_advance(&reader, len, more);
	assert_true(fence_peek(&fence, &reader, 4, &data, &len, &more));
	assert_int_equal(len, 2);
	assert_memory_equal(data, "ef", 2);
	assert_false(more);
	fence_advance(&reader, len, more);
	assert_false(fence_peek(&fence, &reader, 4, &data, &len, &more));
	/* an answer to another one, one that is cut off, one that is whole */
	assert_int_equal(fence_answer(&fence, 2, "x", 1, false), 0);
	assert_int_equal(fence_answer(&fence, 1, "old", 3, true), 0);
	fence_restart(&fence, &reader);
	assert_int_equal(fence_answer(&fence, 1, "new", 3, true), 0);
	assert_int_equal(fence_answer(&fence, 1, NULL, 0, false), 1);
	assert_int_equal(fence.all_len, 3);
	assert_memory_equal(fence.all, "new", 3);
	fence_finish(&fence);
	/* one without data is one message */
	assert_int_equal(fence_begin(&fence, NULL, 0), 0);
	assert_int_equal(fence.number, 2);
	assert_true(fence_peek(&fence, &reader, 4, &data, &len, &more));
	assert_int_equal(len, 0);
	assert_false(more);
	fence_advance(&reader, len, more);
	assert_false(fence_peek(&fence, &reader, 4, &data, &len, &more));
	assert_int_equal(fence_answer(&fence, 1, "late", 4, false), 0);
	assert_int_equal(fence_answer(&fence, 2, NULL, 0, false), 1);
	/* who comes anew hears what came of the one before, once */
	assert_false(fence_peek_last(&fence, &reader, 2, &number, &data, &len, &more));
	fence_restart(&fence, &reader);
	assert_true(fence_peek_last(&fence, &reader, 2, &number, &data, &len, &more));
	assert_true(number == 1 && len == 2 && more && !memcmp(data, "ne", 2));
	fence_advance_last(&reader, len, more);
	assert_true(fence_peek_last(&fence, &reader, 2, &number, &data, &len, &more));
	assert_true(number == 1 && len == 1 && !more && *data == 'w');
	fence_advance_last(&reader, len, more);
	assert_false(fence_peek_last(&fence, &reader, 2, &number, &data, &len, &more));
	assert_true(fence_peek(&fence, &reader, 4, &data, &len, &more));
	fence_end(&fence);
	assert_int_equal(fence.number, 2);
}

static void write_file(const char *path, const char *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static int detect(const char *program, const char *dir, struct mpi_need *need,
		  struct ckpt_error *error)
{
	char *argv[] = { (char *)program, NULL };

	return mpi_detect(argv, dir, need, error);
}

static void test_detect(void **state)
{
	char path[] = "/tmp/ranks-XXXXXX", self[8192];
	struct mpi_need need = { .library.kind = MPI_LIBRARY_OTHER };
	struct ckpt_error error = { 0 };
	size_t len, cut;
	FILE *f;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(detect("/bin/true", NULL, &need, &error), 0);
	assert_int_equal(need.library.kind, MPI_LIBRARY_NONE);
	assert_int_equal(detect("true", NULL, &need, &error), 0);
	assert_int_equal(detect("sh", NULL, &need, &error), -ENOEXEC);
	assert_int_equal(detect("no-such-program-here", NULL, &need, &error), -ENOENT);
	assert_int_equal(detect("./no-such-program", "/tmp", &need, &error), -ENOENT);
	write_file(path, "#!/bin/sh\n", 10);
	assert_int_equal(detect(path, NULL, &need, &error), -ENOEXEC);
	assert_non_null(strstr(error.text, "cannot be told"));
	write_file(path, "#!", 2);
	assert_int_equal(detect(path, NULL, &need, &error), -ENOEXEC);
	/* a program cut off anywhere, or with a byte of its head changed, does no harm */
	f = fopen("/proc/self/exe", "r");
	assert_non_null(f);
	len = fread(self, 1, sizeof(self), f);
	fclose(f);
	for (cut = 0; cut < 2048; cut += 7) {
		write_file(path, self, cut);
		detect(path, NULL, &need, &error);
		self[cut] ^= (char)0xff;
		write_file(path, self, len);
		detect(path, NULL, &need, &error);
		self[cut] ^= (char)0xff;
	}
	unlink(path);
}

static void look_at(const char *path)
{
	struct mpi_library library;
	struct mpi_elf *elf;

	if (mpi_elf_open(path, &elf))
		return;
	mpi_library_identify(elf, &library);
	mpi_library_guess(elf, &library);
	mpi_elf_find(elf, "PMPI_Init");
	mpi_elf_linker(elf);
	mpi_elf_close(elf);
}

/* Any byte of a library's headers and tables may be wrong. */
static void test_damaged_library(void **state)
{
	char path[] = "/tmp/ranks-XXXXXX", text[64];
	FILE *f = fopen("/lib/x86_64-linux-gnu/libdl.so.2", "r");
	char *data = malloc(1 << 20);
	struct mpi_elf *elf;
	size_t len, i;
	int fd = mkstemp(path);

	assert_true(f && data && fd >= 0);
	len = fread(data, 1, 1 << 20, f);
	fclose(f);
	assert_int_equal(pwrite(fd, data, len, 0), (ssize_t)len);
	assert_int_equal(mpi_elf_open(path, &elf), 0);
	assert_true(mpi_elf_defines(elf, "__libdl_version_placeholder"));
	assert_false(mpi_elf_defines(elf, "PMPI_Init"));
	assert_false(mpi_elf_text(elf, "no such symbol", text, sizeof(text)));
	mpi_elf_close(elf);
	for (i = 0; i < len; i += 7) {
		char bad = (char)(data[i] ^ (i & 1 ? 0xff : 0x10));

		assert_int_equal(pwrite(fd, &bad, 1, (off_t)i), 1);
		look_at(path);
		assert_int_equal(pwrite(fd, &data[i], 1, (off_t)i), 1);
	}
	for (i = len; i > 0; i -= i > 61 ? 61 : i) {
		assert_int_equal(ftruncate(fd, (off_t)i), 0);
		look_at(path);
	}
	unlink(path);
	close(fd);
	free(data);
}

/* A library goes by its name or by an alias, with a version behind it or not. */
static void test_sonames(void **state)
{
	assert_string_equal(ranks_mpi_soname(RANKS_MPICH, 0), "libmpich.so.12");
	assert_string_equal(ranks_mpi_soname(RANKS_MPICH, 1), "libmpi.so.12");
	assert_null(ranks_mpi_soname(RANKS_MPICH, 2));
	assert_null(ranks_mpi_soname(RANKS_OMPI, 1));
	assert_null(ranks_mpi_soname(RANKS_NONE, 0));
	assert_true(ranks_mpi_is_named(RANKS_MPICH, "libmpi.so.12"));
	assert_true(ranks_mpi_is_named(RANKS_MPICH, "libmpi.so.12.2.2"));
	assert_false(ranks_mpi_is_named(RANKS_MPICH, "libmpi.so.120"));
	assert_false(ranks_mpi_is_named(RANKS_MPICH, "libmpi.so.40"));
	assert_false(ranks_mpi_is_named(RANKS_NONE, "libmpi.so.12"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_large_map),
		cmocka_unit_test(test_bad_maps),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_restart_environment),
		cmocka_unit_test(test_restart_environment_first),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_detect),
		cmocka_unit_test(test_damaged_library),
		cmocka_unit_test(test_sonames),
	};

	return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
