// SPDX-License-Identifier: GPL-2.0-only
/*
 * See restart_times.h.
 *
 * During the total time the job does no work, so the interval advice uses the total (advice.h).
 * The engine's own figures of a restore cover only a part of one phase, RESTART_RESTORE.
 */
#include "supervisor/restart/restart_times.h"


#include "base/clock.h"

static const char *const names[RESTART_PHASES] = {
	[RESTART_FETCH] = "fetch_ns", [RESTART_TRY] = "try_ns",
	[RESTART_RESTORE] = "restore_ns", [RESTART_RANKS] = "ranks_ns",
};

void restart_times_begin(struct restart_times *times, uint64_t now)
{
	times->begun = now;
}

void restart_times_end(struct restart_times *times, enum restart_phase phase, uint64_t now)
{
	times->phase[phase] += now - times->begun;
	times->had[phase] = true;
}

void restart_times_put(const struct restart_times *times, uint64_t now, json_t *result)
{
	unsigned int i;

	json_object_set_new(result, "total_ns", json_integer((json_int_t)(now - times->asked)));
	for (i = 0; i < RESTART_PHASES; i++) {
		if (times->had[i])
			json_object_set_new(result, names[i],
					    json_integer((json_int_t)times->phase[i]));
	}
}
