// SPDX-License-Identifier: GPL-2.0-only
/*
 * Seats for checks of may_run; see check_seats.h.
 *
 * Pure: counts seats by user. Must not begin a check, and owns no memory: a seat is a part of its
 * check.
 */
#include "supervisor/parts/check_seats.h"

#include <errno.h>
#include <stddef.h>

int check_seats_enter(struct check_seats *seats, struct check_seat *seat, uid_t uid)
{
	struct check_seat **at = &seats->first;
	unsigned int begun = 0, all = 0;

	for (; *at; at = &(*at)->next) {
		all += (*at)->uid == uid;
		begun += (*at)->uid == uid && (*at)->begun;
	}
	if (uid && all >= CHECK_SEATS_ALL)
		return -EBUSY;
	*seat = (struct check_seat) { .uid = uid, .begun = !uid || begun < CHECK_SEATS_BEGUN };
	*at = seat;
	return seat->begun;
}

struct check_seat *check_seats_leave(struct check_seats *seats, struct check_seat *seat)
{
	struct check_seat **at = &seats->first, *other;
	bool begun = seat->begun;

	while (*at != seat)
		at = &(*at)->next;
	*at = seat->next;
	seat->next = NULL;
	seat->begun = false;
	for (other = seats->first; begun && other; other = other->next) {
		if (other->uid == seat->uid && !other->begun) {
			other->begun = true;
			return other;
		}
	}
	return NULL;
}
