// SPDX-License-Identifier: GPL-2.0-only
/* When a silent part's lease has surely run out; see lease_rule.h. */
#include "supervisor/parts/lease_rule.h"

#define LEASE_DRIFT	100	/* of a lease's length is allowed for a clock that runs slowly */

void lease_grant_note(struct lease_grant *grant, int64_t now_ms, int64_t held_ms,
		      int64_t granted_ms)
{
	int64_t length = held_ms > granted_ms ? held_ms : granted_ms;

	grant->held = held_ms > 0;
	grant->length_ms = length;
	if (now_ms + length > grant->until_ms)
		grant->until_ms = now_ms + length;
}

bool lease_grant_is_over(const struct lease_grant *grant, int64_t now_ms)
{
	return grant->held &&
	       now_ms >= grant->until_ms + LEASE_MARGIN_MS + grant->length_ms / LEASE_DRIFT;
}

void listening_tick(struct listening *listening, int64_t now_ms)
{
	if (!listening->tick_ms || now_ms - listening->tick_ms > LISTEN_GAP_MS)
		listening->since_ms = now_ms;
	listening->tick_ms = now_ms;
}

int64_t listening_silence_ms(const struct listening *listening, int64_t now_ms, int64_t heard_ms)
{
	return now_ms - (heard_ms > listening->since_ms ? heard_ms : listening->since_ms);
}
