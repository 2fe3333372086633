/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small JSON files that are either the old or the new one, whatever happens.
 */
#ifndef STILLPOINT_ATOMIC_JSON_H
#define STILLPOINT_ATOMIC_JSON_H

#include <jansson.h>

#define ATOMIC_JSON_MAX	(2u << 20)

/* Write, sync, rename, sync the directory. 0 or negative errno. */
int atomic_json_write(const char *dir, const char *name, const json_t *json);

/* What is in a file, from where it stands; @error as jansson's, of -EBADMSG, or NULL. -E2BIG; others. */
int atomic_json_load(int fd, size_t flags, json_t **ret_json, json_error_t *error);

/* -ENOENT; -EBADMSG: not JSON, no object, too long; other negative errno. */
int atomic_json_read(const char *dir, const char *name, json_t **ret_json);

#endif /* STILLPOINT_ATOMIC_JSON_H */
