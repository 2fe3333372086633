/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pins: generations that nothing removes until they are unpinned.
 *
 *	IMAGE_DIR/ID/pin-N.json		{"by": uid, "since": seconds, "node": name}, sealed
 *
 * Each pin is one file beside its generation: it appears and disappears by one rename or
 * unlink, and there is no list of pins that could disagree with the files or be lost with
 * the index. A pin that cannot be read keeps its generation all the same.
 */
#ifndef STILLPOINT_PIN_H
#define STILLPOINT_PIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/catalog/catalog.h"

/* Make the file's name; parse such a name (0: it is none). */
#define PIN_NAME_MAX	40
void pin_name(int64_t generation, char buf[PIN_NAME_MAX]);
int64_t pin_number(const char *name);

/*
 * pin_set() - pin a generation; durable when it returns 0; pinning twice is fine
 *
 * -ENOENT: there is no such generation. The caller holds the catalog's lock of the job.
 */
int pin_set(const struct catalog *catalog, int64_t job, int64_t generation, uid_t by,
	    const char *node, struct ckpt_error *error);
/* -ENOENT: it is not pinned. */
int pin_clear(const struct catalog *catalog, int64_t job, int64_t generation);

/* A generation whose pin cannot be looked up counts as pinned. */
bool pin_has(const struct catalog *catalog, int64_t job, int64_t generation);
/* Numbers of pinned generations, ascending, whether the generations exist or not. */
json_t *pin_list(const struct catalog *catalog, int64_t job);
/* Read a pin's contents; -EBADMSG as from seal_read(). */
int pin_read(const struct catalog *catalog, int64_t job, int64_t generation,
	     json_t **ret_record, struct ckpt_error *error);

#endif /* STILLPOINT_PIN_H */
