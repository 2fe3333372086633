/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The snapshot of a job's last generation, kept in the kernel for a rollback (L0).
 *
 * ckptd holds it, by a context of /dev/ckpt: it goes with ckptd, with the end of the job, and when
 * the kernel gives it up. Nothing depends on it: a rollback reads the image instead. Functions take
 * NULL for no snapshot.
 */
#ifndef STILLPOINT_JOB_L0_H
#define STILLPOINT_JOB_L0_H

#include <jansson.h>
#include <stdint.h>

struct common;
struct job_l0;
struct kdev;

/*
 * A context that is to hold the snapshot of a dump with these arguments (op_dump()); NULL: none is
 * wanted (l0_memory), or the dump makes none, or the kernel module is an older one.
 */
struct kdev *job_l0_open(const struct common *common, const json_t *args);
/* Watch over what @holder, taken over, keeps of the generation of a job. NULL: it is given up. */
struct job_l0 *job_l0_create(struct common *common, int64_t job, int64_t generation,
			     struct kdev *holder);
/* Give the snapshot up. */
void job_l0_destroy(struct job_l0 *l0);

/*
 * Give the snapshot up if no rollback will go to its generation: that was removed, is in doubt, or
 * was replaced. To be called when one of these may have happened.
 */
void job_l0_check(struct job_l0 *l0);

/* Ask the kernel, in the event loop: a worker does not have the context. */
void job_l0_refresh(struct job_l0 *l0);
/*
 * As last heard: {"generation", "bytes", "max"}; after the kernel has given it up, {"generation",
 * "given_up": TEXT}.
 */
json_t *job_l0_describe(const struct job_l0 *l0);

#endif /* STILLPOINT_JOB_L0_H */
