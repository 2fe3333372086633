/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table in which the glue lists memory of the upper half that is its own, and not the
 * program's. Two replicas of a job differ in it, as each has a lower half of its own: a vote
 * compares everything else.
 *
 * The table is private anonymous memory of exactly OWN_TABLE_SIZE bytes (one mapping), readable
 * and writable, and begins with the magic bytes. An image has it at the same place. Entries are
 * only added; @nr is raised after the entry is there.
 */
#ifndef MPI_GLUE_OWN_TABLE_H
#define MPI_GLUE_OWN_TABLE_H

#include <stdint.h>

#define OWN_TABLE_SIZE	12288
#define OWN_MAGIC_BYTES	32
#define OWN_VERSION	1
#define OWN_MAX		((OWN_TABLE_SIZE - OWN_MAGIC_BYTES - 16) / sizeof(struct own_range))

/* Random: memory that is not a table does not begin with it. */
#define OWN_MAGIC                                                                               \
	{                                                                                       \
		0xc7, 0x21, 0x9e, 0x50, 0x0d, 0xb8, 0x63, 0xfa, 0x34, 0x8f, 0x16, 0xe2, 0x7b,   \
			0xa9, 0x4c, 0xd5, 0x02, 0x91, 0x6e, 0xbf, 0x58, 0x27, 0xe4, 0x3d, 0x8a, \
			0xf0, 0x49, 0x15, 0xdc, 0x76, 0xab, 0x03                                \
	}

/* Calls of the program whose result another replica may see otherwise, without an error. */
enum own_choice {
	OWN_ANY_SOURCE = 1,	/* a receive or probe of MPI_ANY_SOURCE */
	OWN_WHICH = 2,		/* MPI_Waitany, MPI_Waitsome, MPI_Testany, MPI_Testsome */
	OWN_WHETHER = 4,	/* MPI_Test, MPI_Testall, MPI_Iprobe, MPI_Improbe and the like */
};

struct own_range {
	uint64_t start, len;	/* bytes */
};

struct own_table {
	uint8_t magic[OWN_MAGIC_BYTES];
	uint32_t version;
	uint32_t choices;	/* enum own_choice, of all calls so far */
	uint64_t nr;
	struct own_range range[];
};

#endif /* MPI_GLUE_OWN_TABLE_H */
