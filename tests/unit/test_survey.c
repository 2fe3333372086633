// SPDX-License-Identifier: GPL-2.0-only
/*
 * The survey of a job's images (supervisor/recover/survey.h): on which nodes a copy on each kind of
 * level depends, with image directories of the nodes' own and with one for all; and that whatever
 * is not known counts as a copy that does not work, with its reason.
 *
 * Four nodes. The groups of 2+2 are n1, n3 and n2, n4; the partner is the next node. The job's
 * images are of n1 and n3; this node is n1. What the levels list is played.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "levels/groups.h"
#include "supervisor/recover/survey.h"

#define L1	(1U << 0)
#define PARTNER	(1U << 1)
#define PARITY	(1U << 2)
#define DISK	(1U << 3)

static const struct levels_node nodes[] = { { "n1", NULL }, { "n2", NULL }, { "n3", NULL },
					    { "n4", NULL } };

struct box {
	char dir[64];
	struct catalog catalog;
	struct level_site site;
	struct level_configs levels;
	struct survey survey;
	struct topology t;
	json_t *scan, *names;
};

static void run(const char *format, const char *dir)
{
	char command[256];

	snprintf(command, sizeof(command), format, dir);
	assert_int_equal(system(command), 0);
}

/* The levels list this: all of generation 2. */
static json_t *scan_of(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

#define PARTNER_HAS "\"partner\": ["							\
	"{\"node\": \"n1\", \"part\": 0}, {\"node\": \"n3\", \"part\": 1}]"
#define PARITY_HAS(holders) "\"group\": ["						\
	"{\"node\": \"n1\", \"part\": 0, \"coded\": 2, \"holders\": " holders "},"	\
	"{\"node\": \"n1\", \"part\": 1, \"coded\": 2, \"holders\": " holders "}]"
#define DISK_HAS "\"disk\": [{\"node\": \"n1\", \"part\": 0}, {\"node\": \"n3\", \"part\": 1}]"
#define SCAN(held) "{\"jobs\": {\"7-x\": {\"2\": {" held "}}}, \"errors\": {}}"

static int setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));

	strcpy(b->dir, "/tmp/test_survey.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	run("mkdir %s/7", b->dir);
	b->catalog = (struct catalog) { .dir = b->dir, .key = "/nowhere" };
	b->site = (struct level_site) { .node = "n1", .nodes = nodes,
					.nr_nodes = ARRAY_SIZE(nodes) };
	assert_int_equal(level_configs_set(&b->levels, "partner", "partner"), 0);
	assert_int_equal(level_configs_set(&b->levels, "group", "erasure:2+2"), 0);
	assert_int_equal(level_configs_set(&b->levels, "disk", "posix:/disk"), 0);
	level_configs_set_site(&b->levels, &b->site);
	b->scan = scan_of(SCAN(PARTNER_HAS "," PARITY_HAS("3") "," DISK_HAS));
	b->names = json_pack("[s, s]", "n1", "n3");
	b->survey = (struct survey) {
		.catalog = &b->catalog, .levels = &b->levels, .node = "n1", .job = 7,
		.label = "7-x", .nodes = b->names,
	};
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct box *b = *state;

	topology_done(&b->t);
	level_configs_done(&b->levels);
	json_decref(b->scan);
	json_decref(b->names);
	run("rm -r %s", b->dir);
	free(b);
	return 0;
}

/* Survey anew, with these nodes lost. */
static void look(struct box *b, const char *lost[])
{
	topology_done(&b->t);
	b->survey.scan = b->scan;
	assert_int_equal(survey_make(&b->survey, &b->t), 0);
	assert_int_equal(b->t.nr_generations, 1);
	for (; lost && *lost; lost++)
		topology_lose(&b->t, *lost);
}

static void rescan(struct box *b, const char *text)
{
	json_decref(b->scan);
	b->scan = scan_of(text);
}

static unsigned int working(const struct box *b, unsigned int group)
{
	return topology_working(&b->t, &b->t.generations[0].groups[group]);
}

static void check_why(const struct box *b, unsigned int group, unsigned int level,
		      const char *expected)
{
	char why[TOPOLOGY_WHY_MAX];

	topology_why(&b->t, &b->t.generations[0].groups[group], level, why, sizeof(why));
	if (!strstr(why, expected) || (!expected[0] && why[0]))
		fail_msg("%s", why);
}

static void holders(void **state)
{
	const struct box *b = *state;
	const char *first = level_config_holder(&b->levels.conf[1], "n1", 0);
	const char *second = level_config_holder(&b->levels.conf[1], "n1", 1);

	assert_string_equal(level_config_holder(&b->levels.conf[0], "n4", 0), "n1");
	assert_null(level_config_holder(&b->levels.conf[0], "n4", 1));
	assert_null(level_config_holder(&b->levels.conf[0], "n9", 0));
	assert_true(!strcmp(first, "n2") ? !strcmp(second, "n4") :
		    !strcmp(first, "n4") && !strcmp(second, "n2"));
	assert_null(level_config_holder(&b->levels.conf[1], "n1", 2));
	assert_null(level_config_holder(&b->levels.conf[1], "n9", 0));
	assert_null(level_config_holder(&b->levels.conf[2], "n1", 0));
}

static void directories_of_their_own(void **state)
{
	struct box *b = *state;

	/* This node has nothing of the generation, so it knows of no image in a directory. */
	look(b, NULL);
	assert_int_equal(b->t.generations[0].nr_groups, 2);
	assert_int_equal(working(b, 0), PARTNER | PARITY | DISK);
	check_why(b, 1, 0, "it is not there");
	look(b, (const char *[]) { "n2", NULL });
	assert_int_equal(working(b, 0), DISK);
	assert_int_equal(working(b, 1), PARTNER | DISK);
	check_why(b, 0, 1, "node n2 is lost");
	check_why(b, 1, 2, "1 of 2 pieces are left, 2 are needed: node n2 is lost");
	run("mkdir -p %s/7/gen-2/node-0/image", b->dir);
	look(b, NULL);
	assert_int_equal(working(b, 0), L1 | PARTNER | PARITY | DISK);
	look(b, (const char *[]) { "n2", "n3", NULL });
	assert_int_equal(working(b, 0), L1 | PARITY | DISK);
	assert_int_equal(working(b, 1), PARTNER | PARITY | DISK);
	look(b, (const char *[]) { "n2", "n3", "n4", NULL });
	assert_int_equal(working(b, 0), L1 | DISK);
	assert_int_equal(working(b, 1), DISK);
}

/* Its image directory is as good as lost, and its image is no piece. */
static void a_node_that_does_not_answer(void **state)
{
	json_t *silent = json_pack("{s:b, s:b}", "n3", 1, "n2", 1);
	struct box *b = *state;

	b->survey.silent = silent;
	run("mkdir -p %s/7/gen-2/node-0/image", b->dir);
	look(b, NULL);
	assert_int_equal(working(b, 0), L1 | PARTNER | PARITY | DISK);
	assert_int_equal(working(b, 1), PARTNER | PARITY | DISK);
	check_why(b, 1, 0, "node n3 does not answer");
	look(b, (const char *[]) { "n2", "n4", NULL });
	assert_int_equal(working(b, 0), L1 | DISK);
	json_decref(silent);
}

/* An image there is left whatever node is lost, and is worth a piece. */
static void one_directory_for_all(void **state)
{
	struct box *b = *state;

	b->survey.shared = true;
	run("mkdir -p %s/7/gen-2/node-0/image", b->dir);
	look(b, (const char *[]) { "n1", "n3", "n2", NULL });
	assert_int_equal(working(b, 0), L1 | PARITY | DISK);
	assert_int_equal(working(b, 1), PARTNER | PARITY | DISK);
	look(b, (const char *[]) { "n1", "n3", "n2", "n4", NULL });
	assert_int_equal(working(b, 0), L1 | DISK);
	assert_int_equal(working(b, 1), DISK);
	run("rm -r %s/7/gen-2/node-0", b->dir);
	look(b, (const char *[]) { "n1", "n3", "n2", NULL });
	assert_int_equal(working(b, 0), DISK);
}

static void a_piece_that_is_missing(void **state)
{
	struct box *b = *state;

	rescan(b, SCAN(PARITY_HAS("1")));
	look(b, NULL);
	assert_int_equal(working(b, 0), 0);
	check_why(b, 0, 2, "1 of 1 pieces are left, 2 are needed");
	run("mkdir -p %s/7/gen-2/node-0/image", b->dir);
	look(b, (const char *[]) { "n3", NULL });
	assert_int_equal(working(b, 1), PARITY);
}

/* Damaged, silent, removed: each with its reason. */
static void copies_that_do_not_work(void **state)
{
	json_t *tombstones = json_pack("{s:[i]}", "disk", 2);
	struct box *b = *state;

	rescan(b, "{\"jobs\": {\"7-x\": {\"2\": {" DISK_HAS ", \"group\": ["
		  "{\"node\": \"n1\", \"part\": 0, \"error\": \"it is damaged\", \"errno\": 74}]"
		  "}}}, \"errors\": {\"partner\": \"n2 does not answer\"}}");
	b->survey.tombstones = tombstones;
	look(b, NULL);
	assert_int_equal(working(b, 0), 0);
	check_why(b, 0, 1, "it could not be asked: n2 does not answer");
	check_why(b, 0, 2, "it is damaged");
	check_why(b, 0, 3, "it was removed from there");
	check_why(b, 1, 2, "it is not there");
	b->survey.tombstones = NULL;
	look(b, NULL);
	assert_int_equal(working(b, 0), DISK);
	json_decref(tombstones);
}

/* A generation of an earlier run: of which nodes, nobody here can tell. */
static void unknown_nodes(void **state)
{
	struct box *b = *state;

	b->survey.since = 2;
	look(b, NULL);
	assert_int_equal(b->t.generations[0].nr_groups, 0);
	assert_true(b->t.generations[0].why[0]);
	b->survey.since = 1;
	look(b, NULL);
	assert_int_equal(b->t.generations[0].nr_groups, 2);
	b->survey.nodes = NULL;
	look(b, NULL);
	assert_int_equal(b->t.generations[0].nr_groups, 0);
}

static void one_image(void **state)
{
	struct box *b = *state;

	rescan(b, SCAN("\"partner\": [{\"node\": \"n3\", \"part\": -1}]"));
	look(b, NULL);
	assert_int_equal(b->t.generations[0].nr_groups, 1);
	assert_int_equal(b->t.generations[0].groups[0].part, -1);
	assert_string_equal(b->t.nodes[b->t.generations[0].groups[0].node].name, "n3");
	assert_int_equal(working(b, 0), PARTNER);
	look(b, (const char *[]) { "n4", NULL });
	assert_int_equal(working(b, 0), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(holders),
		T(directories_of_their_own),
		T(a_node_that_does_not_answer),
		T(one_directory_for_all),
		T(a_piece_that_is_missing),
		T(copies_that_do_not_work),
		T(unknown_nodes),
		T(one_image),
	};

	return cmocka_run_group_tests_name("survey", tests, NULL, NULL);
}
