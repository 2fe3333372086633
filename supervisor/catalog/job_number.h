/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job number: the highest number that was ever given to a job of an image directory.
 *
 *	IMAGE_DIR/.job-number		{"last": N}
 *	IMAGE_DIR/.job-number.lock	locked by whoever gives a number or raises the highest
 *
 * A number is never given again, not even when its job and all later ones were removed: a
 * script that remembers it would act on another user's job. Nodes that share the directory
 * share the number.
 */
#ifndef STILLPOINT_JOB_NUMBER_H
#define STILLPOINT_JOB_NUMBER_H

#include <stdint.h>

#include "supervisor/catalog/catalog.h"

#define JOB_NUMBER_FILE	".job-number"
#define JOB_NUMBER_LOCK	".job-number.lock"

/*
 * job_number_lock() - lock the number; closing @ret_lock unlocks
 *
 * On a file system without locks @ret_lock is locked against nobody. -EBUSY: another process
 * has had the lock for a second.
 */
int job_number_lock(const struct catalog *catalog, int *ret_lock);

/*
 * job_number_last() - read the highest number that was given
 * @highest: the highest number that has a directory, 0: none
 *
 * Return: the number, at least @highest. If the file is damaged, or is missing while there are
 * jobs, as after an update, that is @highest, and the log says so.
 */
int64_t job_number_last(const struct catalog *catalog, int64_t highest);

/* Write the highest number, durably. Call with the lock, and with a higher number only. */
int job_number_write(const struct catalog *catalog, int64_t last);
/*
 * job_number_raise() - make sure that @job is not given again; durable
 * @highest: as for job_number_last()
 *
 * Call with the lock. Writes nothing if the file has that number or a higher one.
 */
int job_number_raise(const struct catalog *catalog, int64_t highest, int64_t job);

#endif /* STILLPOINT_JOB_NUMBER_H */
