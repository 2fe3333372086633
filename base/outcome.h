/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Outcomes: the result or the error of an operation, as the JSON that goes over the
 * socket and that --json prints.
 *
 *   {"ok": true, "result": {...}}
 *   {"ok": false, "error": {"errno": -95, "name": "EOPNOTSUPP", "text": "...",
 *	"refusals": [{"reason": 12, "name": "FD_SOCKET", "text": "...",
 *	"advice": "...", "pid": 7, "tid": 7, "comm": "x", "object": 3,
 *	"detail": "..."}]}}
 *
 * Every function returns a new reference and never fails: without memory the
 * answer is NULL, which readers take for -ENOMEM.
 */
#ifndef STILLPOINT_OUTCOME_H
#define STILLPOINT_OUTCOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/ckpt.h>	/* enum ckpt_reason */

#include "base/error.h"

/* Takes over the reference to @result; NULL means an empty object. */
json_t *outcome_ok(json_t *result);
json_t *outcome_error(int err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Like outcome_error(-EINVAL, …), for a request that is malformed: error has "usage": true. */
json_t *outcome_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A copy of the answer of @node, with the node's name before the text; refusals are kept. */
json_t *outcome_of_node(const json_t *outcome, const char *node);
json_t *outcome_refused(uint32_t reason, pid_t pid, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Add a refusal for @reason to an outcome of outcome_error(); takes @outcome over, returns it. */
json_t *outcome_because(json_t *outcome, uint32_t reason);
/* From a failed dump_tree() or restore_tree(); @err is what it returned. */
json_t *outcome_engine(int err, const struct ckpt_error *error);

/* A string from outside, a path or a comm: bytes that are not UTF-8 become '?'. */
json_t *outcome_text(const char *text);

bool outcome_is_ok(const json_t *outcome);
int outcome_errno(const json_t *outcome);

#endif /* STILLPOINT_OUTCOME_H */
