// SPDX-License-Identifier: GPL-2.0-only
/* The mappings of a process that makes as many as it can (supervisor/diagnose/place.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "supervisor/diagnose/place.h"

#define PAGE		4096UL
#define MAPPINGS	65536U
#define MEMORY		(8UL << 20)	/* that the lists of one process may take */

static bool nothing(void *arg, uint64_t at, void *buf, size_t size)
{
	return false;
}

/* Map one page after another, named by @path with the number of the mapping; the last error. */
static int map_pages(struct places *places, unsigned int nr, const char *path)
{
	char name[PLACE_PATH_MAX];
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++) {
		snprintf(name, sizeof(name), path, i);
		err = places_map(places, i * PAGE, (i + 1) * PAGE, i * PAGE, name);
	}
	return err;
}

/* Pieces of one file share its path. */
static void one_file(void **state)
{
	struct places *places = NULL;
	struct place place;

	assert_int_equal(places_new(nothing, NULL, "/prog", &places), 0);
	assert_int_equal(map_pages(places, MAPPINGS, "/prog"), 0);
	assert_true(places_size(places) < MEMORY);
	assert_int_equal(map_pages(places, 1, "/prog"), -E2BIG);
	assert_true(places_find(places, 77 * PAGE, &place));
	assert_string_equal(place.path, "/prog");
	assert_true(place.main);
	places_close(places);
}

/* Many files of long names end the list, before they take much memory. */
static void long_names(void **state)
{
	struct places *places = NULL;
	char path[PLACE_PATH_MAX];

	memset(path, 'x', sizeof(path));
	memcpy(path, "/%08u", 5);
	path[400] = '\0';
	assert_int_equal(places_new(nothing, NULL, "/prog", &places), 0);
	assert_int_equal(map_pages(places, MAPPINGS, path), -E2BIG);
	assert_true(places_size(places) < MEMORY);
	places_close(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file),
		cmocka_unit_test(long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
