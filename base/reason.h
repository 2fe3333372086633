/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reasons for which a checkpoint or a restart is refused, as text.
 *
 * The one list of them is linux/ckpt_reasons.def; a number that is not in it is "UNKNOWN".
 * The texts are constant: the caller never frees them.
 */
#ifndef STILLPOINT_REASON_H
#define STILLPOINT_REASON_H

#include <stdint.h>

/* @reason is an enum ckpt_reason. */
const char *reason_name(uint32_t reason);	/* "FD_SOCKET" */
const char *reason_text(uint32_t reason);	/* what stands in the way */
const char *reason_advice(uint32_t reason);	/* what to do about it */

#endif /* STILLPOINT_REASON_H */
