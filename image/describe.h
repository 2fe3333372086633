/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describes records in words; for show and diff, never for restore.
 */
#ifndef STILLPOINT_IMAGE_DESCRIBE_H
#define STILLPOINT_IMAGE_DESCRIBE_H

#include <jansson.h>

#include "image/reader.h"

#define DESCRIBE_MAX	160

/* The name of a record type: "PROC", "VMA", …; NULL: not a type of the kernel's. */
const char *describe_type(uint16_t type);

/*
 * describe_record() - name a record by what it describes: "VMA 1 0x400000"
 * @ordinal: how many of its type came before; used where nothing else names it
 */
void describe_record(const struct image_record *rec, uint64_t ordinal,
		     char text[DESCRIBE_MAX]);

/* Make a JSON string of any bytes, up to a NUL or @max. */
json_t *describe_text(const char *bytes, size_t max);

/* True for a record that identifies the dump itself; it differs between any two images. */
bool describe_is_identity(uint16_t type);

/* In a copy of a record, clear the fields that only name the host's objects (host pids). */
void describe_forget_host(uint16_t type, uint8_t *data, uint32_t len);

/* The record's structure if the record is long enough to hold it, else NULL. */
#define describe_as(rec, type_, struct_) \
	((const struct_ *)((rec)->type == (type_) && \
			   (rec)->len >= sizeof(struct_) ? (rec)->data : NULL))

#endif /* STILLPOINT_IMAGE_DESCRIBE_H */
