// SPDX-License-Identifier: GPL-2.0-only
/* The nodes that a job goes on with after it has lost some (ckptctl/recover_nodes.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ckptctl/recover_nodes.h"

/* "n1,n2" as [name, ...]. */
static json_t *list_of(const char *names)
{
	json_t *list = json_array();
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", names);
	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save))
		json_array_append_new(list, json_string(name));
	return list;
}

/* Choose, and compare with @want; "wait NAME": NULL with that node. */
static void chooses(const char *first, const char *spares, bool fewer, const char *last,
		    const char *usable, const char *want)
{
	json_t *first_list = list_of(first), *spare_list = list_of(spares);
	json_t *last_list = list_of(last), *usable_list = list_of(usable), *name, *chosen;
	const struct recover_nodes rules = { first_list, spare_list, fewer };
	json_t *usable_set = json_object();
	const char *missing = "";
	char got[128] = "";
	size_t i;

	json_array_foreach(usable_list, i, name)
		json_object_set_new(usable_set, json_string_value(name), json_true());
	chosen = recover_nodes_choose(&rules, last_list, usable_set, &missing);
	if (!chosen)
		snprintf(got, sizeof(got), "wait %s", missing);
	json_array_foreach(chosen, i, name)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? "," : "",
			 json_string_value(name));
	assert_string_equal(got, want);
	json_decref(chosen);
	json_decref(first_list);
	json_decref(spare_list);
	json_decref(last_list);
	json_decref(usable_list);
	json_decref(usable_set);
}

static void nothing_lost(void **state)
{
	chooses("n1,n2", "n3", false, "n1,n2", "n1,n2,n3", "n1,n2");
}

static void spare_takes_the_place(void **state)
{
	chooses("n1,n2,n3", "n4,n5", false, "n1,n2,n3", "n1,n3,n4,n5", "n1,n4,n3");
	chooses("n1,n2,n3", "n4,n5", false, "n1,n2,n3", "n1,n4,n5", "n1,n4,n5");
	chooses("n1,n2,n3", "n4,n5", false, "n1,n2,n3", "n1,n3,n5", "n1,n5,n3");
}

static void too_few(void **state)
{
	chooses("n1,n2,n3", "n4", false, "n1,n2,n3", "n1,n4", "wait n3");
	chooses("n1,n2,n3", "n4", true, "n1,n2,n3", "n1,n4", "n1,n4");
	chooses("n1,n2", "", false, "n1,n2", "n1", "wait n2");
	chooses("n1,n2", "", true, "n1,n2", "n1", "n1");
}

static void node_comes_back(void **state)
{
	/* n2 was replaced by n4, and is back when n3 is lost */
	chooses("n1,n2,n3", "n4", false, "n1,n4,n3", "n1,n2,n4", "n1,n4,n2");
	/* on fewer nodes before, and n2 is back: the next loss of another one fills up */
	chooses("n1,n2,n3", "", true, "n1,n3", "n1,n2", "n1,n2");
	chooses("n1,n2,n3", "", true, "n1,n3", "n1,n2,n3", "n1,n3,n2");
}

static void nothing_is_left(void **state)
{
	chooses("n1", "", true, "n1", "", "wait n1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_lost), cmocka_unit_test(spare_takes_the_place),
		cmocka_unit_test(too_few), cmocka_unit_test(node_comes_back),
		cmocka_unit_test(nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
