// SPDX-License-Identifier: GPL-2.0-only
/*
 * PMI-1's server side, line by line: what a library asks and gets, barriers on one
 * node and over several, and what a rank must not get away with.
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

#include "shim/pmi1.h"
#include "shim/pmi1_kvs.h"

#define RANKS	3

struct world {
	struct pmi1 *server;
	char said[RANKS][8192];		/* to each rank since it was last asked */
	char fence[8192];
	size_t fence_len;
	unsigned int fences;
	int aborted_by;
	int code;
};

static const unsigned int ranks[RANKS] = { 4, 5, 9 };

static void on_send(unsigned int index, const char *text, size_t len, void *arg)
{
	struct world *w = arg;

	assert_int_equal(text[len - 1], '\n');
	assert_true(strlen(w->said[index]) + len < sizeof(w->said[index]));
	strncat(w->said[index], text, len);
}

static void on_fence(const void *data, size_t len, void *arg)
{
	struct world *w = arg;

	w->fences++;
	assert_true(len <= sizeof(w->fence));
	if (len)
		memcpy(w->fence, data, len);
	w->fence_len = len;
}

static void on_abort(unsigned int index, int code, void *arg)
{
	struct world *w = arg;

	w->aborted_by = (int)index;
	w->code = code;
}

static const struct pmi1_ops ops = { on_send, on_fence, on_abort };

static void world_open(struct world *w, unsigned int nr, bool alone)
{
	struct pmi1_config config = {
		.size = alone ? nr : 10, .nr = nr, .rank = ranks, .alone = alone,
		.kvsname = "kvs_7", .mapping = "(vector,(0,1,3))", .ops = &ops, .arg = w,
	};

	memset(w, 0, sizeof(*w));
	w->aborted_by = -1;
	assert_int_equal(pmi1_create(&config, &w->server), 0);
}

static int line(struct world *w, unsigned int index, const char *text)
{
	/* exactly as long as it is, so that an overrun is seen */
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int err;

	memcpy(copy, text, len);
	err = pmi1_line(w->server, index, copy, len);
	free(copy);
	return err;
}

static void expect(struct world *w, unsigned int index, const char *text,
		   const char *answer)
{
	w->said[index][0] = '\0';
	assert_int_equal(line(w, index, text), 0);
	assert_string_equal(w->said[index], answer);
}

static void init_all(struct world *w, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		expect(w, i, "cmd=init pmi_version=1 pmi_subversion=1",
		       "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

/* Ranks 4 and 9 of the job are of different programs. */
static void test_appnum(void **state)
{
	static const unsigned int app_of[10] = { 0, 0, 1, 1, 1, 1, 1, 2, 2, 2 };
	struct pmi1_config config = {
		.size = 10, .nr = RANKS, .rank = ranks, .app_of = app_of, .kvsname = "kvs_7",
		.ops = &ops,
	};
	struct world w = { 0 };

	config.arg = &w;
	assert_int_equal(pmi1_create(&config, &w.server), 0);
	init_all(&w, RANKS);
	expect(&w, 0, "cmd=get_appnum", "cmd=appnum appnum=1\n");
	expect(&w, 2, "cmd=get_appnum", "cmd=appnum appnum=2\n");
	pmi1_destroy(w.server);
}

static void test_questions(void **state)
{
	struct world w;

	world_open(&w, 2, true);
	pmi1_greet(w.server, 1);
	assert_string_equal(w.said[1], "cmd=initack\ncmd=set size=2\ncmd=set rank=5\ncmd=set "
				       "debug=0\n");
	init_all(&w, 2);
	expect(&w, 0, "cmd=get_maxes", "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=800\n");
	expect(&w, 0, "cmd=get_appnum", "cmd=appnum appnum=0\n");
	expect(&w, 0, "cmd=get_universe_size", "cmd=universe_size size=2\n");
	expect(&w, 0, "cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_7\n");
	expect(&w, 0, "cmd=get kvsname=kvs_7 key=PMI_process_mapping",
	       "cmd=get_result rc=0 msg=success value=(vector,(0,1,3))\n");
	expect(&w, 0, "cmd=lookup_name service=x", "cmd=lookup_result rc=-1 msg=not_supported\n");
	expect(&w, 0, "cmd=finalize", "cmd=finalize_ack\n");
	pmi1_destroy(w.server);
}

static void test_other_version(void **state)
{
	struct world w;

	world_open(&w, 1, true);
	expect(&w, 0, "cmd=init pmi_version=2 pmi_subversion=0",
	       "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
	assert_false(pmi1_is_member(w.server, 0));
	pmi1_destroy(w.server);
}

static void test_put_get(void **state)
{
	struct world w;

	world_open(&w, 2, true);
	init_all(&w, 2);
	expect(&w, 0, "cmd=put kvsname=kvs_7 key=a value=x=y", "cmd=put_result rc=0 msg=success\n");
	expect(&w, 0, "cmd=put kvsname=kvs_7 key=b value=", "cmd=put_result rc=0 msg=success\n");
	expect(&w, 1, "cmd=get kvsname=kvs_7 key=a", "cmd=get_result rc=0 msg=success value=x=y\n");
	expect(&w, 1, "cmd=get kvsname=kvs_7 key=b", "cmd=get_result rc=0 msg=success value=\n");
	expect(&w, 1, "cmd=get kvsname=kvs_7 key=c",
	       "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
	expect(&w, 0, "cmd=put kvsname=kvs_7 key=a value=z", "cmd=put_result rc=0 msg=success\n");
	expect(&w, 1, "cmd=get kvsname=kvs_7 key=a", "cmd=get_result rc=0 msg=success value=z\n");
	assert_int_equal(line(&w, 0, "cmd=put kvsname=kvs_8 key=a value=x"), -EPROTO);
	pmi1_destroy(w.server);
}

static void test_barrier(void **state)
{
	struct world w;
	int round;

	world_open(&w, 3, true);
	init_all(&w, 3);
	for (round = 0; round < 2; round++) {
		expect(&w, 2, "cmd=barrier_in", "");
		expect(&w, 0, "cmd=barrier_in", "");
		assert_int_equal(line(&w, 0, "cmd=get_maxes"), -EPROTO);
		expect(&w, 1, "cmd=barrier_in", "cmd=barrier_out\n");
		assert_string_equal(w.said[0], "cmd=barrier_out\n");
		assert_string_equal(w.said[2], "cmd=barrier_out\n");
	}
	assert_int_equal(w.fences, 0);
	pmi1_destroy(w.server);
}

static void test_fence(void **state)
{
	struct world a, b;
	char all[256];
	size_t len;

	world_open(&a, 1, false);
	world_open(&b, 2, false);
	init_all(&a, 1);
	init_all(&b, 2);
	assert_int_equal(pmi1_fence_done(a.server, "", 0), -EPROTO);
	expect(&a, 0, "cmd=put kvsname=kvs_7 key=of-a value=1",
	       "cmd=put_result rc=0 msg=success\n");
	expect(&b, 1, "cmd=put kvsname=kvs_7 key=of-b value=2",
	       "cmd=put_result rc=0 msg=success\n");
	expect(&a, 0, "cmd=barrier_in", "");
	expect(&b, 0, "cmd=barrier_in", "");
	assert_int_equal(b.fences, 0);
	expect(&b, 1, "cmd=barrier_in", "");
	assert_int_equal(a.fences + b.fences, 2);
	memcpy(all, b.fence, b.fence_len);
	memcpy(all + b.fence_len, a.fence, a.fence_len);
	len = a.fence_len + b.fence_len;
	assert_int_equal(pmi1_fence_done(a.server, all, len - 1), -EBADMSG);
	assert_int_equal(pmi1_fence_done(a.server, all, len), 0);
	assert_int_equal(pmi1_fence_done(b.server, all, len), 0);
	assert_string_equal(a.said[0], "cmd=barrier_out\n");
	assert_string_equal(b.said[0], "cmd=barrier_out\n");
	expect(&a, 0, "cmd=get kvsname=kvs_7 key=of-b",
	       "cmd=get_result rc=0 msg=success value=2\n");
	expect(&b, 0, "cmd=get kvsname=kvs_7 key=of-a",
	       "cmd=get_result rc=0 msg=success value=1\n");
	/* the next one has nothing new */
	expect(&a, 0, "cmd=barrier_in", "");
	assert_int_equal(a.fence_len, 0);
	pmi1_destroy(a.server);
	pmi1_destroy(b.server);
}

static void test_gone(void **state)
{
	struct world w;

	world_open(&w, 3, true);
	init_all(&w, 3);
	assert_true(pmi1_is_member(w.server, 0));
	expect(&w, 0, "cmd=finalize", "cmd=finalize_ack\n");
	assert_false(pmi1_is_member(w.server, 0));
	pmi1_gone(w.server, 0);
	assert_false(pmi1_is_stuck(w.server));
	expect(&w, 1, "cmd=barrier_in", "");
	assert_true(pmi1_is_stuck(w.server));
	pmi1_destroy(w.server);
}

static void test_abort(void **state)
{
	static const struct {
		const char *line;
		int code;
	} cases[] = {
		{ "cmd=abort exitcode=7", 7 }, { "cmd=abort exitcode=0", 0 },
		{ "cmd=abort exitcode=-1", 255 }, { "cmd=abort exitcode=256", 0 },
		{ "cmd=abort exitcode=x", 1 }, { "cmd=abort", 1 },
		{ "cmd=abort exitcode=99999999999999999999", 1 },
		{ "cmd=abort exitcode=-", 1 }, { "cmd=abort exitcode=", 1 },
	};
	struct world w;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		world_open(&w, 2, true);
		assert_int_equal(line(&w, 1, cases[i].line), 0);
		assert_int_equal(w.aborted_by, 1);
		assert_int_equal(w.code, cases[i].code);
		pmi1_destroy(w.server);
	}

	/* by a signal handler, or another thread than the one that waits */
	world_open(&w, 2, true);
	init_all(&w, 2);
	expect(&w, 1, "cmd=barrier_in", "");
	assert_int_equal(line(&w, 1, "cmd=abort exitcode=3"), 0);
	assert_int_equal(w.code, 3);
	assert_int_equal(line(&w, 1, "cmd=get_appnum"), -EPROTO);
	pmi1_destroy(w.server);
}

static void test_spawn_is_refused(void **state)
{
	struct world w;

	world_open(&w, 1, true);
	init_all(&w, 1);
	w.said[0][0] = '\0';
	assert_int_equal(line(&w, 0, "mcmd=spawn"), 0);
	assert_int_equal(line(&w, 0, "nprocs=1"), 0);
	assert_int_equal(line(&w, 0, "cmd=abort exitcode=1"), 0);
	assert_int_equal(w.aborted_by, -1);
	assert_string_equal(w.said[0], "");
	expect(&w, 0, "endcmd", "cmd=spawn_result rc=-1 errcodes=-1\n");
	expect(&w, 0, "cmd=get_appnum", "cmd=appnum appnum=0\n");
	pmi1_destroy(w.server);
}

static void test_nonsense(void **state)
{
	static const char *const lines[] = {
		"", " ", "=", "cmd", "cmd=", "cmd==", "cmd=nothing", "cmd=put",
		"cmd=put kvsname=kvs_7", "cmd=put kvsname=kvs_7 key=a",
		"cmd=get kvsname=kvs_7", "cmd=barrier_in", "cmd=finalize",
		"cmd=get kvsname=kvs_7 key=a", "xcmd=init", "cmd=init2", "mcmd=other",
	};
	struct world w;
	size_t i;

	world_open(&w, 1, true);
	/* before init nothing of these is in order */
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(line(&w, 0, lines[i]), -EPROTO);
	assert_int_equal(pmi1_line(w.server, 0, "cmd=get\0_maxes", 14), -EPROTO);
	init_all(&w, 1);
	assert_int_equal(line(&w, 0, "cmd=init pmi_version=1"), -EPROTO);
	pmi1_destroy(w.server);
}

static void test_bounds(void **state)
{
	char text[PMI1_LINE_MAX], value[PMI1_VALUE_MAX + 1];
	struct world w;
	int i, err = 0;

	world_open(&w, 1, true);
	init_all(&w, 1);
	memset(value, 'v', sizeof(value));
	value[PMI1_VALUE_MAX] = '\0';
	snprintf(text, sizeof(text), "cmd=put kvsname=kvs_7 key=k value=%s", value);
	expect(&w, 0, text, "cmd=put_result rc=-1 msg=key_or_value_too_long\n");
	value[PMI1_VALUE_MAX - 1] = '\0';
	snprintf(text, sizeof(text), "cmd=put kvsname=kvs_7 key=k value=%s", value);
	expect(&w, 0, text, "cmd=put_result rc=0 msg=success\n");
	/* an answer fits the 1024 bytes that libraries have */
	w.said[0][0] = '\0';
	assert_int_equal(line(&w, 0, "cmd=get kvsname=kvs_7 key=k"), 0);
	assert_true(strlen(w.said[0]) < 1024);
	snprintf(text, sizeof(text), "cmd=put kvsname=kvs_7 key=%.64s value=1", value);
	expect(&w, 0, text, "cmd=put_result rc=-1 msg=key_or_value_too_long\n");
	for (i = 0; i < 4000 && !err; i++) {
		snprintf(text, sizeof(text), "cmd=put kvsname=kvs_7 key=k%d value=%s", i, value);
		w.said[0][0] = '\0';
		err = line(&w, 0, text);
	}
	assert_int_equal(err, -ENOSPC);
	assert_in_range(i, 1000, 1400);
	/* and it is still served */
	expect(&w, 0, "cmd=get_appnum", "cmd=appnum appnum=0\n");
	pmi1_destroy(w.server);
}

/* A rank that is a script: each program has its own budget, and what they leave is bounded. */
static void test_programs(void **state)
{
	char text[PMI1_LINE_MAX], value[PMI1_VALUE_MAX];
	struct world w;
	int i, other, err = 0;

	memset(value, 'v', sizeof(value));
	value[PMI1_VALUE_MAX - 1] = '\0';
	world_open(&w, 1, true);
	for (other = 0; other < 2; other++) {
		for (i = 0; i < 4000 && !err; i++) {
			init_all(&w, 1);
			snprintf(text, sizeof(text), "cmd=put kvsname=kvs_7 key=k%d value=%s",
				 other ? i : 0, value);
			err = line(&w, 0, text);
			w.said[0][0] = '\0';
			if (!err)
				expect(&w, 0, "cmd=finalize", "cmd=finalize_ack\n");
		}
		assert_int_equal(err, other ? -ENOSPC : 0);
	}
	assert_in_range(i, 1000, 1400);
	/* over what is there there is room */
	snprintf(text, sizeof(text), "cmd=put kvsname=kvs_7 key=k7 value=%s", value);
	expect(&w, 0, text, "cmd=put_result rc=0 msg=success\n");
	pmi1_destroy(w.server);
}

static void test_initack(void **state)
{
	unsigned int token;

	assert_int_equal(pmi1_parse_initack("cmd=initack pmiid=123", 21, &token), 0);
	assert_int_equal(token, 123);
	assert_int_equal(pmi1_parse_initack("cmd=initack pmiid=2147483648", 28, &token), -EPROTO);
	assert_int_equal(pmi1_parse_initack("cmd=initack pmiid=-1", 20, &token), -EPROTO);
	assert_int_equal(pmi1_parse_initack("cmd=initack", 11, &token), -EPROTO);
	assert_int_equal(pmi1_parse_initack("cmd=init pmiid=1", 16, &token), -EPROTO);
	assert_int_equal(pmi1_parse_initack("", 0, &token), -EPROTO);
}

static void test_kvs_blocks(void **state)
{
	static const uint8_t bad[][8] = {
		{ 1 }, { 1, 0, 1 }, { 0, 0, 1, 0, 'v' }, { 9, 0, 0, 0, 'k' },
		{ 1, 0, 9, 0, 'k' }, { 1, 0, 0, 0x80, 'k' },
	};
	static const size_t len[] = { 1, 3, 5, 5, 5, 5 };
	struct kvs *kvs = kvs_create(8, 8);
	const char *value;
	size_t i, vlen;
	char key[16];

	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++)
		assert_int_equal(kvs_put_block(kvs, bad[i], len[i]), -EBADMSG);
	/* half good: nothing is taken */
	assert_int_equal(kvs_put_block(kvs, "\1\0\1\0av\1", 7), -EBADMSG);
	assert_null(kvs_get(kvs, "a", 1, &vlen));
	assert_int_equal(kvs_put_block(kvs, "\1\0\1\0av", 6), 0);
	assert_non_null(kvs_get(kvs, "a", 1, &vlen));
	for (i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "k%zu", i);
		assert_int_equal(kvs_put(kvs, key, strlen(key), key, strlen(key)), 0);
	}
	for (i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "k%zu", i);
		value = kvs_get(kvs, key, strlen(key), &vlen);
		assert_non_null(value);
		assert_int_equal(vlen, strlen(key));
		assert_memory_equal(value, key, vlen);
	}
	assert_null(kvs_get(kvs, "", 0, &vlen));
	kvs_destroy(kvs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_appnum),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_put_get),
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_spawn_is_refused),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_initack),
		cmocka_unit_test(test_kvs_blocks),
	};

	return cmocka_run_group_tests_name("pmi1", tests, NULL, NULL);
}
