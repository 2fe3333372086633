/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common point of replicas: which section each process is to wait at. Decisions only.
 *
 * Replicas run on while they are asked and told, so a process may have passed the section that it
 * is told; it then waits at the end of its next one, and the others are told that. The ranks of a
 * replica need each other to get to the end of a section: none must be left at an earlier one.
 */
#ifndef STILLPOINT_VOTE_SECTION_H
#define STILLPOINT_VOTE_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The table of a process of a member (libckptctl/section_table.h). */
struct section_member {
	uint64_t section, until;
	bool waits;
};

enum section_step {
	SECTION_MET,		/* all wait at the end of the same section */
	SECTION_TELL,		/* write the target into every table */
	SECTION_WAIT,		/* some run on to where they are to wait */
};

/* Does the member wait, now and until its table is written? */
static inline bool section_waits(const struct section_member *m)
{
	return m->waits && m->until && m->section >= m->until;
}

/* @nr: at least 1; @ret_target: of SECTION_TELL */
enum section_step section_decide(const struct section_member *members, size_t nr,
				 uint64_t *ret_target);

#endif /* STILLPOINT_VOTE_SECTION_H */
