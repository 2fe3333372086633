/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks that tell one content of a file from another: a hash of its tail, and the
 * build-id of a program.  Dump records them, restore compares them.
 *
 * Nothing here moves the position of a descriptor: it may be the job's own description.
 */
#ifndef STILLPOINT_FILE_IDENTITY_H
#define STILLPOINT_FILE_IDENTITY_H

#include <stdint.h>

#define FILE_TAIL_WRITTEN	65536U	/* bytes hashed of a file that the tree writes */
#define FILE_TAIL_READ		4096U	/* bytes hashed of a file that it only reads */
#define FILE_BUILD_ID_MAX	32U

/* BLAKE2b-256 of [start, start + len); -EPIPE if the file ends before that. */
int file_identity_tail(int fd, uint64_t start, uint64_t len, uint8_t ret_hash[32]);

/* The NT_GNU_BUILD_ID of a 64-bit ELF file: its length, 0 if there is none. */
int file_identity_build_id(int fd, uint8_t ret_id[FILE_BUILD_ID_MAX]);

/* Write @id as "3f2a…" into @ret_text, which has 2 * len + 1 bytes; for messages. */
void file_identity_hex(const uint8_t *id, unsigned int len, char *ret_text);

#endif /* STILLPOINT_FILE_IDENTITY_H */
