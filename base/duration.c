// SPDX-License-Identifier: GPL-2.0-only
/*
 * Durations as people write them; see duration.h.
 *
 * A text that is not understood as a whole is refused: if part of an interval were ignored,
 * the user would notice only when it is too late.
 */
#include "base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct unit {
	const char *name;
	int64_t ms;
} units[] = {
	{ "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "m", 60000 }, { "h", 3600000 },
	{ "d", 86400000 }, { "w", 7 * 86400000LL }, { "y", 365 * 86400000LL }, { "", 1000 },
};

/*
 * Length of the unit that @text begins with; *ret_ms is 0 if there is no such unit.
 * The empty unit (seconds) counts only where no letter follows the number.
 */
static size_t find_unit(const char *text, int64_t *ret_ms)
{
	size_t i, len = 0;

	while (isalpha((unsigned char)text[len]))
		len++;
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == len && !strncmp(units[i].name, text, len)) {
			*ret_ms = units[i].ms;
			return len;
		}
	}
	*ret_ms = 0;
	return len;
}

int duration_parse(const char *text, int64_t *ret_ms)
{
	const char *start = text;
	double sum = 0;

	if (!*text)
		return -EINVAL;
	while (*text) {
		int64_t unit;
		double number;
		char *end;

		/* strtod() would also take signs, hexadecimal numbers, nan and inf. */
		if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.") > 20)
			return -EINVAL;
		if (text[0] == '0' && isalpha((unsigned char)text[1]) && tolower(text[1]) == 'x')
			return -EINVAL;
		number = strtod(text, &end);
		if (end != text + strspn(text, "0123456789."))
			return -EINVAL;
		/* "1h30" is ambiguous: after a unit, every number needs one. */
		if (!*end && text != start)
			return -EINVAL;
		text = end + find_unit(end, &unit);
		if (!unit)
			return -EINVAL;
		sum += number * (double)unit;
	}
	if (sum < 1 || sum > (double)DURATION_MAX_MS)
		return -ERANGE;
	*ret_ms = (int64_t)(sum + 0.5);
	return 0;
}

const char *duration_text(int64_t ms, char *buf)
{
	static const struct {
		int64_t ms;
		const char *name, *rest;
		int64_t rest_ms;
	} rows[] = {
		{ 365 * 86400000LL, "y", "d", 86400000 }, { 86400000, "d", "h", 3600000 },
		{ 3600000, "h", "min", 60000 }, { 60000, "min", "s", 1000 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t whole = ms / rows[i].ms, rest = ms % rows[i].ms / rows[i].rest_ms;

		if (!whole)
			continue;
		if (rest)
			snprintf(buf, 32, "%lld %s %lld %s", (long long)whole, rows[i].name,
				 (long long)rest, rows[i].rest);
		else
			snprintf(buf, 32, "%lld %s", (long long)whole, rows[i].name);
		return buf;
	}
	if (ms >= 1000)
		snprintf(buf, 32, ms % 1000 ? "%.1f s" : "%.0f s", (double)ms / 1000);
	else
		snprintf(buf, 32, "%lld ms", (long long)ms);
	return buf;
}
