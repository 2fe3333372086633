/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A generation of a job as a whole, whether it is one image or one of each node
 * (catalog.h). All but generation_parts() is for workers, as reading images may be slow.
 *
 * A part with a problem is named by its node.
 */
#ifndef STILLPOINT_GENERATION_H
#define STILLPOINT_GENERATION_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/catalog/catalog.h"
#include "engine/op/op.h"

/*
 * generation_parts() - list the images of a generation
 * @ret_parts: [{"node": name, "number": K, "dir": path}, ...]; NULL: it is one image
 *
 * Return: NULL, or an outcome: parts.json is damaged, or of another generation.
 */
json_t *generation_parts(const struct catalog *catalog, int64_t job, int64_t generation,
			 json_t **ret_parts);

/* Check that a manifest's note is of the @number-th node. NULL, or an outcome. */
json_t *generation_check_part(const char *dir, const json_t *note, unsigned int number);

/*
 * generation_describe() - describe a generation by its manifests
 * @label: the job's (job_label())
 *
 * As op_describe(). For several nodes: the greatest pause, sums of bytes, processes and
 * threads, the newest time, the first node's note; "nodes", and "parts" with each node's
 * description.
 */
json_t *generation_describe(const struct op_env *env, const struct catalog *catalog,
			    int64_t job, int64_t generation, const char *label);

/*
 * Operations like op_show(), op_verify() and op_diff(), on all parts: their arguments have
 * "parts" (and "other_parts") instead of "dir", and "generation" and "job".
 *
 * show	{"parts": [{"node", "number", "image": as op_show()}, ...]}
 * verify	{"ok", "findings": as op_verify(), each with its "node"}
 * diff	{"equal", "parts": [{"node", "other_node", "differs": as op_diff()}, ...]}
 */
json_t *generation_show(const struct op_env *env, json_t *args);
json_t *generation_verify(const struct op_env *env, json_t *args);
json_t *generation_diff(const struct op_env *env, json_t *args);

#endif /* STILLPOINT_GENERATION_H */
