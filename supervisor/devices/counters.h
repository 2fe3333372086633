/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters that the kernel prints as decimal numbers: parsing them, and the difference of two
 * looks. Pure. A counter that went back has begun anew (a remount, a module that was loaded again),
 * so that all it has now came since then.
 */
#ifndef STILLPOINT_COUNTERS_H
#define STILLPOINT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The amount that came since @before. */
static inline uint64_t counter_since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static inline double counter_per(uint64_t amount, uint64_t of)
{
	return of ? (double)amount / (double)of : 0;
}

/* The counter as JSON can have it. */
static inline int64_t counter_bounded(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/*
 * counter_next() - parse the number at *@text, after blanks, and move behind it
 *
 * False, and nothing is changed: no digit is there, the number does not end with a blank or the
 * text, or it is above UINT64_MAX.
 */
static inline bool counter_next(const char **text, uint64_t *ret_value)
{
	const char *s = *text;
	uint64_t value = 0;

	while (*s == ' ' || *s == '\t')
		s++;
	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			return false;
	}
	if (*s && *s != ' ' && *s != '\t' && *s != '\n')
		return false;
	*text = s;
	*ret_value = value;
	return true;
}

#endif /* STILLPOINT_COUNTERS_H */
