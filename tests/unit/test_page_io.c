// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of a job's I/O over nodes: each node has a row, nodes that are missing are named, and a
 * node's name or its error is a text, whatever is in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "web/page.h"

static const char list[] =
	"{\"ok\": true, \"result\": {\"jobs\": [{\"job\": 7, \"name\": \"x\", \"state\": "
	"\"running\", \"uid\": 1000}]}}";

static const char alone[] =
	"{\"ok\": true, \"result\": {\"seconds\": 60, \"spans\": [{\"source\": \"bpf\", "
	"\"began\": 1700000000, \"why\": \"\"}, {\"source\": \"bpf\", \"began\": 1700000100, "
	"\"why\": \"\"}], \"nodes\": [{\"node\": \"n1\"}], \"files\": {\"number\": 1, \"list\": "
	"[{\"path\": \"/one\", \"nodes\": 1}]}}}";

static const char several[] =
	"{\"ok\": true, \"result\": {\"seconds\": 60, \"spans\": [{\"node\": \"n1\", \"source\": "
	"\"bpf\", \"began\": 1700000000, \"why\": \"\"}, {\"node\": \"<b>n2\", \"source\": "
	"\"proc\", \"began\": 1700000000, \"why\": \"\"}], \"nodes\": [{\"node\": \"n1\", "
	"\"source\": \"bpf\", \"seconds\": 60, \"read_bytes\": 0, \"write_bytes\": 1024, "
	"\"readers\": 0, \"writers\": 3}, {\"node\": \"<b>n2\", \"source\": \"proc\", "
	"\"seconds\": 50}], \"silent_nodes\": [\"<i>n3\"], "
	"\"unwatched_nodes\": [\"n4\"], \"failed_nodes\": {\"n5\": \"<script>\"}, \"files\": "
	"{\"number\": 1, \"list\": [{\"path\": \"/one\", \"nodes\": 2}]}}}";

static const char *report;

json_t *ask_call(struct ask *ask, const char *verb, json_t *args)
{
	json_decref(args);
	return json_loads(strcmp(verb, "io_report") ? list : report, 0, NULL);
}

/* The page, which the caller frees. */
static char *page_of(const char *answer)
{
	const struct route route = { .kind = ROUTE_IO, .job = 7 };
	struct page page = { .route = &route, .base = "/t", .node = "n1", .status = 200 };

	report = answer;
	page_io(&page);
	assert_int_equal(page.status, 200);
	assert_false(page.html.failed);
	assert_non_null(page.html.text);
	return page.html.text;
}

static void test_alone(void **state)
{
	char *text = page_of(alone);

	assert_null(strstr(text, "<h2>Nodes</h2>"));
	assert_null(strstr(text, "Without node"));
	assert_non_null(strstr(text, " 2 watches;"));
	free(text);
}

static void test_several(void **state)
{
	char *text = page_of(several);

	assert_non_null(strstr(text, "<h2>Nodes</h2>"));
	assert_non_null(strstr(text, "<bdi>n1</bdi>"));
	assert_non_null(strstr(text, "<bdi>&lt;b&gt;n2</bdi>"));
	assert_non_null(strstr(text, "Without node <bdi>&lt;i&gt;n3</bdi>: it did not answer"));
	assert_non_null(strstr(text, "Without node <bdi>n4</bdi>: the job was never watched"));
	assert_non_null(strstr(text, "Without node <bdi>n5</bdi>: &lt;script&gt;"));
	assert_null(strstr(text, "<b>n2"));
	/* one watch on each node */
	assert_null(strstr(text, "watches;"));
	free(text);
}

/* Two watches on one of three nodes are two; what was lost is said; slow phases have a cause. */
static void test_counts(void **state)
{
	char *text = page_of("{\"ok\": true, \"result\": {\"seconds\": 60, \"silent_nodes\": [], "
		"\"spans\": [{\"node\": \"n1\", \"files_lost\": 5, \"files_full\": 1}, "
		"{\"node\": \"n2\", \"names_lost\": 6}, {\"node\": \"n1\"}], "
		"\"nodes\": [{\"node\": \"n1\"}, {\"node\": \"n2\"}, {\"node\": \"n3\"}], "
		"\"anomalies\": {\"judged\": 9, \"list\": [{\"began\": 1000, \"seconds\": 41, "
		"\"kind\": \"write\", \"node\": \"<n2\", \"text\": \"interference by job 8\"}]}}}");

	assert_non_null(strstr(text, " 2 watches;"));
	assert_non_null(strstr(text, "not by file: 5 operations"));
	assert_non_null(strstr(text, " 6 times a file&#39;s name was not told"));
	assert_non_null(strstr(text, "More than 100,000 files"));
	assert_non_null(strstr(text, "1 of 9 phases"));
	assert_non_null(strstr(text, "<bdi>&lt;n2</bdi>"));
	assert_non_null(strstr(text, "interference by job 8"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
