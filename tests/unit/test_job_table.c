// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the registry's entries: order, lookups between the numbers, and growth, checked
 * against a plain array that holds the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "supervisor/job/job_table.h"

#define MANY	1000

/* The table never looks into an entry: a number stands for it. */
static struct job *entry(int64_t id)
{
	return (struct job *)(uintptr_t)(id + 1);
}

static void an_empty_table(void **state)
{
	struct job_table table = { 0 };

	assert_null(job_table_find(&table, 1));
	assert_null(job_table_above(&table, 0));
	job_table_remove(&table, 1);
	job_table_done(&table);
}

static void one_entry_of_a_number(void **state)
{
	struct job_table table = { 0 };

	assert_int_equal(job_table_add(&table, 7, entry(7)), 0);
	assert_int_equal(job_table_add(&table, 7, entry(8)), -EEXIST);
	assert_ptr_equal(job_table_find(&table, 7), entry(7));
	assert_null(job_table_find(&table, 6));
	assert_null(job_table_find(&table, 8));
	assert_ptr_equal(job_table_above(&table, 0), entry(7));
	assert_null(job_table_above(&table, 7));
	job_table_done(&table);
}

/* Even numbers, added in an order of their own, then every third is taken out. */
static void many_entries(void **state)
{
	struct job_table table = { 0 };
	int64_t i, id = 0, nr = 0;
	const struct job *job;

	for (i = 0; i < MANY; i++) {
		id = 2 * ((i * 7919) % MANY + 1);
		assert_int_equal(job_table_add(&table, id, entry(id)), 0);
	}
	assert_int_equal(table.nr, MANY);
	for (id = 3; id <= 2 * MANY; id += 3)
		job_table_remove(&table, id);
	for (id = 1; id <= 2 * MANY + 1; id++)
		assert_ptr_equal(job_table_find(&table, id),
				 id % 2 || id % 3 == 0 || id > 2 * MANY ? NULL : entry(id));
	for (id = 0; (job = job_table_above(&table, id)); nr++) {
		assert_true((int64_t)(uintptr_t)job - 1 > id);
		id = (int64_t)(uintptr_t)job - 1;
	}
	assert_int_equal(nr, table.nr);
	assert_int_equal(nr, MANY - MANY / 3);
	job_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table),
		cmocka_unit_test(one_entry_of_a_number),
		cmocka_unit_test(many_entries),
	};

	return cmocka_run_group_tests_name("job_table", tests, NULL, NULL);
}
