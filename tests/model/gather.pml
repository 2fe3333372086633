/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interruptible collectives (mpi-glue/gather.c), for Spin: three ranks, three communicators that
 * overlap, every list of three collectives on them, and two checkpoints at any moment, each of
 * which the job survives, or is restarted from, in a new lower half, or is given up.
 *
 * Checked: no rank begins a collective that another member has not come to; at a cut all members
 * have begun the same; nobody waits for ever (an end in which not all is done is an error). With
 * STILL no rank computes on while a checkpoint is wanted: it has to come to its cut all the same.
 *
 * CHAIN	four ranks, of which each shares a communicator with the next; the last pair's
 *		comes first, and the first pair's is not blocking
 * PATIENT	a checkpoint is not given up: it has to come to its cut
 * NONBLOCKING	some of the collectives are begun without a gathering
 * REMEMBER	wrong: who has come through does not gather anew after a restart
 * NOT_EARLY	wrong: who is behind does not count what it gathers for
 *
 * What is counted is told at once, and a rank looks at the hold and counts in one step: races of
 * these are the status page's (mpi-glue/status_page.h).
 */
#ifndef L
#define L	3
#endif
#ifndef CUTS
#define CUTS	2
#endif

#ifdef CHAIN
#define N	4
#define IN(r, c)	((r) == (c) || (r) == (c) + 1)
#define MAX4(c, m)	(m > seq[AT(3, c)] -> m : seq[AT(3, c)])
#define AND4(c, what)	&& (!IN(3, c) || what(3, c))
#define CAUGHT_UP4	&& CAUGHT_UP(3)
#else
#define N	3
#define IN(r, c)	((c) == 0 || ((c) == 1 && (r) < 2) || ((c) == 2 && (r) > 0))
#define MAX4(c, m)	m
#define AND4(c, what)
#define CAUGHT_UP4
#endif
#define AT(r, c)	((r) * 3 + (c))
#define ALL(c, what)	((!IN(0, c) || what(0, c)) && (!IN(1, c) || what(1, c)) && \
			 (!IN(2, c) || what(2, c)) AND4(c, what))

byte comm[L];
bool blocking[L];
byte seq[N * 3];	/* counted */
byte begun[N * 3];	/* below */
byte come[N * 3];	/* called */
byte barrier[N * 3];	/* begun in the present lower half */
byte target[3];
bool inside[N];		/* in a collective, or counted for one */
byte half;		/* which lower half this is */
bool hold, closed, still;
byte done;

#define BEHIND_IN(r, c)	(IN(r, c) && seq[AT(r, c)] < target[c])
#define BEHIND(r)	(hold && (BEHIND_IN(r, 0) || BEHIND_IN(r, 1) || BEHIND_IN(r, 2)))
#define MAY(r, c)	(!hold || BEHIND(r) || seq[AT(r, c)] < target[c])
#define CAUGHT_UP(r)	(!inside[r] && !BEHIND(r))

inline count(r, c)
{
	seq[AT(r, c)]++;
	if
	:: hold && seq[AT(r, c)] > target[c] -> target[c] = seq[AT(r, c)]
	:: else
	fi
}

#define THROUGH(m, c)	(barrier[AT(m, c)] >= mine)
#define HAS_COME(m, c)	(come[AT(m, c)] >= number)
#define HAS_BEGUN(m, c)	(begun[AT(m, c)] >= number)

proctype rank(byte r)
{
	byte i, c, mine, number, lower;
	bool through, counted;

	do
	:: i == L -> break
	:: i < L && !IN(r, comm[i]) -> i++
	:: i < L && IN(r, comm[i]) ->
		/* computes, and comes to the call */
		atomic {
			!closed && !(still && hold);
			c = comm[i];
			come[AT(r, c)]++;
			number = come[AT(r, c)];
			if
			:: blocking[i] ->
				barrier[AT(r, c)]++;
				mine = barrier[AT(r, c)];
				lower = half;
				through = false;
				counted = false
			:: else
			fi
		}
		if
		:: !blocking[i] ->
			atomic {
				!closed && MAY(r, c);
				count(r, c);
				begun[AT(r, c)]++
			}
		:: else ->
			do
			:: atomic { !closed && lower != half ->
				lower = half;
#ifdef REMEMBER
				if
				:: through
				:: else -> barrier[AT(r, c)]++; mine = barrier[AT(r, c)]
				fi
#else
				through = false;
				barrier[AT(r, c)]++;
				mine = barrier[AT(r, c)]
#endif
			   }
			:: atomic { !closed && lower == half && !through && ALL(c, THROUGH) ->
				through = true }
#ifndef NOT_EARLY
			:: atomic { !closed && lower == half && !through && !counted && BEHIND(r) ->
				counted = true;
				inside[r] = true;
				count(r, c) }
			:: atomic { !closed && !through && counted && !hold ->
				seq[AT(r, c)]--;
				counted = false;
				inside[r] = false }
#endif
			:: atomic { !closed && lower == half && through && (counted || MAY(r, c)) ->
				if
				:: counted
				:: else -> count(r, c)
				fi;
				inside[r] = true;
				begun[AT(r, c)]++;
				assert(ALL(c, HAS_COME));
				break }
			od;
			atomic { ALL(c, HAS_BEGUN) -> inside[r] = false }
		fi;
		i++
	od;
	done++
}

#define TOP3(c)	(seq[AT(0, c)] > seq[AT(1, c)] -> \
		 (seq[AT(0, c)] > seq[AT(2, c)] -> seq[AT(0, c)] : seq[AT(2, c)]) : \
		 (seq[AT(1, c)] > seq[AT(2, c)] -> seq[AT(1, c)] : seq[AT(2, c)]))
#define TOP(c)	MAX4(c, TOP3(c))
#define EQUAL(m, c)	(seq[AT(m, c)] == target[c] && begun[AT(m, c)] == target[c])

proctype checkpoints()
{
	byte n, k;

	do
	:: n == CUTS -> break
	:: n < CUTS ->
		atomic {
			hold = true;
#ifdef STILL
			still = true;
#endif
			target[0] = TOP(0);
			target[1] = TOP(1);
			target[2] = TOP(2)
		}
		if
		:: atomic { CAUGHT_UP(0) && CAUGHT_UP(1) && CAUGHT_UP(2) CAUGHT_UP4 ->
			closed = true;
			assert(ALL(0, EQUAL) && ALL(1, EQUAL) && ALL(2, EQUAL)) }
			if
			:: skip		/* the job runs on */
			:: atomic {
				half++;
				k = 0;
				do
				:: k < N * 3 -> barrier[k] = 0; k++
				:: else -> break
				od;
				k = 0 }
			fi
#if !defined(STILL) && !defined(PATIENT)
		:: skip			/* given up */
#endif
		fi;
		atomic {
			closed = false;
			hold = false;
			still = false;
			n++
		}
	od;
	done == N
#ifdef REACH
	;
	assert(half < 2)
#endif
}

init
{
	byte i;

	atomic {
#ifdef CHAIN
		comm[0] = 2;
		comm[1] = 1;
		comm[2] = 0;
		blocking[0] = true;
		blocking[1] = true;
		run rank(3);
#else
		do
		:: i == L -> break
		:: i < L ->
			if
			:: comm[i] = 0
			:: comm[i] = 1
			:: comm[i] = 2
			fi;
			blocking[i] = true;
#ifdef NONBLOCKING
			if
			:: skip
			:: blocking[i] = false
			fi;
#endif
			i++
		od;
#endif
		run rank(0);
		run rank(1);
		run rank(2);
		run checkpoints()
	}
}
