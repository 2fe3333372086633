/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Seats for checks of may_run: a few of each user may be under way at a time, some more wait, and
 * the rest is refused. So one user's checks, however long they take, leave room for others'. Those
 * of root all begin at once.
 */
#ifndef STILLPOINT_CHECK_SEATS_H
#define STILLPOINT_CHECK_SEATS_H

#include <stdbool.h>
#include <sys/types.h>

#define CHECK_SEATS_BEGUN	4	/* of one user */
#define CHECK_SEATS_ALL		32	/* of one user, with those that wait */

struct check_seat {
	struct check_seat *next;
	uid_t uid;
	bool begun;
};

/* Zero-initialise. The seats are their users', in the order in which they came. */
struct check_seats {
	struct check_seat *first;
};

/*
 * check_seats_enter() - put @seat of the user @uid into the list
 *
 * Return: 1: it may begin, and seat->begun is set; 0: it waits; -EBUSY: it is not in the list.
 */
int check_seats_enter(struct check_seats *seats, struct check_seat *seat, uid_t uid);
/*
 * check_seats_leave() - take @seat out of the list
 *
 * Return: the seat of the same user that may begin now, and has begun set; NULL: none.
 */
struct check_seat *check_seats_leave(struct check_seats *seats, struct check_seat *seat);

#endif /* STILLPOINT_CHECK_SEATS_H */
