// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shim's side of status pages, against ranks that are played here: orders become
 * reports when all ranks have answered, and not before; what others must know is told
 * once, and again if it was not taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/pages_fixture.h"

static int hear(const struct shim_msg *msg, const void *data, size_t len, void *arg)
{
	struct world *w = arg;
	struct heard *h = &w->heard[w->nr];

	if (msg->type == SHIM_STUCK && !w->answer)
		memcpy(&w->stuck, data, sizeof(w->stuck));
	if (w->answer || msg->type == SHIM_STUCK)
		return w->answer;
	assert_true(w->nr < 16 && len <= sizeof(h->failure));
	h->msg = *msg;
	h->len = len;
	if (len)
		memcpy(h->seqs, data, len);
	w->nr++;
	return 0;
}

static void obey(struct world *w, unsigned int i, uint32_t as)
{
	w->page[i]->answer.state = as;
	w->page[i]->answer.seen = w->page[i]->order.serial;
}

static void obey_all(struct world *w, uint32_t as)
{
	obey(w, 0, as);
	obey(w, 1, as);
}

static const struct heard *next_heard(struct world *w, uint32_t type)
{
	static struct heard h;

	assert_true(w->nr > 0);
	h = w->heard[0];
	memmove(w->heard, w->heard + 1, --w->nr * sizeof(h));
	assert_int_equal(h.msg.type, type);
	return &h;
}

static void look(struct world *w)
{
	pages_look(w->pages, hear, w);
}

static void quiesce(struct world *w)
{
	pages_order(w->pages, 7, STATUS_QUIESCE);
	assert_int_equal(w->page[0]->order.intent, STATUS_QUIESCE);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	assert_int_equal(next_heard(w, SHIM_REACHED)->msg.value, STATUS_QUIESCED);
}

static void reached_when_all_are(void **state)
{
	struct world *w = *state;

	pages_order(w->pages, 7, STATUS_QUIESCE);
	look(w);
	assert_int_equal(w->nr, 0);
	obey(w, 0, STATUS_QUIESCED);
	look(w);
	assert_int_equal(w->nr, 0);
	/* the state of an order before is no answer */
	w->page[1]->answer.state = STATUS_QUIESCED;
	look(w);
	assert_int_equal(w->nr, 0);
	obey(w, 1, STATUS_QUIESCED);
	look(w);
	assert_int_equal(next_heard(w, SHIM_REACHED)->msg.number, 7);
	look(w);
	assert_int_equal(w->nr, 0);
}

static void set_comm(struct world *w, unsigned int i, uint32_t k, uint64_t id, uint64_t seq,
		     uint64_t members)
{
	struct status_comm *comm = &status_comms(w->page[i])[k];

	comm->seq = seq;
	comm->members = members;
	comm->id = id;
}

static void targets_of_this_node_alone_are_settled_here(void **state)
{
	struct world *w = *state;

	set_comm(w, 0, 3, 77, 5, 2);
	set_comm(w, 1, 9, 77, 4, 2);
	pages_order(w->pages, 7, STATUS_QUIESCE);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	next_heard(w, SHIM_REACHED);
	assert_int_equal(w->nr, 0);	/* nobody else has it: nobody is told */
	assert_int_equal(status_targets(w->page[1])[9].id, 77);
	assert_int_equal(status_targets(w->page[1])[9].seq, 5);
	assert_int_equal(pages_targets(w->pages, 8, NULL, 0), 0);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	assert_int_equal(w->nr, 0);	/* rank 2 is one behind */
	set_comm(w, 1, 9, 77, 5, 2);
	w->page[1]->answer.in_collective = 1;
	look(w);
	assert_int_equal(w->nr, 0);
	w->page[1]->answer.in_collective = 0;
	look(w);
	assert_int_equal(next_heard(w, SHIM_CAUGHT_UP)->msg.number, 8);
}

static void others_hear_of_shared_collectives(void **state)
{
	struct world *w = *state;
	const struct shim_seq more = { 55, 12 };
	const struct heard *h;

	set_comm(w, 0, 0, 55, 10, 3);
	pages_order(w->pages, 7, STATUS_QUIESCE);
	obey_all(w, STATUS_QUIESCED);
	w->answer = -EAGAIN;
	look(w);
	w->answer = 0;
	obey_all(w, STATUS_QUIESCED);	/* its own count became its target */
	look(w);
	h = next_heard(w, SHIM_BEGUN);
	assert_int_equal(h->len, sizeof(struct shim_seq));
	assert_true(h->seqs[0].id == 55 && h->seqs[0].seq == 10);
	next_heard(w, SHIM_REACHED);
	assert_int_equal(pages_targets(w->pages, 8, &more, 1), 0);
	look(w);
	assert_int_equal(status_targets(w->page[0])[0].seq, 12);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	assert_int_equal(w->nr, 0);
	/* it gets there, and one further: that is news before it is caught up */
	set_comm(w, 0, 0, 55, 13, 3);
	look(w);
	assert_true(next_heard(w, SHIM_BEGUN)->seqs[0].seq == 13);
	assert_int_equal(w->nr, 0);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	next_heard(w, SHIM_CAUGHT_UP);
}

static void messages_between_nodes_are_counted(void **state)
{
	struct world *w = *state;
	const struct heard *h;

	quiesce(w);
	status_sent(w->page[0])[3] = 4;
	status_sent(w->page[0])[2] = 6;		/* from 1 to 2: both here */
	status_received(w->page[1])[0] = 9;
	pages_order(w->pages, 9, STATUS_DRAIN);
	obey_all(w, STATUS_DRAINING);
	look(w);
	h = next_heard(w, SHIM_COUNTS);
	assert_int_equal(h->msg.value, 0);
	assert_int_equal(h->len, sizeof(struct shim_count));
	assert_true(h->counts[0].source == 1 && h->counts[0].dest == 3 && h->counts[0].count == 4);
	h = next_heard(w, SHIM_COUNTS);
	assert_int_equal(h->msg.value, 1);
	assert_true(h->counts[0].source == 0 && h->counts[0].dest == 2 && h->counts[0].count == 9);
	assert_int_equal(w->nr, 0);	/* those between 1 and 2 have not come */
	status_received(w->page[1])[1] = 6;
	w->page[0]->answer.pending = 1;		/* it has come, says only who has it */
	look(w);
	assert_int_equal(w->nr, 0);
	w->page[0]->answer.pending = 0;
	look(w);
	assert_int_equal(next_heard(w, SHIM_REACHED)->msg.value, STATUS_DRAINING);
	status_received(w->page[1])[0] = 10;
	look(w);
	assert_true(next_heard(w, SHIM_COUNTS)->counts[0].count == 10);
}

/* Of a checkpoint that came to nothing nobody remembers the counts: all are said in each. */
static void counts_are_told_in_each_drain(void **state)
{
	struct world *w = *state;
	const struct heard *h;
	unsigned int i;

	status_sent(w->page[0])[3] = 5;
	status_received(w->page[0])[0] = 2;
	for (i = 0; i < 3; i++) {
		quiesce(w);
		pages_order(w->pages, 9, STATUS_DRAIN);
		obey_all(w, STATUS_DRAINING);
		look(w);
		h = next_heard(w, SHIM_COUNTS);
		assert_int_equal(h->msg.value, 0);
		assert_true(h->counts[0].source == 1 && h->counts[0].dest == 3 &&
			    h->counts[0].count == 5);
		h = next_heard(w, SHIM_COUNTS);
		assert_int_equal(h->msg.value, 1);
		assert_true(h->counts[0].source == 0 && h->counts[0].dest == 1 &&
			    h->counts[0].count == 2);
		next_heard(w, SHIM_REACHED);
		look(w);
		assert_int_equal(w->nr, 0);
		pages_order(w->pages, 10, STATUS_RUN);
		obey_all(w, STATUS_RUNNING);
		look(w);
		next_heard(w, SHIM_REACHED);
	}
}

static void refusals_name_the_rank(void **state)
{
	struct world *w = *state;
	const struct heard *h;

	pages_order(w->pages, 7, STATUS_QUIESCE);
	obey(w, 0, STATUS_QUIESCED);
	strcpy(w->page[1]->answer.text, "MPI_Win_create: not yet");
	obey(w, 1, STATUS_REFUSED);
	look(w);
	h = next_heard(w, SHIM_RANK_FAILED);
	assert_int_equal(h->failure.rank, 2);
	assert_string_equal(h->failure.text, "MPI_Win_create: not yet");
	pages_order(w->pages, 8, STATUS_RUN);
	obey_all(w, STATUS_RUNNING);
	look(w);
	assert_int_equal(next_heard(w, SHIM_REACHED)->msg.value, STATUS_RUNNING);
}

static int hear_but_seqs(const struct shim_msg *msg, const void *data, size_t len, void *arg)
{
	return msg->type == SHIM_BEGUN ? 0 : hear(msg, data, len, arg);
}

/* As many communicators as a table holds, by ranks that list others each time. */
static void who_cannot_be_followed_is_no_rank_caught_up(void **state)
{
	struct world *w = *state;
	unsigned int round, k;

	pages_order(w->pages, 7, STATUS_QUIESCE);
	for (round = 0; round < 20 && !w->nr; round++) {
		for (k = 0; k < COMMS; k++)
			set_comm(w, 0, k, 1 + round * COMMS + k, 1, 1);
		obey_all(w, STATUS_QUIESCED);
		pages_look(w->pages, hear_but_seqs, w);
		if (w->nr && w->heard[0].msg.type == SHIM_REACHED)
			next_heard(w, SHIM_REACHED);
	}
	assert_non_null(strstr(next_heard(w, SHIM_RANK_FAILED)->failure.text, "communicators"));
	assert_true(round < 20);
	/* the next checkpoint begins anew */
	for (k = 1; k < COMMS; k++)
		set_comm(w, 0, k, 0, 0, 0);
	pages_order(w->pages, 8, STATUS_RUN);
	pages_order(w->pages, 9, STATUS_QUIESCE);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	assert_int_equal(next_heard(w, SHIM_REACHED)->msg.number, 9);
}

static void too_early_and_too_late(void **state)
{
	struct world *w = *state;

	w->page[0]->answer.state = STATUS_BEFORE;
	pages_order(w->pages, 7, STATUS_QUIESCE);
	look(w);
	assert_non_null(strstr(next_heard(w, SHIM_RANK_FAILED)->failure.text, "MPI_Init"));
	w->page[0]->answer.state = STATUS_ENDED;
	pages_order(w->pages, 8, STATUS_QUIESCE);
	look(w);
	assert_non_null(strstr(next_heard(w, SHIM_RANK_FAILED)->failure.text, "MPI_Finalize"));
}

static void running_on_is_not_waited_for_in_vain(void **state)
{
	struct world *w = *state;

	pages_order(w->pages, 7, STATUS_RUN);
	obey(w, 0, STATUS_RUNNING);
	w->page[1]->answer.state = STATUS_BEFORE;	/* no glue thread yet */
	assert_false(pages_look(w->pages, hear, w));
	assert_int_equal(next_heard(w, SHIM_REACHED)->msg.value, STATUS_RUNNING);
	pages_order(w->pages, 8, STATUS_RUN);
	strcpy(w->page[1]->answer.text, "the new library failed in MPI_Init");
	obey(w, 1, STATUS_BROKEN);
	assert_false(pages_look(w->pages, hear, w));
	assert_int_equal(next_heard(w, SHIM_RANK_FAILED)->failure.rank, 2);
}

static void who_is_late_is_looked_at_less_often(void **state)
{
	struct world *w = *state;

	pages_order(w->pages, 7, STATUS_QUIESCE);
	usleep(1100000);
	assert_int_equal(pages_pause(w->pages), PAGES_LOOK_NS);
	pages_order(w->pages, 8, STATUS_RUN);
	assert_int_equal(pages_pause(w->pages), PAGES_LOOK_NS);
	usleep(1100000);
	assert_int_equal(pages_pause(w->pages), PAGES_LOOK_LATE_NS);
	pages_order(w->pages, 9, STATUS_RUN);
	assert_int_equal(pages_pause(w->pages), PAGES_LOOK_NS);
}

static void a_restart_is_told_its_environment(void **state)
{
	struct world *w = *state;
	json_t *envs = json_pack("[[s, s], []]", "PMI_PORT=a:1", "PMI_ID=1");
	json_t *long_envs = json_pack("[[], [s%]]", (char [5000]){ 0 }, (size_t)0);
	char *big = malloc(5000);

	assert_int_equal(pages_restart(w->pages, envs), 0);
	assert_int_equal(w->page[0]->order.run, 2);
	assert_int_equal(w->page[0]->order.restart, STATUS_FORGET);
	assert_memory_equal(w->page[0]->order.environment, "PMI_PORT=a:1\0PMI_ID=1\0", 23);
	memset(big, 'x', 4999);
	big[4999] = '\0';
	json_array_append_new(json_array_get(long_envs, 0), json_string(big));
	assert_int_equal(pages_restart(w->pages, long_envs), -E2BIG);
	free(big);
	json_decref(envs);
	json_decref(long_envs);
}

/* Ranks answer whatever they are asked, for so long. */
static void look_for_ms(struct world *w, unsigned int ms)
{
	while (ms--) {
		look(w);
		obey_all(w, STATUS_QUIESCED);
		usleep(1000);
	}
}

/* Look until @nr messages have been heard, as long as that takes on a busy machine. */
static void look_until_heard(struct world *w, unsigned int nr)
{
	for (unsigned int i = 0; i < 10000 && w->nr < nr; i++)
		look_for_ms(w, 1);
}

static void who_is_missed_is_named_before_who_waits(void **state)
{
	struct shim_doing doing[2];
	struct world *w = *state;

	set_comm(w, 0, 0, 5, 2, 2);
	set_comm(w, 1, 1, 5, 1, 2);
	quiesce(w);
	w->page[0]->answer.stragglers = 1;	/* rank 1 waits in the second */
	strcpy(w->page[0]->answer.wait.name, "MPI_Barrier");
	assert_int_equal(pages_targets(w->pages, 8, NULL, 0), 0);
	look(w);
	obey_all(w, STATUS_QUIESCED);		/* with the target in sight */
	look_for_ms(w, 250);
	assert_int_equal(w->stuck.rank, 2);
	assert_int_equal(w->stuck.peer, 1);
	assert_int_equal(w->stuck.comm, 5);
	assert_int_equal(w->stuck.seq, 2);
	assert_int_equal(pages_doing(w->pages, 0, doing, 2), 2);
	assert_string_equal(doing[0].wait.name, "MPI_Barrier");
	assert_true(doing[0].fresh && doing[1].fresh);
	pages_poke(w->pages);
	assert_int_equal(pages_doing(w->pages, 1, doing, 2), 1);
	assert_false(doing[0].fresh);
	/* and one that does not even see what is ordered is said to be so */
	for (unsigned int i = 0; i < 30; i++) {
		usleep(10000);
		look(w);
	}
	assert_int_equal(w->stuck.held, SHIM_WAIT_MUTE);
}

static void set_wait(struct world *w, unsigned int i, const char *name, uint64_t comm, uint64_t seq)
{
	struct status_wait *wait = &w->page[i]->answer.wait;

	strcpy(wait->name, name);
	wait->held = STATUS_HELD;
	wait->comm = comm;
	wait->seq = seq;
	wait->peer = STATUS_NONE;
}

static void quiesced_with(struct world *w, uint64_t shared)
{
	pages_order(w->pages, 7, STATUS_QUIESCE);
	obey_all(w, STATUS_QUIESCED);
	look(w);
	assert_int_equal(next_heard(w, SHIM_BEGUN)->seqs[0].id, shared);
	next_heard(w, SHIM_REACHED);
	assert_int_equal(pages_targets(w->pages, 8, NULL, 0), 0);
}

/* Rank 1 is behind and waits for a message that rank 2 sends after a collective with others. */
static void who_is_behind_gets_its_message(void **state)
{
	const struct shim_seq stalls = { STATUS_STALLS, 1 };
	struct world *w = *state;
	const struct heard *h;

	set_comm(w, 0, 0, 5, 1, 2);
	set_comm(w, 1, 1, 5, 2, 2);
	set_comm(w, 1, 2, 77, 8, 3);
	quiesced_with(w, 77);
	set_wait(w, 1, "MPI_Bcast", 77, 8);
	look_for_ms(w, 200);		/* rank 1 computes: it needs nobody */
	assert_int_equal(w->nr, 0);
	set_wait(w, 0, "MPI_Recv", 0, 0);
	look_until_heard(w, 2);
	h = next_heard(w, SHIM_BEGUN);
	assert_true(h->seqs[0].id == STATUS_STALLS && h->seqs[0].seq == 1);
	h = next_heard(w, SHIM_BEGUN);	/* it shall begin the one it is held before, and no more */
	assert_true(h->seqs[0].id == 77 && h->seqs[0].seq == 9);
	assert_int_equal(status_targets(w->page[1])[2].seq, 9);
	w->nr = 0;
	/* heard once more from the others it changes nothing */
	assert_int_equal(pages_targets(w->pages, 9, &stalls, 1), 0);
	set_comm(w, 1, 2, 77, 9, 3);
	set_wait(w, 1, "", 0, 0);
	set_comm(w, 0, 0, 5, 2, 2);
	set_wait(w, 0, "", 0, 0);
	look_until_heard(w, 1);
	assert_int_equal(next_heard(w, SHIM_CAUGHT_UP)->msg.number, 9);
	assert_int_equal(w->nr, 0);
}

/* The same, but the message is for a rank elsewhere: nobody is behind here. */
static void held_ranks_go_on_for_others(void **state)
{
	const struct shim_seq stalls = { STATUS_STALLS, 3 };
	struct world *w = *state;
	const struct heard *h;

	set_comm(w, 1, 2, 77, 8, 3);
	quiesced_with(w, 77);
	set_wait(w, 1, "MPI_Bcast", 77, 8);
	look_for_ms(w, 5);
	assert_int_equal(next_heard(w, SHIM_CAUGHT_UP)->msg.number, 8);
	look_for_ms(w, 200);
	assert_int_equal(w->nr, 0);
	assert_int_equal(pages_targets(w->pages, 9, &stalls, 1), 0);
	look_until_heard(w, 1);
	/* not caught up before it is known what it stands before */
	h = next_heard(w, SHIM_BEGUN);
	assert_true(h->seqs[0].id == 77 && h->seqs[0].seq == 9);
	assert_int_equal(w->nr, 0);
	set_comm(w, 1, 2, 77, 9, 3);
	look_for_ms(w, 5);
	assert_int_equal(next_heard(w, SHIM_CAUGHT_UP)->msg.number, 9);
	/* in the next checkpoint nothing of it is left */
	assert_int_equal(status_targets(w->page[1])[2].seq, 9);
	pages_order(w->pages, 10, STATUS_RUN);
	obey_all(w, STATUS_RUNNING);
	look(w);
	w->nr = 0;
	pages_order(w->pages, 11, STATUS_QUIESCE);
	assert_int_equal(status_targets(w->page[1])[2].id, 0);
	look_for_ms(w, 5);
	w->nr = 0;
	assert_int_equal(pages_targets(w->pages, 12, NULL, 0), 0);
	look_for_ms(w, 5);
	assert_int_equal(next_heard(w, SHIM_CAUGHT_UP)->msg.number, 12);
}

static void who_has_ended_is_not_waited_for(void **state)
{
	struct world *w = *state;

	pages_order(w->pages, 7, STATUS_QUIESCE);
	obey(w, 0, STATUS_QUIESCED);
	pages_over(w->pages, 1);
	look(w);
	assert_int_equal(next_heard(w, SHIM_RANK_FAILED)->failure.rank, 2);
	pages_order(w->pages, 8, STATUS_RUN);
	obey(w, 0, STATUS_RUNNING);
	look(w);
	assert_int_equal(next_heard(w, SHIM_REACHED)->msg.value, STATUS_RUNNING);
	/* in a restart that is another thing */
	w->page[1]->answer.state = STATUS_REBUILDING;
	pages_order(w->pages, 9, STATUS_RUN);
	look(w);
	assert_int_equal(next_heard(w, SHIM_RANK_FAILED)->failure.rank, 2);
}

static void without_a_shim_ranks_run(void **state)
{
	struct world *w = *state;
	int dir;

	pages_order(w->pages, 7, STATUS_QUIESCE);
	assert_true(pages_held(w->pages));
	w->page[0]->order.intent = STATUS_CUT;
	dir = open(w->dir, O_RDONLY | O_DIRECTORY);
	pages_release(&w->ranks, dir);
	close(dir);
	assert_int_equal(w->page[0]->order.intent, STATUS_RUN);
	assert_int_equal(w->page[1]->order.intent, STATUS_RUN);
}

static void what_is_not_a_page_is_refused(void **state)
{
	struct world *w = *state;
	struct pages *pages;
	int dir = open(w->dir, O_RDONLY | O_DIRECTORY);

	w->page[1]->version++;
	assert_int_equal(pages_open(&w->ranks, dir, &pages), -EBADMSG);
	w->page[1]->version--;
	w->page[0]->max_comms = 1u << 30;
	assert_int_equal(pages_open(&w->ranks, dir, &pages), -EBADMSG);
	w->page[0]->max_comms = COMMS;
	close(dir);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pages_begin, pages_end)
	const struct CMUnitTest tests[] = {
		TEST(reached_when_all_are),
		TEST(targets_of_this_node_alone_are_settled_here),
		TEST(others_hear_of_shared_collectives),
		TEST(messages_between_nodes_are_counted),
		TEST(counts_are_told_in_each_drain),
		TEST(refusals_name_the_rank),
		TEST(who_cannot_be_followed_is_no_rank_caught_up),
		TEST(too_early_and_too_late),
		TEST(running_on_is_not_waited_for_in_vain),
		TEST(who_is_late_is_looked_at_less_often),
		TEST(a_restart_is_told_its_environment),
		TEST(who_is_missed_is_named_before_who_waits),
		TEST(who_is_behind_gets_its_message),
		TEST(held_ranks_go_on_for_others),
		TEST(who_has_ended_is_not_waited_for),
		TEST(without_a_shim_ranks_run),
		TEST(what_is_not_a_page_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
