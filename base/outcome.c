// SPDX-License-Identifier: GPL-2.0-only
/*
 * Outcomes of operations as JSON; see outcome.h.
 *
 * Text that came from a process (comm, paths) may hold any bytes, but JSON must be
 * UTF-8: other bytes are replaced first.  This file does no I/O and knows neither
 * sockets nor the engine's calls.
 */
#include "base/reason.h"
#include "base/outcome.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

json_t *outcome_text(const char *text)
{
	char clean[1024];
	json_t *value = json_string(text);
	size_t i;

	if (value)
		return value;
	for (i = 0; i + 1 < sizeof(clean) && text[i]; i++)
		clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	clean[i] = '\0';
	return json_string(clean);
}

json_t *outcome_ok(json_t *result)
{
	return json_pack("{s:b, s:o}", "ok", 1, "result",
			 result ? result : json_object());
}

static json_t *error_object(int err, const char *text, json_t *refusals)
{
	const char *name = strerrorname_np(-err);

	return json_pack("{s:b, s:{s:i, s:s, s:o, s:o}}", "ok", 0, "error",
			 "errno", err, "name", name ? name : "EUNKNOWN",
			 "text", outcome_text(text), "refusals", refusals);
}

json_t *outcome_error(int err, const char *format, ...)
{
	char text[768];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return error_object(err, text, json_array());
}

json_t *outcome_usage(const char *format, ...)
{
	char text[768];
	json_t *outcome;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	outcome = error_object(-EINVAL, text, json_array());
	json_object_set_new(json_object_get(outcome, "error"), "usage", json_true());
	return outcome;
}

json_t *outcome_of_node(const json_t *outcome, const char *node)
{
	json_t *copy = json_deep_copy(outcome), *error = json_object_get(copy, "error");
	const char *text = json_string_value(json_object_get(error, "text"));

	if (error)
		json_object_set_new(error, "text", json_sprintf("node %s: %s", node ? node : "?",
								text ? text : "failed"));
	if (error && node)
		json_object_set_new(error, "node", json_string(node));
	return copy;
}

static json_t *refusal_object(const struct error_refusal *refusal)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:o, s:I, s:o}",
			 "reason", (int)refusal->reason,
			 "name", reason_name(refusal->reason),
			 "text", reason_text(refusal->reason),
			 "advice", reason_advice(refusal->reason),
			 "pid", (int)refusal->pid, "tid", (int)refusal->tid,
			 "comm", outcome_text(refusal->comm),
			 "object", (json_int_t)refusal->object,
			 "detail", outcome_text(refusal->detail));
}

json_t *outcome_refused(uint32_t reason, pid_t pid, const char *format, ...)
{
	struct error_refusal refusal = { .reason = reason, .pid = pid };
	json_t *refusals = json_array();
	va_list ap;

	va_start(ap, format);
	vsnprintf(refusal.detail, sizeof(refusal.detail), format, ap);
	va_end(ap);
	json_array_append_new(refusals, refusal_object(&refusal));
	return error_object(-EOPNOTSUPP, reason_text(reason), refusals);
}

json_t *outcome_because(json_t *outcome, uint32_t reason)
{
	const struct error_refusal refusal = { .reason = reason };

	json_array_append_new(json_object_get(json_object_get(outcome, "error"), "refusals"),
			      refusal_object(&refusal));
	return outcome;
}

json_t *outcome_engine(int err, const struct ckpt_error *error)
{
	json_t *refusals = json_array();
	unsigned int i;

	for (i = 0; i < error->nr_refusals; i++)
		json_array_append_new(refusals,
				      refusal_object(&error->refusals[i]));
	return error_object(err, error->text[0] ? error->text : strerror(-err),
			    refusals);
}

bool outcome_is_ok(const json_t *outcome)
{
	return json_is_true(json_object_get(outcome, "ok"));
}

int outcome_errno(const json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");

	if (outcome_is_ok(outcome))
		return 0;
	if (!outcome)
		return -ENOMEM;
	return (int)json_integer_value(json_object_get(error, "errno"));
}
