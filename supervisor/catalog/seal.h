/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small records that the node's key authenticates: a job's record, a generation's parts. A
 * disk that was elsewhere can hold anything, so a restart believes (whose job it is, what
 * runs as whom) only records that this key has sealed.
 *
 * A sealed file is {"sealed": {...}, "mac": "hex", "key": "hex"}: keyed BLAKE2b over the
 * compact, sorted form of "sealed" and the purpose it was sealed for. "key" is the id of the
 * key, for people only; earlier versions wrote none.
 */
#ifndef STILLPOINT_SEAL_H
#define STILLPOINT_SEAL_H

#include <jansson.h>

struct ckpt_error;

/*
 * seal_write() - seal a record and write it atomically and durably
 * @key: path of the key; -ENOENT: it does not exist
 * @purpose: short text; a record sealed for one purpose is not valid for another
 */
int seal_write(const char *dir, const char *name, const char *purpose,
	       const char *key, const json_t *record, struct ckpt_error *error);

/*
 * seal_read() - read and check a record
 *
 * -ENOENT: no such file; -EKEYREJECTED: says that it was sealed with another key; -EBADMSG:
 * damaged, forged, or sealed with another key by an earlier version; other negative errno.
 * @error is a text for people.
 */
int seal_read(const char *dir, const char *name, const char *purpose,
	      const char *key, json_t **ret_record, struct ckpt_error *error);

#endif /* STILLPOINT_SEAL_H */
