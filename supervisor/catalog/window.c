// SPDX-License-Identifier: GPL-2.0-only
/*
 * A window on the generations of a job; see window.h.
 *
 * Pure: cuts lists that others have made, and reads nothing. A window that is full hides older
 * generations only, so that pages never overlap.
 */
#include "supervisor/catalog/window.h"

#include "base/outcome.h"

/* False: it is there and is no number above 0. */
static bool window_number(const json_t *args, const char *name, int64_t *ret_number)
{
	const json_t *value = json_object_get(args, name);

	if (!value)
		return true;
	*ret_number = json_integer_value(value);
	return *ret_number > 0;
}

json_t *window_take(const json_t *args, struct window *ret_window)
{
	struct window window = { 0 };

	if (!window_number(args, "before", &window.before) ||
	    !window_number(args, "last", &window.last))
		return outcome_usage("\"before\" and \"last\" are numbers above 0");
	*ret_window = window;
	return NULL;
}

static int64_t window_number_of(const json_t *row)
{
	return json_integer_value(json_object_get(row, "generation"));
}

void window_cut(const struct window *window, json_t *rows)
{
	size_t nr = json_array_size(rows), from, i;
	json_t *kept;

	while (window->before && nr &&
	       window_number_of(json_array_get(rows, nr - 1)) >= window->before)
		nr--;
	from = window->last && nr > (size_t)window->last ? nr - (size_t)window->last : 0;
	if (!from && nr == json_array_size(rows))
		return;
	kept = json_array();
	for (i = from; i < nr; i++)
		json_array_append(kept, json_array_get(rows, i));
	json_array_clear(rows);
	json_array_extend(rows, kept);
	json_decref(kept);
}

bool window_may_have(const struct window *window, const json_t *rows, int64_t number)
{
	if (window->before && number >= window->before)
		return false;
	return !window->last || json_array_size(rows) < (size_t)window->last ||
	       number > window_number_of(json_array_get(rows, 0));
}
