/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job's own key, as its record knows it: "job_key" is the key's id in hexadecimal digits. The
 * key itself is in the directory of jobs' keys of each node that runs the job (image/job_key.h),
 * and nowhere else.
 *
 * The key is made with the job, if job_keys is set. A job that has no key by then never gets one;
 * one that has keeps it, whatever the setting says later.
 */
#ifndef STILLPOINT_KEY_OF_JOB_H
#define STILLPOINT_KEY_OF_JOB_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "hosts/wrap.h"
#include "supervisor/storage/common.h"

/*
 * Make the key of the new job @id, if job_keys is set, and note it in @record. -EEXIST: a key of
 * an earlier job of this number is here, and stays.
 */
int key_of_job_make(const struct common *common, int64_t id, json_t *record,
		    struct ckpt_error *error);

/* Remove the key of a job that was removed; no key is fine. */
void key_of_job_remove(const struct common *common, int64_t id);

/* Return: NULL, or an outcome: @record names a key that is not on this node, or another one. */
json_t *key_of_job_check(const struct common *common, int64_t id, const json_t *record);

/*
 * key_of_job_add() - add "wrap" to a question: the job's key for the node with the number @host
 *
 * Nothing is added for a job without a key. Return: NULL, or an outcome.
 */
json_t *key_of_job_add(const struct common *common, int64_t id, const json_t *record,
		       unsigned int host, json_t *args);

/*
 * key_of_job_take() - keep the key that the home of a job sends in "wrap" of @args
 * @host: the node that asks
 *
 * Ask whether the job may run here before. Return: NULL, also for a job without a key, or an
 * outcome. A key that is here already is never replaced.
 */
json_t *key_of_job_take(const struct common *common, int64_t id, const json_t *record,
			unsigned int host, const json_t *args);

/* The two halves of the above for a person who carries the wrap: for node @name, or from it. */
json_t *key_of_job_wrap(const struct common *common, int64_t id, const char *name,
			char ret_wrap[WRAP_TEXT]);
json_t *key_of_job_unwrap(const struct common *common, int64_t id, const char *name,
			  const char *wrap);

#endif /* STILLPOINT_KEY_OF_JOB_H */
