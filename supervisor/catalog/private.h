/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is secret in a job's record: its command line, environment and directory are
 * encrypted in job.json where images are, as the field "private".
 */
#ifndef STILLPOINT_PRIVATE_H
#define STILLPOINT_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

/*
 * private_hide() - a copy of @record that may be written
 * @purpose: what was hidden for one purpose cannot be shown for another
 * @source: of the secret, as for image_key_secret()
 */
int private_hide(const json_t *record, const char *purpose, const char *source,
		 json_t **ret_record, struct ckpt_error *error);

/* The opposite, in place; without the secret (@source may be NULL) it stays hidden. */
void private_show(json_t *record, const char *purpose, const char *source);

/* False: something in it is hidden. */
bool private_is_shown(const json_t *record);

#endif /* STILLPOINT_PRIVATE_H */
