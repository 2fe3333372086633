// SPDX-License-Identifier: GPL-2.0-only
/*
 * The web pages' pure parts: texts from outside get into no markup, the token and the Host header
 * let in whom they should, paths and options are known or refused, and the time line shows every
 * generation, whatever its figures are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "web/guard.h"
#include "web/html.h"
#include "web/route.h"
#include "web/timeline.h"

/* --------------------------------------------------------------- escaping */

static char *escaped(const char *text)
{
	struct html html = { 0 };
	size_t len;

	html_text(&html, text);
	html_raw(&html, "");
	return html_done(&html, &len);
}

static void escapes(void **state)
{
	static const char *const cases[][2] = {
		{ "plain name-1.txt", "plain name-1.txt" },
		{ "<script>alert('x')</script>",
		  "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" },
		{ "\"><img src=x onerror=alert(1)>",
		  "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;" },
		{ "a&amp;b", "a&amp;amp;b" },
		{ "tab\there\nline\r\x1b[31m\x7f", "tab&#x2409;here&#x240a;line&#x240d;&#x241b;[31m"
		  "&#x2421;" },
		{ "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80",
		  "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80" },
		/* right-to-left override, zero width space, byte order mark, C1 */
		{ "a\xe2\x80\xae" "b", "a\xef\xbf\xbd" "b" },
		{ "a\xe2\x80\x8b" "b", "a\xef\xbf\xbd" "b" },
		{ "a\xef\xbb\xbf" "b", "a\xef\xbf\xbd" "b" },
		{ "a\xc2\x9b" "b", "a\xef\xbf\xbd" "b" },
		/* no UTF-8: a lone byte, overlong, a surrogate, a cut character, too large */
		{ "a\xff" "b", "a\xef\xbf\xbd" "b" },
		{ "\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x80", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = escaped(cases[i][0]);

		assert_string_equal(text, cases[i][1]);
	}
}

/* Whatever the bytes are, none of the characters with a meaning for HTML is left. */
static void escapes_anything(void **state)
{
	uint64_t rng = 88172645463325252u;
	int round, i;

	for (round = 0; round < 2000; round++) {
		char bytes[64];
		_cleanup_free_ char *text = NULL;

		for (i = 0; i < 63; i++) {
			rng ^= rng << 13;
			rng ^= rng >> 7;
			rng ^= rng << 17;
			bytes[i] = (char)(rng >> 32 | (round & 1)) ?: '<';
		}
		bytes[63] = '\0';
		text = escaped(bytes);
		assert_non_null(text);
		assert_null(strpbrk(text, "<>\"'"));
		for (i = 0; text[i]; i++)
			assert_true((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
	}
}

static void markup_takes_no_text(void **state)
{
	struct html html = { 0 };
	size_t len;

	html_rawf(&html, "<td>%d %5.1f%% %lld %zu</td>", 7, 1.5, 9ll, (size_t)3);
	assert_false(html.failed);
	html_rawf(&html, "<b>%.4s</b>", "<i>");
	assert_true(html.failed);
	html_done(&html, &len);
	html_rawf(&html, "<b>%s</b>", "<i>");
	assert_true(html.failed);
	html_done(&html, &len);
	html_rawf(&html, "<b>%c</b>", '<');
	assert_true(html.failed);
	html_raw(&html, "more");
	assert_null(html_done(&html, &len));
	assert_int_equal(len, 0);
}

static void amounts(void **state)
{
	char text[32];

	assert_string_equal(html_bytes_text(0, text), "0 B");
	assert_string_equal(html_bytes_text(1536, text), "1.5 KiB");
	assert_string_equal(html_bytes_text(-1, text), "–");
	assert_string_equal(html_bytes_text(INT64_MAX, text), "8192.0 PiB");
	assert_string_equal(html_ns_text(1500000, text), "1.50 ms");
	assert_string_equal(html_ns_text(12000000000, text), "12.0 s");
	assert_string_equal(html_ns_text(-1, text), "–");
	assert_string_equal(html_time_text(0, text), "–");
	assert_string_equal(html_time_text(INT64_MAX, text), "–");
	assert_string_equal(html_time_text(INT64_MIN, text), "–");
}

/* ------------------------------------------------------------------ guard */

static void tokens(void **state)
{
	char token[GUARD_TOKEN + 1], other[GUARD_TOKEN + 1], url[2 * GUARD_TOKEN];
	size_t i;

	assert_int_equal(guard_token(token), 0);
	assert_int_equal(guard_token(other), 0);
	assert_int_equal(strlen(token), GUARD_TOKEN);
	assert_string_not_equal(token, other);
	for (i = 0; i < GUARD_TOKEN; i++)
		assert_true(isxdigit((unsigned char)token[i]));
	snprintf(url, sizeof(url), "/%s/job/7", token);
	assert_string_equal(guard_path(token, url), "/job/7");
	assert_null(guard_path(other, url));
	snprintf(url, sizeof(url), "/%s/", token);
	assert_string_equal(guard_path(token, url), "/");
	/* each character counts */
	for (i = 1; i <= GUARD_TOKEN; i++) {
		snprintf(url, sizeof(url), "/%s/", token);
		url[i] = url[i] == '0' ? '1' : '0';
		assert_null(guard_path(token, url));
	}
	snprintf(url, sizeof(url), "/%s", token);
	assert_null(guard_path(token, url));
	snprintf(url, sizeof(url), "//%s/", token);
	assert_null(guard_path(token, url));
	snprintf(url, sizeof(url), "/%.63s/", token);
	assert_null(guard_path(token, url));
	snprintf(url, sizeof(url), "/%s0/", token);
	assert_null(guard_path(token, url));
	assert_null(guard_path(token, "/"));
	assert_null(guard_path(token, ""));
}

static void hosts(void **state)
{
	static const char *const good[] = {
		"127.0.0.1", "127.0.0.1:80", "localhost:8080", "LOCALHOST", "[::1]:65535",
	};
	static const char *const bad[] = {
		"", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil",
		"localhost:", "localhost:80x", "localhost:123456", "127.0.0.1:80:80", "127.0.0.2",
		"x127.0.0.1", "127.0.0.1 ", "localhost@evil", "[::2]", "0.0.0.0", "127.1",
		"localhost.", "user@localhost",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(guard_host(good[i]));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(guard_host(bad[i]));
}

/* ----------------------------------------------------------------- routes */

static void paths(void **state)
{
	static const struct { const char *path; enum route_kind kind; int64_t job; } good[] = {
		{ "/", ROUTE_JOBS, 0 }, { "/job/7", ROUTE_JOB, 7 }, { "/job/7/io", ROUTE_IO, 7 },
		{ "/job/12/hang", ROUTE_HANG, 12 }, { "/findings", ROUTE_FINDINGS, 0 },
		{ "/incidents", ROUTE_INCIDENTS, 0 }, { "/api/diag/incidents", ROUTE_API, 0 },
		{ "/nodes", ROUTE_NODES, 0 }, { "/devices", ROUTE_DEVICES, 0 },
		{ "/static/style.css", ROUTE_STATIC, 0 }, { "/api/ps", ROUTE_API, 0 },
		{ "/api/io/report", ROUTE_API, 0 }, { "/api/io/anomalies", ROUTE_API, 0 },
	};
	static const char *const bad[] = {
		"", "//", "/job", "/job/", "/job/0", "/job/-1", "/job/7/", "/job/7/x", "/job/7x",
		"/job/ 7", "/job/9999999999999999999999", "/api/", "/api/kill", "/api/run",
		"/api/restart", "/api/rm", "/api/ps/", "/nodes/", "/../etc/passwd", "/jobs",
	};
	struct route route;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(route_find(good[i].path, &route));
		assert_int_equal(route.kind, good[i].kind);
		assert_int_equal(route.job, good[i].job);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(route_find(bad[i], &route));
}

static void options(void **state)
{
	struct route route;
	json_t *args;

	assert_true(route_find("/job/7", &route));
	assert_true(route_option(&route, "before", "100"));
	assert_true(route_option(&route, "last", "20"));
	assert_int_equal(route.before, 100);
	assert_int_equal(route.last, 20);
	assert_false(route_option(&route, "job", "8"));
	assert_int_equal(route.job, 7);
	assert_false(route_option(&route, "last", "0"));
	assert_false(route_option(&route, "last", "-1"));
	assert_false(route_option(&route, "last", "1 "));
	assert_false(route_option(&route, "last", ""));
	assert_false(route_option(&route, "last", NULL));
	assert_false(route_option(&route, "all", "1"));
	assert_false(route_option(&route, "uid", "0"));
	assert_true(route_find("/api/list", &route));
	args = route_args(&route);
	assert_int_equal(json_object_size(args), 0);
	json_decref(args);
	assert_true(route_option(&route, "job", "3"));
	assert_true(route_option(&route, "last", "5"));
	assert_string_equal(route_verb(&route), "list");
	args = route_args(&route);
	assert_int_equal(json_integer_value(json_object_get(args, "job")), 3);
	assert_int_equal(json_integer_value(json_object_get(args, "last")), 5);
	assert_int_equal(json_object_size(args), 2);
	json_decref(args);
	assert_true(route_find("/api/stats", &route));
	assert_null(route_args(&route));
	assert_true(route_find("/", &route));
	assert_true(route_option(&route, "all", "1"));
	assert_false(route_option(&route, "all", "2"));
}

/* --------------------------------------------------------------- timeline */

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

static char *drawn(const char *rows, const char *checkpoints, const char *restarts)
{
	json_t *r = json_loads(rows, 0, NULL), *c = json_loads(checkpoints, 0, NULL);
	json_t *s = json_loads(restarts, 0, NULL);
	struct html html = { 0 };
	size_t len;
	char *text;

	html_raw(&html, " ");
	timeline_draw(&html, r, c, s);
	text = html_done(&html, &len);
	assert_non_null(text);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	json_decref(r);
	json_decref(c);
	json_decref(s);
	return text;
}

static void timelines(void **state)
{
	_cleanup_free_ char *empty = drawn("[]", "[]", "[]");
	_cleanup_free_ char *one = drawn(
		"[{\"generation\": 1, \"created\": 1000}]",
		"[{\"generation\": 1, \"taken\": 1000, \"pause_ns\": 0}]", "[]");
	_cleanup_free_ char *many = drawn(
		"[{\"generation\": 2, \"created\": 1000, \"levels\": ["
		"{\"level\": \"L1\", \"state\": \"here\"}, {\"level\": \"<pfs>\", \"state\": "
		"\"partial\"}]}, {\"generation\": 3, \"created\": 2000, \"levels\": ["
		"{\"level\": \"L1\", \"state\": \"damaged\"}, {\"level\": \"<pfs>\", \"state\": "
		"\"unknown\"}]}, {\"generation\": 4, \"error\": \"torn\"}]",
		"[{\"generation\": 1, \"taken\": 500, \"pause_ns\": 7, \"freeze_ns\": 9000},"
		"{\"generation\": 2, \"taken\": 1000, \"pause_ns\": 1000, \"freeze_ns\": 400, "
		"\"collect_ns\": 200, \"clone_ns\": 100, \"thaw_ns\": 50, \"kept\": true}]",
		"[{\"restart\": 2, \"taken\": 1500}, {\"restart\": 3, \"taken\": 3000}, "
		"{\"restart\": 77, \"taken\": 9999999}]");

	assert_string_equal(empty, " ");
	assert_int_equal(count_of(one, "class=\"mark\""), 1);
	assert_int_equal(count_of(one, "Generation 1 on level L1: whole"), 1);
	assert_int_equal(count_of(many, "class=\"mark\""), 2);
	assert_int_equal(count_of(many, "removed since"), 1);
	assert_int_equal(count_of(many, "class=\"gone\""), 1);
	/* also one after the last generation, not one from a generation that is not shown */
	assert_int_equal(count_of(many, "Restarted from"), 2);
	assert_int_equal(count_of(many, "Generation 2 on level &lt;pfs&gt;: in part"), 1);
	assert_int_equal(count_of(many, "Generation 3 on level L1: damaged"), 1);
	assert_int_equal(count_of(many, "Generation 3 on level &lt;pfs&gt;: could not be asked"),
			 1);
	assert_null(strstr(many, "<pfs>"));
	assert_null(strstr(many, "height=\"-"));
}

static void timeline_of_many_levels(void **state)
{
	const char *names[TIMELINE_LEVELS];
	json_t *row = json_object(), *rows = json_array(), *levels = json_array();
	char name[16];
	int i;

	for (i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "level%d", i % 15);
		json_array_append_new(levels, json_pack("{s:s, s:s}", "level", name, "state",
							"here"));
	}
	json_array_append_new(levels, json_pack("{s:i}", "level", 7));
	json_object_set_new(row, "levels", levels);
	json_array_append_new(rows, row);
	assert_int_equal(timeline_levels(rows, names), TIMELINE_LEVELS);
	assert_string_equal(names[7], "level7");
	assert_string_equal(timeline_level_state(row, "level14"), "here");
	assert_string_equal(timeline_level_state(row, "none"), "missing");
	json_decref(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes),
		cmocka_unit_test(escapes_anything),
		cmocka_unit_test(markup_takes_no_text),
		cmocka_unit_test(amounts),
		cmocka_unit_test(tokens),
		cmocka_unit_test(hosts),
		cmocka_unit_test(paths),
		cmocka_unit_test(options),
		cmocka_unit_test(timelines),
		cmocka_unit_test(timeline_of_many_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
