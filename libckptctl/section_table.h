/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table in which a process tells the section that it is in, and is told where to wait.
 *
 * It is private anonymous memory of exactly SECTION_TABLE_SIZE bytes (one mapping), readable and
 * writable, and begins with the magic bytes. fork() copies it, exec() drops it, a restart brings
 * it back. The process writes @section and @waits; who wants the process to wait writes @until,
 * through /proc/PID/mem: the process waits at the end of each section from @until on, until that
 * is 0 or above its section. @waits counts only while @until is not 0 and @section is at least
 * @until.
 */
#ifndef STILLPOINT_SECTION_TABLE_H
#define STILLPOINT_SECTION_TABLE_H

#include <stdint.h>

#define SECTION_TABLE_SIZE	8192
#define SECTION_MAGIC_BYTES	32
#define SECTION_VERSION		1

/* Random: memory that is not a table does not begin with it. */
#define SECTION_MAGIC                                                                           \
	{                                                                                       \
		0x3d, 0xe0, 0x94, 0x1b, 0x72, 0xc5, 0x08, 0xaf, 0x61, 0xd7, 0x2e, 0x93, 0xfa,   \
			0x4c, 0x85, 0x10, 0xbb, 0x36, 0xe9, 0x57, 0x04, 0x7c, 0xd2, 0x6f, 0xa8, \
			0x19, 0xf3, 0x40, 0x8d, 0x22, 0xce, 0x5b                                \
	}

struct section_table {
	uint8_t magic[SECTION_MAGIC_BYTES];
	uint32_t version;
	uint32_t waits;
	uint64_t section;	/* sections that have ended */
	uint64_t until;
};

#endif /* STILLPOINT_SECTION_TABLE_H */
