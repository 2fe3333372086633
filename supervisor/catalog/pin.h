/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pins: generations that nothing removes until they are unpinned.
 *
 *	IMAGE_DIR/ID/pin-N.json		{"by": uid, "since": seconds, "node": name}, sealed
 *
 * The pin is beside what it keeps, one file for each: it appears and goes by one rename or
 * unlink, and no list of pins exists that could disagree with them or be lost with the index.
 * A pin that cannot be read keeps its generation all the same.
 */
#ifndef STILLPOINT_PIN_H
#define STILLPOINT_PIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/catalog/catalog.h"

/* Name of the file; the number in such a name, 0: it is none. */
#define PIN_NAME_MAX	40
void pin_name(int64_t generation, char buf[PIN_NAME_MAX]);
int64_t pin_number(const char *name);

/*
 * pin_set() - durable when it returns 0; a second time is fine
 *
 * -ENOENT: there is no such generation. The caller has the catalog's lock of the job.
 */
int pin_set(const struct catalog *catalog, int64_t job, int64_t generation, uid_t by,
	    const char *node, char *why, size_t size);
/* -ENOENT: it is not pinned. */
int pin_clear(const struct catalog *catalog, int64_t job, int64_t generation);

/* What cannot be found out counts as pinned. */
bool pin_has(const struct catalog *catalog, int64_t job, int64_t generation);
/* Pinned generations, ascending, whether they are there or not. */
json_t *pin_list(const struct catalog *catalog, int64_t job);
/* What it says; -EBADMSG as of seal_read(). */
int pin_read(const struct catalog *catalog, int64_t job, int64_t generation,
	     json_t **ret_record, char *why, size_t size);

#endif /* STILLPOINT_PIN_H */
