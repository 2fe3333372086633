// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels on other nodes that do not answer: how often a process asks each.
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
#include "supervisor/storage/ticket.h"
#include "supervisor/storage/level_config.h"

static unsigned int asked;

/* In the place of ckptd's: nobody answers. */
int ticket_get(const struct ticket_ask *ask, struct partner_ticket *ret_ticket, char **ret_dir,
	       struct ckpt_error *error)
{
	asked++;
	*ret_dir = NULL;
	return error_set(error, -ETIMEDOUT, "has not answered: see ckptctl nodes");
}

struct box {
	struct levels_node nodes[3];
	unsigned char silent[3];
	struct level_site site;
	struct level_configs levels;
};

static void box_init(struct box *b, const char *place)
{
	*b = (struct box) { .nodes = { { .name = "a" }, { .name = "b" }, { .name = "c" } } };
	b->site = (struct level_site){
		.node = "a",
		.socket = "/nowhere",
		.nodes = b->nodes,
		.nr_nodes = 3,
		.silent = b->silent,
	};
	assert_int_equal(level_configs_set(&b->levels, "p", place), 0);
	level_configs_set_site(&b->levels, &b->site);
	asked = 0;
}

static int look(const struct box *b, const char *owner, struct ckpt_error *error)
{
	const struct level_user user = { .node = owner, .read_only = true };
	struct level *level;

	return level_config_open(&b->levels.conf[0], &user, &level, error);
}

static void who_is_silent_is_asked_twice(void **state)
{
	struct ckpt_error error;
	struct box b;

	box_init(&b, "partner:c");
	assert_int_equal(look(&b, "a", &error), -ETIMEDOUT);
	assert_int_equal(look(&b, "b", &error), -ETIMEDOUT);
	assert_int_equal(look(&b, "a", &error), -EHOSTUNREACH);
	assert_non_null(strstr(error.text, "node c does not answer"));
	assert_int_equal(asked, 2);
	level_configs_done(&b.levels);
}

/* The same where the node is chosen, by whose images they are. */
static void so_is_a_partner_that_is_chosen(void **state)
{
	struct ckpt_error error;
	struct box b;

	box_init(&b, "partner");
	assert_int_equal(look(&b, "a", &error), -ETIMEDOUT);
	assert_int_equal(look(&b, "a", &error), -ETIMEDOUT);
	assert_int_equal(look(&b, "a", &error), -EHOSTUNREACH);
	assert_non_null(strstr(error.text, "node b does not answer"));
	assert_int_equal(asked, 2);
	/* another's is another node */
	assert_int_equal(look(&b, "b", &error), -ETIMEDOUT);
	assert_int_equal(asked, 3);
	/* who has none is told so by ckptd */
	assert_int_equal(look(&b, "z", &error), -ETIMEDOUT);
	assert_int_equal(asked, 4);
	level_configs_done(&b.levels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_silent_is_asked_twice),
		cmocka_unit_test(so_is_a_partner_that_is_chosen),
	};

	return cmocka_run_group_tests_name("level_config", tests, NULL, NULL);
}
