// SPDX-License-Identifier: GPL-2.0-only
/*
 * Incidents: the table of states, what is made of a report, and the record: one for each hang,
 * with its bundle, over a new opening, for its owner alone, bounded.
 */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/diagnose/incident_store.h"

#define NOW	1000000

static char dir[] = "/tmp/incident.XXXXXX";
static char path[64];

static json_t *report(int64_t job, const char *cause)
{
	return json_pack("{s:I, s:i, s:s, s:s, s:b, s:b, s:i, s:s, s:s, s:i, s:[i], s:[s], "
			 "s:[{s:i, s:s, s:{s:[s]}}, {s:i, s:s, s:{s:[s]}}]}",
			 "job", (json_int_t)job, "uid", 1000, "verdict", "hangs", "cause", cause,
			 "by_pages", 1, "by_samples", 1, "waited_ms", 31000, "comm", "1", "call",
			 "MPI_Barrier", "sequence", 21, "suspects", 1, "text", "rank 1 is late",
			 "mpi_ranks", "rank", 0, "node", "n1", "thread", "frames",
			 "a_function_with_a_name",
			 "rank", 1, "node", "n2", "thread", "frames", "f1");
}

static json_t *incident(int64_t job, const char *uuid, int uid, int64_t now)
{
	json_t *r = report(job, "sleeps"), *i = incident_make(r, now);

	json_object_set_new(i, "uuid", json_string(uuid));
	json_object_set_new(i, "uid", json_integer(uid));
	json_decref(r);
	return i;
}

/* Note it; its number, and the number of looks in *@ret_rounds. */
static int64_t confirm(struct incident_store *store, json_t *i, const char *bundle, int *ret_rounds)
{
	struct ckpt_error error = {};
	json_t *stored = NULL;
	int64_t number;

	assert_int_equal(incident_store_confirm(store, i, bundle, &stored, &error), 0);
	number = json_integer_value(json_object_get(stored, "incident"));
	if (ret_rounds)
		*ret_rounds = (int)json_integer_value(json_object_get(stored, "rounds"));
	json_decref(stored);
	json_decref(i);
	return number;
}

static struct incident_store *opened(void)
{
	struct incident_store *store = NULL;
	struct ckpt_error error = {};

	assert_int_equal(incident_store_open(path, true, &store, &error), 0);
	return store;
}

static int move(struct incident_store *store, int64_t job, enum incident_event event)
{
	struct ckpt_error error = {};

	return incident_store_move(store, job, "u", event, "notify", "said", NOW + 9, &error);
}

static size_t count(struct incident_store *store, uid_t uid, int64_t job, bool open)
{
	json_t *list = incident_store_list(store, uid, job, open);
	size_t n = json_array_size(list);

	json_decref(list);
	return n;
}

static int new_file(void **state)
{
	strcpy(dir, "/tmp/incident.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" INCIDENTS_FILE, dir);
	return 0;
}

static int no_file(void **state)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

/* ------------------------------------------------------------------- states */

/* Nobody is told, and nothing is done, before it is stored; a closed one stays closed. */
static void states(void **state)
{
	assert_int_equal(incident_next(INCIDENT_NEW, INCIDENT_CONFIRM), INCIDENT_CONFIRMED);
	for (int e = INCIDENT_TELL; e < INCIDENT_EVENTS; e++)
		assert_int_equal(incident_next(INCIDENT_NEW, e), -EINVAL);
	for (int e = 0; e < INCIDENT_EVENTS; e++)
		assert_int_equal(incident_next(INCIDENT_CLEARED, e), -EINVAL);
	for (int s = INCIDENT_CONFIRMED; s < INCIDENT_CLEARED; s++) {
		assert_int_equal(incident_next(s, INCIDENT_CONFIRM), s);
		assert_int_equal(incident_next(s, INCIDENT_RUNS), INCIDENT_CLEARED);
		assert_int_equal(incident_next(s, INCIDENT_END), INCIDENT_CLEARED);
		assert_true(incident_is_open(s));
	}
	/* once: neither after an action nor after it was handed over is there another one */
	assert_int_equal(incident_next(INCIDENT_NOTIFIED, INCIDENT_ACT), INCIDENT_ACTED);
	assert_int_equal(incident_next(INCIDENT_ACTED, INCIDENT_ACT), -EINVAL);
	assert_int_equal(incident_next(INCIDENT_HANDED_OVER, INCIDENT_ACT), -EINVAL);
	assert_int_equal(incident_next(INCIDENT_STATES, INCIDENT_ACT), -EINVAL);
	for (int s = 0; s < INCIDENT_STATES; s++)
		assert_int_equal(incident_state_find(incident_state_name(s)), s);
	assert_int_equal(incident_state_find("none"), -EINVAL);
	assert_int_equal(incident_state_find(NULL), -EINVAL);
}

/* ------------------------------------------------------------------ figures */

static void made_of_a_report(void **state)
{
	json_t *r = report(7, "sleeps"), *i = incident_make(r, NOW), *suspect;

	assert_int_equal(json_integer_value(json_object_get(i, "since")), NOW - 31);
	assert_int_equal(json_array_size(json_object_get(i, "witnesses")), 2);
	assert_string_equal(json_string_value(json_object_get(i, "place")),
			    "MPI_Barrier of 1: sleeps: 1 of 1");
	suspect = json_array_get(json_object_get(i, "suspects"), 0);
	assert_string_equal(json_string_value(json_object_get(suspect, "node")), "n2");
	json_decref(i);
	/* a later call at the same place is the same place */
	json_object_set_new(r, "sequence", json_integer(22));
	i = incident_make(r, NOW);
	assert_string_equal(json_string_value(json_object_get(i, "place")),
			    "MPI_Barrier of 1: sleeps: 1 of 1");
	json_decref(i);
	json_decref(r);
}

static void shortened(void **state)
{
	json_t *r = report(7, "sleeps"), *rows = json_object_get(r, "mpi_ranks");
	char *text = incident_shorten(r, 10000);
	const size_t whole = strlen(text);

	assert_null(json_object_get(r, "cut"));
	free(text);
	text = incident_shorten(r, whole - 1);
	assert_non_null(text);
	assert_string_equal(json_string_value(json_object_get(r, "cut")), "stacks");
	assert_null(json_object_get(json_object_get(json_array_get(rows, 0), "thread"), "frames"));
	assert_non_null(json_object_get(json_object_get(json_array_get(rows, 1), "thread"),
					"frames"));
	const size_t cut = strlen(text);

	free(text);
	text = incident_shorten(r, cut - 1);
	assert_non_null(text);
	assert_string_equal(json_string_value(json_object_get(r, "cut")), "ranks");
	free(text);
	assert_null(incident_shorten(r, 10));
	json_decref(r);
}

/* ------------------------------------------------------------------- record */

static void one_for_each_hang(void **state)
{
	struct incident_store *store = opened();
	int rounds;
	int64_t first = confirm(store, incident(7, "u", 1000, NOW), "{\"a\": 1}", &rounds);

	assert_int_equal(rounds, 1);
	assert_int_equal(confirm(store, incident(7, "u", 1000, NOW + 60), NULL, &rounds), first);
	assert_int_equal(rounds, 2);
	/* another job of that number is another job */
	assert_int_not_equal(confirm(store, incident(7, "v", 1000, NOW), NULL, NULL), first);
	assert_int_equal(move(store, 7, INCIDENT_TELL), 0);
	incident_store_close(store);

	/* ckptd was started anew */
	store = opened();
	assert_int_equal(confirm(store, incident(7, "u", 1000, NOW + 90), NULL, &rounds), first);
	assert_int_equal(rounds, 3);
	assert_int_equal(move(store, 7, INCIDENT_RUNS), 0);
	assert_int_equal(move(store, 7, INCIDENT_RUNS), -ENOENT);
	assert_int_equal(move(store, 8, INCIDENT_RUNS), -ENOENT);
	assert_int_equal(count(store, 0, 7, false), 2);
	assert_int_equal(count(store, 0, 7, true), 1);
	assert_int_not_equal(confirm(store, incident(7, "u", 1000, NOW), NULL, &rounds), first);
	assert_int_equal(rounds, 1);
	incident_store_close(store);
}

static void for_its_owner(void **state)
{
	struct incident_store *store = opened();
	int64_t number = confirm(store, incident(7, "u", 1000, NOW), "{\"a\": 1}", NULL);
	json_t *bundle = NULL, *one = incident_store_get(store, number, 1000, &bundle);

	assert_non_null(one);
	assert_int_equal(json_integer_value(json_object_get(bundle, "a")), 1);
	json_decref(one);
	json_decref(bundle);
	assert_null(incident_store_get(store, number, 1001, NULL));
	assert_null(incident_store_get(store, number + 1, 0, NULL));
	assert_int_equal(count(store, 1000, 0, false), 1);
	assert_int_equal(count(store, 1001, 0, false), 0);
	assert_int_equal(count(store, 0, 8, false), 0);
	/* without evidence */
	number = confirm(store, incident(8, "u", 1000, NOW), NULL, NULL);
	one = incident_store_get(store, number, 0, &bundle);
	assert_true(json_is_null(bundle));
	json_decref(one);
	incident_store_close(store);
}

static void bounded(void **state)
{
	const size_t big = 100000;
	struct incident_store *store = opened();
	char *text = malloc(big + 1);
	int64_t other, number = 0;

	assert_non_null(text);
	/* of one job */
	for (int i = 0; i < INCIDENTS_OF_JOB + 5; i++) {
		number = confirm(store, incident(7, "u", 1000, NOW), NULL, NULL);
		assert_int_equal(move(store, 7, INCIDENT_RUNS), 0);
	}
	assert_int_equal(count(store, 0, 7, false), INCIDENTS_OF_JOB);
	/* of one user, whose bundles are big: another's stay */
	other = confirm(store, incident(99, "u", 1001, NOW), NULL, NULL);
	incident_store_bound(store, 32 * (int64_t)big);
	memset(text, ' ', big);
	text[0] = '1';
	text[big] = '\0';
	for (int i = 0; i < 40; i++)
		number = confirm(store, incident(100 + i, "u", 1000, NOW), text, NULL);
	assert_int_equal(count(store, 1001, 0, false), 1);
	assert_in_range(count(store, 1000, 0, false), 32, 32);
	/* by age */
	confirm(store, incident(5, "u", 1002, NOW + (INCIDENTS_DAYS + 1) * 86400LL), NULL, NULL);
	assert_int_equal(count(store, 0, 0, false), 1);
	assert_null(incident_store_get(store, other, 0, NULL));
	assert_null(incident_store_get(store, number, 0, NULL));
	incident_store_close(store);
	free(text);
}

static void acts_are_counted(void **state)
{
	struct incident_store *store = opened();
	struct ckpt_error error = {};
	unsigned int here, lately;
	json_t *of = incident(7, "u", 1000, NOW + 500);

	incident_store_acts(store, of, NOW, &here, &lately);
	assert_int_equal(here + lately, 0);
	/* told only; rolled back; rolled back elsewhere; another job; of another run of numbers */
	confirm(store, incident(7, "u", 1000, NOW), NULL, NULL);
	assert_int_equal(move(store, 7, INCIDENT_TELL), 0);
	assert_int_equal(move(store, 7, INCIDENT_RUNS), 0);
	for (int i = 0; i < 2; i++) {
		json_t *one = incident(7, "u", 1000, NOW + i);

		if (i)
			json_object_set_new(one, "place", json_string("another"));
		confirm(store, one, NULL, NULL);
		assert_int_equal(incident_store_move(store, 7, "u", INCIDENT_ACT, "rollback",
						     NULL, NOW + 1, &error), 0);
		incident_store_acts(store, of, NOW, &here, &lately);
		assert_int_equal(here, 1);
		assert_int_equal(lately, 1 + i);
		assert_int_equal(incident_store_move(store, 7, "u", INCIDENT_RUNS, NULL, "goes on",
						     NOW + 2, &error), 0);
	}
	confirm(store, incident(8, "u", 1000, NOW), NULL, NULL);
	assert_int_equal(incident_store_move(store, 8, "u", INCIDENT_ACT, "rollback", NULL, NOW,
					     &error), 0);
	confirm(store, incident(7, "v", 1000, NOW), NULL, NULL);
	assert_int_equal(incident_store_move(store, 7, "v", INCIDENT_ACT, "rollback", NULL, NOW,
					     &error), 0);
	incident_store_acts(store, of, NOW, &here, &lately);
	assert_int_equal(here, 1);
	assert_int_equal(lately, 2);
	incident_store_acts(store, of, NOW + 1, &here, &lately);
	assert_int_equal(here, 1);
	assert_int_equal(lately, 1);
	json_decref(of);
	incident_store_close(store);
}

static void damaged(void **state)
{
	struct incident_store *store = NULL;
	struct ckpt_error error = {};
	sqlite3 *db;
	FILE *f;

	assert_int_equal(incident_store_open(path, false, &store, &error), -ENOENT);
	f = fopen(path, "w");
	for (int i = 0; i < 1000; i++)
		fputs("this is no database\n", f);
	fclose(f);
	assert_int_equal(incident_store_open(path, false, &store, &error), -EUCLEAN);
	assert_int_equal(incident_store_open(path, true, &store, &error), -EUCLEAN);
	unlink(path);
	incident_store_close(opened());
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA user_version = 2", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(incident_store_open(path, true, &store, &error), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states),
		cmocka_unit_test(made_of_a_report),
		cmocka_unit_test(shortened),
		cmocka_unit_test_setup_teardown(one_for_each_hang, new_file, no_file),
		cmocka_unit_test_setup_teardown(for_its_owner, new_file, no_file),
		cmocka_unit_test_setup_teardown(bounded, new_file, no_file),
		cmocka_unit_test_setup_teardown(acts_are_counted, new_file, no_file),
		cmocka_unit_test_setup_teardown(damaged, new_file, no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
