// SPDX-License-Identifier: GPL-2.0-only
/*
 * Texts of the reasons for a refusal.
 *
 * Owns the table that linux/ckpt_reasons.def fills. The table is constant: every thread
 * may ask. A number from a newer kernel module gets the text of an unknown reason.
 */
#include "base/reason.h"

#include <linux/ckpt.h>

struct reason {
	const char *name;
	const char *text;
	const char *advice;
};

static const struct reason reasons[] = {
#define CKPT_REASON(name, text, advice) { #name, text, advice },
#include <linux/ckpt_reasons.def>
#undef CKPT_REASON
};

static const struct reason *reason_find(uint32_t reason)
{
	static const struct reason unknown = {
		"UNKNOWN", "a reason this program does not know", "update Stillpoint",
	};

	return reason < CKPT_R__COUNT ? &reasons[reason] : &unknown;
}

const char *reason_name(uint32_t reason)
{
	return reason_find(reason)->name;
}

const char *reason_text(uint32_t reason)
{
	return reason_find(reason)->text;
}

const char *reason_advice(uint32_t reason)
{
	return reason_find(reason)->advice;
}
