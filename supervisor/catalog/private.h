/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The secret fields of a job's record: its command line, environment and directory are
 * encrypted in job.json, as the field "private", if images of the job are encrypted.
 */
#ifndef STILLPOINT_PRIVATE_H
#define STILLPOINT_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

/*
 * private_hide() - make a copy of @record that may be written
 * @job: its number; fields hidden for one job cannot be revealed for another.  A job's own key goes
 *	before the site's secret (image/job_key.h), and reveals them for the same owner only
 * @source: source of the secret, as for image_key_secret(); if there is none, nothing is hidden
 */
int private_hide(const json_t *record, int64_t job, const char *source, json_t **ret_record,
		 struct ckpt_error *error);

/* Reveal the fields, in place; without the secret (@source may be NULL) they stay hidden. */
void private_show(json_t *record, int64_t job, const char *source);

/* False: some fields of the record are hidden. */
bool private_is_shown(const json_t *record);

#endif /* STILLPOINT_PRIVATE_H */
