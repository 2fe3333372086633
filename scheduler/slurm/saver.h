/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job of a launch, as this node's ckptd knows it: is it saved, and save it.
 */
#ifndef STILLPOINT_SLURM_SAVER_H
#define STILLPOINT_SLURM_SAVER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * saver_find() - the newest job of this user that is called @name
 * @ret_job: its number, 0: there is none
 * @ret_saved: true if the job was saved and ended by a checkpoint
 *
 * Return: 0, or a negative errno if ckptd does not answer.
 */
int saver_find(const char *name, int64_t *ret_job, bool *ret_saved);

/*
 * saver_save() - take a checkpoint of @job that ends the job
 * @why: at least 1024 bytes; ckptd's words for a failure
 *
 * Return: 0 once the checkpoint is durable, or a negative errno: the job runs on, or had ended.
 */
int saver_save(int64_t job, char *why, unsigned int size);

#endif /* STILLPOINT_SLURM_SAVER_H */
