// SPDX-License-Identifier: GPL-2.0-only
/*
 * Erasure groups as tiers: how they are written in ckptd.conf, which nodes they need, and who makes
 * the parity of whose images.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "levels/groups.h"
#include "supervisor/storage/level_config_group.h"
#include "supervisor/storage/level_config.h"

static void places(void **state)
{
	static const char *const bad[] = {
		"erasure", "erasure:", "erasure:4", "erasure:4+", "erasure:0+1", "erasure:4+0",
		"erasure:65+1", "erasure:4+17", "erasure:4+2 ", "erasure:04+2", "erasure:4+2+1",
	};
	struct level_configs levels = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(level_configs_set(&levels, "g", bad[i]), -EINVAL);
	assert_int_equal(level_configs_set(&levels, "g", "erasure:64+16"), 0);
	assert_int_equal(levels.conf[0].k, 64);
	assert_int_equal(levels.conf[0].m, 16);
	assert_true(level_config_is_group(&levels.conf[0]) &&
		    !level_config_is_dir(&levels.conf[0]));
	assert_string_equal(level_config_dir(&levels.conf[0]), "");
	assert_int_equal(level_configs_set(&levels, "g", "posix:/x"), 0);
	assert_false(level_config_is_group(&levels.conf[0]));
	level_configs_done(&levels);
}

/* Groups of five nodes are a, c, e and b, d. */
static void owners(void **state)
{
	static const struct levels_node five[] = {
		{ "a", NULL }, { "b", NULL }, { "c", NULL }, { "d", NULL }, { "e", NULL },
	};
	struct level_site site = { .node = "a", .nodes = five, .nr_nodes = 5 };
	json_t *names = json_pack("[s, s, s, s]", "d", "e", "b", "c");
	struct ckpt_error error;
	struct level_configs levels = {};

	assert_int_equal(level_configs_set(&levels, "g", "erasure:3+2"), 0);
	assert_int_equal(level_configs_set(&levels, "p", "partner"), 0);
	assert_int_equal(level_config_group_check(&levels.conf[0], &error), -ENOENT);
	level_configs_set_site(&levels, &site);
	assert_int_equal(level_config_group_check(&levels.conf[0], &error), 0);
	assert_string_equal(level_config_owner(&levels.conf[0], names, 0), "d");
	assert_string_equal(level_config_owner(&levels.conf[0], names, 1), "e");
	assert_string_equal(level_config_owner(&levels.conf[0], names, 2), "d");
	assert_string_equal(level_config_owner(&levels.conf[0], names, 3), "e");
	assert_string_equal(level_config_owner(&levels.conf[1], names, 3), "c");
	assert_null(level_config_owner(&levels.conf[0], names, 4));
	assert_int_equal(level_configs_set(&levels, "g", "erasure:4+2"), 0);
	assert_int_equal(level_config_group_check(&levels.conf[0], &error), -ERANGE);
	assert_non_null(strstr(error.text, "need 6 nodes, there are 5"));
	site.node = "x";
	assert_int_equal(level_configs_set(&levels, "g", "erasure:3+2"), 0);
	assert_int_equal(level_config_group_check(&levels.conf[0], &error), -ENOENT);
	json_decref(names);
	level_configs_done(&levels);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
