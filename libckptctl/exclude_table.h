/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table in which a process lists memory that a dump shall not save.
 *
 * No call and no daemon is needed: the table is private anonymous memory of exactly
 * EXCLUDE_TABLE_SIZE bytes (one mapping), readable and writable, with MADV_DONTDUMP, and begins
 * with the magic bytes.  fork() copies it, exec() drops it, a restart brings it back.
 *
 * An entry counts while its length is not 0 and not EXCLUDE_TAKEN, and only for pages whose mapping
 * has MADV_DONTDUMP, too: after memory was unmapped, a new mapping at its address is saved.
 * Entries may overlap.  A writer takes an entry (length 0 to EXCLUDE_TAKEN), writes the start, then
 * the length with release order; the dump reads the table while the process stands still.
 */
#ifndef STILLPOINT_EXCLUDE_TABLE_H
#define STILLPOINT_EXCLUDE_TABLE_H

#include <stdint.h>

#define EXCLUDE_TABLE_SIZE	65536
#define EXCLUDE_MAGIC_BYTES	32
#define EXCLUDE_VERSION		1
#define EXCLUDE_TAKEN		UINT64_MAX
#define EXCLUDE_MAX \
	((EXCLUDE_TABLE_SIZE - EXCLUDE_MAGIC_BYTES - 16) / sizeof(struct exclude_range))

/* Random: memory that is not a table does not begin with it. */
#define EXCLUDE_MAGIC                                                                           \
	{                                                                                       \
		0x9a, 0x1c, 0x53, 0xe7, 0x40, 0xb2, 0x6d, 0xf8, 0x25, 0x8e, 0xc1, 0x77, 0x0b,   \
			0xd4, 0x39, 0xa6, 0xee, 0x12, 0x84, 0x5f, 0xc9, 0x30, 0x7b, 0xad, 0x66, \
			0xf1, 0x08, 0xd3, 0x97, 0x2a, 0xbc, 0x41                                \
	}

struct exclude_range {
	uint64_t start, len;	/* whole pages */
};

struct exclude_table {
	uint8_t magic[EXCLUDE_MAGIC_BYTES];
	uint32_t version;
	uint32_t pad;
	uint64_t nr;		/* entries that were ever used, from the start */
	struct exclude_range range[];
};

#endif /* STILLPOINT_EXCLUDE_TABLE_H */
