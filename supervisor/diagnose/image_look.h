/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The diagnosis of a job from images of it, which may be long dead: the ranks' status pages are in
 * the image of /dev/shm, registers in the records of threads, stacks in memory.
 *
 * An image is one sample. The image of an earlier generation may be given as another one: a thread
 * that began no call between the two, and is in one function in both, was there all the time.
 */
#ifndef STILLPOINT_DIAGNOSE_IMAGE_LOOK_H
#define STILLPOINT_DIAGNOSE_IMAGE_LOOK_H

#include "engine/op/op.h"

/*
 * diagnose_image() - as op_show() of engine/op/op.h, for a worker, which may do nothing afterwards
 *	that needs root's rights
 * @args: "dir", or "parts" of supervisor/catalog/generation.h; likewise "before" or
 *	"before_parts", of an earlier generation; "patience_ms", "stacks", "recent", "rank": as in
 *	struct diagnose_options
 *
 * The outcome is that of the request "diagnose", with "generation", and "notes": texts on what
 * could not be read. Refused (-EACCES) for an image with a process that env->viewer could not
 * trace.
 */
json_t *diagnose_image(const struct op_env *env, json_t *args);

#endif /* STILLPOINT_DIAGNOSE_IMAGE_LOOK_H */
