// SPDX-License-Identifier: GPL-2.0-only
/*
 * A coordinator's record on disk: what was written is read; what is not a record is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/job/coord_record.h"

static int make_dir(void **state)
{
	char template[] = "/tmp/coord-record.XXXXXX";

	if (!mkdtemp(template))
		return -1;
	*state = strdup(template);
	return 0;
}

static int drop_dir(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" COORD_RECORD_FILE, (char *)*state);
	unlink(path);
	rmdir(*state);
	free(*state);
	return 0;
}

static void write_text(const char *dir, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/" COORD_RECORD_FILE, dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void none_is_zero(void **state)
{
	struct coord_record record, zero = { 0 };

	memset(&record, 7, sizeof(record));
	assert_int_equal(coord_record_read(*state, &record), 0);
	assert_memory_equal(&record, &zero, sizeof(zero));
}

static void comes_back(void **state)
{
	struct coord_record record = {
		.epoch = UINT64_MAX, .committed = { 7, 1ull << 63 }, .previous = { 6, 3 },
		.prepared = { 8, 5 }, .live = { 1, 2 },
	}, again;

	record.dead.bits[0] = 1ull << 63 | 1;
	record.dead.bits[COORD_NODES_MAX / 64 - 1] = 1ull << 63;
	assert_int_equal(coord_record_write(*state, &record), 0);
	assert_int_equal(coord_record_read(*state, &again), 0);
	assert_memory_equal(&record, &again, sizeof(record));
}

static void nonsense_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[1, 2]",
		"{\"epoch\": 3}",
		"{\"epoch\": \"x\", \"committed\": [\"1\", \"1\"], \"previous\": [\"0\", \"0\"], "
		"\"prepared\": [\"0\", \"0\"], \"live\": [\"0\", \"0\"]}",
		"{\"epoch\": \"1\", \"committed\": [\"1\"], \"previous\": [\"0\", \"0\"], "
		"\"prepared\": [\"0\", \"0\"], \"live\": [\"0\", \"0\"]}",
		"{\"epoch\": \"1\", \"committed\": [\"1\", \"99999999999999999999999\"], "
		"\"previous\": [\"0\", \"0\"], \"prepared\": [\"0\", \"0\"], \"live\": [\"0\", "
		"\"0\"]}",
		"{\"epoch\": \"1\", \"committed\": [\"1\", \"1\"], \"previous\": [\"0\", \"0\"], "
		"\"prepared\": [\"0\", \"0\"], \"live\": [\"0\", \"0\"], \"dead\": [4096]}",
	};
	struct coord_record record;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_text(*state, texts[i]);
		assert_int_equal(coord_record_read(*state, &record), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(none_is_zero, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(comes_back, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(nonsense_is_refused, make_dir, drop_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
