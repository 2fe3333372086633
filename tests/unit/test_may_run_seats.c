// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of users by another node: those of one user that do not end are bounded in number and
 * time, and keep no other user's back. Two nodes over loopback; one asks, the other one checks.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/parts/check_seats.h"
#include "supervisor/parts/may_run.h"
#include "supervisor/parts/may_run_user.h"
#include "supervisor/parts/stand.h"
#include "supervisor/storage/common.h"
#include "tests/unit/peer_fixture.h"

#define HANGS	7	/* a user whose checks do not end */
#define OTHER	8

static struct peer *peer;	/* of the node that checks */
static struct peer_question *open[128];	/* by job */
static unsigned int ok, busy, canceled, late;	/* outcomes */

struct peer *__wrap_nodes_peer(struct nodes *nodes);
pid_t __wrap_launch_link_pid(const struct launch_link *link);
json_t *__wrap_may_run_user_check(const struct may_run_user *user, const struct config *config,
				  struct stand_process *ret_process);

struct peer *__wrap_nodes_peer(struct nodes *nodes)
{
	return peer;
}

pid_t __wrap_launch_link_pid(const struct launch_link *link)
{
	return 1;
}

/* In the worker. */
json_t *__wrap_may_run_user_check(const struct may_run_user *user, const struct config *config,
				  struct stand_process *ret_process)
{
	while (user->uid == HANGS)
		pause();
	memset(ret_process, 0, sizeof(*ret_process));
	return NULL;
}

static struct peer_question **open_of(const struct peer_question *question)
{
	return &open[json_integer_value(json_object_get(peer_question_args(question), "job"))];
}

static void on_checked(struct peer_question *question, json_t *no, struct confines *confines,
		       void *arg)
{
	*open_of(question) = NULL;
	peer_question_answer(question, no ? no : outcome_ok(NULL));
}

static void verb_fetch(struct peer_question *question, void *arg)
{
	*open_of(question) = question;
	may_run_check(arg, question, MAY_RUN_FETCH,
		      json_object_get(peer_question_args(question), "record"), NULL, on_checked,
		      NULL);
}

static void on_outcome(const json_t *outcome, void *arg)
{
	int err = outcome_is_ok(outcome) ? 0 : outcome_errno(outcome);

	ok += !err;
	busy += err == -EBUSY;
	canceled += err == -ECANCELED;
	late += err == -ETIMEDOUT;
}

static void ask(struct node *n, int job, int uid)
{
	json_t *args = json_pack("{s:i, s:{s:i, s:i, s:{s:s}}}", "job", job, "record", "uid", uid,
				 "gid", uid, "ranks", "mpi", "none");

	assert_int_equal(peer_ask(n->asks, 1, "fetch", args, 120000, on_outcome, NULL, NULL), 0);
}

static void test_seats(void **state)
{
	struct node *nodes = *state;
	static struct common common;
	struct may_run *may;
	int64_t since;
	int i;

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	peer = nodes[1].peer;
	log_init(&common.log, "test");
	common.config.node = "n1";
	common.workers.reactor = nodes[1].reactor;
	assert_int_equal(may_run_open(&common, &may), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "fetch", verb_fetch, may), 0);
	since = clock_monotonic_ms();
	for (i = 0; i <= CHECK_SEATS_ALL; i++)
		ask(&nodes[0], 1 + i, HANGS);
	until(nodes, busy == 1);
	ask(&nodes[0], 100, OTHER);
	until(nodes, ok == 1);
	/* as a home that has given its first question up */
	ask(&nodes[0], 1, HANGS);
	ask(&nodes[0], CHECK_SEATS_ALL, HANGS);
	until(nodes, canceled == 2);
	assert_int_equal(late, 0);
	until(nodes, late == CHECK_SEATS_BEGUN);
	assert_in_range(clock_monotonic_ms() - since, MAY_RUN_MS, 60000);
	/* others have their seats */
	until(nodes, late == 2 * CHECK_SEATS_BEGUN);
	assert_in_range(clock_monotonic_ms() - since, 2 * MAY_RUN_MS, 60000);
	assert_int_equal(busy + ok + canceled, 4);
	may_run_close(may);
	for (i = 0; i < 128; i++) {
		if (open[i])
			peer_question_answer(open[i], outcome_error(-ECANCELED, "the end"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_seats, nodes_setup, nodes_teardown),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
