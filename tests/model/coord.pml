/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Model of the coordinator (coord/coord_table.c) for Spin: three nodes, one
 * generation, up to FAILURES deaths of daemons and of nodes, at any moment; with -DRESTART
 * one restart instead.
 *
 * STEP and BARRIER are the rows of the shipping table: tests/model/table.t compares them.
 * What a root has ordered in an epoch stays there to be taken, late or never,
 * which is delay, loss and repetition; a report of a daemon that dies may have come or not.
 *
 * Stated: at most one outcome; a commit record only of what is durable everywhere; what is
 * said to be committed is on the disk of every living node, and stays; nobody is captured before
 * all are frozen, and nobody runs before all are captured; nothing sent is lost from the captured cut; after an abort nobody is frozen.
 */
#ifndef FAILURES
#define FAILURES 2
#endif
#define N 3
#define EPOCHS 5

#define NONE 0
#define ANSWER 1
#define QUIESCE 2
#define CATCH_UP 3
#define DRAIN 4
#define FREEZE 5
#define SNAPSHOT 6
#define THAW 7
#define COMMIT 8
#define PLACE 9
#define FETCH 10
#define CREATE 11
#define CONNECT 12
#define GO 13
#define LIVE 14
#define ABORT 15

/* levels have names of their own: RUNNING is one, LIVE is both */
#define L_IDLE 0
#define L_ANSWERED 1
#define L_QUIESCED 2
#define L_CAUGHT_UP 3
#define L_DRAINED 4
#define L_FROZEN 5
#define L_SNAPSHOTTED 6
#define L_THAWED 7
#define L_DUMPED 8
#define L_DURABLE 9
#define L_COMMITTED 10
#define L_PLACED 11
#define L_FETCHED 12
#define L_CREATED 13
#define L_CONNECTED 14
#define L_RUNNING 15
#define L_LIVE 16
#define L_ABORTED 17

/* daemons and nodes */
bool up[N], dead[N];
byte failures;

/* disks */
bool prepared[N], committed[N], live[N], image[N];
byte epoch_of[N];

/* daemons' memory */
byte level[N], order[N];
bool over[N];

/* ranks */
bool frozen[N], snapped[N], runs[N], ran[N];
bool still[N];		/* all were frozen when it was captured: no shared file changed */

/* one channel, from the ranks of node 1 to those of node 2 */
byte sent, arrived, cut_sent, cut_arrived;
bool closed, known;

/* the root */
byte root, epoch;
byte ordered[EPOCHS];
byte heard[N];
bool buried[N];		/* dead, as far as the root knows */
bool answered[N];
bool news, done;

bool out_good, out_aborted;

#define MAY(o) (up[i] && !over[i] && order[i] >= o && order[i] != ABORT && \
		(order[i] >= PLACE) == (o >= PLACE))

inline tell(i)
{
	if
	:: epoch_of[i] == epoch && level[i] > heard[i] -> heard[i] = level[i]
	:: else
	fi
}

/* what a step does besides */
inline effect(i, to)
{
	if
	:: to == L_DRAINED && i == 1 -> closed = true
	:: to == L_FROZEN -> frozen[i] = true
	:: to == L_SNAPSHOTTED ->
		snapped[i] = true;
		still[i] = frozen[0] && frozen[1] && frozen[2];
		if
		:: i == 1 -> cut_sent = sent
		:: i == 2 -> cut_arrived = arrived
		:: else
		fi
	:: to == L_THAWED ->
		assert(snapped[0] && snapped[1] && snapped[2]);
		frozen[i] = false;
		closed = false
	:: to == L_DUMPED -> image[i] = true
	:: to == L_DURABLE -> prepared[i] = true
	:: to == L_COMMITTED ->
		assert(image[0] && image[1] && image[2]);
		assert(still[0] && still[1] && still[2]);
		committed[i] = true;
		prepared[i] = false
	:: to == L_RUNNING -> runs[i] = true; ran[i] = true
	:: to == L_LIVE ->
		assert(ran[0] && ran[1] && ran[2]);
		live[i] = true
	:: else
	fi
}

/* what a step needs besides: a drained node has all that it knows was sent */
#define NEEDS(to) (to != L_DRAINED || i != 2 || !known || arrived == sent)

#define STEP(from, o, to) \
	:: d_step { level[i] == L_##from && MAY(o) && NEEDS(L_##to) -> \
		effect(i, L_##to); level[i] = L_##to; tell(i) }

inline give_up(i)
{
	frozen[i] = false;
	if
	:: i == 1 -> closed = false
	:: else
	fi;
	if
	:: runs[i] && !live[i] -> runs[i] = false
	:: else
	fi
}

proctype Node(byte i)
{
	do
	STEP(IDLE, QUIESCE, QUIESCED)
	STEP(QUIESCED, CATCH_UP, CAUGHT_UP)
	STEP(CAUGHT_UP, DRAIN, DRAINED)
	STEP(DRAINED, FREEZE, FROZEN)
	STEP(FROZEN, SNAPSHOT, SNAPSHOTTED)
	STEP(SNAPSHOTTED, THAW, THAWED)
	STEP(THAWED, THAW, DUMPED)
	STEP(DUMPED, THAW, DURABLE)
	STEP(DURABLE, COMMIT, COMMITTED)
	STEP(IDLE, PLACE, PLACED)
	STEP(PLACED, FETCH, FETCHED)
	STEP(FETCHED, CREATE, CREATED)
	STEP(CREATED, CONNECT, CONNECTED)
	STEP(CONNECTED, GO, RUNNING)
	STEP(RUNNING, LIVE, LIVE)

	/* the order of its epoch; level IDLE takes no part in the middle */
	:: d_step { up[i] && order[i] < ordered[epoch_of[i]] ->
		order[i] = ordered[epoch_of[i]];
		if
		:: order[i] == ABORT ->
			assert(!committed[i] && !live[i]);
			give_up(i);
			prepared[i] = false;
			image[i] = false;
			level[i] = L_ABORTED;
			over[i] = false
		:: order[i] == COMMIT ->
			assert(prepared[i] || committed[i])
		:: order[i] == LIVE && level[i] == L_IDLE -> level[i] = L_RUNNING
		:: order[i] > QUIESCE && order[i] < PLACE && level[i] == L_IDLE -> over[i] = true
		:: order[i] > PLACE && order[i] < LIVE && level[i] == L_IDLE -> over[i] = true
		:: else
		fi;
		tell(i) }

	/* gives up by itself, as long as it is not prepared: too long, or a step failed */
	:: d_step { up[i] && level[i] > L_IDLE && !prepared[i] && !committed[i] && !live[i] &&
		    !over[i] && level[i] != L_ABORTED && level[i] != L_RUNNING ->
		give_up(i); image[i] = false; over[i] = true; level[i] = L_IDLE }

	/* a new epoch: on disk, and then an answer; what is not on disk is dropped */
	:: d_step { up[i] && !dead[i] && epoch_of[i] < epoch && epoch_of[root] == epoch ->
		epoch_of[i] = epoch;
		order[i] = ANSWER;
		if
		:: prepared[i] -> level[i] = L_DURABLE
		:: committed[i] -> level[i] = L_COMMITTED
		:: live[i] -> level[i] = L_LIVE
		:: runs[i] -> level[i] = L_RUNNING
		:: else -> give_up(i); image[i] = false; level[i] = L_IDLE
		fi;
		over[i] = false;
		answered[i] = true }

	/* declared dead, and back: it is told what all the living have on disk */
	:: d_step { dead[i] && buried[i] && done && up[root] && (prepared[i] || committed[i]) &&
		    committed[i] != committed[root] ->
		assert(!(out_aborted && committed[root]));
		committed[i] = committed[root];
		prepared[i] = false }
	od
}

#define REACHED(k, l) (buried[k] || heard[k] >= l)
#define ALL(l) (REACHED(0, l) && REACHED(1, l) && REACHED(2, l))
#define ROOT (up[root] && !done && epoch_of[root] == epoch)
#define SUMS(o) (o != DRAIN || (closed && known))

#define BARRIER(o, l, next, word) \
	:: d_step { ROOT && ordered[epoch] == o && o != ANSWER && ALL(L_##l) && SUMS(o) -> \
		if \
		:: next == NONE -> finish() \
		:: else -> ordered[epoch] = next \
		fi }

inline finish()
{
	done = true;
	if
	:: ordered[epoch] == COMMIT ->
		assert(buried[0] || committed[0]);
		assert(buried[1] || committed[1]);
		assert(buried[2] || committed[2]);
		assert(cut_sent == cut_arrived);
		out_good = true
	:: ordered[epoch] == LIVE -> out_good = true
	:: else ->
		assert(!frozen[0] && !frozen[1] && !frozen[2] || news);
		assert(!runs[0] && !runs[1] && !runs[2] || news)
	fi;
	assert(!(out_good && out_aborted));
#ifdef REACH
	/* not an error of the protocol: shows that the end is reached at all */
	assert(!out_good)
#endif
}

#define ANSWERED(k) (buried[k] || answered[k])
#define HAS(what, k) (!buried[k] && what[k])
#define ANY(what) (HAS(what, 0) || HAS(what, 1) || HAS(what, 2))
#define EACH(what) ((buried[0] || what[0]) && (buried[1] || what[1]) && (buried[2] || what[2]))

inline abort_it()
{
	out_aborted = true;
	assert(!out_good);
	ordered[epoch] = ABORT
}

/* may_abort in the table */
#define UNDECIDED (ordered[epoch] >= QUIESCE && ordered[epoch] != COMMIT && \
		   ordered[epoch] != LIVE && ordered[epoch] != ABORT)

proctype Root()
{
	do
	BARRIER(ANSWER, ANSWERED, NONE, decided)
	BARRIER(QUIESCE, QUIESCED, CATCH_UP, may_abort)
	BARRIER(CATCH_UP, CAUGHT_UP, DRAIN, may_abort)
	BARRIER(DRAIN, DRAINED, FREEZE, may_abort)
	BARRIER(FREEZE, FROZEN, SNAPSHOT, may_abort)
	BARRIER(SNAPSHOT, SNAPSHOTTED, THAW, may_abort)
	BARRIER(THAW, DURABLE, COMMIT, may_abort)
	BARRIER(COMMIT, COMMITTED, NONE, decided)
	BARRIER(PLACE, PLACED, FETCH, may_abort)
	BARRIER(FETCH, FETCHED, CREATE, may_abort)
	BARRIER(CREATE, CREATED, CONNECT, may_abort)
	BARRIER(CONNECT, CONNECTED, GO, may_abort)
	BARRIER(GO, RUNNING, LIVE, may_abort)
	BARRIER(LIVE, LIVE, NONE, decided)
	BARRIER(ABORT, ABORTED, NONE, decided)

	/* asked for, too late, something failed */
	:: d_step { ROOT && UNDECIDED -> abort_it() }

	/* every living node has answered: any record decides */
	:: d_step { ROOT && ordered[epoch] == ANSWER && ANSWERED(0) && ANSWERED(1) &&
		    ANSWERED(2) ->
		if
#ifdef FORGET
		:: EACH(committed) -> ordered[epoch] = COMMIT
#else
		:: ANY(committed) -> ordered[epoch] = COMMIT
#endif
		:: else ->
			if
			:: ANY(live) -> ordered[epoch] = LIVE
			:: else -> abort_it()
			fi
		fi }

	/* takes office: it started anew, or somebody is declared dead */
	:: d_step { news ->
		if
		:: !dead[0] -> root = 0
		:: dead[0] && !dead[1] -> root = 1
		:: else -> root = 2
		fi;
		if
		:: up[root] ->
			news = false;
			epoch++;
			assert(epoch < EPOCHS);
			ordered[epoch] = ANSWER;
			buried[0] = dead[0]; buried[1] = dead[1]; buried[2] = dead[2];
			answered[0] = false; answered[1] = false; answered[2] = false;
			heard[0] = 0; heard[1] = 0; heard[2] = 0;
			done = false;
			epoch_of[root] = epoch;
			order[root] = ANSWER;
			if
			:: prepared[root] -> level[root] = L_DURABLE
			:: committed[root] -> level[root] = L_COMMITTED
			:: live[root] -> level[root] = L_LIVE
			:: runs[root] -> level[root] = L_RUNNING
			:: else -> give_up(root); image[root] = false; level[root] = L_IDLE
			fi;
			over[root] = false;
			answered[root] = true
		:: else
		fi }
	od
}

/* Messages of the program, while nobody has closed the sender; and the announcement. */
proctype Ranks()
{
	do
	:: d_step { sent < 2 && !closed && !frozen[1] && !snapped[1] -> sent++ }
	:: d_step { arrived < sent && !frozen[2] -> arrived++ }
	:: d_step { closed && !known && order[2] == DRAIN && up[1] && up[2] ->
		known = true;
		/* what it said before it knew does not count: the sums differed */
		if
		:: level[2] == L_DRAINED && arrived != sent ->
			level[2] = L_CAUGHT_UP; heard[2] = L_CAUGHT_UP
		:: else
		fi }
	od
}

inline lose(i)
{
	up[i] = false;
	failures++;
	frozen[i] = false;
	level[i] = L_IDLE;
	order[i] = NONE;
	over[i] = false;
	if
	:: !prepared[i] && !committed[i] -> image[i] = false
	:: else
	fi
}

proctype Fate(byte i)
{
	do
	/* the daemon; its last report may not have come */
	:: d_step { failures < FAILURES && up[i] -> lose(i) }
	:: d_step { failures < FAILURES && up[i] -> lose(i); heard[i] = 0 }
	:: d_step { !up[i] && !dead[i] ->
		up[i] = true;
		if
		:: prepared[i] -> level[i] = L_DURABLE
		:: committed[i] -> level[i] = L_COMMITTED
		:: live[i] -> level[i] = L_LIVE
		:: runs[i] -> level[i] = L_RUNNING
		:: else -> give_up(i); level[i] = L_IDLE
		fi;
		if
		:: i == root -> news = true
		:: else
		fi }
	/* the node, declared dead when it is */
	:: d_step { failures < FAILURES && up[i] && (dead[0] + dead[1] + dead[2] < N - 1) ->
		lose(i); runs[i] = false; dead[i] = true; news = true }
	od
}

init
{
	atomic {
		up[0] = true; up[1] = true; up[2] = true;
#ifdef RESTART
		ordered[0] = PLACE;
#else
		ordered[0] = QUIESCE;
#endif
		run Node(0); run Node(1); run Node(2);
		run Root();
#ifndef RESTART
		run Ranks();
#endif
		run Fate(0); run Fate(1); run Fate(2)
	}
}
