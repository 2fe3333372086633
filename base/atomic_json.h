/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small JSON files that are replaced atomically.
 *
 * After a crash or a failed write a file holds either its old or its new content, never a
 * part of one.  A file is at most ATOMIC_JSON_MAX bytes long.
 */
#ifndef STILLPOINT_ATOMIC_JSON_H
#define STILLPOINT_ATOMIC_JSON_H

#include <jansson.h>

#define ATOMIC_JSON_MAX	(2u << 20)

/*
 * Write @json to the file @name in @dir: write, sync, rename, sync the directory.
 * 0 or negative errno; -EFBIG if the text is longer than ATOMIC_JSON_MAX.
 */
int atomic_json_write(const char *dir, const char *name, const json_t *json);

/*
 * Parse the rest of an open file, from its current offset.
 *
 * @flags and @error are jansson's; @error may be NULL and is filled for -EBADMSG.
 * 0; -E2BIG: longer than ATOMIC_JSON_MAX; -EBADMSG: not JSON; other negative errno.
 */
int atomic_json_load(int fd, size_t flags, json_t **ret_json, json_error_t *error);

/*
 * Read the JSON object in the file @name of @dir.
 * -ENOENT; -EBADMSG: not a regular file, not JSON, not an object, too long; other errno.
 */
int atomic_json_read(const char *dir, const char *name, json_t **ret_json);

#endif /* STILLPOINT_ATOMIC_JSON_H */
